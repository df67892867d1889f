"""What one document was: its states at any instant that is kept, rebuilt beside the loop."""

from __future__ import annotations

import asyncio
from functools import partial

from actors.document.keeper import Keeper
from shared.history.states import PastBlock, PastState, rebuild
from shared.limits import PAST_STATES_AT_ONCE
from shared.stored import StoredState


class History:
    """Reads one document's past. States are rebuilt in threads, few at a time: each is a document
    of its own in memory.
    """

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._places = asyncio.Semaphore(PAST_STATES_AT_ONCE)

    async def state_at(self, at: int) -> PastState | None:
        """The document at an instant (ms since 1970); None: what it was then is no longer kept.

        Empty before its first update. What was committed until now counts: an instant to come is
        the document as it last was stored.

        Raises DocumentCorrupt, StorageUnavailable, and why the document is not there any more.
        """
        async with self._places:
            return await self._rebuilt(
                await self._keeper.ask_store(lambda store: store.state_at_time(at))
            )

    async def state_after(self, seq: int, *, exact: bool = False) -> PastState | None:
        """The document after exactly this update; None: that is no longer kept.

        `exact`: each block with all there was of it.
        """
        async with self._places:
            state = await self._keeper.ask_store(lambda store: store.state_after(seq))
            return await self._rebuilt(state, exact=exact)

    async def state_at_cursor(self, change_seq: int) -> PastState | None:
        """The document when the change feed's head was there; None: that is no longer kept."""
        async with self._places:
            state = await self._keeper.ask_store(lambda store: store.state_at(change_seq))
            return await self._rebuilt(state)

    async def blocks_at(self, at: int) -> tuple[PastBlock, ...] | None:
        """The blocks of `state_at`."""
        state = await self.state_at(at)
        return None if state is None else state.blocks

    async def _rebuilt(self, state: StoredState | None, *, exact: bool = False) -> PastState | None:
        if state is None:
            return None
        return await asyncio.to_thread(partial(rebuild, state, exact=exact))
