"""Events of a document: recorded with what they tell of, told once, and never lost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from actors.document.events import Events
from actors.storage.stored import NotCommittedError
from shared.errors import InvalidArgument, InvalidCursor, Overloaded, StorageUnavailable
from shared.limits import AGENT_TTL_MS, DIGEST_MS, EVENTS_TOLD, EXPIRY_WARNING_MS, MAX_AGENTS
from shared.protocol import Caller
from shared.protocol_events import (
    Event,
    JoinRequest,
    LeaveRequest,
    ReadEventsRequest,
    ReadEventsResult,
)
from shared.stored_annotations import (
    Annotations,
    StoredMessage,
    StoredSuggestion,
    StoredThread,
)
from shared.times import iso
from tests.unit.documents import ANN, OTHER, SCRIBE, Bench

pytestmark = pytest.mark.anyio
BEN = Caller("ben", "Ben")


class Follower:
    """Somebody who reads events from where they left off."""

    def __init__(self, bench: Bench, caller: Caller = SCRIBE) -> None:
        self.bench = bench
        self.caller = caller
        self.cursor = ""

    @classmethod
    async def of(cls, bench: Bench, caller: Caller = SCRIBE) -> Follower:
        follower = cls(bench, caller)
        first = await bench.document.read_events(caller, ReadEventsRequest())
        assert (first.events, first.truncated, first.reason) == ((), True, "no_cursor")
        follower.cursor = first.cursor
        return follower

    async def ask(self, *types: str) -> ReadEventsResult:
        request = ReadEventsRequest(self.cursor, types)
        found = await self.bench.document.read_events(self.caller, request)
        self.cursor = found.cursor
        return found

    async def read(self, *types: str) -> list[Event]:
        return list((await self.ask(*types)).events)

    async def kinds(self, *types: str) -> list[str]:
        return [event.type for event in await self.read(*types)]


def events_of(bench: Bench) -> Events:
    return bench.document.events


# --- edits ----------------------------------------------------------------------------------------


async def test_the_first_edit_is_told_at_once_and_the_rest_when_the_window_ends() -> None:
    bench = await Bench.of("one\n\ntwo\n")
    agent = await Follower.of(bench)
    one, two = bench.document._keeper.live.index.ids
    await bench.type(0, "!")
    (told,) = await agent.read()
    assert (told.type, told.by, told.blocks) == ("document.changed", "Ann", (one,))
    for _ in range(5):
        bench.now += 1000
        await bench.type(1, "?")
    assert await agent.read() == []
    bench.now += DIGEST_MS
    (told,) = await agent.read()
    assert (told.type, told.blocks) == ("document.changed", (two,))
    bench.now += 10 * DIGEST_MS
    assert await agent.read() == []


async def test_each_has_a_window_of_their_own_and_nobody_hears_of_themselves() -> None:
    bench = await Bench.of("one\n")
    agent, ann = await Follower.of(bench), await Follower.of(bench, ANN)
    await bench.type(0, "!")
    await bench.type(0, "?", BEN)
    await bench.insert("three")
    assert [event.by for event in await agent.read()] == ["Ann", "Ben"]
    assert [event.by for event in await ann.read()] == ["Ben", "Scribe"]


@pytest.mark.parametrize("closed", [True, False])
async def test_what_waits_outlives_a_restart_and_a_crash(closed: bool) -> None:
    bench = await Bench.of("one\n\ntwo\n")
    agent = await Follower.of(bench)
    await bench.type(0, "!")
    assert await agent.kinds() == ["document.changed"]
    await bench.type(1, "?")
    if not closed:  # the process dies: nothing more is stored
        bench.store.closed = True
    await bench.restart() if closed else None
    if not closed:
        bench.document = await bench._start()
    bench.now += DIGEST_MS
    assert await agent.kinds() == ["document.changed"]
    assert await agent.kinds() == []
    await bench.restart()
    assert await agent.kinds() == []


async def test_an_edit_that_is_not_stored_is_no_event_and_its_number_is_given_again() -> None:
    bench = await Bench.of("one\n")
    agent = await Follower.of(bench)
    bench.store.fail = NotCommittedError("disk full")
    with pytest.raises(StorageUnavailable):
        await bench.insert("lost", caller=OTHER)
    assert await agent.kinds() == []
    await bench.insert("kept", caller=OTHER)
    (told,) = await agent.read()
    assert told.by == "Other"


async def test_a_window_whose_end_cannot_be_stored_is_told_later_and_once() -> None:
    bench = await Bench.of("one\n\ntwo\n")
    agent = await Follower.of(bench)
    await bench.type(0, "!")
    await bench.type(1, "?")
    assert await agent.kinds() == ["document.changed"]
    bench.now += DIGEST_MS
    bench.store.fail = NotCommittedError("disk full")
    with pytest.raises(StorageUnavailable):
        await agent.read()
    assert await agent.kinds() == ["document.changed"]
    assert await agent.kinds() == []


async def test_many_blocks_are_counted_and_seeding_and_mending_are_no_events() -> None:
    bench = await Bench.of("one\n")
    everybody = await Follower.of(bench, BEN)
    bench.document._keeper.events.settle()
    await bench.insert("\n\n".join(f"paragraph {n}" for n in range(60)))
    (told,) = await everybody.read()
    assert isinstance(told.blocks, tuple)
    assert (len(told.blocks), told.more_blocks) == (50, 10)


# --- cursors and filters --------------------------------------------------------------------------


async def test_a_filter_leaves_the_others_where_they_are() -> None:
    bench = await Bench.of("one\n")
    agent = await Follower.of(bench)
    await bench.type(0, "!")
    await bench.save("agreed")
    assert await agent.kinds("version.*") == ["version.saved"]
    assert await agent.kinds("version.*") == []
    assert await agent.kinds("mention") == []
    assert await agent.kinds() == ["document.changed"]
    assert await agent.kinds() == []
    with pytest.raises(InvalidArgument):
        await agent.read("nonsense")


async def test_neither_feed_takes_the_others_cursor() -> None:
    bench = await Bench.of("one\n")
    agent = await Follower.of(bench)
    other = await Bench.of("one\n")
    other.store.secret = b"another secret 1"
    await other.restart()
    theirs = (await Follower.of(other)).cursor
    for cursor in (str((await bench.read()).cursor), theirs, "1", "", "9" * 400, "99-00000000"):
        agent.cursor = cursor
        with pytest.raises(InvalidCursor):
            await agent.read()


async def test_more_than_an_answer_holds_comes_in_pages() -> None:
    bench = await Bench.of("one\n")
    agent = await Follower.of(bench)
    for n in range(EVENTS_TOLD + 5):
        await bench.save(f"name {n}")
    first = await agent.ask()
    assert (len(first.events), first.more) == (EVENTS_TOLD, True)
    rest = await agent.ask()
    assert (len(rest.events), rest.more) == (5, False)
    numbers = [event.seq for event in (*first.events, *rest.events)]
    assert numbers == sorted(set(numbers))


async def test_what_is_no_longer_kept_is_said_and_the_rest_is_still_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shared.events.log.MAX_EVENTS", 5)
    monkeypatch.setattr("shared.events.log.EVENTS_SLACK", 2)
    bench = await Bench.of("one\n")
    agent = await Follower.of(bench)
    for n in range(9):
        await bench.save(f"name {n}")
    await bench.restart()
    found = await agent.ask()
    assert (found.events, found.truncated, found.reason) == ((), True, "too_old")
    numbers = [event.seq for event in await agent.read()]
    assert numbers == list(range(4, 10))
    assert await agent.read() == []


async def test_numbers_are_not_given_again_when_all_events_are_gone() -> None:
    bench = await Bench.of("one\n")
    agent = await Follower.of(bench)
    await bench.save("agreed")
    (told,) = await agent.read()
    events_of(bench)._put(Annotations(events_floor=told.seq))
    await bench.restart()
    await bench.save("again")
    assert [event.seq for event in await agent.read()] == [told.seq + 1]


# --- mentions -------------------------------------------------------------------------------------


async def type_slowly(bench: Bench, words: str, caller: Caller = ANN) -> None:
    for letter in words:
        bench.now += 200
        await bench.type(0, letter, caller)


async def test_a_name_typed_letter_by_letter_is_one_mention_when_the_window_ends() -> None:
    bench = await Bench.of("one\n")
    agent, other = await Follower.of(bench), await Follower.of(bench, OTHER)
    await type_slowly(bench, " @Scribe please")
    assert await agent.kinds() == ["document.changed"]
    bench.now += DIGEST_MS
    assert await agent.kinds() == ["document.changed", "mention"]
    assert "mention" not in await other.kinds()
    await type_slowly(bench, " @Scribe again")
    bench.now += DIGEST_MS
    assert "mention" not in await agent.kinds()
    await bench.restart()
    await type_slowly(bench, " @Scribe once more")
    bench.now += DIGEST_MS
    assert "mention" not in await agent.kinds()


async def test_a_mention_that_came_in_one_piece_comes_when_the_window_ends() -> None:
    bench = await Bench.of("one\n")
    agent = await Follower.of(bench)
    await bench.paragraph(0, "hello @scribe!")
    assert await agent.kinds() == ["document.changed"]
    await bench.restart()
    bench.now += DIGEST_MS
    await Follower.of(bench)  # the restart forgot who follows
    (told,) = await agent.read()
    assert (told.type, told.by, told.block_id) == (
        "mention",
        "Ann",
        bench.document._keeper.live.index.ids[0],
    )


async def test_an_agents_text_mentions_nobody() -> None:
    bench = await Bench.of("one\n")
    other = await Follower.of(bench, OTHER)
    await bench.insert("hello @Other")
    await bench.insert("and @Other")
    bench.now += DIGEST_MS
    assert await other.kinds() == ["document.changed", "document.changed"]


async def test_a_person_mentions_by_a_call_as_by_an_editor() -> None:
    bench = await Bench.of("one\n")
    agent, other = await Follower.of(bench), await Follower.of(bench, OTHER)
    await bench.insert("hello @Scribe", caller=ANN)
    bench.now += DIGEST_MS
    assert await agent.kinds() == ["document.changed", "mention"]
    assert await other.kinds() == ["document.changed"]


# --- threads, suggestions, versions ---------------------------------------------------------------


async def annotate(bench: Bench, **rows: Any) -> None:
    live = bench.document._keeper.live
    new = Annotations(head=live.log.take(), **rows)
    bench.document._keeper.annotate(new)
    await bench.document._keeper.committer.settled()


def thread(*, resolved: bool = False) -> dict[str, StoredThread]:
    return {"t1": StoredThread("t1", 1, None, "ann", 1, None, None, resolved, "ann")}


def message(number: int, text: str, who: str = "ann", *, agent: bool = False) -> Any:
    one = StoredMessage(f"m{number}", "t1", number, number, who, 1, text, None, agent)
    return {one.message_id: one}


async def test_threads_and_replies_are_told_from_their_rows() -> None:
    bench = await Bench.of("one\n")
    agent, other = await Follower.of(bench), await Follower.of(bench, OTHER)
    await annotate(bench, threads=thread(), messages=message(1, "hello"))
    (began,) = await agent.read()
    assert (began.type, began.thread_id, began.message_id) == ("thread.created", "t1", "m1")
    await annotate(bench, messages=message(2, "and @Scribe, @scribe: you?"))
    await annotate(bench, messages=message(2, "and @Scribe, I said"))  # edited
    await annotate(bench, messages=message(3, "@Scribe @Other", "scribe", agent=True))
    await bench.restart()
    await annotate(bench, threads=thread(resolved=True))
    await annotate(bench, threads=thread(resolved=True))
    await annotate(bench, threads=thread())
    assert await agent.kinds() == [
        "thread.reply",
        "mention",
        "thread.resolved",
        "thread.reopened",
    ]
    assert await other.kinds() == [
        "thread.created",
        "thread.reply",
        "thread.reply",
        "thread.resolved",
        "thread.reopened",
    ]


async def test_what_is_suggested_together_is_one_event_and_so_is_the_decision() -> None:
    bench = await Bench.of("one\n")
    ann = await Follower.of(bench, ANN)

    def rows(status: Any) -> dict[str, StoredSuggestion]:
        made = [StoredSuggestion(f"s{n}", "g", n, "scribe", 1, status, b"") for n in range(3)]
        return {one.suggestion_id: one for one in made}

    await annotate(bench, suggestions=rows("open"), authors=frozenset({"scribe"}))
    await annotate(bench, suggestions=rows("accepted"), authors=frozenset({"ben"}))
    created, decided = await ann.read()
    assert (created.type, created.group_id, created.by) == ("suggestion.created", "g", "scribe")
    assert created.suggestions == ("s0", "s1", "s2")
    assert (decided.type, decided.status, decided.by) == ("suggestion.decided", "accepted", "ben")


async def test_versions_that_somebody_made_are_told() -> None:
    bench = await Bench.of("one\n")
    agent = await Follower.of(bench)
    await bench.save("agreed")
    await bench.type(0, "!")
    await bench.restore("agreed", caller=ANN)
    told = await agent.read("version.*")
    assert [(one.type, one.by) for one in told] == [
        ("version.saved", "Ann"),
        ("version.restored", "Ann"),
    ]
    assert told[0].version == "v1"


# --- agents ---------------------------------------------------------------------------------------


async def test_an_agent_joins_stays_while_it_calls_and_is_gone_after_a_while() -> None:
    bench = await Bench.of("one\n")
    ann = await Follower.of(bench, ANN)
    joined = await bench.document.join(SCRIBE, JoinRequest(" reading\nit "))
    assert [(one.name, one.status, one.you) for one in joined.agents] == [
        ("Scribe", "reading it", True)
    ]
    await bench.document.join(SCRIBE, JoinRequest("writing"))
    assert await ann.kinds() == ["agent.joined"]
    for _ in range(5):
        bench.now += AGENT_TTL_MS - 1
        await bench.read(SCRIBE)
        await bench.restart()
    assert await ann.kinds() == []
    bench.now += AGENT_TTL_MS
    (left,) = await ann.read()
    assert (left.type, left.by) == ("agent.left", "Scribe")
    await bench.restart()
    assert events_of(bench).roster.rows == ()


async def test_an_agent_leaves_or_its_token_ends() -> None:
    bench = await Bench.of("one\n")
    ann = await Follower.of(bench, ANN)
    await bench.document.join(SCRIBE, JoinRequest())
    assert (await bench.document.leave(SCRIBE, LeaveRequest())).agents == ()
    await bench.document.leave(SCRIBE, LeaveRequest())
    assert await ann.kinds() == ["agent.joined", "agent.left"]
    for_a_while = Caller("brief", "Brief", agent=True, expires=bench.now + 1000)
    await bench.document.join(for_a_while, JoinRequest())
    bench.now += 1000
    assert await ann.kinds() == ["agent.joined", "agent.left"]


async def test_so_many_agents_and_no_more() -> None:
    bench = await Bench.of("one\n")
    for n in range(MAX_AGENTS):
        await bench.document.join(Caller(f"a{n}", f"A{n}", agent=True), JoinRequest())
    with pytest.raises(Overloaded):
        await bench.document.join(SCRIBE, JoinRequest())
    await bench.document.join(Caller("a1", "A1", agent=True), JoinRequest("again"))


async def test_a_join_that_is_not_stored_never_was() -> None:
    bench = await Bench.of("one\n")
    bench.store.fail = NotCommittedError("disk full")
    with pytest.raises(StorageUnavailable):
        await bench.document.join(SCRIBE, JoinRequest())
    await bench.document._keeper.when_ready()
    assert events_of(bench).roster.rows == ()
    assert (await bench.document.join(SCRIBE, JoinRequest())).agents[0].you


# --- the end --------------------------------------------------------------------------------------


async def test_that_a_document_will_go_is_told_once_and_a_day_before() -> None:
    bench = await Bench.of("one\n")
    expires_at = bench.now + 3 * EXPIRY_WARNING_MS
    agent = await Follower.of(bench)

    async def reopen() -> None:
        await bench.document.close()
        bench.document = await bench._start(expires_at=expires_at)

    await reopen()
    assert await agent.kinds() == []
    bench.now = expires_at - EXPIRY_WARNING_MS
    (told,) = await agent.read()
    assert (told.type, told.expires_at) == ("document.expiring", iso(expires_at))
    await reopen()
    assert await agent.kinds() == []


async def test_what_is_due_is_told_without_being_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shared.events.digests.DIGEST_MS", 50)
    bench = await Bench.of("one\n")
    agent = await Follower.of(bench)
    await bench.type(0, "!")
    await bench.type(0, "?")
    bench.now += 50
    committed = asyncio.Event()
    bench.document.subscribe(lambda batch: committed.set() if batch.event_seq == 2 else None)
    async with asyncio.timeout(10):
        await committed.wait()
    assert await agent.kinds() == ["document.changed", "document.changed"]
