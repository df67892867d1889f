"""The websocket of a y-websocket editor: authenticated, joined to its document's link, pumped.

The y-websocket wire is spoken at `/collab/<id or slug>`. The handshake is always accepted and a
refusal is a close code: before it, clients would see nothing but a failed connection.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Protocol

import anyio
from starlette.websockets import WebSocket, WebSocketDisconnect

from gateway.counts import GatewayCounts
from gateway.editors.link import DocumentLink
from gateway.editors.open_document import OpenDocument, check_may_open, check_may_read
from gateway.editors.outbox import Outbox
from gateway.editors.pump import pump
from gateway.live_tokens import LiveTokens
from gateway.ports import Admission
from shared.errors import DocactorError
from shared.limits import SOCKET_OPEN_S
from shared.protocol import Caller
from shared.tokens import TICKET_PREFIX
from shared.wire import close_codes
from shared.wire.sync_session import SyncSession

SUBPROTOCOL: Final = "docactor."  # followed by a token
_NOBODY: Final = b"\x00"  # an awareness update without entries


class LinkRouter(Protocol):
    """Where links come from."""

    async def admit(self, ref: str, caller: Caller) -> Admission:
        """What the caller may do with a document. Raises DocactorError, as `link` does."""

    async def link(self, ref: str) -> DocumentLink:
        """The link to the document `ref` (id or slug); it reconnects by itself from then on.

        Raises DocactorError, for one that does not exist DocumentNotFound.
        """


Authenticate = Callable[[str | None], Awaitable[Caller]]
"""The caller a token stands for; None for no token. Raises Unauthenticated."""


def editor_socket(
    router: LinkRouter,
    authenticate: Authenticate,
    counts: GatewayCounts | None = None,
    live: LiveTokens | None = None,
) -> Callable[[WebSocket], Awaitable[None]]:
    """The endpoint for a Starlette `WebSocketRoute` whose path has a parameter `ref`."""
    counts, live = counts or GatewayCounts(), live or LiveTokens()

    async def endpoint(websocket: WebSocket) -> None:
        token, subprotocol = credentials(websocket)
        await websocket.accept(subprotocol)
        try:
            with anyio.fail_after(SOCKET_OPEN_S):
                caller = await authenticate(token)
                check_may_read(caller)
                counts.check_room(caller.principal)
                ref = websocket.path_params["ref"]
                link = await router.link((await router.admit(ref, caller)).doc_id)
                # Again, now that the document is open: it may have been revoked.
                caller = (await router.admit(ref, await authenticate(token))).caller
                check_may_open(caller, link, live)
                counts.check_room(caller.principal)  # again: others came in meanwhile
        except TimeoutError:
            await refuse(websocket, close_codes.TRY_AGAIN, "the document takes too long to open")
            return
        except DocactorError as error:
            await refuse(websocket, close_code(error), error.code)
            return
        counts.enter(caller.principal)
        try:
            await EditorSocket(websocket, link, caller, counts, live).run()
        finally:
            counts.leave(caller.principal)

    return endpoint


def credentials(websocket: WebSocket) -> tuple[str | None, str | None]:
    """The token or ticket a client sends, and the subprotocol to select.

    A client that offers subprotocols refuses an answer that selects none of them, so without one of
    ours the first is selected.
    """
    offered: list[str] = websocket.scope.get("subprotocols", [])
    for protocol in offered:
        if protocol.startswith(SUBPROTOCOL):
            return protocol.removeprefix(SUBPROTOCOL), protocol
    scheme, _, token = websocket.headers.get("authorization", "").partition(" ")
    chosen = offered[0] if offered else None
    if scheme.lower() == "bearer":
        return token.strip(), chosen
    ticket = websocket.query_params.get("ticket")
    if ticket is not None and not ticket.startswith(TICKET_PREFIX):
        ticket = TICKET_PREFIX  # addresses are kept and shown: a token in one is never looked at
    return ticket, chosen


def close_code(error: DocactorError) -> int:
    """What a websocket that ends with `error` is closed with; retryable unless final."""
    return close_codes.of_error(error.code)


async def refuse(websocket: WebSocket, code: int, reason: str) -> None:
    """Closes a socket that was accepted and is not served."""
    try:
        await websocket.close(code, reason)
    except (WebSocketDisconnect, RuntimeError):
        return  # the client did not wait for it


class EditorSocket:
    """One editor's socket and the document open on it."""

    def __init__(
        self,
        websocket: WebSocket,
        link: DocumentLink,
        caller: Caller,
        counts: GatewayCounts,
        live: LiveTokens,
    ) -> None:
        self._websocket = websocket
        self._link = link
        self._caller = caller
        self._wire = SyncSession()
        self._counts = counts
        self._live = live
        self._outbox = Outbox(websocket, self._wire.awareness(_NOBODY), counts)

    async def run(self) -> None:
        """Serves the editor until its socket is closed, by either side."""
        document = OpenDocument(
            self._link, self._caller, self._wire, self._outbox, self._outbox.close, self._live
        )

        async def take(data: bytes | None) -> bool:
            values = [self._wire.text()] if data is None else self._wire.receive(data)
            news = False
            for value in values:
                news |= await document.do(value)
            await self._link.wait_writable()
            return news

        try:
            await pump(self._websocket, self._outbox, self._counts, take, document.parted)
        finally:
            document.close()
