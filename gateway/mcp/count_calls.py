"""Counts the calls of tools as FastMCP passes them on."""

from __future__ import annotations

from typing import Any, Final

import mcp_types
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult

from gateway.counts import GatewayCounts

OK: Final = "ok"
GONE: Final = "gone"  # the caller left before its answer
OTHER: Final = "unknown"  # a tool there is none of: what callers make up must not become labels


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
