"""Old history made smaller, off the write path and a little at a time.

After a day the updates of ten minutes become one; after `RETENTION_DAYS` what is left is a state a
day and the versions that have a name. Never touched: what a load reads.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol, TypeVar

from actors.storage.stored import (
    CommitUnknownError,
    DocumentStore,
    FencedError,
    Mergeable,
    NotCommittedError,
    StoreClosedError,
)
from shared.errors import DocactorError
from shared.history.merging import Boundaries, MisfitError, Span, groups, merge
from shared.history.states import checkpoint_of
from shared.index.record import SavedIndex
from shared.limits import (
    DAY_MS,
    FULL_HISTORY_MS,
    MERGE_PAUSE_S,
    MERGE_STEP,
    RETAIN_AFTER_S,
    RETAIN_EVERY_S,
    RETENTION_DAYS,
)

T = TypeVar("T")
log = logging.getLogger(__name__)


class Storage(Protocol):
    """Whoever has the document's store of now: the keeper."""

    async def ask_store(self, ask: Callable[[DocumentStore], Awaitable[T]]) -> T: ...


class Retention:
    """One document's. `run` for as long as it is open.

    Args:
        storage: Where the document is kept.
        clock: Milliseconds since 1970.
        instants: Times (ms) at which the document is to be had exactly: when people last left.

    Attributes:
        merged: Updates that were merged into others since the document was opened.
    """

    def __init__(
        self,
        storage: Storage,
        clock: Callable[[], int],
        instants: Callable[[], Iterable[int]],
    ) -> None:
        self._storage = storage
        self._clock = clock
        self._instants = instants
        self.merged = 0

    async def run(self) -> None:
        """Steps, with a pause after each, and again every hour. A failure is logged, no more."""
        await asyncio.sleep(RETAIN_AFTER_S)
        while True:
            more = False
            try:
                more = await self.step()
            except (
                DocactorError,
                NotCommittedError,
                CommitUnknownError,
                FencedError,
                StoreClosedError,
            ) as error:
                log.warning("history was not made smaller: %s", error)
            await asyncio.sleep(MERGE_PAUSE_S if more else RETAIN_EVERY_S)

    async def step(self) -> bool:
        """One bounded piece of work; whether there is more of it.

        Raises what reading and writing the store raise.
        """
        return await self._merge() or await self._thin()

    async def _merge(self) -> bool:
        before = self._clock() - FULL_HISTORY_MS
        found = await self._storage.ask_store(lambda store: store.mergeable(before, MERGE_STEP))
        if found is None:
            return False
        keep = Boundaries(found.ends, sorted(self._instants()))
        spans, merged_to = await asyncio.to_thread(_spans, found, keep)
        await self._storage.ask_store(lambda store: store.merge(spans, merged_to))
        self.merged += sum(span.update.merged for span in spans) - len(spans)
        return found.more

    async def _thin(self) -> bool:
        """Pins one version, or drops some of what nothing needs any more."""
        before = self._clock() - RETENTION_DAYS * DAY_MS
        seq = await self._storage.ask_store(lambda store: store.unpinned(before))
        if seq is None:
            return await self._storage.ask_store(lambda store: store.trim(before))
        state = await self._storage.ask_store(lambda store: store.state_after(seq))
        if state is None:
            log.error("version at update %d is not in the log: history is not thinned out", seq)
            return False
        checkpoint = await asyncio.to_thread(checkpoint_of, state)
        await self._storage.ask_store(lambda store: store.pin(checkpoint))
        return True


def _spans(found: Mergeable, keep: Boundaries) -> tuple[list[Span], int]:
    """What becomes of the updates, and up to which of them that is decided."""
    index = SavedIndex.load(
        found.state.checkpoint.block_index if found.state.checkpoint else b"",
        [update.splice for update in found.state.updates],
    )
    runs = groups(found.updates, keep, found.state.at)
    if found.more and len(runs) > 1:
        runs.pop()  # it may go on in what the next step reads
    spans = []
    for run in runs:
        try:
            span = merge(index, run)
        except MisfitError as error:
            log.exception("updates %d to %d do not merge: they stay as they are", *error.args)
        else:
            spans += [span] if span is not None else []
    return spans, runs[-1][-1].seq
