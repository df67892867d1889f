"""Agents for the acceptance tests: FastMCP's client over HTTP, on either wire of MCP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport

OLD, NEW = "2025-06-18", "2026-07-28"
WIRES: Final = (OLD, NEW)
_MODES: Final = {OLD: "legacy", NEW: NEW}


class Agent:
    """Calls tools."""

    def __init__(self, client: Client[Any]) -> None:
        self._client = client

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured result. Fails when the tool refuses."""
        called = await self._client.call_tool(tool, arguments, raise_on_error=False)
        assert not called.is_error, called.content
        result: dict[str, Any] = called.structured_content or {}
        return result

    async def refused(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The error of a call that must be refused."""
        called = await self._client.call_tool(tool, arguments, raise_on_error=False)
        assert called.is_error, called.structured_content
        error: dict[str, Any] = (called.structured_content or {})["error"]
        return error

    async def said(self, tool: str, **arguments: Any) -> str:
        """What a model is shown: the text of the answer."""
        called = await self._client.call_tool(tool, arguments, raise_on_error=False)
        return "\n".join(part.text for part in called.content if part.type == "text")

    async def tools(self) -> list[str]:
        return [tool.name for tool in await self._client.list_tools()]


@asynccontextmanager
async def agent(url: str, token: str, wire: str = NEW) -> AsyncIterator[Agent]:
    """An agent at `url`, http://…/mcp."""
    transport = StreamableHttpTransport(url, headers={"Authorization": f"Bearer {token}"})
    async with Client(transport, mode=_MODES[wire]) as client:
        yield Agent(client)
