"""One contract for the real store and its double: versions, and states around what was merged."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from actors.storage.store import NewFile, SqliteStore
from actors.storage.store_memory import MemoryStore
from actors.storage.stored import Batch, DocumentStore
from shared.history.merging import Span
from shared.stored import Authored, Checkpoint, Effects, StoredUpdate, StoredVersion

pytestmark = pytest.mark.anyio
FIRST = StoredVersion(1, 1, 1010, 1, "quiet", "server")
NAMED = StoredVersion(2, 2, 1020, 2, "named", "ann", "as agreed")
RESTORED = StoredVersion(3, 3, 1030, 3, "restored", "bob", None, 1)


@pytest.fixture(params=["sqlite", "memory"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[DocumentStore]:
    made: DocumentStore
    if request.param == "sqlite":
        made = await SqliteStore.create(tmp_path / "doc.sqlite3", NewFile("doc", 1, b"s" * 16))
    else:
        made = MemoryStore()
    yield made
    await made.close()


def update(seq: int, merged: int = 1) -> StoredUpdate:
    """Made at 1000 + 10 seq, and one change row each."""
    return StoredUpdate(seq, 1000 + 10 * seq, "ann", "editor", b"u%d" % seq, b"s", seq, merged)


def batch(*updates: StoredUpdate, checkpoint: Checkpoint | None = None) -> Batch:
    gathered = Batch(checkpoint=checkpoint)
    for one in updates:
        gathered.add(Effects(one))
    return gathered


async def test_versions_are_listed_newest_first_and_found_by_number_and_name(
    store: DocumentStore,
) -> None:
    assert (await store.load()).version is None
    first = batch(update(1))
    first.versions.append(FIRST)
    await store.commit(first)
    await store.commit(Batch(versions=[NAMED, RESTORED]))  # a batch of nothing else
    assert (await store.load()).version == RESTORED
    assert await store.versions(None, 10) == (RESTORED, NAMED, FIRST)
    assert await store.versions(3, 1) == (NAMED,)
    assert await store.versions(1, 10) == ()
    assert await store.version(1) == FIRST
    assert await store.version("as agreed") == NAMED
    assert await store.version("as") is None
    assert await store.version(4) is None


async def test_a_state_after_an_update_is_that_and_no_other(store: DocumentStore) -> None:
    kept = Checkpoint(2, 1020, b"state", b"index")
    await store.commit(batch(update(1), update(2), update(3), update(4), checkpoint=kept))
    after = await store.state_after(3)
    assert after is not None
    assert (after.checkpoint, after.updates) == (kept, (update(3),))
    assert await store.state_after(5) is None  # there is none yet


async def test_what_was_merged_is_reached_at_its_ends_only(store: DocumentStore) -> None:
    """1, then 2 to 5 as one, then 6."""
    merged = update(5, merged=4)
    await store.commit(batch(update(1), merged, update(6)))
    for seq, reached in ((1, 1), (2, None), (4, None), (5, 5), (6, 6)):
        state = await store.state_after(seq)
        assert (state and state.seq) == reached, seq
    for at, reached in ((1010, 1), (1020, 1), (1049, 1), (1050, 5), (1060, 6)):
        state = await store.state_at_time(at)
        assert state is not None
        assert state.seq == reached
    for change_seq, reached in ((1, 1), (2, None), (4, None), (5, 5), (6, 6), (9, 6)):
        state = await store.state_at(change_seq)
        assert (state and state.seq) == reached, change_seq
    assert (await store.load()).updates == (update(1), merged, update(6))


async def test_whoever_has_a_part_of_what_was_merged_gets_all_of_it(store: DocumentStore) -> None:
    merged = update(5, merged=4)
    await store.commit(batch(merged, update(6)))
    assert await store.updates_after(3) == (merged, update(6))
    assert await store.updates_after(1) == (merged, update(6))
    assert await store.updates_after(0) is None
    assert await store.updates_after(5) == (update(6),)


async def test_before_a_log_that_begins_with_merged_updates_it_is_empty(
    store: DocumentStore,
) -> None:
    await store.commit(batch(update(4, merged=4)))
    state = await store.state_at_time(1039)
    assert state is not None
    assert (state.checkpoint, state.updates) == (None, ())


async def test_a_cursor_from_before_the_first_change_row_of_what_was_merged_still_counts(
    store: DocumentStore,
) -> None:
    """Transactions without a change row move no cursor."""
    still = msgspec.structs.replace(update(3, merged=2), change_seq=1)
    await store.commit(batch(update(1), still))
    state = await store.state_at(1)
    assert state is not None
    assert state.seq == 3


DAY = 24 * 3600 * 1000


def at_day(seq: int, day: int) -> StoredUpdate:
    return msgspec.structs.replace(update(seq), at=day * DAY + seq)


async def test_trimming_leaves_every_state_after_that_instant(store: DocumentStore) -> None:
    """Also of a document whose first checkpoint is later: its log begins at its creation."""
    first = batch(at_day(1, 10), at_day(2, 10))
    first.checkpoint = Checkpoint(2, 10 * DAY + 2, b"state", b"index")
    await store.commit(first)
    second = batch(at_day(3, 11))
    second.checkpoint = Checkpoint(3, 11 * DAY + 3, b"state", b"index")
    await store.commit(second)
    await store.trim(9 * DAY)
    state = await store.state_at_time(10 * DAY + 1)
    assert state is not None
    assert state.updates == (at_day(1, 10),)


async def test_of_old_versions_stay_those_with_a_name_and_the_last_of_each_day(
    store: DocumentStore,
) -> None:
    made = batch(*(at_day(seq, day) for seq, day in ((1, 1), (2, 1), (3, 1), (4, 2), (5, 9))))
    made.checkpoint = Checkpoint(5, 9 * DAY + 5, b"5", b"index")
    names = {1: "kept", 4: None}
    made.versions = [
        StoredVersion(n, n, (1 if n < 4 else 2) * DAY + n, n, "quiet", "server", names.get(n))
        for n in (1, 2, 3, 4)
    ]
    await store.commit(made)
    for seq in (1, 3, 4):  # until each of them has a checkpoint, nothing goes
        assert await store.unpinned(10 * DAY) == seq
        await store.trim(10 * DAY)
        assert len(await store.versions(None, 9)) == 4
        await store.pin(Checkpoint(seq, DAY, b"%d" % seq, b"index"))
    assert await store.unpinned(10 * DAY) is None
    await store.trim(10 * DAY)
    assert [version.number for version in await store.versions(None, 9)] == [4, 3, 1]
    for seq in (1, 3, 4, 5):
        state = await store.state_after(seq)
        assert state is not None
        assert state.checkpoint is not None
        assert state.checkpoint.data == b"%d" % seq
    assert await store.state_after(2) is None


async def test_merging_goes_on_where_it_ended_and_stays_before_the_newest_checkpoint(
    store: DocumentStore,
) -> None:
    assert await store.mergeable(10**9, 10) is None
    await store.commit(batch(update(1), update(2), checkpoint=Checkpoint(2, 1020, b"2", b"i")))
    await store.commit(batch(update(3), update(4), checkpoint=Checkpoint(4, 1040, b"4", b"i")))
    await store.commit(batch(update(5)))
    found = await store.mergeable(10**9, 3)
    assert found is not None
    assert (found.state.seq, found.updates, found.more) == (
        0,
        (update(1), update(2), update(3)),
        True,
    )
    assert found.ends >= {2, 4}
    span = Span(update(2, merged=2), (Authored("ann", "editor", "inserted", 7, 0, 9, 1020),))
    await store.merge([span], 2)
    assert (await store.load()).updates == (update(5),)
    assert await store.updates_after(0) == (update(2, merged=2), *map(update, (3, 4, 5)))
    found = await store.mergeable(1040, 9)  # made before, not at
    assert found is not None
    assert (found.state.seq, found.updates, found.more) == (2, (update(3),), False)


async def test_much_is_dropped_a_little_at_a_time(tmp_path: Path) -> None:
    made = await SqliteStore.create(tmp_path / "doc.sqlite3", NewFile("doc", 1, b"s" * 16))
    for seq in range(1, 31):
        kept = Checkpoint(seq, DAY + seq, b"%d" % seq, b"index")
        await made.commit(batch(at_day(seq, 1), checkpoint=kept))
    trims = 1
    while await made.trim(10 * DAY):
        trims += 1
    assert trims == 8  # 29 checkpoints, 4 at a time
    state = await made.state_after(30)
    assert state is not None
    assert (state.checkpoint, state.updates) == (Checkpoint(30, DAY + 30, b"30", b"index"), ())
    await made.close()
