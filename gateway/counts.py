"""What a gateway process counts, as it happens. Plain numbers: a frame costs one addition."""

from __future__ import annotations

import logging
from collections import Counter

import anyio

from gateway.mcp.held import Held
from gateway.ports import RouterPort
from shared.concurrency import too_many
from shared.errors import DocactorError, Overloaded
from shared.limits import MAX_SESSIONS_PER_GATEWAY, REPORT_S, SESSIONS_OF_ONE
from shared.metrics import GatewayReport, ToolCalls

log = logging.getLogger("docactor.counts")


class GatewayCounts:
    """Totals since this process began; `sockets` is how many there are now."""

    def __init__(self, gateway_id: str = "gateway") -> None:
        self.gateway_id = gateway_id
        self.sockets = 0
        self.frames_in = 0
        self.frames_out = 0
        self.reconnects = 0
        self.sleeping: set[str] = set()  # documents whose sessions are here, without an actor
        self.calls: Counter[tuple[str, str]] = Counter()
        self._sockets_of: Counter[str] = Counter()

    @property
    def is_full(self) -> bool:
        """Whether there are as many editors as a gateway can take."""
        return self.sockets >= MAX_SESSIONS_PER_GATEWAY

    def check_room(self, principal: str) -> None:
        """Whether one more editor of this principal may come in.

        Raises:
            Overloaded: The gateway has as many as it can take.
            RateLimited: The principal has as many as one may.
        """
        if self.is_full:
            raise Overloaded("This server has as many editors as it can take.")
        if self._sockets_of[principal] >= SESSIONS_OF_ONE:
            raise too_many(SESSIONS_OF_ONE, "editors at this gateway")

    def enter(self, principal: str) -> None:
        self.sockets += 1
        self._sockets_of[principal] += 1

    def leave(self, principal: str) -> None:
        self.sockets -= 1
        self._sockets_of[principal] -= 1
        if not self._sockets_of[principal]:
            del self._sockets_of[principal]

    def report(self, held: Held) -> GatewayReport:
        """Everything as of now; `held` knows the waits."""
        return GatewayReport(
            gateway_id=self.gateway_id,
            sockets=self.sockets,
            frames_in=self.frames_in,
            frames_out=self.frames_out,
            reconnects=self.reconnects,
            waiting=held.waiting,
            waits=held.total,
            asleep=len(self.sleeping),
            calls=tuple(ToolCalls(*key, count) for key, count in sorted(self.calls.items())),
        )

    async def tell(self, router: RouterPort, held: Held) -> None:
        """Reports to the Directory every few seconds, for ever. Ends by being cancelled.

        So whichever gateway is asked for metrics can answer for all.
        """
        while True:
            await anyio.sleep(REPORT_S)
            try:
                await router.directory("report_gateway", self.report(held))
            except DocactorError as error:
                log.info("no Directory to report to: %s", error.message)
