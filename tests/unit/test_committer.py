"""Group commit: nothing is told before it is on disk, everything in order, failures whole."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from pycrdt import Doc, XmlFragment, XmlText

from actors.storage.committer import Committed, Committer, Failure
from actors.storage.store_memory import MemoryStore
from actors.storage.stored import CommitUnknownError, NotCommittedError
from shared.errors import DocactorError, ShuttingDown
from shared.feed.block_changes import Row
from shared.limits import MAX_BATCH_UPDATES
from shared.stored import Effects, StoredAnswer, StoredUpdate
from shared.stored_annotations import Annotations, StoredThread

pytestmark = pytest.mark.anyio


class Writer:
    """Makes the effects of one document's edits."""

    def __init__(self) -> None:
        self.doc: Doc[XmlFragment] = Doc()
        self.sent: list[bytes] = []
        self.root = self.doc.get("default", type=XmlFragment)
        self.doc.observe(lambda event: self.sent.append(event.update))

    def edit(self) -> Effects:
        self.root.children.append(XmlText("x"))
        seq = len(self.sent)
        update = StoredUpdate(seq, seq, "ann", "editor", self.sent[-1], b"", seq)
        return Effects(update, "Ann", rows=(Row(seq, "b", "changed", "ann", seq),))


class Gate:
    """Holds each commit until it is let through."""

    def __init__(self, store: MemoryStore) -> None:
        self.reached = asyncio.Event()
        self._open = asyncio.Event()
        store.before_commit = self._wait

    async def _wait(self) -> None:
        self.reached.set()
        await self._open.wait()

    def let_through(self) -> None:
        self._open.set()


async def during(committer: Committer, body: Callable[[], Awaitable[None]]) -> Failure | None:
    """Runs `body` beside the commit loop, then lets the loop finish."""
    loop = asyncio.create_task(committer.run())
    await body()
    committer.finish()
    return await loop


async def test_a_release_waits_for_the_disk_and_comes_after_the_broadcast() -> None:
    store, writer, told = MemoryStore(), Writer(), list[str]()
    committer, gate = Committer(store), Gate(store)
    committer.subscribe(lambda committed: told.append(f"broadcast {committed.seq}"))

    async def body() -> None:
        committer.add(writer.edit())
        committer.after_commit(lambda error: told.append(f"first {error}"))
        committer.after_commit(lambda error: told.append(f"second {error}"))
        await gate.reached.wait()
        assert (told, store.commits) == ([], 0)
        gate.let_through()
        await committer.settled()
        assert told == ["broadcast 1", "first None", "second None"]

    await during(committer, body)


async def test_with_nothing_open_a_release_comes_at_once() -> None:
    told: list[DocactorError | None] = []
    Committer(MemoryStore()).after_commit(told.append)
    assert told == [None]


async def test_what_gathers_while_a_batch_commits_is_one_transaction_and_one_update() -> None:
    store, writer, broadcast = MemoryStore(), Writer(), list[Committed]()
    committer, gate = Committer(store), Gate(store)
    committer.subscribe(broadcast.append)

    async def body() -> None:
        committer.add(writer.edit())
        await gate.reached.wait()
        for _ in range(5):
            committer.add(writer.edit())
        gate.let_through()
        await committer.settled()

    await during(committer, body)
    assert store.commits == 2
    assert [committed.seq for committed in broadcast] == [1, 6]
    assert broadcast[1].principals == {"ann"}
    follower: Doc[XmlFragment] = Doc()
    for committed in broadcast:
        follower.apply_update(committed.update)
    assert follower.get_state() == writer.doc.get_state()


async def test_the_first_batch_begins_at_once_and_one_hard_upon_it_gathers_a_while() -> None:
    store, writer, broadcast = MemoryStore(), Writer(), list[Committed]()
    committer = Committer(store, every_s=0.2)
    committer.subscribe(broadcast.append)

    async def body() -> None:
        began = asyncio.get_running_loop().time()
        committer.add(writer.edit())
        await committer.settled()
        assert asyncio.get_running_loop().time() - began < 0.1
        for _ in range(4):
            committer.add(writer.edit())
            for _ in range(5):
                await asyncio.sleep(0)
        await committer.settled()

    await during(committer, body)
    assert [committed.seq for committed in broadcast] == [1, 5]


async def test_a_committer_that_finishes_does_not_gather_on() -> None:
    store, writer = MemoryStore(), Writer()
    committer = Committer(store, every_s=3_600)

    async def body() -> None:
        committer.add(writer.edit())
        await committer.settled()
        committer.finish()
        committer.add(writer.edit())

    await during(committer, body)
    assert store.commits == 2


async def test_a_read_during_a_commit_waits_for_that_commit() -> None:
    store, writer = MemoryStore(), Writer()
    committer, gate = Committer(store), Gate(store)

    async def body() -> None:
        committer.add(writer.edit())
        await gate.reached.wait()  # nothing is gathering now; one batch is in flight
        waiting = asyncio.create_task(committer.settled())
        await asyncio.sleep(0)
        assert not waiting.done()
        gate.let_through()
        await waiting
        assert store.commits == 1

    await during(committer, body)


async def test_batches_close_at_their_limit_and_the_backlog_shows() -> None:
    store, writer = MemoryStore(), Writer()
    committer = Committer(store)
    for _ in range(MAX_BATCH_UPDATES):
        committer.add(writer.edit())
    backlog = [committer.backlogged]
    committer.add(writer.edit())
    backlog.append(committer.backlogged)
    await during(committer, committer.settled)
    backlog.append(committer.backlogged)
    assert backlog == [False, True, False]
    assert store.commits == 2


async def test_what_belongs_to_an_effect_is_stored_with_it_however_full_its_batch_is() -> None:
    store, writer = MemoryStore(), Writer()
    committer, gate = Committer(store), Gate(store)

    async def body() -> None:
        for _ in range(MAX_BATCH_UPDATES):
            committer.add(writer.edit())
        committer.add_answer(StoredAnswer("ann", "patch", "k", b"", b"", 1))
        committer.add_annotations(Annotations({"t": StoredThread("t", 1, None, "ann", 1)}))
        gate.let_through()
        await committer.settled()

    await during(committer, body)
    assert store.commits == 1
    assert (list(store.answers), list(store.annotations.threads)) == (
        [("ann", "patch", "k")],
        ["t"],
    )


async def test_what_stands_beside_the_text_is_told_of_without_an_update() -> None:
    store, told = MemoryStore(), list[Committed]()
    committer = Committer(store, seq=4, change_seq=7)
    committer.subscribe(told.append)
    thread = StoredThread("t", 8, None, "ann", 1)

    async def body() -> None:
        committer.add_annotations(Annotations({"t": thread}, head=8, authors=frozenset({"ann"})))
        await committer.settled()

    await during(committer, body)
    assert told == [Committed(4, b"", 8, frozenset({"ann"}))]
    assert (committer.seq, committer.change_seq, store.head) == (4, 8, 8)


async def test_rows_superseded_within_their_own_batch_are_never_stored() -> None:
    store, writer = MemoryStore(), Writer()
    committer = Committer(store)
    first, second = writer.edit(), writer.edit()
    committer.add(first)
    committer.add(Effects(second.update, "Ann", rows=second.rows, superseded=(1,)))
    await during(committer, committer.settled)
    assert list(store.rows) == [2]


@pytest.mark.parametrize("error", [NotCommittedError("full"), CommitUnknownError("fsync")])
async def test_a_failed_batch_takes_everything_behind_it_and_tells_nobody(error: Exception) -> None:
    store, writer, told = MemoryStore(), Writer(), list[str]()
    committer, gate = Committer(store), Gate(store)
    committer.subscribe(lambda committed: told.append(f"broadcast {committed.seq}"))
    store.fail = error
    loop = asyncio.create_task(committer.run())
    committer.add(writer.edit())
    committer.after_commit(lambda error: told.append(f"first {error}"))
    await gate.reached.wait()
    committer.add(writer.edit())
    committer.after_commit(lambda error: told.append(f"behind {error}"))
    gate.let_through()
    failure = await loop
    assert failure is not None
    assert told == []
    assert (failure.last_seq, failure.known) == (1, isinstance(error, NotCommittedError))
    failure.first(None)
    failure.behind(ShuttingDown("gone"))
    assert told == ["first None", "behind gone"]
    assert store.updates == {}


async def test_a_cancelled_waiter_does_not_stop_the_commit() -> None:
    store, writer = MemoryStore(), Writer()
    committer, gate = Committer(store), Gate(store)

    async def body() -> None:
        committer.add(writer.edit())
        waiting = asyncio.create_task(committer.settled())
        await gate.reached.wait()
        waiting.cancel()
        gate.let_through()
        await committer.drained()
        assert list(store.updates) == [1]

    await during(committer, body)
