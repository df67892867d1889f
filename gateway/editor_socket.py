"""The websocket of an editor: authenticated, joined to its document's link, pumped both ways.

The y-websocket wire is spoken at `/collab/<id or slug>`. The handshake is always accepted and a
refusal is a close code: before it, clients would see nothing but a failed connection.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Protocol

import anyio
from starlette.websockets import WebSocket, WebSocketDisconnect

from gateway.counts import GatewayCounts
from gateway.link import DocumentLink
from gateway.link_session import LinkSession, Shared
from gateway.outbox import Outbox
from shared import close_codes
from shared.errors import DocactorError, Overloaded
from shared.frames import Ack, Open
from shared.limits import MAX_FRAME_BYTES, MAX_SESSIONS_PER_GATEWAY, SOCKET_OPEN_S
from shared.protocol import Caller
from shared.sync_session import (
    Apply,
    Awareness,
    Close,
    QueryAwareness,
    Step1,
    SyncSession,
    Value,
)

SUBPROTOCOL: Final = "docactor."  # followed by a token
_NOBODY: Final = b"\x00"  # an awareness update without entries


class LinkRouter(Protocol):
    """Where links come from."""

    async def link(self, ref: str) -> DocumentLink:
        """The link to the document `ref` (id or slug); it reconnects by itself from then on.

        Raises DocactorError, for one that does not exist DocumentNotFound.
        """


Authenticate = Callable[[str | None], Awaitable[Caller]]
"""The caller a token stands for; None for no token. Raises Unauthenticated."""


def editor_socket(
    router: LinkRouter, authenticate: Authenticate, counts: GatewayCounts | None = None
) -> Callable[[WebSocket], Awaitable[None]]:
    """The endpoint for a Starlette `WebSocketRoute` whose path has a parameter `ref`."""
    counts = counts or GatewayCounts()

    async def endpoint(websocket: WebSocket) -> None:
        token, subprotocol = credentials(websocket)
        await websocket.accept(subprotocol)
        try:
            with anyio.fail_after(SOCKET_OPEN_S):
                caller = await authenticate(token)
                check_may_read(caller)
                if counts.sockets >= MAX_SESSIONS_PER_GATEWAY:
                    raise Overloaded("This server has as many editors as it can take.")
                link = await router.link(websocket.path_params["ref"])
        except TimeoutError:
            await _refuse(websocket, close_codes.TRY_AGAIN, "the document takes too long to open")
            return
        except DocactorError as error:
            await _refuse(websocket, close_code(error), error.code)
            return
        counts.sockets += 1
        try:
            await EditorSocket(websocket, link, caller, counts).run()
        finally:
            counts.sockets -= 1

    return endpoint


def credentials(websocket: WebSocket) -> tuple[str | None, str | None]:
    """The token a client sends, and the subprotocol to select.

    A client that offers subprotocols refuses an answer that selects none of them, so without one of
    ours the first is selected.
    """
    offered: list[str] = websocket.scope.get("subprotocols", [])
    for protocol in offered:
        if protocol.startswith(SUBPROTOCOL):
            return protocol.removeprefix(SUBPROTOCOL), protocol
    scheme, _, token = websocket.headers.get("authorization", "").partition(" ")
    chosen = offered[0] if offered else None
    return (token.strip() if scheme.lower() == "bearer" else None), chosen


def check_may_read(caller: Caller) -> None:
    """Raises CapabilityDenied when the caller's token does not allow reading."""
    if not caller.scopes & {"read", "write", "admin"}:
        raise CapabilityDenied("This token does not allow reading documents.")


def close_code(error: DocactorError) -> int:
    """What a websocket that ends with `error` is closed with; retryable unless final."""
    return close_codes.of_error(error.code)


async def _refuse(websocket: WebSocket, code: int, reason: str) -> None:
    try:
        await websocket.close(code, reason)
    except (WebSocketDisconnect, RuntimeError):
        return  # the client did not wait for it


class EditorSocket:
    """One editor's socket and its session. What the document says comes in as `SessionSink`."""

    def __init__(
        self, websocket: WebSocket, link: DocumentLink, caller: Caller, counts: GatewayCounts
    ) -> None:
        self._websocket = websocket
        self._link = link
        self._wire = SyncSession()
        self._counts = counts
        nobody = self._wire.awareness(_NOBODY)
        self._outbox = Outbox(websocket, self._wire.wire, nobody, counts)
        self._opened = Open(caller, read_only=not caller.scopes & {"write", "admin"})

    async def run(self) -> None:
        """Serves the editor until its socket is closed, by either side."""
        session = self._link.open_session(self, self._opened)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._write, tasks.cancel_scope)
                await self._read(session)
                tasks.cancel_scope.cancel()
        finally:
            session.close()

    async def _write(self, scope: anyio.CancelScope) -> None:
        await self._outbox.run()
        scope.cancel()

    async def _read(self, session: LinkSession) -> None:
        while True:
            message = await self._websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            self._counts.frames_in += 1
            if self._outbox.closing:
                continue
            data: bytes | None = message.get("bytes")
            values = [self._wire.text()] if data is None else self._wire.receive(data)
            for value in values:
                await self._do(session, value)
            await self._link.wait_writable()

    async def _do(self, session: LinkSession, value: Value) -> None:
        match value:
            case Apply(kind, update) if len(update) > MAX_FRAME_BYTES:
                async with self._link.large:
                    session.update(kind, update)
                    await self._link.wait_writable()
            case Apply(kind, update):
                session.update(kind, update)
            case Awareness():
                session.awareness(value)
            case Step1(state_vector):
                session.step1(state_vector)
            case QueryAwareness():
                session.query_awareness()
            case Close(code, reason):
                self._outbox.close(code, reason)

    # --- SessionSink -----------------------------------------------------------------------------

    def update(self, shared: Shared) -> None:
        self._outbox.push_shared(shared, self._wire.update)

    def awareness(self, shared: Shared) -> None:
        self._outbox.push_shared(shared, self._wire.awareness)

    def step1(self, state_vector: bytes) -> None:
        self._outbox.push(self._wire.step1(state_vector))

    def step2(self, update: bytes) -> None:
        self._outbox.push(self._wire.step2(update))

    def query_awareness(self) -> None:
        self._outbox.push(self._wire.query_awareness())

    def acknowledged(self, ack: Ack, reason: str) -> None:
        for message in self._wire.acknowledge(ack, reason):
            self._outbox.push(message)

    def kicked(self, code: int, reason: str) -> None:
        self._outbox.close(code, reason)
