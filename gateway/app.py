"""The ASGI application: MCP, editors, REST and health behind one door."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, cast

import anyio
from fastmcp.server.auth.middleware import RequireAuthMiddleware
from fastmcp.server.http import StarletteWithLifespan, StreamableHTTPASGIApp
from mcp.server.transport_security import RequestBodyLimitMiddleware
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount, Route, WebSocketRoute

from gateway.agent_pages import agent_routes
from gateway.auth import Authenticator
from gateway.counts import GatewayCounts
from gateway.editors.editor_socket import LinkRouter, editor_socket
from gateway.editors.hocuspocus_socket import hocuspocus_socket
from gateway.mcp.cancel import CancelOnDisconnect
from gateway.mcp.context import ToolContext
from gateway.mcp.tools import mcp_server
from gateway.metrics import MetricsRest
from gateway.oidc import Issuer
from gateway.origins import OriginGuard
from gateway.pages import Pages
from gateway.ports import RouterPort
from gateway.rest.admin import AdminRest
from gateway.rest.changed import ChangedRest
from gateway.rest.chat import ChatRest
from gateway.rest.documents import DocumentsRest
from gateway.rest.events import EventsRest
from gateway.rest.history import HistoryRest
from gateway.rest.members import MembersRest
from gateway.rest.openapi import openapi_route
from gateway.rest.suggestions import SuggestionsRest
from gateway.rest.tokens import TokensRest
from gateway.rest.upkeep import UpkeepRest
from gateway.rest.verbs import VerbsRest
from gateway.rest.writing import WritingRest
from gateway.settings import Settings
from shared.limits import MAX_BODY_BYTES

MCP_PATH: Final = "/mcp"


def create_app(
    settings: Settings, router: RouterPort, counts: GatewayCounts | None = None
) -> Starlette:
    """The application over a router. What it does is counted in `counts`.

    `app.state` holds `settings`, `router` and `authenticator` for endpoints that are functions, and
    `held`, whose `release()` ends the waits of readers before a stop.
    """
    counts = counts or GatewayCounts()
    open_door, allowance = settings.no_auth, settings.allowance
    issuer = None
    if settings.oidc_issuer and settings.oidc_audience:
        issuer = Issuer(settings.oidc_issuer, settings.oidc_audience, settings.oidc_scope)
    authenticator = Authenticator(router, no_auth=open_door, allowance=allowance, issuer=issuer)
    context = ToolContext(router, settings.base_url, no_auth=open_door, allowance=allowance)
    context.held.live = authenticator.live
    mcp = mcp_server(context, authenticator, counts).http_app(
        path=MCP_PATH, stateless_http=True, json_response=True
    )

    # Waiting readers need less of a link than sockets do; only sockets' tests need a real one.
    links = cast("LinkRouter", router)
    editors = editor_socket(links, authenticator.of_socket, counts, authenticator.live)
    providers = hocuspocus_socket(links, authenticator.of_socket, counts, authenticator.live)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with mcp.lifespan(app), anyio.create_task_group() as tasks:
            _take_long_bodies(mcp)
            tasks.start_soon(authenticator.follow)
            tasks.start_soon(authenticator.expire)
            tasks.start_soon(context.seats.run)
            tasks.start_soon(counts.tell, router, context.held)
            yield
            tasks.cancel_scope.cancel()

    app = Starlette(
        routes=[
            *_rest(context, authenticator, counts),
            openapi_route(),
            *agent_routes(settings.base_url),
            WebSocketRoute("/collab/{ref:path}", editors),
            WebSocketRoute("/hocuspocus", providers),
            Mount("/", mcp),
        ],
        middleware=[Middleware(OriginGuard, settings), Middleware(CancelOnDisconnect)],
        lifespan=lifespan,
    )
    app.state.settings = settings
    app.state.router = router
    app.state.authenticator = authenticator
    app.state.held = context.held
    return app


def _rest(context: ToolContext, authenticator: Authenticator, counts: GatewayCounts) -> list[Route]:
    return [
        *DocumentsRest(context, authenticator).routes(),
        *WritingRest(context, authenticator).routes(),
        *VerbsRest(context, authenticator).routes(),
        *ChatRest(context, authenticator).routes(),
        *HistoryRest(context, authenticator).routes(),
        *EventsRest(context, authenticator).routes(),
        *SuggestionsRest(context, authenticator).routes(),
        *ChangedRest(context, authenticator).routes(),
        *UpkeepRest(context, authenticator).routes(),
        *AdminRest(context, authenticator).routes(),
        *Pages(context, authenticator).routes(),
        *TokensRest(context, authenticator).routes(),
        *MembersRest(context, authenticator).routes(),
        *MetricsRest(context, authenticator, counts).routes(),
    ]


def _take_long_bodies(mcp: StarletteWithLifespan) -> None:
    """Put our body limit in the place of the SDK's 4 MiB, which no setting reaches.

    `CancelOnDisconnect` has counted the body already; a write of 1,000,000 characters may have
    more than the SDK takes.
    """
    for route in mcp.routes:
        if not isinstance(route, Route) or route.path != MCP_PATH:
            continue
        endpoint = route.endpoint
        if isinstance(endpoint, RequireAuthMiddleware):
            endpoint = endpoint.app
        assert isinstance(endpoint, StreamableHTTPASGIApp)
        manager = endpoint.session_manager
        assert manager is not None, "its lifespan has been entered"
        manager.asgi_app = RequestBodyLimitMiddleware(
            manager._handle_request,  # noqa: SLF001  the SDK offers no other way to its own limit
            MAX_BODY_BYTES,
        )
        return
    raise AssertionError("no MCP route")
