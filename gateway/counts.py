"""What a gateway process counts, as it happens. Plain numbers: a frame costs one addition."""

from __future__ import annotations

import logging
from collections import Counter
from typing import Any, Final

import anyio
import mcp_types
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult

from gateway.mcp.waiting import Held
from gateway.ports import RouterPort
from shared.errors import DocactorError
from shared.limits import REPORT_S
from shared.metrics import GatewayReport, ToolCalls

log = logging.getLogger("docactor.counts")

OK: Final = "ok"
GONE: Final = "gone"  # the caller left before its answer
OTHER: Final = "unknown"  # a tool there is none of: what callers make up must not become labels


class GatewayCounts:
    """Totals since this process began; `sockets` is how many there are now."""

    def __init__(self, gateway_id: str = "gateway") -> None:
        self.gateway_id = gateway_id
        self.sockets = 0
        self.frames_in = 0
        self.frames_out = 0
        self.reconnects = 0
        self.calls: Counter[tuple[str, str]] = Counter()

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


class CountCalls(Middleware):
    """Counts every call by tool and by what it was answered with.

    Args:
        counts: Where.
        tools: The names there are.
    """

    def __init__(self, counts: GatewayCounts, tools: frozenset[str]) -> None:
        self._counts = counts
        self._tools = tools

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        name = context.message.name
        code = GONE
        try:
            result = await call_next(context)
            code = _code(result)
            return result
        finally:
            self._counts.calls[name if name in self._tools else OTHER, code] += 1


def _code(result: ToolResult) -> str:
    if not result.is_error:
        return OK
    structured: dict[str, Any] = result.structured_content or {}
    return str(structured.get("error", {}).get("code", OTHER))
