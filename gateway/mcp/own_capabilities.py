"""What the server says it can: tools, and nothing that it does not have."""

from __future__ import annotations

from typing import Any, Final

import mcp_types
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext

TOOLS_ALONE: Final = mcp_types.ServerCapabilities(
    tools=mcp_types.ToolsCapability(list_changed=False)
)


class OwnCapabilities(Middleware):
    """FastMCP announces prompts, resources, logging and news of changed lists whatever there is.

    Clients would ask for each at their start, and wait for news that a stateless server never
    sends. Whoever asks all the same is answered with an empty list.
    """

    async def on_initialize(
        self,
        context: MiddlewareContext[mcp_types.InitializeRequest],
        call_next: CallNext[mcp_types.InitializeRequest, mcp_types.InitializeResult | None],
    ) -> mcp_types.InitializeResult | None:
        told = await call_next(context)
        return told and told.model_copy(update={"capabilities": TOOLS_ALONE})

    async def on_discover(
        self,
        context: MiddlewareContext[mcp_types.DiscoverRequest],
        call_next: CallNext[mcp_types.DiscoverRequest, mcp_types.DiscoverResult | dict[str, Any]],
    ) -> mcp_types.DiscoverResult | dict[str, Any]:
        told = await call_next(context)
        if isinstance(told, mcp_types.DiscoverResult):
            return told.model_copy(update={"capabilities": TOOLS_ALONE})
        return told
