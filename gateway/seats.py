"""Agents that joined a document through this gateway: they go when their token does.

A token's end, and a role's, is told to gateways, not to documents. Whoever was let in before is
taken off the roster from here, in the role they had; should this gateway be gone by then, the
document notices after a while.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable

import anyio

from gateway.mcp.held import Held
from gateway.ports import Admission, RouterPort
from shared.errors import DocactorError
from shared.limits import MAX_SEATS
from shared.protocol import Caller
from shared.protocol_events import LeaveRequest

log = logging.getLogger(__name__)


class Seats:
    """Who has joined what through this gateway. `run` beside everything else.

    Args:
        router: The road to documents.
        held: Where it is told that a token ends.
    """

    def __init__(self, router: RouterPort, held: Held) -> None:
        self._router = router
        self._held = held
        self._taken: dict[tuple[str, str], Callable[[], None]] = {}
        self._over: deque[Admission] = deque()
        self._wake = anyio.Event()

    async def take(self, ref: str, caller: Caller) -> None:
        """The caller has joined."""
        admission = await self._router.admit(ref, caller)
        seat = (admission.doc_id, caller.principal)
        self._give_back(seat)

        def end(_error: DocactorError) -> None:
            self._give_back(seat)
            self._over.append(admission)
            self._wake.set()

        self._taken[seat] = self._held.live.add(caller, end, admission.doc_id)
        if self._held.live.is_over(caller):
            end(DocactorError("it ended while it joined"))
        while len(self._taken) > MAX_SEATS:
            self._give_back(next(iter(self._taken)))

    async def leave(self, ref: str, caller: Caller) -> None:
        """The caller has left."""
        self._give_back(((await self._router.admit(ref, caller)).doc_id, caller.principal))

    async def run(self) -> None:
        """Takes those off the roster whose token ended, for ever. Ends by being cancelled."""
        while True:
            await self._wake.wait()
            self._wake = anyio.Event()
            while self._over:
                await self._take_off(self._over.popleft())

    async def _take_off(self, who: Admission) -> None:
        try:
            await self._router.call_admitted(who, "leave", LeaveRequest())
        except DocactorError as error:
            log.info("an agent stays on the roster of %s for now: %s", who.doc_id, error.message)

    def _give_back(self, seat: tuple[str, str]) -> None:
        remove = self._taken.pop(seat, None)
        if remove is not None:
            remove()
