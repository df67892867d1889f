"""Threads and messages of one document: what may be done to them, and what each act stores.

Every act checks all it has to before it changes anything, and yields the rows that must be on disk
before anybody is told. A message keeps its number and its place for ever: a deleted one is empty.
Numbers of the change feed come from `take`, ids from `mint`, times (ms) from the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from shared.discussion.places import BlockTexts, Places
from shared.errors import InvalidArgument, NotAuthor, ThreadNotFound, TooLarge
from shared.limits import MAX_MESSAGE_CHARS, MAX_MESSAGES, MAX_THREADS
from shared.protocol import Caller
from shared.stored_annotations import Annotations, StoredMessage, StoredThread, TextRange

_NOT_FROM_AGENTS: Final = str.maketrans("", "", "@<>")  # mentions and markup are people's
_SHOWN_ID: Final = 64

Item = StoredThread | StoredMessage


class Said(msgspec.Struct, frozen=True):
    """What an act made of a thread and a message, and what of it is to be stored."""

    thread: StoredThread
    message: StoredMessage
    rows: Annotations


def message_text(caller: Caller, text: str) -> str:
    """A message as it is kept.

    Raises InvalidArgument: it is too long, or says nothing.
    """
    if len(text) > MAX_MESSAGE_CHARS:
        raise InvalidArgument(
            f"text: {len(text)} characters; a message may have {MAX_MESSAGE_CHARS}.", field="text"
        )
    kept = text.replace("\r\n", "\n").replace("\r", "\n")
    if caller.agent:
        kept = kept.translate(_NOT_FROM_AGENTS)
    kept = kept.strip()
    if not kept:
        without = ", without the characters @ < >" if caller.agent else ""
        raise InvalidArgument(f"text: write something{without}.", field="text")
    return kept


class Discussion:
    """All threads of a document. `attach` tells it what the document says."""

    def __init__(
        self, stored: Annotations, take: Callable[[], int], mint: Callable[[], str]
    ) -> None:
        self.threads: dict[str, StoredThread] = dict(stored.threads)
        self._messages: dict[str, StoredMessage] = {}
        self._of_thread: dict[str, list[str]] = {one: [] for one in self.threads}
        self._chats = {t.section_id: t.thread_id for t in self.threads.values() if t.quote is None}
        self._feed: dict[str, int] = {}  # number of each one's last change, ascending
        self._take = take
        self._mint = mint
        self._places = Places()
        for message in sorted(stored.messages.values(), key=lambda one: one.seq):
            self._messages[message.message_id] = message
            self._of_thread[message.thread_id].append(message.message_id)
        everything: list[Item] = [*self.threads.values(), *self._messages.values()]
        for item in sorted(everything, key=lambda one: one.change_seq):
            self._feed[_id_of(item)] = item.change_seq
        self._last_seq = max((one.seq for one in self._messages.values()), default=0)

    # --- reading ---------------------------------------------------------------------------------

    def thread(self, thread_id: str) -> StoredThread:
        """Raises ThreadNotFound."""
        found = self.threads.get(thread_id)
        if found is None:
            raise ThreadNotFound(f"thread_id: no thread {thread_id[:_SHOWN_ID]!r} here.")
        return found

    def chat_of(self, section_id: str | None) -> StoredThread | None:
        """A heading's chat; of None: that of a document without headings."""
        thread_id = self._chats.get(section_id)
        return None if thread_id is None else self.threads[thread_id]

    def messages(self, thread_id: str) -> list[StoredMessage]:
        """A thread's, oldest first."""
        return [self._messages[one] for one in self._of_thread[thread_id]]

    def count(self, thread_id: str) -> int:
        """How many messages a thread has."""
        return len(self._of_thread[thread_id])

    def last(self, thread_id: str) -> StoredMessage:
        """A thread's newest message: it has one, it came with it."""
        return self._messages[self._of_thread[thread_id][-1]]

    def since(self, seq: int) -> list[Item]:
        """What changed past that number of the change feed, oldest change first."""
        found: list[Item] = []
        for one, number in reversed(self._feed.items()):
            if number <= seq:
                break
            found.append(self.threads.get(one) or self._messages[one])
        found.reverse()
        return found

    # --- acts ------------------------------------------------------------------------------------

    def begin(
        self,
        caller: Caller,
        text: str,
        at: int,
        section_id: str | None,
        quote: tuple[str, TextRange] | None,
        texts: BlockTexts,
    ) -> Said:
        """A message to a heading's chat, which begins with its first, or about a quote.

        `text` comes from `message_text`. Raises TooLarge.
        """
        chat = self.chat_of(section_id) if quote is None else None
        if chat is not None:
            return self.reply(caller, chat.thread_id, text, at)
        self._check_room()
        if len(self.threads) >= MAX_THREADS:
            raise TooLarge(f"A document may have {MAX_THREADS} chats and comments.")
        words, place = quote or (None, None)
        thread_id = self._fresh("t")
        thread = StoredThread(
            thread_id, self._take(), section_id, caller.principal, at, words, place, False,
            caller.principal,
        )  # fmt: skip
        self._of_thread[thread_id] = []
        if words is None:
            self._chats[section_id] = thread_id
        else:
            self._places.add(thread_id, words, place, texts)
        rows = self._keep(Annotations(), thread)
        return self._say(caller, thread, text, at, rows)

    def reply(self, caller: Caller, thread_id: str, text: str, at: int) -> Said:
        """One more message, which opens a resolved thread. Raises ThreadNotFound, TooLarge."""
        thread = self.thread(thread_id)
        self._check_room()
        rows = Annotations()
        if thread.resolved:
            thread = self._changed(thread, caller.principal, resolved=False)
            self._keep(rows, thread)
        return self._say(caller, thread, text, at, rows)

    def edit(self, caller: Caller, message_id: str, text: str, at: int) -> Said:
        """Another text. Raises ThreadNotFound (also when it is deleted), NotAuthor."""
        message = self._own(caller, message_id)
        if message.text == text:
            return Said(self.threads[message.thread_id], message, Annotations())
        return self._rewrite(caller, message, text=text, edited_at=at)

    def delete(self, caller: Caller, message_id: str) -> Said:
        """Takes the text away. Raises ThreadNotFound, NotAuthor."""
        return self._rewrite(caller, self._own(caller, message_id), text="", deleted=True)

    def resolve(
        self, caller: Caller, thread_id: str, *, resolved: bool
    ) -> tuple[StoredThread, Annotations]:
        """Resolved or open again. Raises ThreadNotFound."""
        thread = self.thread(thread_id)
        if thread.resolved == resolved:
            return thread, Annotations()
        thread = self._changed(thread, caller.principal, resolved=resolved)
        return thread, self._by(caller.principal, self._keep(Annotations(), thread))

    # --- following the text ----------------------------------------------------------------------

    def attach(self, texts: BlockTexts) -> None:
        """What the document says as it was loaded."""
        for one in self.threads.values():
            if one.quote is not None:
                self._places.add(one.thread_id, one.quote, one.place, texts)

    def touch(self, block_ids: frozenset[str]) -> None:
        """Notes blocks that came, went, or changed."""
        self._places.touch(block_ids)

    def follow(self, principal: str, texts: BlockTexts) -> Annotations | None:
        """Rows of the quotes that what was touched has moved; None: it moved none.

        A quote that only shifted in its block is stored and not told: it is told by its block.
        """
        moved = self._places.follow(texts)
        if not moved:
            return None
        rows = Annotations()
        for thread_id, place in moved.items():
            thread = self.threads[thread_id]
            if _block(thread.place) == _block(place):
                self.threads[thread_id] = thread = msgspec.structs.replace(thread, place=place)
                rows.threads[thread_id] = thread
            else:
                self._keep(rows, self._changed(thread, principal, place=place))
        return self._by(principal, rows) if rows.head is not None else rows

    # --- inside ----------------------------------------------------------------------------------

    def _say(
        self, caller: Caller, thread: StoredThread, text: str, at: int, rows: Annotations
    ) -> Said:
        self._last_seq += 1
        message = StoredMessage(
            self._fresh("m"), thread.thread_id, self._take(), self._last_seq, caller.principal,
            at, text, caller.person, caller.agent,
        )  # fmt: skip
        self._of_thread[thread.thread_id].append(message.message_id)
        return Said(thread, message, self._by(caller.principal, self._keep(rows, message)))

    def _rewrite(self, caller: Caller, message: StoredMessage, **new: object) -> Said:
        changed = msgspec.structs.replace(message, change_seq=self._take(), **new)
        rows = self._by(caller.principal, self._keep(Annotations(), changed))
        return Said(self.threads[message.thread_id], changed, rows)

    def _changed(self, thread: StoredThread, principal: str, **new: object) -> StoredThread:
        return msgspec.structs.replace(thread, change_seq=self._take(), changed_by=principal, **new)

    def _own(self, caller: Caller, message_id: str) -> StoredMessage:
        message = self._messages.get(message_id)
        if message is None or message.deleted:
            raise ThreadNotFound(f"message_id: no message {message_id[:_SHOWN_ID]!r} here.")
        if message.principal != caller.principal:
            raise NotAuthor("message_id: somebody else wrote this message.")
        return message

    def _check_room(self) -> None:
        if len(self._messages) >= MAX_MESSAGES:
            raise TooLarge(f"A document may have {MAX_MESSAGES} messages.")

    def _fresh(self, kind: str) -> str:
        while (one := f"{kind}_{self._mint()}") in self._feed:
            pass
        return one

    def _keep(self, rows: Annotations, item: Item) -> Annotations:
        """Takes a row over, as the last change of all."""
        one = _id_of(item)
        self._feed.pop(one, None)
        self._feed[one] = item.change_seq
        if isinstance(item, StoredThread):
            self.threads[one] = rows.threads[one] = item
        else:
            self._messages[one] = rows.messages[one] = item
        rows.head = item.change_seq
        return rows

    @staticmethod
    def _by(principal: str, rows: Annotations) -> Annotations:
        rows.authors |= {principal}
        return rows


def of_threads(items: list[Item]) -> Iterator[tuple[str, list[StoredMessage]]]:
    """The threads that changes are about, in the order of the changes, each with its messages."""
    found: dict[str, list[StoredMessage]] = {}
    for item in items:
        messages = found.setdefault(item.thread_id, [])
        if isinstance(item, StoredMessage):
            messages.append(item)
    yield from found.items()


def _id_of(item: Item) -> str:
    return item.thread_id if isinstance(item, StoredThread) else item.message_id


def _block(place: TextRange | None) -> str | None:
    return None if place is None else place.block_id
