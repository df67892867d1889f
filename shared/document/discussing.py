"""The verbs of chats and quoted comments, on a live document.

A section here is flat: a top-level heading and the blocks up to the next one of any level. Posting
goes by a heading's id, whatever its text says by now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import UNSET, UnsetType

from shared.discussion.quotes import place_quote
from shared.discussion.threads import Said, message_text, of_threads
from shared.document.live_document import LiveDocument
from shared.errors import InvalidArgument, StaleAnchor
from shared.ids import BlockRef
from shared.limits import MAX_FIND_HITS, MAX_LISTED_CHATS, MAX_THREAD_CHARS, MAX_TITLE_CHARS
from shared.protocol import Caller
from shared.protocol_chat import (
    ChangedMessage,
    ListChatsResult,
    ListedChat,
    PostChatMessageRequest,
    PostedMessage,
    ReadChatRequest,
    ReadChatResult,
    ShownThreads,
    ThreadInfo,
    ToldMessage,
)
from shared.sections import Heading
from shared.stored_annotations import StoredMessage, StoredThread
from shared.times import iso

NEEDS_SECTION: Final = (
    "section_id: this document has headings; name the one this is about (read_document with"
    " outline=true lists them)."
)


def post(live: LiveDocument, caller: Caller, request: PostChatMessageRequest, now: int) -> Said:
    """A message to a heading's chat, or about a quote under it.

    Raises InvalidArgument, StaleAnchor, TooLarge.
    """
    text = message_text(caller, request.text)
    heading = _heading(live, request.section_id)
    quote = None
    if request.quote is not None:
        texts = live.textblocks
        inside = _under(live, heading)
        place = place_quote(request.quote, texts.ids, texts.flat, inside)
        quote = request.quote, place
    section_id = None if heading is None else heading.block_id
    return live.discussion.begin(caller, text, now, section_id, quote, live.textblocks)


def posted(live: LiveDocument, said: Said) -> PostedMessage:
    """What is answered."""
    thread, message = said.thread, said.message
    return PostedMessage(
        thread.thread_id,
        message.message_id,
        message.seq,
        thread.section_id,
        _titles(live).get(thread.section_id or "", UNSET),
        UNSET if thread.quote is None else thread.quote,
    )


def rewritten(said: Said) -> ChangedMessage:
    """What is answered to who edits or deletes a message."""
    message = said.message
    return ChangedMessage(
        message.thread_id,
        message.message_id,
        message.seq,
        UNSET if message.edited_at is None else iso(message.edited_at),
        message.deleted or UNSET,
    )


def list_chats(live: LiveDocument) -> ListChatsResult:
    """All threads in document order; of too many those with the newest messages."""
    discussion, titles = live.discussion, _titles(live)
    threads = sorted(
        discussion.threads.values(), key=lambda one: -discussion.last(one.thread_id).seq
    )
    shown, rest = threads[:MAX_LISTED_CHATS], threads[MAX_LISTED_CHATS:]
    chats = tuple(_listed(live, one, titles) for one in _in_order(live, shown))
    return ListChatsResult(chats, len(rest) or UNSET)


def read_chat(live: LiveDocument, request: ReadChatRequest) -> ReadChatResult:
    """The newest messages of a thread, or those before one.

    Raises InvalidArgument, StaleAnchor, ThreadNotFound.
    """
    thread = _asked(live, request)
    if thread is None:
        return ReadChatResult(())
    before = request.before_seq
    messages = [
        one
        for one in live.discussion.messages(thread.thread_id)
        if before is None or one.seq < before
    ]
    page = messages[-request.limit :]
    return ReadChatResult(
        told(live, page),
        _listed(live, thread, _titles(live)),
        page[0].seq if len(messages) > len(page) else UNSET,
    )


def shown_threads(
    live: LiveDocument, which: ShownThreads, blocks: range, max_chars: int
) -> tuple[ThreadInfo, ...] | UnsetType:
    """The threads that come with the blocks a reader is shown: absent when there are none.

    Their messages come as far as there is room, the threads that were last written to first.
    """
    found = [
        one
        for one in live.discussion.threads.values()
        if which == "all" or (which == "open" and not one.resolved)
    ]
    if len(blocks) < len(live.index):
        found = [one for one in found if _position(live, one) in blocks]
    found.sort(key=lambda one: -live.discussion.last(one.thread_id).seq)
    room = max_chars if which == "all" else min(max_chars, MAX_THREAD_CHARS)
    infos: dict[str, ThreadInfo] = {}
    for thread in found:
        messages = live.discussion.messages(thread.thread_id)
        room -= sum(len(one.text) for one in messages)
        infos[thread.thread_id] = _info(live, thread, messages if room >= 0 else [])
    return tuple(infos[one.thread_id] for one in _in_order(live, found)) or UNSET


def last_that_fits(
    live: LiveDocument, since: int, max_chars: int, exclude: str | None
) -> int | None:
    """The number of the last change of threads that an answer has room for; None: for all."""
    number: int | None = None
    for item in live.discussion.since(since):
        if isinstance(item, StoredMessage) and item.principal != exclude:
            max_chars -= len(item.text)
            if max_chars < 0 and number is not None:
                return number
        number = item.change_seq
    return None


def changed_threads(
    live: LiveDocument, since: int, until: int, exclude: str | None
) -> tuple[ThreadInfo, ...] | UnsetType:
    """Threads that changed past one number up to another, with the messages that did."""
    items = [
        item
        for item in live.discussion.since(since)
        if item.change_seq <= until and _maker(item) != exclude
    ]
    threads = live.discussion.threads
    return tuple(_info(live, threads[one], said) for one, said in of_threads(items)) or UNSET


def told(live: LiveDocument, messages: Iterable[StoredMessage]) -> tuple[ToldMessage, ...]:
    """Messages as they are told."""
    return tuple(
        ToldMessage(
            one.message_id,
            one.seq,
            iso(one.at),
            live.names.get(one.principal, one.principal),
            one.text,
            "connected_app" if one.agent else UNSET,
            UNSET if one.edited_at is None else iso(one.edited_at),
            one.deleted or UNSET,
        )
        for one in messages
    )


# --- inside --------------------------------------------------------------------------------------


def _heading(live: LiveDocument, ref: BlockRef | None) -> Heading | None:
    headings = live.headings()
    if ref is None:
        if headings:
            raise InvalidArgument(NEEDS_SECTION, field="section_id")
        return None
    for heading in headings:
        if heading.block_id == ref.block_id:
            return heading
    raise StaleAnchor(
        f"section_id: no heading {ref.block_id!r} in this document.",
        outline=[
            {"section_id": one.block_id, "level": one.level, "title": one.title[:MAX_TITLE_CHARS]}
            for one in headings[:MAX_FIND_HITS]
        ],
    )


def _under(live: LiveDocument, heading: Heading | None) -> range:
    if heading is None:
        return range(len(live.index))
    after = [one.position for one in live.headings() if one.position > heading.position]
    return range(heading.position + 1, after[0] if after else len(live.index))


def _asked(live: LiveDocument, request: ReadChatRequest) -> StoredThread | None:
    if request.thread_id is not None:
        if request.section_id is not None:
            raise InvalidArgument("thread_id: give it, or section_id, not both.", field="thread_id")
        return live.discussion.thread(request.thread_id)
    section_id = None if request.section_id is None else request.section_id.block_id
    chat = live.discussion.chat_of(section_id)
    if chat is None:
        _heading(live, request.section_id)
    return chat


def _titles(live: LiveDocument) -> dict[str, str]:
    return {one.block_id: one.title[:MAX_TITLE_CHARS] for one in live.headings()}


def _listed(live: LiveDocument, thread: StoredThread, titles: Mapping[str, str]) -> ListedChat:
    last = live.discussion.last(thread.thread_id)
    gone = thread.section_id is not None and thread.section_id not in titles
    return ListedChat(
        thread_id=thread.thread_id,
        section_id=thread.section_id,
        resolved=thread.resolved,
        message_count=live.discussion.count(thread.thread_id),
        last_seq=last.seq,
        last_at=iso(last.at),
        title=titles.get(thread.section_id or "", UNSET),
        quote=UNSET if thread.quote is None else thread.quote,
        orphaned=(thread.quote is not None and thread.place is None) or UNSET,
        section_gone=gone or UNSET,
    )


def _info(
    live: LiveDocument, thread: StoredThread, messages: Iterable[StoredMessage]
) -> ThreadInfo:
    return ThreadInfo(
        thread_id=thread.thread_id,
        section_id=thread.section_id,
        resolved=thread.resolved,
        message_count=live.discussion.count(thread.thread_id),
        quote=UNSET if thread.quote is None else thread.quote,
        block_id=UNSET if thread.place is None else thread.place.block_id,
        messages=told(live, messages),
    )


def _position(live: LiveDocument, thread: StoredThread) -> int:
    """Where a thread belongs: at its quote, else at its heading, else behind everything."""
    block_id = thread.section_id if thread.place is None else thread.place.block_id
    if block_id is None:
        return 0
    position = live.index.position(block_id)
    return len(live.index) if position is None else position


def _in_order(live: LiveDocument, threads: Iterable[StoredThread]) -> list[StoredThread]:
    def key(one: StoredThread) -> tuple[int, tuple[int, ...], int, int]:
        place = one.place
        path, start = (place.path, place.start) if place else ((), 0)
        return _position(live, one), path, start, one.at

    return sorted(threads, key=key)


def _maker(item: StoredThread | StoredMessage) -> str:
    return item.changed_by if isinstance(item, StoredThread) else item.principal
