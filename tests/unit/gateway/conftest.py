from __future__ import annotations

import random
from collections.abc import AsyncIterator

import httpx
import pytest
from fastmcp import Client
from fastmcp.client.client import CallToolResult
from fastmcp.client.transports import FastMCPTransport
from fastmcp.tools import ToolResult
from mcp_types import TextContent
from starlette.applications import Starlette

from gateway.app import create_app
from gateway.auth import Authenticator
from gateway.mcp.context import ToolContext
from gateway.mcp.tools import mcp_server
from gateway.settings import Settings
from tests.unit.gateway.fakes import FakeRouter

McpClient = Client[FastMCPTransport]
BASE = "http://127.0.0.1:8000"


@pytest.fixture
def router(rng: random.Random) -> FakeRouter:
    return FakeRouter(rng.choice)


@pytest.fixture
def context(router: FakeRouter) -> ToolContext:
    return ToolContext(router, BASE, no_auth=True)


@pytest.fixture
async def mcp(router: FakeRouter, context: ToolContext) -> AsyncIterator[McpClient]:
    """The tools without HTTP between; whoever calls is the local agent."""
    async with Client(mcp_server(context, Authenticator(router, no_auth=True))) as client:
        yield client


@pytest.fixture
def app(router: FakeRouter) -> Starlette:
    return create_app(Settings(), router)


@pytest.fixture
async def http(app: Starlette) -> AsyncIterator[httpx.AsyncClient]:
    """The whole application; requests carry the owner's token."""
    transport = httpx.ASGITransport(app)
    headers = {"Authorization": "Bearer owner-token"}
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url=BASE, headers=headers) as client,
    ):
        yield client


def text_of(result: CallToolResult | ToolResult) -> str:
    """The one text a result carries."""
    (item,) = result.content
    assert isinstance(item, TextContent)
    return item.text
