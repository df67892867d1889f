"""Which browsers may talk to us: Host and Origin, for requests and for websockets.

A page of a stranger, opened on the same machine, can reach a server on loopback: by its own origin,
or by a name of its own that resolves to 127.0.0.1. FastMCP's guard refuses both, for requests; the
same rules are asked here for websockets too. Two of a header are refused: what stands in between
might go by the other one.
"""

from __future__ import annotations

from typing import Final

from fastmcp.server.http import HostOriginGuardMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.settings import Settings

_ANSWERS: Final = "websocket.http.response"  # servers that let a handshake be answered
_ONCE: Final = {b"host": 421, b"origin": 403}  # and what a second one is answered with


class OriginGuard:
    """ASGI wrapper: 421 for a wrong Host, 403 for a wrong Origin, of requests and of websockets."""

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
            guard = _doubled(scope) or self._http
            await guard(scope, receive, send)
        elif scope["type"] == "websocket" and (refusal := await self._refusal(scope, receive)):
            if _ANSWERS not in (scope.get("extensions") or {}):
                await send({"type": "websocket.close", "code": 1008})  # before accepting: HTTP 403
                return
            for message in refusal:
                await send({**message, "type": f"websocket.{message['type']}"})
        else:
            await self._app(scope, receive, send)

    async def _refusal(self, scope: Scope, receive: Receive) -> list[Message]:
        """What the guard answers to the handshake; nothing when it lets it pass."""
        scheme = "https" if scope.get("scheme") == "wss" else "http"
        asked = {**scope, "type": "http", "method": "GET", "scheme": scheme}
        answer: list[Message] = []

        async def keep(message: Message) -> None:
            answer.append(message)

        await (_doubled(scope) or self._guard)(asked, receive, keep)
        return answer

    @staticmethod
    async def _admit(_scope: Scope, _receive: Receive, _send: Send) -> None:
        """Behind the guard, when it asks for a websocket: nothing is answered yet."""


def _doubled(scope: Scope) -> ASGIApp | None:
    """The refusal of a request that has Host or Origin twice."""
    names = [name.lower() for name, _ in scope["headers"]]
    for name, status in _ONCE.items():
        if names.count(name) > 1:
            return Response(f"{name.decode().title()} must be said once", status)
    return None
