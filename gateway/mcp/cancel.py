"""Requests bounded in size, and cancelled when the client has gone.

In JSON mode neither wire of the MCP SDK notices that its client went away: a read_changes that
waits 50 seconds would live them all. So the body is read here, up to our limit, and handed on;
whatever the client sends afterwards can only be that it left.
"""

from __future__ import annotations

import anyio
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.rest.problems import problem
from shared.errors import TooLarge
from shared.limits import MAX_BODY_BYTES


class CancelOnDisconnect:
    """ASGI wrapper: reads a request's body, then runs the application until it or the client ends.

    Args:
        app: The application; it gets the whole body as one message.
        limit: Bytes of body; beyond it the answer is 413 and the application is not called.
    """

    def __init__(self, app: ASGIApp, limit: int = MAX_BODY_BYTES) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = await self._body(scope, receive)
        if body is None:
            error = TooLarge(
                f"body: a request has at most {self._limit} bytes.", limit_bytes=self._limit
            )
            await problem(error)(scope, receive, send)
            return
        if isinstance(body, bytes):
            await self._run(scope, receive, send, body)

    async def _body(self, scope: Scope, receive: Receive) -> bytes | bool | None:
        """The body; None when it is too long, False when the client left before its end."""
        declared = Headers(scope=scope).get("content-length", "")
        if declared.isdecimal() and int(declared[:20]) > self._limit:
            return None
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return False
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self._limit:
                return None
            if not message.get("more_body", False):
                return b"".join(parts)

    async def _run(self, scope: Scope, receive: Receive, send: Send, body: bytes) -> None:
        replayed = False

        async def replay() -> Message:
            nonlocal replayed
            if not replayed:
                replayed = True
                return {"type": "http.request", "body": body, "more_body": False}
            await anyio.sleep_forever()  # the end of the client is ours to hear
            raise AssertionError

        async with anyio.create_task_group() as tasks:

            async def watch() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass
                tasks.cancel_scope.cancel()

            tasks.start_soon(watch)
            await self._app(scope, replay, send)
            tasks.cancel_scope.cancel()
