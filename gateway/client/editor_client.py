"""An editor in Python: a document of a docactor server, held in sync for as long as it is wanted.

    async with EditorClient("http://127.0.0.1:8000", "bread", token) as editor:
        await editor.wait_synced()
        append_paragraph(editor.root, "Preheat the oven.")
        await editor.wait_saved()  # on the server's disk

It is pycrdt's `Provider` over pycrdt-websocket's channel, on the Hocuspocus wire: the one that says
when an edit is on disk. A connection that breaks, whoever's fault it is, is made again; what was
typed meanwhile is in `doc` and goes out with the next sync. Only what a retry cannot mend ends it.

This package imports no part of the server: it runs where there is neither Ray nor SQLite.
"""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, Self

import anyio
import httpx
import msgspec
from httpx_ws import AsyncWebSocketSession, WebSocketUpgradeError, aconnect_ws
from pycrdt import Awareness, Doc, Provider, TransactionEvent, XmlFragment
from pycrdt.websocket.websocket import HttpxWebsocket

from gateway.client.document_channel import BROKEN, DocumentChannel
from shared.errors import (
    BY_CODE,
    CapabilityDenied,
    DocactorError,
    DocumentNotFound,
    InvalidArgument,
    Unauthenticated,
    Unavailable,
)
from shared.wire import close_codes
from shared.wire.y_protocol import AwarenessEntry, encode_awareness

FIRST_PAUSE_S: Final = 0.1  # before the first attempt to connect again
MAX_PAUSE_S: Final = 5.0  # each pause is twice the one before, up to this, less up to a half of it
LEAVE_S: Final = 5.0  # at the end of the block the last edits get so long to be saved
ROOT: Final = "default"  # where rich-text editors keep the document
_READ_BYTES: Final = 2**20  # from the socket at a time: a large message is put together from these
_RETRIED: Final = {408, 425, 429}  # answers to a handshake below 500 that a retry may mend
_BY_CLOSE_CODE: Final[dict[int, type[DocactorError]]] = {
    close_codes.UNAUTHENTICATED: Unauthenticated,
    close_codes.FORBIDDEN: CapabilityDenied,
    close_codes.NOT_FOUND: DocumentNotFound,
}


class _Broken(Exception):
    """The connection has ended."""


class EditorClient(anyio.AsyncContextManagerMixin):
    """Use it in an `async with` block, in one thread: connections are made while the block runs.

    Leaving the block waits up to LEAVE_S for edits that are not saved yet; `saved` then says
    whether any are left.

    Args:
        server: Its address, http://… or https://….
        document: Its id or slug.
        token: Of whoever edits; empty where the server asks for none.
        doc: To be synced, with what it has; a new one if None.
        state: What others see of this editor (an awareness state, such as `{"user": {"name": …}}`);
            None shows nothing. Later: `awareness.set_local_state`.
        rng: Spreads the attempts of many clients over time.

    Attributes:
        doc: The document. Change it as any pycrdt Doc, offline too.
        root: Its blocks: the XmlFragment `default`.
        awareness: Who is present, by client id, and what is said of oneself.
        connections: How often it has connected so far.
        synced: Whether it is connected and has all that the server had then.
        saved: Whether all that was typed here is on the server's disk.
        read_only: Whether edits will be refused; None before the document has opened.
        refused: Whether one was. It stays in `doc`, unsaved, and nobody else gets to see it.
        ended: Why there will be no further connection; None while there may be.
        why: What became of the last connection, in words, when it ended.
    """

    def __init__(
        self,
        server: str,
        document: str,
        token: str = "",
        *,
        doc: Doc[Any] | None = None,
        state: dict[str, Any] | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.doc: Doc[Any] = Doc() if doc is None else doc
        self.saved = self.doc.get_state() == b"\x00"
        self.root: XmlFragment = self.doc.get(ROOT, type=XmlFragment)
        self.awareness = Awareness(self.doc)
        self.awareness.set_local_state(state)  # else everybody sees a nobody of ours
        self.connections = 0
        self.synced = False
        self.read_only: bool | None = None
        self.refused = False
        self.ended: DocactorError | None = None
        self.why = ""
        self._url = f"{server.rstrip('/').replace('http', 'ws', 1)}/hocuspocus"
        self._document = document
        self._token = token
        self._rng = rng or random.SystemRandom()
        self._channel: DocumentChannel | None = None
        self._news = anyio.Event()
        self._presence = anyio.Event()

    @asynccontextmanager
    async def __asynccontextmanager__(self) -> AsyncGenerator[Self]:
        changes = self.doc.observe(self._changed)
        presence = self.awareness.observe(self._presence_changed)
        failure: Exception | None = None
        try:
            async with httpx.AsyncClient() as http, anyio.create_task_group() as tasks:
                tasks.start_soon(self.awareness.start)
                tasks.start_soon(self._keep_connected, http)
                try:
                    yield self
                    with anyio.move_on_after(LEAVE_S):
                        await self._wait(lambda: self._settled)
                except Exception as error:  # noqa: BLE001  the block's own: not to come in a group
                    failure = error
                tasks.cancel_scope.cancel()
        finally:
            self.doc.unobserve(changes)
            self.awareness.unobserve(presence)
        if failure is not None:
            raise failure

    @property
    def _settled(self) -> bool:
        """Whether there is nothing left that could still be saved."""
        return self.saved or self.refused or self.ended is not None

    async def wait_synced(self) -> None:
        """Until `synced`. Raises the DocactorError that `ended` it."""
        await self.until(lambda: self.synced)

    async def wait_saved(self) -> None:
        """Until `saved`.

        Raises:
            CapabilityDenied: An edit was refused: it will not be saved.
            DocactorError: Why it has `ended`.
        """
        await self.until(lambda: self.saved or self.refused)
        if not self.saved:
            raise CapabilityDenied(f"You may not edit {self._document!r} like this.")

    async def wait_ended(self) -> DocactorError:
        """Until there will be no further connection: why."""
        await self._wait(lambda: self.ended is not None)
        assert self.ended is not None
        return self.ended

    async def until(self, holds: Callable[[], bool]) -> None:
        """Until `holds()`; asked after every change of the document, of who is there and of this.

        Raises the DocactorError that `ended` it, when it will not hold any more.
        """
        await self._wait(lambda: holds() or self.ended is not None)
        if self.ended is not None and not holds():
            raise self.ended

    async def _wait(self, holds: Callable[[], bool]) -> None:
        while not holds():
            await self._news.wait()

    def _notify(self) -> None:
        self._news.set()
        self._news = anyio.Event()

    # --- the document and who is there -----------------------------------------------------------

    def _changed(self, event: TransactionEvent) -> None:
        if self._channel is None or not self._channel.observed(event.update):
            self.saved = False
        self._notify()

    def _presence_changed(self, topic: str, change: tuple[dict[str, Any], Any]) -> None:
        changed, origin = change
        state = self.awareness.get_local_state()
        if origin != "local" and state is not None and self.doc.client_id in changed["removed"]:
            self.awareness.set_local_state(state)  # others take us for gone: a higher clock
        elif topic == "update" and origin == "local":
            self._presence.set()
        self._notify()

    async def _tell_presence(self, channel: DocumentChannel) -> None:
        """Says what is shown of oneself, now and whenever it changes."""
        while True:
            self._presence = anyio.Event()
            await channel.present(self._own_presence())
            await self._presence.wait()

    def _own_presence(self) -> bytes:
        me, state = self.doc.client_id, self.awareness.get_local_state()
        text = None if state is None else msgspec.json.encode(state)
        return encode_awareness([AwarenessEntry(me, self.awareness.meta[me]["clock"], text)])

    # --- connections -----------------------------------------------------------------------------

    async def _keep_connected(self, http: httpx.AsyncClient) -> None:
        pause = FIRST_PAUSE_S
        while True:
            was_synced = await self._connect(http)
            self._notify()
            if self.ended is not None:
                return
            pause = FIRST_PAUSE_S if was_synced else pause
            await anyio.sleep(pause * self._rng.uniform(0.5, 1))
            pause = min(2 * pause, MAX_PAUSE_S)

    async def _connect(self, http: httpx.AsyncClient) -> bool:
        """One connection, from its handshake to its end; whether it came to be in sync."""
        synced = False
        socket: AsyncWebSocketSession
        try:
            async with aconnect_ws(self._url, http, max_message_size_bytes=_READ_BYTES) as socket:
                transport = HttpxWebsocket(socket, self._url)
                channel = DocumentChannel(transport, self._document, self._token, self)
                try:
                    await self._sync(channel)
                finally:
                    synced, self.synced, self._channel = self.synced, False, None
                    self._judge(channel)
        except* _Broken:
            self.why = self.why or "the connection broke"
        except* WebSocketUpgradeError as refused:
            self._no_websocket(refused)
        except* (*BROKEN, httpx.TransportError, ValueError) as broken:
            self.why = str(broken.exceptions[0]) or "nobody answers"
        self._forget_others()
        return synced

    async def _sync(self, channel: DocumentChannel) -> None:
        self.connections += 1
        self.why = ""
        self._channel = channel
        await channel.authenticate()
        if self.awareness.get_local_state() is not None:
            # A clock above the one others may have seen us leave with.
            self.awareness.set_local_state(self.awareness.get_local_state())
        async with Provider(self.doc, channel) as provider, anyio.create_task_group() as tasks:
            tasks.start_soon(self._tell_presence, channel)
            tasks.start_soon(self._tell_synced, provider)
            await channel.ended.wait()
            raise _Broken

    async def _tell_synced(self, provider: Provider) -> None:
        await provider.synced.wait()
        self.synced = True
        self._notify()

    def _judge(self, channel: DocumentChannel) -> None:
        """Whether another connection could fare better than this one did."""
        if channel.refusal is not None:
            self._end(BY_CODE.get(channel.refusal, CapabilityDenied), channel.refusal)
        elif channel.code is not None and close_codes.is_final(channel.code):
            kind = _BY_CLOSE_CODE.get(channel.code, Unavailable)
            self._end(kind, f"close code {channel.code}")
        elif channel.code is not None:
            self.why = close_codes.MEANINGS.get(channel.code, f"close code {channel.code}")

    def _end(self, kind: type[DocactorError], reason: str) -> None:
        if kind is DocumentNotFound:
            self.ended = DocumentNotFound.for_document(self._document)
        else:
            self.ended = kind(f"The server refuses the document {self._document!r}: {reason}.")

    def _no_websocket(self, refused: BaseExceptionGroup[WebSocketUpgradeError]) -> None:
        error = refused.exceptions[0]
        assert isinstance(error, WebSocketUpgradeError)
        status = error.response.status_code
        self.why = f"{self._url} answers {status} instead of opening a websocket"
        if status < 500 and status not in _RETRIED:
            self.ended = InvalidArgument(f"server: {self.why}.")

    def _forget_others(self) -> None:
        """Nobody is known to be there any more; whoever is, is told again by the next connection.

        Their clocks go too: at the same clock they would not count as news.
        """
        others = [client for client in self.awareness.meta if client != self.doc.client_id]
        self.awareness.remove_awareness_states(others, "disconnected")
        for client in others:
            del self.awareness.meta[client]

    # --- Listener --------------------------------------------------------------------------------

    def opened(self, *, read_only: bool) -> None:
        self.read_only = read_only
        self._notify()

    def edit_saved(self) -> None:
        self.saved = True
        self._notify()

    def edit_refused(self) -> None:
        self.refused = True
        self._notify()

    def states_told(self, update: bytes) -> None:
        self.awareness.apply_awareness_update(update, "server")

    def presence_asked(self) -> None:
        self._presence.set()
