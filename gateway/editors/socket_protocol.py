"""uvicorn's websocket protocol, with a road for bytes that are already a websocket frame.

A broadcast is the same bytes for every socket of a gateway. Through ASGI each copy would be framed
anew, in a coroutine of its own; here a socket's endpoint may write the finished frame. All else is
uvicorn's (`ws=EditorSocketProtocol` in its configuration, pinned to the version this was read in).
"""

from __future__ import annotations

import struct
from http import HTTPStatus
from typing import Final, Protocol

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

EXTENSION: Final = "docactor.frames"

_BINARY: Final = 0x82  # final fragment, opcode 2; a server's frames are not masked (RFC 6455, 5.2)


def binary_frame(message: bytes) -> bytes:
    """`message` as one websocket frame from a server."""
    size = len(message)
    if size < 126:
        header = bytes((_BINARY, size))
    elif size < 2**16:
        header = struct.pack(">BBH", _BINARY, 126, size)
    else:
        header = struct.pack(">BBQ", _BINARY, 127, size)
    return header + message


class FrameSocket(Protocol):
    """What `scope["extensions"][EXTENSION]` offers."""

    def write_frame(self, frame: bytes) -> bool:
        """Writes a whole frame now; False when the socket's buffer is full and nothing was done."""

    async def wait_writable(self) -> None: ...

    def abort(self) -> None:
        """Drops the connection and whatever was not sent."""


class EditorSocketProtocol(WebSocketsSansIOProtocol):
    """A websocket connection of uvicorn's, offering `FrameSocket` to its endpoint.

    Its pings do not end a connection that is merely slow: while a large message is crossing, the
    pong waits behind it.
    """

    _heard = False
    _unsent = 0

    # --- FrameSocket -----------------------------------------------------------------------------

    def write_frame(self, frame: bytes) -> bool:
        if not self.writable.is_set():
            return False
        if self.handshake_complete and not self.close_sent and not self.transport.is_closing():
            self.transport.write(frame)
        return True

    async def wait_writable(self) -> None:
        await self.writable.wait()

    def abort(self) -> None:
        self.transport.abort()

    # --- uvicorn's -------------------------------------------------------------------------------

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        if self.response.status_code == HTTPStatus.SWITCHING_PROTOCOLS:
            extensions: dict[str, object] = self.scope["extensions"]  # type: ignore[assignment]
            extensions[EXTENSION] = self  # uvicorn types them as plain values; ASGI does not

    def data_received(self, data: bytes) -> None:
        self._heard = True
        super().data_received(data)

    def send_keepalive_ping(self) -> None:
        self._watch()
        super().send_keepalive_ping()

    def keepalive_timeout(self) -> None:
        sending = self.transport.get_write_buffer_size() < self._unsent
        if (self._heard or sending or self.read_paused) and self.ping_timeout is not None:
            self._watch()
            self.pong_timer = self.loop.call_later(self.ping_timeout, self.keepalive_timeout)
            return
        super().keepalive_timeout()

    def _watch(self) -> None:
        self._heard = False
        self._unsent = self.transport.get_write_buffer_size()
