"""get_changes of a document: from when on, by whom, and that asking leaves no trace."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import msgspec
import pytest

from actors.document import what_changed
from actors.document.history import History
from actors.storage.stored import NotCommittedError
from shared.access import ANONYMOUS
from shared.budget import Allowance
from shared.document.live_document import LiveDocument
from shared.errors import (
    BaseExpired,
    DocumentCorrupt,
    InvalidArgument,
    InvalidCursor,
    RateLimited,
    StorageUnavailable,
    VersionNotFound,
)
from shared.history import window
from shared.history.changes import Changes, changes
from shared.history.people import Editor, people_line
from shared.history.states import PastBlock
from shared.limits import DAY_MS, RETENTION_DAYS
from shared.protocol import Caller
from shared.protocol_changes import FoundChanges, GetChangesRequest
from shared.protocol_history import SaveVersionRequest
from shared.stored import StoredWindow
from tests.unit.documents import ANN, OTHER, SCRIBE, Bench, text_of

pytestmark = pytest.mark.anyio
START = "# Plan\n\nFirst words.\n\n## Later\n\nMore words.\n"
BOB = Caller("person:bob", "Bob")
STRANGER = Caller(ANONYMOUS, "anonymous")


async def ask(bench: Bench, caller: Caller = SCRIBE, **request: Any) -> FoundChanges:
    return await bench.document.get_changes(caller, GetChangesRequest(**request))


async def visit(bench: Bench, caller: Caller = ANN, seconds: int = 12) -> int:
    """Reads in an editor for so long, and leaves; returns the last instant of reading."""
    bench.document.readers.opened("tab", caller, None)
    bench.now += seconds * 1000
    bench.document.readers.heard("tab")
    read_at = bench.now
    bench.now += 1000
    bench.document.readers.ended("tab")
    return read_at


def rows(found: FoundChanges) -> list[tuple[str, str]]:
    return [(one.status, one.title) for one in found.changes.sections]


async def test_since_the_person_of_the_agent_last_left() -> None:
    bench = await Bench.of(START)
    left = await visit(bench)
    bench.now += 5 * DAY_MS
    await bench.insert("And more.", caller=BOB)
    edited = bench.now
    bench.now += DAY_MS
    found = await ask(bench)
    assert (found.since, found.from_last_left) == (left, True)
    assert rows(found) == [("changed", "Later")]
    assert found.head_at == edited
    assert await ask(bench, ANN) == found


async def test_nothing_changed_since() -> None:
    bench = await Bench.of(START)
    seeded = bench.now
    await visit(bench)
    found = await ask(bench)
    assert not found.changes.counts.any
    assert (found.changes.sections, found.editors) == ((), ())
    assert (found.head_at, found.compared_at) == (seeded, seeded)


@pytest.mark.parametrize("seconds", [None, 9])
async def test_who_never_opened_or_hardly_read_it_is_asked_since_when(seconds: int | None) -> None:
    # The design keeps Last left in the document's file: no row and no stamp are refused alike.
    bench = await Bench.of(START)
    if seconds is not None:
        await visit(bench, seconds=seconds)
    with pytest.raises(InvalidArgument, match=r"^since: ") as raised:
        await ask(bench)
    assert raised.value.data["field"] == "since"
    assert rows(await ask(bench, since=0)) == [("added", "Plan"), ("added", "Later")]


@pytest.mark.parametrize("caller", [STRANGER, Caller("agent:x", "X", agent=True)])
async def test_a_token_without_a_person_must_say_since_when(caller: Caller) -> None:
    bench = await Bench.of(START)
    await visit(bench)
    with pytest.raises(InvalidArgument, match=r"^since: "):
        await ask(bench, caller)
    assert rows(await ask(bench, caller, since=0))


async def test_an_instant_asked_for_is_not_last_left() -> None:
    bench = await Bench.of(START)
    left = await visit(bench)
    found = await ask(bench, since=left)
    assert (found.since, found.from_last_left) == (left, False)


async def test_what_lies_before_full_history_begins_there() -> None:
    bench = await Bench.of(START)
    await visit(bench)
    bench.now += (RETENTION_DAYS + 5) * DAY_MS
    floor = bench.now - RETENTION_DAYS * DAY_MS
    assert (await ask(bench)).since == floor
    found = await ask(bench, since=5)
    assert (found.since, found.from_last_left) == (floor, False)
    assert not found.changes.counts.any


async def test_without_the_clamp_all_of_it_would_be_new(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = await Bench.of(START)
    bench.now += (RETENTION_DAYS + 5) * DAY_MS
    monkeypatch.setattr(window, "clamp_change_window_start", lambda start, _now, _days: start)
    assert (await ask(bench, since=5)).changes.counts.added == 2


async def test_an_instant_to_come_is_now() -> None:
    bench = await Bench.of(START)
    found = await ask(bench, since=bench.now + DAY_MS)
    assert (found.since, found.changes.counts.any) == (bench.now, False)


async def test_before_the_document_was_made_everything_is_new() -> None:
    bench = await Bench.of(START)
    found = await ask(bench, since=bench.now - 1)
    assert rows(found) == [("added", "Plan"), ("added", "Later")]
    assert found.compared_at is None
    assert found.editors == (Editor("ann", "ann", "Ann"),)


async def test_a_document_in_which_nothing_was_written_has_no_head() -> None:
    bench = await Bench.of("")
    found = await ask(bench, since=0)
    assert (found.head_at, found.changes.counts.any) == (None, False)


async def test_a_state_that_is_gone_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = await Bench.of(START)

    async def gone(_history: History, _at: int) -> None:
        return None

    monkeypatch.setattr(History, "state_at", gone)
    with pytest.raises(BaseExpired) as raised:
        await ask(bench, since=0)
    assert raised.value.message == "No saved version covers that time. Try a later since."


async def test_a_state_that_cannot_be_read_is_damage() -> None:
    bench = await Bench.of(START)
    since = bench.now
    bench.now += 1000
    await bench.insert("two")
    seed = bench.store.updates[1]
    bench.store.updates[1] = msgspec.structs.replace(seed, data=b"\xff\xff\xff")
    with pytest.raises(DocumentCorrupt):
        await ask(bench, since=since)


async def test_asking_leaves_no_trace() -> None:
    bench = await Bench.of(START)
    await visit(bench)
    await bench.insert("two")
    before = (bench.store.commits, bench.store.readers, bench.store.versions_kept)
    for _ in range(3):
        bench.now += DAY_MS
        await ask(bench)
    assert (bench.store.commits, bench.store.readers, bench.store.versions_kept) == before
    left = bench.document.readers.last_left("ann")
    await bench.restart()
    assert bench.document.readers.last_left("ann") == left


async def test_an_agents_write_moves_nobodys_last_left() -> None:
    bench = await Bench.of(START)
    left = await visit(bench)
    bench.now += DAY_MS
    await bench.insert("two")
    assert bench.document.readers.last_left("ann") == left


async def test_who_edited_and_on_whose_behalf() -> None:
    bench = await Bench.of(START, BOB)
    since = bench.now
    for number, caller in enumerate([SCRIBE, BOB, STRANGER, OTHER, SCRIBE]):
        bench.now += 1000
        await bench.insert(f"line {number}", caller=caller)
    found = await ask(bench, since=since)
    assert found.editors == (
        Editor("scribe", "ann", "", "Scribe"),
        Editor("person:bob", "person:bob", "Bob"),
        Editor(ANONYMOUS),
        Editor("other", "ann", "", "Other"),
    )
    said = "people who edited in this window: "
    assert people_line(found.editors, "ann") == f"{said}you, by Scribe and Other; Bob; and 1 other"
    assert people_line(found.editors, "person:bob") == f"{said}you; and 2 others"


async def test_since_a_version() -> None:
    bench = await Bench.of(START)
    await bench.document.save_version(ANN, SaveVersionRequest("draft"))
    saved = bench.now
    bench.now += 1000
    await bench.insert("two")
    found = await ask(bench, since_version="draft")
    assert (found.since, found.from_last_left) == (saved, False)
    assert rows(found) == [("changed", "Later")]
    assert await ask(bench, since_version="v1") == found
    with pytest.raises(VersionNotFound, match=r"^since_version: "):
        await ask(bench, since_version="nothing")


async def test_versions_saved_in_the_window_are_counted() -> None:
    bench = await Bench.of(START)
    since = bench.now
    bench.now += 1000
    await bench.insert("two")
    await bench.document.save_version(ANN, SaveVersionRequest("draft"))
    assert (await ask(bench, since=since)).changes.counts.versions == 1
    assert (await ask(bench, since=bench.now)).changes.counts.versions == 0


async def test_since_a_cursor_exactly_though_times_are_equal() -> None:
    bench = await Bench.of(START)
    cursor = (await bench.read()).cursor
    await bench.insert("two words", caller=BOB)
    found = await ask(bench, since_cursor=cursor)
    assert found.changes.counts.words_added == 2
    after = (await bench.read()).cursor
    assert not (await ask(bench, since_cursor=after)).changes.counts.any
    with pytest.raises(InvalidCursor):
        await ask(bench, since_cursor=cursor + 1)


async def test_one_start_at_a_time() -> None:
    bench = await Bench.of(START)
    with pytest.raises(InvalidArgument, match="give one of"):
        await ask(bench, since=0, since_version="v1")


async def test_blocks_when_asked_for() -> None:
    bench = await Bench.of(START)
    since = bench.now
    bench.now += 1000
    await bench.insert("two **words**")
    found = await ask(bench, since=since, detail="blocks")
    (block,) = found.changes.blocks
    assert (block.status, block.text, block.words_added) == ("added", "two **words**", 2)
    assert block.section_id == found.changes.sections[0].section_id
    assert (await ask(bench, since=since)).changes.blocks == ()


async def test_it_costs_a_read() -> None:
    bench = await Bench.of(START)
    poor = Caller("person:poor", "Poor", allowance=Allowance(reads_per_minute=2))
    await ask(bench, poor, since=0)
    await ask(bench, poor, since=0)
    with pytest.raises(RateLimited):
        await ask(bench, poor, since=0)


async def test_what_could_not_be_stored_is_not_told_however_long_comparing_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The batch is on its way when the document is looked at, and fails over the comparing."""
    bench = await Bench.of(START)
    looked, reloaded = asyncio.Event(), threading.Event()

    async def slow_disk() -> None:
        await looked.wait()

    bench.store.before_commit, bench.store.fail = slow_disk, NotCommittedError("disk full")
    bench.document.on_reload(reloaded.set)
    blocks_of, window_of = what_changed.blocks_of, bench.store.window

    async def typed_meanwhile(since: int) -> StoredWindow:
        editor = bench.editor(BOB)
        text_of(editor, 1).insert(0, "Lost words. ")
        editor.push()
        return await window_of(since)

    def look(live: LiveDocument) -> tuple[PastBlock, ...]:
        looked.set()
        return blocks_of(live)

    def compare_slowly(*states: Any, **options: Any) -> Changes:
        reloaded.wait(10)
        return changes(*states, **options)

    monkeypatch.setattr(bench.store, "window", typed_meanwhile)
    monkeypatch.setattr(what_changed, "blocks_of", look)
    monkeypatch.setattr(what_changed, "changes", compare_slowly)
    with pytest.raises(StorageUnavailable):
        await ask(bench, since=bench.now)
    assert (await ask(bench, since=bench.now)).changes == Changes()
