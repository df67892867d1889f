"""One contract for the real store and its double: what was committed is what is loaded."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from actors.storage.store import NewFile, SqliteStore
from actors.storage.store_memory import MemoryStore
from actors.storage.stored import (
    Batch,
    DocumentStore,
    NotCommittedError,
    StaleEpochError,
    StoreClosedError,
)
from shared.errors import DocumentCorrupt, StorageUnavailable
from shared.feed.block_changes import Row
from shared.limits import BUDGET_TTL_MS
from shared.stored import (
    Checkpoint,
    Effects,
    StoredAnswer,
    StoredBudget,
    StoredReader,
    StoredState,
    StoredUpdate,
    StoredVersion,
    StoredWindow,
    Via,
)
from shared.stored_annotations import (
    Annotations,
    StoredAgent,
    StoredDigest,
    StoredEvent,
    StoredMessage,
    StoredSuggestion,
    StoredThread,
    TextRange,
)

pytestmark = pytest.mark.anyio
SECRET = b"s" * 16
Reopen = Callable[[], Awaitable[DocumentStore]]


@pytest.fixture(params=["sqlite", "memory"])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Reopen:
    """Opens the same document's store each time; whoever had it has closed it."""
    path = tmp_path / "ab" / "doc.sqlite3"
    kept: list[MemoryStore] = []

    async def sqlite() -> DocumentStore:
        if path.exists():
            return await SqliteStore.open(path, epoch=1)
        return await SqliteStore.create(path, NewFile("doc", 1, SECRET, "Plan"))

    async def memory() -> DocumentStore:
        kept.append(kept[-1].reopened() if kept else MemoryStore(SECRET, "Plan"))
        return kept[-1]

    return sqlite if request.param == "sqlite" else memory


def update(seq: int, change_seq: int = 0) -> StoredUpdate:
    return StoredUpdate(seq, 1000 + seq, "ann", "editor", b"u%d" % seq, b"s%d" % seq, change_seq)


def batch(*effects: Effects) -> Batch:
    gathered = Batch()
    for one in effects:
        gathered.add(one)
    return gathered


def changed(seq: int, block_id: str = "b1") -> Row:
    return Row(seq, block_id, "changed", "ann", 1000)


async def test_an_empty_store_loads_as_nothing_with_its_secret_and_title(reopen: Reopen) -> None:
    store = await reopen()
    loaded = await store.load()
    assert (loaded.secret, loaded.title) == (SECRET, "Plan")
    assert (loaded.update_seq, loaded.change_head, loaded.change_floor, loaded.at) == (0, 0, 0, 0)
    assert (loaded.updates, loaded.rows, loaded.checkpoint) == ((), (), None)
    await store.close()


async def test_everything_of_a_batch_is_there_after_opening_again(reopen: Reopen) -> None:
    store = await reopen()
    first = batch(Effects(update(1, 2), "Ann", rows=(changed(1), changed(2, "b2"))))
    first.views["ann"] = b"view"
    first.answers.append(StoredAnswer("ann", "patch", "k", b"args", b"answer", 1000))
    await store.commit(first)
    await store.close()
    store = await reopen()
    loaded = await store.load()
    assert loaded.updates == (update(1, 2),)
    assert loaded.rows == (changed(1), changed(2, "b2"))
    assert (loaded.update_seq, loaded.change_head, loaded.at) == (1, 2, 1001)
    assert (loaded.principals, loaded.views) == ({"ann": "Ann"}, {"ann": b"view"})
    answer = await store.answer("ann", "patch", "k")
    assert answer == StoredAnswer("ann", "patch", "k", b"args", b"answer", 1000)
    assert await store.answer("bob", "patch", "k") is None
    await store.close()


async def test_what_was_spent_is_kept_until_all_of_it_is_free_again(reopen: Reopen) -> None:
    store = await reopen()
    first = batch(Effects(update(1), "Ann"))
    first.budgets = {"ann": StoredBudget("ann", b"1", 1000), "bob": StoredBudget("bob", b"2", 2000)}
    await store.commit(first)
    reads_alone = Batch(budgets={"ann": StoredBudget("ann", b"3", 3000)})
    assert reads_alone
    await store.commit(reads_alone)
    await store.close()
    store = await reopen()
    assert (await store.load()).budgets == {"ann": b"3", "bob": b"2"}
    late = 2001 + BUDGET_TTL_MS
    await store.commit(Batch(budgets={"eve": StoredBudget("eve", b"4", late)}))
    assert (await store.load()).budgets == {"ann": b"3", "eve": b"4"}
    await store.close()


async def test_superseded_rows_go_and_the_high_water_mark_stays(reopen: Reopen) -> None:
    store = await reopen()
    await store.commit(batch(Effects(update(1, 1), "Ann", rows=(changed(1),))))
    later = Effects(update(2, 2), "Ann", rows=(changed(2),), superseded=(1,))
    latest = Effects(update(3, 3), "Ann", rows=(changed(3),), superseded=(2,))
    await store.commit(batch(later, latest))
    loaded = await store.load()
    assert loaded.rows == (changed(3),)
    assert loaded.change_head == 3
    await store.close()


async def test_a_risen_floor_takes_the_rows_under_it(reopen: Reopen) -> None:
    store = await reopen()
    rows = (changed(1, "a"), changed(2, "b"), changed(3, "c"))
    await store.commit(batch(Effects(update(1, 3), "Ann", rows=rows)))
    await store.commit(batch(Effects(update(2, 4), "Ann", rows=(changed(4, "d"),), floor=2)))
    loaded = await store.load()
    assert loaded.change_floor == 2
    assert [row.seq for row in loaded.rows] == [3, 4]
    await store.close()


async def test_loading_starts_at_the_newest_checkpoint(reopen: Reopen) -> None:
    store = await reopen()
    await store.commit(batch(*(Effects(update(seq), "Ann") for seq in (1, 2, 3))))
    with_checkpoint = batch(Effects(update(4), "Ann"))
    with_checkpoint.checkpoint = Checkpoint(4, 1004, b"state", b"index")
    await store.commit(with_checkpoint)
    await store.commit(batch(Effects(update(5), "Ann")))
    loaded = await store.load()
    assert loaded.checkpoint == Checkpoint(4, 1004, b"state", b"index")
    assert loaded.updates == (update(5),)
    assert await store.updates_after(2) == (update(3), update(4), update(5))
    assert await store.updates_after(5) == ()
    await store.close()


async def test_a_state_is_that_after_the_last_update_made_until_then(reopen: Reopen) -> None:
    store = await reopen()
    assert await store.state_at_time(5000) is None  # nothing is known of a store without a log
    for seq in range(1, 6):
        made = batch(Effects(update(seq, 2 * seq), "Ann"))
        if seq == 3:
            made.checkpoint = Checkpoint(3, 1003, b"state", b"index")
        await store.commit(made)
    before, first, third, last = [await state_at(store, 1000 + n) for n in (0, 1, 3, 9)]
    assert before == StoredState(None, ())
    assert first == StoredState(None, (update(1, 2),))
    assert third == StoredState(Checkpoint(3, 1003, b"state", b"index"), ())
    assert last == StoredState(third.checkpoint, (update(4, 8), update(5, 10)))
    assert [(one.seq, one.at, one.change_seq) for one in (before, first, third, last)] == [
        (0, 0, 0),
        (1, 1001, 2),
        (3, 1003, None),
        (5, 1005, 10),
    ]
    await store.close()


async def test_a_state_from_before_what_is_kept_is_none(reopen: Reopen) -> None:
    store = await reopen()
    made = batch(*(Effects(update(seq, seq), "Ann") for seq in (1, 2, 3)))
    made.checkpoint = Checkpoint(2, 1002, b"state", b"index")
    await store.commit(made)
    await store.trim(1003)
    assert await store.state_at_time(1001) is None
    kept = await state_at(store, 1002)
    assert kept == StoredState(Checkpoint(2, 1002, b"state", b"index"), ())
    assert await store.state_at_time(1003) == StoredState(kept.checkpoint, (update(3, 3),))
    await store.close()


async def test_a_batch_that_fails_leaves_nothing_and_the_next_one_works(tmp_path: Path) -> None:
    store = await SqliteStore.create(tmp_path / "doc.sqlite3", NewFile("doc", 1, SECRET))
    await store.commit(batch(Effects(update(1, 1), "Ann", rows=(changed(1),))))
    twice = batch(Effects(update(2, 2), "Ann", rows=(changed(2),)), Effects(update(1), "Ann"))
    with pytest.raises(NotCommittedError):
        await store.commit(twice)
    await store.commit(batch(Effects(update(2, 2), "Ann", rows=(changed(2, "b"),))))
    loaded = await store.load()
    assert loaded.updates == (update(1, 1), update(2, 2))
    assert loaded.rows == (changed(1), changed(2, "b"))
    await store.close()


async def test_a_second_owner_is_refused_while_the_first_has_the_file(tmp_path: Path) -> None:
    path = tmp_path / "doc.sqlite3"
    store = await SqliteStore.create(path, NewFile("doc", 1, SECRET))
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        sqlite3.connect(path, timeout=0).execute("SELECT * FROM meta")
    await store.close()


async def test_a_lower_epoch_is_refused_and_told_the_files(tmp_path: Path) -> None:
    path = tmp_path / "doc.sqlite3"
    store = await SqliteStore.create(path, NewFile("doc", 7, SECRET))
    await store.close()
    with pytest.raises(StaleEpochError) as refused:
        await SqliteStore.open(path, epoch=6)
    assert refused.value.args[0] == 7
    await (await SqliteStore.open(path, epoch=7)).close()


async def test_a_missing_file_is_not_a_new_document(tmp_path: Path) -> None:
    with pytest.raises(StorageUnavailable):
        await SqliteStore.open(tmp_path / "none.sqlite3", epoch=1)
    assert not (tmp_path / "none.sqlite3").exists()


async def test_a_newer_schema_is_refused_and_not_retryable(tmp_path: Path) -> None:
    path = tmp_path / "doc.sqlite3"
    await (await SqliteStore.create(path, NewFile("doc", 1, SECRET))).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StorageUnavailable) as refused:
        await SqliteStore.open(path, epoch=1)
    assert refused.value.as_dict()["retryable"] is False


async def test_a_document_with_history_is_never_seeded_again(tmp_path: Path) -> None:
    path = tmp_path / "doc.sqlite3"
    store = await SqliteStore.create(path, NewFile("doc", 1, SECRET))
    await store.close()
    store = await SqliteStore.create(path, NewFile("doc", 1, SECRET))  # half made: taken over
    await store.commit(batch(Effects(update(1), "Ann")))
    await store.close()
    with pytest.raises(StorageUnavailable):
        await SqliteStore.create(path, NewFile("doc", 2, SECRET))


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE updates SET data = x'00' WHERE seq = 2",
        "UPDATE updates SET splice = x'00' WHERE seq = 2",
        "UPDATE checkpoints SET data = x'00'",
        "UPDATE checkpoints SET block_index = x'00'",
        "DELETE FROM updates WHERE seq = 2",
        "DELETE FROM updates WHERE seq = 3",
    ],
)
async def test_damage_is_found_at_load_and_nothing_is_written(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "doc.sqlite3"
    store = await SqliteStore.create(path, NewFile("doc", 1, SECRET))
    first = batch(Effects(update(1), "Ann"))
    first.checkpoint = Checkpoint(1, 1001, b"state", b"index")
    await store.commit(first)
    await store.commit(batch(Effects(update(2), "Ann"), Effects(update(3), "Ann")))
    await store.close()
    with sqlite3.connect(path) as db:
        db.execute(damage)
    db.close()
    before = path.read_bytes()
    store = await SqliteStore.open(path, epoch=1)
    with pytest.raises(DocumentCorrupt):
        await store.load()
    await store.close()
    assert path.read_bytes() == before


async def test_what_cannot_be_read_now_is_told_so_and_can_be_read_later(reopen: Reopen) -> None:
    store = await reopen()
    await store.commit(batch(Effects(update(1, 2), "Ann", rows=(changed(1),))))
    reads: tuple[Callable[[], Awaitable[object]], ...] = (
        store.load,
        lambda: store.answer("ann", "patch", "k"),
        lambda: store.updates_after(0),
        lambda: store.state_at(2),
        lambda: store.state_at_time(1001),
    )
    await spoil_reads(store, spoilt=True)
    for read in reads:
        with pytest.raises(StorageUnavailable):
            await read()
    await spoil_reads(store, spoilt=False)
    for read in reads:
        await read()
    await store.close()


async def test_a_closed_store_says_so_and_nothing_else(reopen: Reopen) -> None:
    store = await reopen()
    await store.close()
    asked: tuple[Callable[[], Awaitable[object]], ...] = (
        store.load,
        store.probe,
        lambda: store.trim(0),
        lambda: store.answer("ann", "patch", "k"),
        lambda: store.updates_after(0),
        lambda: store.state_at(2),
        lambda: store.state_at_time(1001),
        lambda: store.check("doc"),
        lambda: store.back_up(Path("copy")),
    )
    for ask in asked:
        with pytest.raises(StoreClosedError):
            await ask()


async def state_at(store: DocumentStore, at: int) -> StoredState:
    state = await store.state_at_time(at)
    assert state is not None
    return state


async def test_who_asks_while_it_is_closed_gets_an_answer_or_is_told_so(reopen: Reopen) -> None:
    """Never that the file is damaged; and an asker who was cancelled leaves no error behind."""
    left: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: left.append(context))
    for _ in range(20):
        store = await reopen()
        asked: list[asyncio.Future[Any]] = []
        asked += [asyncio.ensure_future(store.answer("ann", "patch", "k")) for _ in range(5)]
        asked += [asyncio.ensure_future(store.mergeable(10**15, 10)) for _ in range(5)]
        await asyncio.sleep(0)
        closing = asyncio.ensure_future(store.close())
        await asyncio.sleep(0)
        asked += [asyncio.ensure_future(store.answer("ann", "patch", "k")) for _ in range(5)]
        await asyncio.sleep(0)
        for one in asked[::2]:
            one.cancel()
        await closing
        for outcome in await asyncio.gather(*asked, return_exceptions=True):
            assert outcome is None or isinstance(
                outcome, StoreClosedError | asyncio.CancelledError
            ), outcome
        del asked, outcome
        gc.collect()
    assert left == []


async def spoil_reads(store: DocumentStore, *, spoilt: bool) -> None:
    if isinstance(store, SqliteStore):
        # Whatever SQLite is asked for ends at its first step.
        await store._connection.set_progress_handler((lambda: 1) if spoilt else None, 1)  # type: ignore[arg-type]
    else:
        assert isinstance(store, MemoryStore)
        store.unreadable = spoilt


async def test_readers_and_the_people_behind_agents_are_kept(reopen: Reopen) -> None:
    store = await reopen()
    ann = StoredReader("ann", None, 5)
    await store.commit(Batch(readers={"ann": ann}, people={"bot": "ann"}))
    await store.close()
    store = await reopen()
    loaded = await store.load()
    assert (loaded.readers, loaded.people) == ({"ann": ann}, {"bot": "ann"})
    left = StoredReader("ann", 7)
    await store.commit(Batch(readers={"ann": left}, people={"bot": "eve"}))
    loaded = await store.load()
    assert (loaded.readers, loaded.people) == ({"ann": left}, {"bot": "eve"})
    await store.close()


async def test_a_window_says_who_changed_it_and_how_many_versions_were_saved(
    reopen: Reopen,
) -> None:
    store = await reopen()
    by: list[tuple[str, Via]] = [
        ("bob", "editor"),
        ("ann", "agent"),
        ("bob", "editor"),
        ("server", "repair"),
    ]
    effects = [
        Effects(StoredUpdate(seq, 1000 * seq, principal, via, b"u", b"", seq))
        for seq, (principal, via) in enumerate(by, 1)
    ]
    gathered = batch(*effects)
    gathered.versions = [StoredVersion(1, 2, 2000, 2, "quiet", "server")]
    await store.commit(gathered)
    assert await store.window(0) == StoredWindow(("bob", "ann"), 1)
    assert await store.window(1000) == StoredWindow(("ann", "bob"), 1)
    assert await store.window(2000) == StoredWindow(("bob",), 0)
    assert await store.window(3000) == StoredWindow()
    await store.close()


async def test_what_stands_beside_the_text_is_kept_and_raises_the_head(reopen: Reopen) -> None:
    store = await reopen()
    first = batch(Effects(update(1, 2), "Ann", rows=(changed(2),)))
    place = TextRange("b1", (0, 2), 4, 11)
    thread = StoredThread("t1", 3, "h1", "ann", 1000, "a quote", place, changed_by="ann")
    message = StoredMessage("m1", "t1", 4, 1, "bot", 1000, "Why?", "ann", agent=True)
    wish = StoredSuggestion("s1", "g1", 5, "bot", 1000, "open", b"edit")
    agent = StoredAgent("bot", "Planner", "reading", 1000, 2000)
    digest = StoredDigest("ann", 31_000, b"data", mentioned=True)
    events = {n: StoredEvent(n, 1000, "thread.reply", "bot", None, b"\x80") for n in (1, 2, 3)}
    first.annotations = Annotations(
        {"t1": thread}, {"m1": message}, {"s1": wish}, events, {"bot": agent}, head=5
    )
    first.annotations.digests = {"ann": digest}
    await store.commit(first)
    await store.close()
    store = await reopen()
    loaded = await store.load()
    found = loaded.annotations
    assert (found.threads, found.messages) == ({"t1": thread}, {"m1": message})
    assert (found.suggestions, found.events) == ({"s1": wish}, events)
    assert found.digests == {"ann": digest}
    assert (found.roster, loaded.change_head, loaded.update_seq) == ({"bot": agent}, 5, 1)
    orphaned = StoredThread("t1", 6, None, "ann", 1000, "a quote", None, True, "bob")
    edited = StoredMessage("m1", "t1", 7, 1, "bot", 1000, "", "ann", True, 1001, True)
    done = StoredSuggestion("s1", "g1", 8, "bot", 1000, "accepted", b"decided")
    later = Annotations({"t1": orphaned}, {"m1": edited}, {"s1": done}, head=8)
    later.roster, later.events_floor = {"bot": None}, 2
    await store.commit(Batch(annotations=later))
    await store.commit(batch(Effects(update(2, 9))))
    await store.close()
    store = await reopen()
    loaded = await store.load()
    found = loaded.annotations
    assert (found.threads, found.messages) == ({"t1": orphaned}, {"m1": edited})
    assert (found.suggestions, list(found.events)) == ({"s1": done}, [3])
    assert (found.roster, found.events_floor, loaded.change_head) == ({}, 2, 9)
    await store.close()
