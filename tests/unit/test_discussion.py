"""Chats and quoted comments of a document: kept, told when on disk, and following the text."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec import UNSET

from actors.storage.stored import NotCommittedError
from shared.budget import Allowance
from shared.discussion import threads
from shared.errors import (
    IdempotencyMismatch,
    InvalidArgument,
    NotAuthor,
    RateLimited,
    StaleAnchor,
    StorageUnavailable,
    ThreadNotFound,
    TooLarge,
)
from shared.ids import BlockRef
from shared.protocol import Caller
from shared.protocol_chat import (
    DeleteMessageRequest,
    EditMessageRequest,
    ListChatsRequest,
    ListedChat,
    PostChatMessageRequest,
    PostedMessage,
    ReadChatRequest,
    ReadChatResult,
    ReplyRequest,
    ResolveThreadRequest,
)
from tests.unit.documents import ANN, SCRIBE, Bench

pytestmark = pytest.mark.anyio

TEXT = """# Plan

Ship the **first** version on Friday. Nobody objects.

- one item
- another item

## Later

The end is near.
"""


class Talk:
    """A document, and short words for what is said about it."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    @classmethod
    async def of(cls, markdown: str = TEXT) -> Talk:
        return cls(await Bench.of(markdown))

    def headings(self) -> list[str]:
        return [one.block_id for one in self.bench.document._keeper.live.headings()]

    async def post(
        self,
        text: str,
        section: int | None = 0,
        quote: str | None = None,
        caller: Caller = SCRIBE,
        **more: Any,
    ) -> PostedMessage:
        ref = None if section is None else BlockRef(self.headings()[section])
        request = PostChatMessageRequest(text, ref, quote, **more)
        return await self.bench.document.post_chat_message(caller, request)

    async def reply(self, thread_id: str, text: str, caller: Caller = ANN) -> PostedMessage:
        return await self.bench.document.reply(caller, ReplyRequest(thread_id, text))

    async def read(self, thread_id: str, **more: Any) -> ReadChatResult:
        request = ReadChatRequest(thread_id=thread_id, **more)
        return await self.bench.document.read_chat(ANN, request)

    async def chats(self) -> tuple[ListedChat, ...]:
        return (await self.bench.document.list_chats(ANN, ListChatsRequest())).chats

    async def resolve(self, thread_id: str, resolved: bool = True, caller: Caller = ANN) -> None:
        request = ResolveThreadRequest(thread_id, resolved)
        assert (await self.bench.document.resolve_thread(caller, request)).resolved == resolved

    def standing(self, thread_id: str) -> str | None:
        """What stands where the thread's quote is said to; None: it is orphaned."""
        live = self.bench.document._keeper.live
        place = live.discussion.threads[thread_id].place
        if place is None:
            return None
        flat = live.textblocks.flat(place.block_id)
        start = flat.start_of(place)
        assert start is not None
        return flat.text[start : start + place.end - place.start]


def texts(read: ReadChatResult) -> list[str]:
    return [one.text for one in read.messages]


async def test_a_headings_chat_begins_with_its_first_message_and_there_is_one() -> None:
    talk = await Talk.of()
    assert await talk.chats() == ()
    first = await talk.post("Who writes <this> @ann?")
    second = await talk.post("I do, @scribe <3", caller=ANN)
    assert (first.thread_id, first.title, first.seq) == (second.thread_id, "Plan", 1)
    read = await talk.read(first.thread_id)
    assert texts(read) == ["Who writes this ann?", "I do, @scribe <3"]
    assert [one.via for one in read.messages] == ["connected_app", UNSET]
    assert [one.by for one in read.messages] == ["Scribe", "Ann"]
    other = await talk.post("Elsewhere", 1)
    assert [one.thread_id for one in await talk.chats()] == [first.thread_id, other.thread_id]


async def test_a_quoted_comment_is_a_thread_of_its_own_with_the_quote_as_given() -> None:
    talk = await Talk.of()
    said = await talk.post("Sure?", quote="  the first version ")
    again = await talk.post("Really?", quote="the first version")
    assert (said.quote, said.title) == ("  the first version ", "Plan")
    assert said.thread_id != again.thread_id
    assert talk.standing(said.thread_id) == "the first version"


async def test_sections_are_named_where_there_are_headings() -> None:
    talk = await Talk.of()
    with pytest.raises(InvalidArgument, match=r"^section_id: .*headings"):
        await talk.post("x", None)
    with pytest.raises(InvalidArgument, match=r"^section_id: "):
        await talk.bench.document.read_chat(ANN, ReadChatRequest())
    request = PostChatMessageRequest("x", BlockRef("zzzzzzzz"))
    with pytest.raises(StaleAnchor, match=r"^section_id: "):
        await talk.bench.document.post_chat_message(SCRIBE, request)
    bare = await Talk.of("Just a paragraph.")
    said = await bare.post("Hello", None)
    quoted = await bare.post("Hm", None, "a paragraph")
    assert (said.section_id, quoted.quote) == (None, "a paragraph")
    read = await bare.bench.document.read_chat(ANN, ReadChatRequest())
    assert texts(read) == ["Hello"]
    await bare.bench.insert("# A heading", "start")
    assert texts(await bare.read(said.thread_id)) == ["Hello"]


@pytest.mark.parametrize("text", ["", "  \n", "@<>", "x" * 2001])
async def test_messages_say_something_and_not_too_much(text: str) -> None:
    talk = await Talk.of()
    with pytest.raises(InvalidArgument, match=r"^text: "):
        await talk.post(text)
    said = await talk.post("x" * 2000)
    with pytest.raises(InvalidArgument, match=r"^text: "):
        await talk.bench.document.reply(SCRIBE, ReplyRequest(said.thread_id, text))
    with pytest.raises(InvalidArgument, match=r"^text: "):
        await talk.bench.document.edit_message(SCRIBE, EditMessageRequest(said.message_id, text))


async def test_only_who_wrote_a_message_changes_it_and_a_deleted_one_keeps_its_place() -> None:
    talk = await Talk.of()
    document = talk.bench.document
    said = await talk.post("one")
    await talk.reply(said.thread_id, "two")
    for refused in (
        document.edit_message(ANN, EditMessageRequest(said.message_id, "x")),
        document.delete_message(ANN, DeleteMessageRequest(said.message_id)),
    ):
        with pytest.raises(NotAuthor):
            await refused
    edited = await document.edit_message(SCRIBE, EditMessageRequest(said.message_id, "<one>!"))
    assert edited.edited_at
    assert texts(await talk.read(said.thread_id)) == ["one!", "two"]
    await document.delete_message(SCRIBE, DeleteMessageRequest(said.message_id))
    read = await talk.read(said.thread_id)
    assert [(one.text, one.deleted) for one in read.messages] == [("", True), ("two", UNSET)]
    for gone in (
        document.edit_message(SCRIBE, EditMessageRequest(said.message_id, "back")),
        document.delete_message(SCRIBE, DeleteMessageRequest("m_nothing")),
        document.reply(SCRIBE, ReplyRequest("t_nothing", "x")),
        document.resolve_thread(SCRIBE, ResolveThreadRequest("t_nothing")),
        talk.read("t_nothing"),
    ):
        with pytest.raises(ThreadNotFound):
            await gone


async def test_a_thread_is_resolved_and_open_again_also_by_a_reply() -> None:
    talk = await Talk.of()
    said = await talk.post("?", quote="Nobody objects")
    await talk.resolve(said.thread_id)
    assert [one.resolved for one in await talk.chats()] == [True]
    await talk.resolve(said.thread_id, resolved=False)
    await talk.resolve(said.thread_id)
    await talk.reply(said.thread_id, "One more thing")
    assert [one.resolved for one in await talk.chats()] == [False]


async def test_pages_go_back_from_the_newest_message() -> None:
    talk = await Talk.of()
    said = await talk.post("0")
    for number in range(1, 7):
        await talk.reply(said.thread_id, str(number))
    page = await talk.read(said.thread_id, limit=3)
    assert (texts(page), page.before_seq) == (["4", "5", "6"], 5)
    page = await talk.read(said.thread_id, limit=3, before_seq=5)
    assert (texts(page), page.before_seq) == (["1", "2", "3"], 2)
    page = await talk.read(said.thread_id, limit=3, before_seq=2)
    assert (texts(page), page.before_seq) == (["0"], UNSET)


async def test_replies_at_once_are_all_there() -> None:
    talk = await Talk.of()
    said = await talk.post("who?")
    await asyncio.gather(*(talk.reply(said.thread_id, f"I, {one}") for one in range(20)))
    read = await talk.read(said.thread_id, limit=50)
    assert sorted(texts(read)[1:]) == sorted(f"I, {one}" for one in range(20))
    assert [one.seq for one in read.messages] == list(range(1, 22))


async def test_a_key_posts_once_also_across_a_restart() -> None:
    talk = await Talk.of()
    first = await talk.post("once", idempotency_key="k")
    assert await talk.post("once", idempotency_key="k") == first
    await talk.bench.restart()
    assert await talk.post("once", idempotency_key="k") == first
    assert texts(await talk.read(first.thread_id)) == ["once"]
    with pytest.raises(IdempotencyMismatch):
        await talk.post("twice", idempotency_key="k")


async def test_a_post_that_could_not_be_stored_is_made_by_its_key_later_and_once() -> None:
    talk = await Talk.of()
    talk.bench.store.fail = NotCommittedError("disk full")
    with pytest.raises(StorageUnavailable):
        await talk.post("once", idempotency_key="k")
    talk.bench.store.fail = None
    await talk.bench.document._keeper.when_ready()
    while talk.bench.document.degraded:  # noqa: ASYNC110  the probe of the double takes a turn
        await asyncio.sleep(0)
    first = await talk.post("once", idempotency_key="k")
    assert await talk.post("once", idempotency_key="k") == first
    assert texts(await talk.read(first.thread_id)) == ["once"]


async def test_nothing_is_told_of_what_could_not_be_stored() -> None:
    talk = await Talk.of()
    said = await talk.post("kept")
    cursor = (await talk.bench.read()).cursor
    talk.bench.store.fail = NotCommittedError("disk full")
    with pytest.raises(StorageUnavailable):
        await talk.reply(said.thread_id, "lost")
    await talk.bench.document._keeper.when_ready()
    assert texts(await talk.read(said.thread_id)) == ["kept"]
    assert (await talk.bench.changes(cursor)).threads is UNSET


async def test_what_is_said_outlives_a_restart() -> None:
    talk = await Talk.of()
    chat = await talk.post("chat")
    quoted = await talk.post("about", quote="Nobody objects")
    await talk.reply(quoted.thread_id, "yes")
    await talk.resolve(chat.thread_id)
    before = (await talk.chats(), await talk.read(quoted.thread_id))
    await talk.bench.restart()
    assert (await talk.chats(), await talk.read(quoted.thread_id)) == before
    assert talk.standing(quoted.thread_id) == "Nobody objects"
    assert (await talk.post("more")).thread_id == chat.thread_id
    assert (await talk.post("more")).seq == 5


async def test_a_budget_is_spent_by_what_is_posted() -> None:
    talk = await Talk.of()
    poor = Caller("poor", "Poor", allowance=Allowance(writes_per_minute=2, chars_per_hour=40))
    await talk.post("a" * 30, caller=poor)
    with pytest.raises(RateLimited):
        await talk.post("b" * 20, caller=poor)
    await talk.post("c", caller=poor)
    with pytest.raises(RateLimited):
        await talk.post("d", caller=poor)


async def test_as_many_threads_and_messages_as_may_be_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(threads, "MAX_THREADS", 2)
    monkeypatch.setattr(threads, "MAX_MESSAGES", 4)
    talk = await Talk.of()
    first = await talk.post("one")
    await talk.post("two", quote="Nobody objects.")
    with pytest.raises(TooLarge):
        await talk.post("a third thread", section=1)
    await talk.reply(first.thread_id, "three")
    await talk.post("a chat that is there", section=0)
    for refused in (talk.reply(first.thread_id, "a fifth"), talk.post("a fifth", section=0)):
        with pytest.raises(TooLarge):
            await refused
    await talk.bench.restart()
    assert [chat.message_count for chat in await talk.chats()] == [3, 1]


async def test_a_reader_may_leave_out_what_it_said_itself() -> None:
    talk = await Talk.of()
    cursor = (await talk.bench.read(SCRIBE)).cursor
    mine = await talk.post("mine")
    own = await talk.bench.changes(cursor, SCRIBE, exclude_self=True)
    assert (own.threads or ()) == ()
    await talk.reply(mine.thread_id, "yours")
    both = await talk.bench.changes(own.cursor, SCRIBE, exclude_self=True)
    assert both.threads is not UNSET
    ((told,),) = ([one.text for one in thread.messages] for thread in both.threads)
    assert told == "yours"
