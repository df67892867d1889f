"""A waiting read_events: held here, woken by the commit of the next event.

Like a waiting read_changes it costs the document nothing meanwhile, and does not keep one that
sleeps from sleeping. It answers with the first event that is for its caller: digests have been
gathered already.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from gateway.mcp.held import Held
from gateway.mcp.held_call import HeldCall
from gateway.ports import RouterPort
from shared.events.cursor import top_of
from shared.limits import MAX_WAKES, SLEPT_EVENTS_S
from shared.protocol import Caller
from shared.protocol_events import ReadEventsRequest, ReadEventsResult


class _Slept(msgspec.Struct, frozen=True):
    """What a sleeping document said to a question, and when it was asked."""

    told: ReadEventsResult
    since: float


class EventsWait(HeldCall):
    """One call of read_events that may wait. `request`: what is asked."""

    def __init__(
        self,
        router: RouterPort,
        held: Held,
        ref: str,
        caller: Caller,
        request: ReadEventsRequest,
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(router, held, "read_events", ref, caller, now=now)
        self._request = request

    async def answer(self, wait_s: float) -> ReadEventsResult:
        """The events; when there are none, those that come within `wait_s` seconds.

        Raises:
            RateLimited: As many calls of the caller wait here as may.
            DocactorError: as reading does.
        """
        if wait_s <= 0:
            return await self.read(self._request)
        with self._held.of_one.one_more(self._caller.principal):
            return await self._until_told(self._now() + wait_s)

    async def _until_told(self, deadline: float) -> ReadEventsResult:
        found = await self._known() or await self.read(self._request)
        for _ in range(MAX_WAKES):
            if found.events or found.truncated:
                return found
            if not await self.wait(top_of(found.cursor), deadline - self._now()):
                await self._slept_through(found)
                return found
            look = msgspec.structs.replace(self._request, cursor=found.cursor, look=True)
            found = await self.read(look)
        return found

    async def read(self, request: ReadEventsRequest) -> ReadEventsResult:
        """What the document says now."""
        result: ReadEventsResult = await self.ask_in_turn(request)
        return result

    async def wait(self, seq: int, seconds: float) -> bool:
        """Whether an event beyond `seq` came within `seconds`; False too when a stop ends it."""
        return await self.wait_beyond(seq, seconds, of_events=True)

    async def _known(self) -> ReadEventsResult | None:
        """What the same caller was told to the same question, while the document sleeps."""
        slept = await self.known(self._request)
        fresh = isinstance(slept, _Slept) and self._now() - slept.since < SLEPT_EVENTS_S
        return slept.told if fresh else None

    async def _slept_through(self, nothing: ReadEventsResult) -> None:
        """Remembers the answer that nothing happened, of a document that sleeps."""
        if nothing.cursor != self._request.cursor:
            return
        sleeping = await self.asleep()
        if sleeping is not None:
            admission, epoch = sleeping
            slept = self._held.recall(admission, self._request, epoch)
            since = slept.since if isinstance(slept, _Slept) else self._now()
            self._held.remember(admission, self._request, epoch, _Slept(nothing, since))
