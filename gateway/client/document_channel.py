"""One document on a Hocuspocus socket, as the plain channel that pycrdt's `Provider` syncs over.

The provider knows sync messages alone. What else the wire has is told to a `Listener`: whether the
document opened, who is present, and when everything sent is on disk.

    frame from the server      becomes
    sync                       a message for the provider
    authenticated, denied      opened | refused, and the end of the channel
    sync status                edit_saved, once it was the last | edit_refused
    awareness, query           states_told | presence_asked

Not everything the provider sends goes out: it repeats to the server each update that came from
there. An update is known by its bytes, which no two edits share.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol

import anyio
import httpcore
from httpx_ws import HTTPXWSException, WebSocketDisconnect
from pycrdt import Channel
from wsproto.utilities import ProtocolError

from shared.wire.hocuspocus_protocol import CLOSE, PING, PONG, SYNC_STATUS, addressed
from shared.wire.lib0 import Decoder, MalformedMessage, var_string
from shared.wire.y_protocol import (
    AUTH,
    AWARENESS,
    QUERY_AWARENESS,
    SYNC,
    awareness_message,
    update_message,
)

# What a socket that breaks raises, depending on where it is caught.
BROKEN: Final = (
    HTTPXWSException,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    ProtocolError,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    anyio.EndOfStream,
    OSError,
)
_STEP_1: Final = b"\x00\x00"
_UPDATE: Final = b"\x00\x02"
_TOKEN, _TOKEN_ASKED, _DENIED, _OPENED = 0, 0, 1, 2


class Listener(Protocol):
    """Who hears what the wire says beside sync."""

    def opened(self, *, read_only: bool) -> None: ...
    def edit_saved(self) -> None:
        """All that was observed and sent so far is on disk."""

    def edit_refused(self) -> None: ...
    def states_told(self, update: bytes) -> None: ...
    def presence_asked(self) -> None: ...


class DocumentChannel(Channel):
    """The channel of one connection. `authenticate` comes before the provider starts.

    Args:
        socket: Carries whole frames, e.g. pycrdt-websocket's `HttpxWebsocket`.
        name: The document's id or slug.

    Attributes:
        ended: Set when nothing more will come.
        refusal: Why the document does not open; for good.
        code: What the server closed the socket with; None when it broke.
    """

    def __init__(self, socket: Channel, name: str, token: str, listener: Listener) -> None:
        self.ended = anyio.Event()
        self.refusal: str | None = None
        self.code: int | None = None
        self._socket = socket
        self._name = name
        self._token = token
        self._listener = listener
        self._applying = False  # the provider applies what `__anext__` returned last
        self._expected: deque[tuple[bytes, bool]] = deque()  # update messages, and if remote
        self._unsent = 0  # of these, edits of our own
        self._unsaved = 0  # sent, and not known to be on disk

    @property
    def path(self) -> str:
        return self._socket.path

    async def authenticate(self) -> None:
        """Asks for the document; what follows needs no answer to be waited for."""
        await self._send(bytes((AUTH, _TOKEN)) + var_string(self._token))

    async def present(self, update: bytes) -> None:
        """Sends an awareness update."""
        await self._send(awareness_message(update))

    def observed(self, update: bytes) -> bool:
        """Call with every change of the document, while it is made; whether it came from here."""
        remote = self._applying
        self._expected.append((update_message(update), remote))
        self._unsent += not remote
        return remote

    # --- the provider's side ---------------------------------------------------------------------

    async def send(self, message: bytes) -> None:
        """Sends a sync message; a socket that is gone ends the channel, and the next one syncs."""
        self._applying = False
        if message.startswith(_STEP_1):
            # What changed before this is in the answer to the server's own step 1, which the
            # server tells as saved once.
            self._expected.clear()
            self._unsent = 0
            self._unsaved = 1
        elif message.startswith(_UPDATE):
            if self._expected and self._expected[0][0] == message:
                remote = self._expected.popleft()[1]
                if remote:
                    return
                self._unsent -= 1
            self._unsaved += 1
        await self._send(message)

    async def recv(self) -> bytes:
        """The next sync message. Raises one of BROKEN when the socket ends."""
        self._applying = False
        while self.refusal is None:
            message = await self._take(await self._socket.recv())
            if message is not None:
                self._applying = True
                return message
        raise anyio.EndOfStream

    async def __anext__(self) -> bytes:
        try:
            return await self.recv()
        except WebSocketDisconnect as error:
            self.code = error.code
        except MalformedMessage:
            pass  # not a server of this wire: the next connection may meet one
        except BROKEN:
            pass
        self.ended.set()
        raise StopAsyncIteration

    # --- frames ----------------------------------------------------------------------------------

    async def _send(self, message: bytes) -> None:
        try:
            await self._socket.send(addressed(self._name, message))
        except BROKEN:
            self.ended.set()

    async def _take(self, data: bytes) -> bytes | None:
        """What of a frame is the provider's. Raises MalformedMessage."""
        if data == PING:
            await self._socket.send(PONG)
            return None
        decoder = Decoder(data)
        if data == PONG or decoder.var_string() != self._name:
            return None  # a sign of life
        start = decoder.position
        kind = decoder.var_uint()
        if kind == SYNC:
            return data[start:]
        if kind == AUTH:
            await self._answered(decoder)
        elif kind == AWARENESS:
            self._listener.states_told(decoder.var_bytes())
        elif kind == QUERY_AWARENESS:
            self._listener.presence_asked()
        elif kind == SYNC_STATUS:
            self._settle(saved=decoder.var_uint() == 1)
        elif kind == CLOSE:
            raise anyio.EndOfStream
        return None

    async def _answered(self, decoder: Decoder) -> None:
        said = decoder.var_uint()
        if said == _OPENED:
            self._listener.opened(read_only=decoder.var_string() == "readonly")
        elif said == _DENIED:
            self.refusal = decoder.var_string()
        elif said == _TOKEN_ASKED:
            await self.authenticate()

    def _settle(self, *, saved: bool) -> None:
        if not saved:
            self._listener.edit_refused()
            return
        self._unsaved = max(0, self._unsaved - 1)
        if not self._unsaved and not self._unsent:
            self._listener.edit_saved()
