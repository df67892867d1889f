"""Group commit: batches -> one transaction each -> broadcast, then replies.

While a batch commits, the next one gathers. A batch costs a transaction, an fsync and a message to
every editor, however little it holds. So batches begin some milliseconds apart: who edits alone
never waits for that, and of many who type at once each transaction takes several. Nothing that a
batch holds is told to anyone before it is on disk: whoever computed something from the live
document hands over a callback, and gets it back when everything visible at that instant is stored.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Final

import msgspec
from pycrdt import merge_updates

from actors.storage.commit_tally import CommitTally
from actors.storage.stored import (
    Batch,
    CommitUnknownError,
    DocumentStore,
    FencedError,
    NotCommittedError,
)
from shared.errors import DocactorError, ShuttingDown
from shared.limits import COMMIT_EVERY_S, MAX_BATCHES_WAITING
from shared.stored import (
    Checkpoint,
    Effects,
    StoredAnswer,
    StoredBudget,
    StoredReader,
    StoredVersion,
)
from shared.stored_annotations import Annotations

Release = Callable[[DocactorError | None], None]


class Committed(msgspec.Struct, frozen=True):
    """A batch that is on disk.

    Attributes:
        seq: The last update it holds.
        update: All its updates as one, merged from the stored bytes: re-encoding the document
            would show what the next batch has not yet stored. Empty when it held none.
        change_seq: Head of the change feed after it.
        principals: Who made its change rows, threads, messages and suggestions.
        event_seq: The last event after it.
    """

    seq: int
    update: bytes
    change_seq: int
    principals: frozenset[str]
    event_seq: int = 0


class _Gathering:
    __slots__ = ("batch", "releases")

    def __init__(self) -> None:
        self.batch = Batch()
        self.releases: list[Release] = []

    def release(self, error: DocactorError | None) -> None:
        for release in self.releases:
            release(error)
        self.releases.clear()


class Failure(msgspec.Struct, frozen=True):
    """A batch that did not commit, with everything that was gathered behind it.

    Attributes:
        last_seq: The last update of the failed batch; None when it held none.
        head: The change feed's head after it; None when it raised none.
        known: True when nothing of it is stored, False when only a reload can tell.
        first: Releases of the failed batch; `behind`: of those gathered after it.
    """

    last_seq: int | None
    head: int | None
    known: bool
    cause: Exception
    first: Callable[[DocactorError | None], None]
    behind: Callable[[DocactorError | None], None]


class Committer:
    """One document's batches, in one store. `run` is the loop that commits them.

    Attributes:
        seq, change_seq: The last update and the head of the change feed that are on disk.
        event_seq: The last event that is.
    """

    def __init__(
        self,
        store: DocumentStore,
        seq: int = 0,
        change_seq: int = 0,
        tally: CommitTally | None = None,
        every_s: float = COMMIT_EVERY_S,
        event_seq: int = 0,
    ) -> None:
        self.store = store
        self._every_s = every_s
        self._next_at = 0.0  # of time.perf_counter: when the next batch may begin
        self._tally = tally or CommitTally()
        self.seq = seq
        self.change_seq = change_seq
        self.event_seq = event_seq
        self._waiting: deque[_Gathering] = deque()
        self._in_flight: _Gathering | None = None
        self._wake: Final = asyncio.Event()
        self._idle: Final = asyncio.Event()
        self._idle.set()
        self._finishing = False
        self._listeners: list[Callable[[Committed], None]] = []

    @property
    def backlogged(self) -> bool:
        """Whether so many batches wait that links should stop reading."""
        return len(self._waiting) >= MAX_BATCHES_WAITING

    def subscribe(self, listener: Callable[[Committed], None]) -> None:
        """`listener` is called with each batch that is on disk, before its releases."""
        self._listeners.append(listener)

    def add(self, effects: Effects) -> None:
        self._open().batch.add(effects)

    def add_annotations(self, new: Annotations) -> None:
        """In the same transaction as the effects added just before, or one of its own."""
        if new:
            self._last().batch.annotations.add(new)

    def add_answer(self, answer: StoredAnswer) -> None:
        """To be stored in the same transaction as the effects added just before."""
        self._last().batch.answers.append(answer)

    def add_views(self, views: dict[str, bytes]) -> None:
        """What was shown to whom. Goes out with the batch that gathers, or makes one."""
        if views:
            self._open().batch.views |= views

    def add_readers(self, *readers: StoredReader) -> None:
        """When people were reading. Goes out with the batch that gathers, or makes one."""
        if readers:
            self._open().batch.readers |= {one.person: one for one in readers}

    def add_person(self, principal: str, person: str) -> None:
        """Who is behind an agent, in the same transaction as the effects added just before."""
        self._last().batch.people[principal] = person

    def add_budgets(self, *budgets: StoredBudget) -> None:
        """What was spent, in the same transaction as the effects added just before."""
        if budgets:
            self._last().batch.budgets |= {one.principal: one for one in budgets}

    def add_name(self, principal: str, name: str) -> None:
        """What somebody is called who made no change of the document itself."""
        self._last().batch.principals[principal] = name

    def add_version(self, version: StoredVersion) -> None:
        """Of a state that is on disk or in what has been gathered so far."""
        self._open().batch.versions.append(version)

    def add_checkpoint(self, checkpoint: Checkpoint) -> None:
        self._open().batch.checkpoint = checkpoint

    def after_commit(self, release: Release) -> None:
        """Calls `release` when everything gathered so far is on disk; at once when it is.

        In the order of the calls. With an error when it did not get there.
        """
        if self._waiting:
            self._waiting[-1].releases.append(release)
        elif self._in_flight is not None:
            self._in_flight.releases.append(release)
        else:
            release(None)

    async def settled(self) -> None:
        """Returns when everything gathered so far is on disk; raises why it is not."""
        if not self._waiting and self._in_flight is None:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def release(error: DocactorError | None) -> None:
            if future.done():
                return  # the caller was cancelled; the commit goes on
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)

        self.after_commit(release)
        await future

    async def drained(self) -> None:
        """Returns when nothing is gathering or in flight."""
        await self._idle.wait()

    async def run(self) -> Failure | None:
        """Commits until a batch fails; what then waits fails with it and is handed back.

        None: `finish` was called and all that had been gathered is on disk.
        """
        while True:
            await self._wake.wait()
            while self._waiting:
                await self._gather_on()
                gathering = self._in_flight = self._waiting.popleft()
                began = time.perf_counter()
                self._next_at = began + self._every_s
                try:
                    await self.store.commit(gathering.batch)
                except (NotCommittedError, CommitUnknownError, FencedError) as error:
                    self._tally.failed()
                    return self._fail(gathering, error)
                self._tally.committed(time.perf_counter() - began, gathering.batch.size)
                self._publish(gathering)
            self._wake.clear()
            self._idle.set()
            if self._finishing:
                return None

    def finish(self) -> None:
        """Makes `run` return when what is gathered is on disk."""
        self._finishing = True
        self._wake.set()

    def abandon(self) -> None:
        """Drops what waits with `shutting_down`; for a document that is given up."""
        everything = [g for g in (self._in_flight, *self._waiting) if g is not None]
        self._in_flight = None
        self._waiting.clear()
        for gathering in everything:
            gathering.release(ShuttingDown("The document was closed before this was stored."))
        self._idle.set()

    async def _gather_on(self) -> None:
        """Waits while the next batch comes too soon after the last and has room for more."""
        wait_s = self._next_at - time.perf_counter()
        if wait_s > 0 and not self._finishing and not self._waiting[0].batch.full:
            await asyncio.sleep(wait_s)

    def _open(self) -> _Gathering:
        if not self._waiting or self._waiting[-1].batch.full:
            self._waiting.append(_Gathering())
            self._wake.set()
            self._idle.clear()
        return self._waiting[-1]

    def _last(self) -> _Gathering:
        """What was gathered last, however full it is: for what belongs to it."""
        return self._waiting[-1] if self._waiting else self._open()

    def _publish(self, gathering: _Gathering) -> None:
        batch = gathering.batch
        head = batch.head
        event_seq = max(batch.annotations.events, default=self.event_seq)
        if head is not None or event_seq > self.event_seq:
            data = [update.data for update in batch.updates]
            by = frozenset(row.principal for row in batch.rows.values())
            committed = Committed(
                seq=batch.updates[-1].seq if data else self.seq,
                update=data[0] if len(data) == 1 else merge_updates(*data) if data else b"",
                change_seq=self.change_seq if head is None else head,
                principals=by | batch.annotations.authors,
                event_seq=event_seq,
            )
            self.seq, self.change_seq = committed.seq, committed.change_seq
            self.event_seq = event_seq
            for listener in self._listeners:
                listener(committed)
        self._in_flight = None
        gathering.release(None)

    def _fail(self, gathering: _Gathering, error: Exception) -> Failure:
        behind = list(self._waiting)
        self._in_flight = None
        self._waiting.clear()
        self._wake.clear()
        self._idle.set()

        def release_behind(answer: DocactorError | None) -> None:
            for waiting in behind:
                waiting.release(answer)

        updates = gathering.batch.updates
        return Failure(
            last_seq=updates[-1].seq if updates else None,
            head=gathering.batch.head,
            known=not isinstance(error, CommitUnknownError),
            cause=error,
            first=gathering.release,
            behind=release_behind,
        )
