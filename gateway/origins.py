"""Which browsers may talk to us: Host and Origin, for requests and for websockets.

A page of a stranger, opened on the same machine, can reach a server on loopback: by its own origin,
or by a name of its own that resolves to 127.0.0.1. FastMCP's guard refuses both, for requests; the
same rules are asked here for websockets too.
"""

from __future__ import annotations

from fastmcp.server.http import HostOriginGuardMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.settings import Settings


class OriginGuard:
    """ASGI wrapper: 421 for a wrong Host, 403 for a wrong Origin; a websocket is not accepted."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        hosts, origins = list(settings.allowed_hosts), list(settings.allowed_origins)
        if settings.public_url:
            origins.append(settings.base_url)
            hosts.append(settings.base_url.partition("://")[2].partition("/")[0])
        self._app = app
        self._guard = HostOriginGuardMiddleware(
            self._admit, hosts or None, origins or None, mode="auto"
        )
        self._http = HostOriginGuardMiddleware(app, hosts or None, origins or None, mode="auto")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket" and not await self._admitted(scope, receive):
            await send({"type": "websocket.close", "code": 1008})  # before accepting: HTTP 403
        else:
            await self._app(scope, receive, send)

    async def _admitted(self, scope: Scope, receive: Receive) -> bool:
        scheme = "https" if scope.get("scheme") == "wss" else "http"
        asked = {**scope, "type": "http", "scheme": scheme, "docactor.admitted": False}

        async def ignore(message: Message) -> None:
            """The guard's own answer: a websocket is told by not being accepted."""

        await self._guard(asked, receive, ignore)
        return bool(asked["docactor.admitted"])

    @staticmethod
    async def _admit(scope: Scope, _receive: Receive, _send: Send) -> None:
        scope["docactor.admitted"] = True
