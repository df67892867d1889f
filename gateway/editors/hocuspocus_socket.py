"""The websocket of `@hocuspocus/provider` at `/hocuspocus`: one socket, many documents.

A document is refused by a message, because providers come back after any close code; a socket is
closed only for what a new connection may mend, or when its client broke the protocol.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

import anyio
from anyio.abc import TaskGroup
from starlette.websockets import WebSocket

from gateway.counts import GatewayCounts
from gateway.editors.editor_socket import Authenticate as Authenticates
from gateway.editors.editor_socket import LinkRouter, credentials, refuse
from gateway.editors.link import DocumentLink
from gateway.editors.open_document import OpenDocument, check_may_open, check_may_read, is_read_only
from gateway.editors.outbox import Outbox
from gateway.editors.pump import pump
from gateway.live_tokens import LiveTokens
from shared.errors import DocactorError
from shared.limits import (
    AUTH_S,
    BARE_SOCKET_S,
    MAX_REFUSALS,
    REOPEN_S,
    SOCKET_OPEN_S,
)
from shared.protocol import Caller
from shared.wire import close_codes
from shared.wire.hocuspocus_document import HocuspocusDocument
from shared.wire.hocuspocus_protocol import KEEP_ALIVE, addressed, permission_denied_message
from shared.wire.hocuspocus_session import Authenticate, HocuspocusSession, Left, Reply, Said
from shared.wire.sync_session import Close


def hocuspocus_socket(
    router: LinkRouter,
    authenticate: Authenticates,
    counts: GatewayCounts | None = None,
    live: LiveTokens | None = None,
) -> Callable[[WebSocket], Awaitable[None]]:
    """The endpoint for a Starlette `WebSocketRoute`."""
    counts, live = counts or GatewayCounts(), live or LiveTokens()

    async def endpoint(websocket: WebSocket) -> None:
        token, subprotocol = credentials(websocket)
        await websocket.accept(subprotocol)
        if counts.is_full:
            await refuse(websocket, close_codes.TRY_AGAIN, "overloaded")
            return
        await HocuspocusSocket(websocket, router, authenticate, counts, live, token).run()

    return endpoint


Opened = TypeVar("Opened")


class HocuspocusSocket:
    """One client's socket and the documents open on it.

    Args:
        websocket: Accepted.
        token: From the handshake; for providers that were given none.
    """

    def __init__(
        self,
        websocket: WebSocket,
        router: LinkRouter,
        authenticate: Authenticates,
        counts: GatewayCounts,
        live: LiveTokens,
        token: str | None,
    ) -> None:
        self._websocket = websocket
        self._router = router
        self._authenticate = authenticate
        self._counts = counts
        self._live = live
        self._token = token
        self._session = HocuspocusSession()
        self._outbox = Outbox(websocket, KEEP_ALIVE, counts)
        self._open: dict[str, tuple[OpenDocument, HocuspocusDocument]] = {}
        self._bare = True  # no document was open for a while
        self._asking: dict[str, anyio.CancelScope] = {}  # one question at a time per address
        self._refusals = 0  # since a document was opened
        self._tasks: TaskGroup

    async def run(self) -> None:
        """Serves the client until its socket is closed, by either side."""
        try:
            async with anyio.create_task_group() as self._tasks:
                self._tasks.start_soon(self._watch)
                await pump(self._websocket, self._outbox, self._counts, self._take, self._parted)
                self._tasks.cancel_scope.cancel()
        finally:
            for address in tuple(self._open):
                self._drop(address)

    def _parted(self) -> None:
        for document, _ in self._open.values():
            document.parted()

    async def _watch(self) -> None:
        """A socket that opens no document is closed: it costs room and shows no token."""
        while not self._outbox.closing:
            self._bare = not self._open
            await anyio.sleep(BARE_SOCKET_S)
            if self._bare:
                self._outbox.close(close_codes.TRY_AGAIN, "no document is open")

    async def _take(self, data: bytes | None) -> bool:
        news = False
        events = [self._session.text()] if data is None else self._session.receive(data)
        for event in events:
            match event:
                case Said(address, value):
                    document, _ = self._open[address]
                    news |= await document.do(value)
                    await document.link.wait_writable()
                case Authenticate():
                    news = True
                    if (overtaken := self._asking.pop(event.address, None)) is not None:
                        overtaken.cancel()
                    self._tasks.start_soon(self._admit, event)
                case Left(address):
                    if address in self._open:
                        self._open[address][0].parted()
                    self._drop(address)
                case Reply(frame):
                    self._outbox.push(frame)
                case Close(code, reason):
                    self._outbox.close(code, reason)
        return news

    # --- opening a document ----------------------------------------------------------------------

    async def _admit(self, asked: Authenticate) -> None:
        """Opens a document, does what waits for it, and from then on what comes in directly."""
        address, ticket = asked.address, asked.ticket
        with anyio.CancelScope() as scope:
            self._asking[address] = scope
            found = await self._ask(asked)
        if self._asking.get(address) is scope:
            del self._asking[address]
        if scope.cancelled_caught or found is None:
            return
        if not self._session.current(address, ticket):
            return
        document = self._begin(address, *found)
        # None of them is large enough to wait for its turn, so none is overtaken.
        while (value := self._session.next_waiting(address)) is not None:
            await document.do(value)
            await document.link.wait_writable()
            if not self._session.current(address, ticket):
                return
        self._session.admitted(address, ticket)

    async def _ask(self, asked: Authenticate) -> tuple[Caller, DocumentLink] | None:
        """Who asks, and the document's link; None after the client was told that it may not."""
        try:
            with anyio.fail_after(AUTH_S):
                caller = await self._patiently(partial(self._caller, asked.token))
            with anyio.fail_after(SOCKET_OPEN_S):
                link = await self._patiently(partial(self._link, asked, caller))
            with anyio.fail_after(AUTH_S):
                # Again, now that the document is open: it may have been revoked.
                caller = await self._patiently(partial(self._admitted, asked))
            # Nothing is waited for from here on until it counts as open.
            check_may_open(caller, link, self._live)
        except TimeoutError:
            self._outbox.close(close_codes.TRY_AGAIN, "the document takes too long to open")
        except DocactorError as error:
            if self._session.refused(asked.address, asked.ticket):
                self._drop(asked.address)
                self._deny(asked.address, error.code)
            self._refusals += 1
            if self._refusals > MAX_REFUSALS:
                self._outbox.close(close_codes.UNAUTHENTICATED, "too many refusals")
        else:
            return caller, link
        return None

    async def _caller(self, token: str) -> Caller:
        caller = await self._authenticate(token or self._token)
        check_may_read(caller)
        return caller

    async def _admitted(self, asked: Authenticate) -> Caller:
        caller = (await self._router.admit(asked.ref, await self._caller(asked.token))).caller
        self._check_room(asked, caller)
        return caller

    async def _link(self, asked: Authenticate, caller: Caller) -> DocumentLink:
        self._check_room(asked, caller)
        return await self._router.link((await self._router.admit(asked.ref, caller)).doc_id)

    def _check_room(self, asked: Authenticate, caller: Caller) -> None:
        """Whoever only shows a new token has its place."""
        if asked.address not in self._open:
            self._counts.check_room(caller.principal)

    @staticmethod
    async def _patiently(attempt: Callable[[], Awaitable[Opened]]) -> Opened:
        """Again and again while it may yet succeed: providers give a refused document up.

        Closing the socket instead would take the client's other documents down with it.
        """
        while True:
            try:
                return await attempt()
            except DocactorError as error:
                if not error.retryable:
                    raise
            await anyio.sleep(REOPEN_S)

    def _begin(self, address: str, caller: Caller, link: DocumentLink) -> OpenDocument:
        """The session of an admitted client; the one it has, when its new token changes nothing."""
        before = self._open.get(address)
        wire = HocuspocusDocument(address) if before is None else before[1]
        self._outbox.push(wire.authenticated(read_only=is_read_only(caller)))
        if before is not None:
            document = before[0]
            if document.caller == caller and document.link is link:
                return document
            wire.moved()
            document.close()
            self._counts.leave(document.caller.principal)
        self._counts.enter(caller.principal)
        kicked = partial(self._kicked, address)
        document = OpenDocument(link, caller, wire, self._outbox, kicked, self._live)
        self._open[address] = (document, wire)
        self._bare = False
        self._refusals = 0
        return document

    # --- ending one ------------------------------------------------------------------------------

    def _drop(self, address: str) -> None:
        """Ends the session at an address, if there is one."""
        opened = self._open.pop(address, None)
        if opened is not None:
            self._counts.leave(opened[0].caller.principal)
            opened[0].close()

    def _kicked(self, address: str, code: int, reason: str) -> None:
        """The document ended a session: for good, or so that the client comes back."""
        self._drop(address)
        self._session.ended(address)
        if close_codes.is_final(code):
            self._deny(address, reason)
        else:
            self._outbox.close(code, reason)

    def _deny(self, address: str, reason: str) -> None:
        self._outbox.push(addressed(address, permission_denied_message(reason)))
