"""Frames over a stream transport: the part both ends of a link share.

No task and no future per frame: the transport's callback cuts the bytes into frames and hands each
to `frame_received`, a bounded number per turn of the loop so that a flood cannot starve anybody.
"""

from __future__ import annotations

import asyncio
import logging
from typing import cast

from shared.limits import LINK_PAUSE_BYTES, LINK_TURN_FRAMES
from shared.wire.frames import Frame, FrameReader
from shared.wire.lib0 import MalformedMessage

logger = logging.getLogger(__name__)


class FrameProtocol(asyncio.Protocol):
    """One end of a link.

    Subclasses say what a frame does and may hold reading back: while `ready` is false no frame is
    handed over and, soon, no byte read; `resume` looks again.

    Args:
        limit: The longest frame that is read, in bytes.
    """

    def __init__(self, limit: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._reader = FrameReader(limit)
        self._transport: asyncio.Transport | None = None
        self._reading = True
        self._turn_due = False
        self.writable = True  # false while more than LINK_PAUSE_BYTES wait to be sent
        self.sent = 0  # bytes handed to `send`

    # --- for subclasses ----------------------------------------------------------------------

    def frame_received(self, frame: Frame) -> None:
        """Does what the frame says. MalformedMessage ends the connection."""
        raise NotImplementedError

    def ready(self) -> bool:
        """Whether the next frame may be handed over."""
        return True

    def closed(self) -> None:
        """The connection is gone; called once."""

    # --- sending and ending --------------------------------------------------------------------

    @property
    def connected(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    @property
    def unsent(self) -> int:
        """Bytes handed to `send` that the kernel has not taken yet."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    @property
    def taken(self) -> int:
        """Bytes of the frames handed to `frame_received`."""
        return self._reader.taken

    def send(self, frame: bytes) -> None:
        """Sends without waiting; dropped when the connection is gone."""
        if self._transport is not None and not self._transport.is_closing():
            self.sent += len(frame)
            self._transport.write(frame)

    def close(self) -> None:
        """Ends the connection after what is already handed over."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Ends the connection now."""
        if self._transport is not None:
            self._transport.abort()

    def resume(self) -> None:
        """Looks again whether frames may be handed over."""
        if not self._turn_due:
            self._turn_due = True
            self._loop.call_soon(self._turn)

    # --- asyncio.Protocol ----------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=LINK_PAUSE_BYTES)

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        if not self._turn_due:
            self._turn()

    def eof_received(self) -> bool | None:
        return None

    def connection_lost(self, _exc: Exception | None) -> None:
        self._transport = None
        self.writable = True
        self.closed()

    def pause_writing(self) -> None:
        self.writable = False

    def resume_writing(self) -> None:
        self.writable = True

    def _turn(self) -> None:
        self._turn_due = False
        for _ in range(LINK_TURN_FRAMES):
            if not self.connected:
                return
            if not self.ready():
                self._read(wanted=False)
                return
            try:
                frame = self._reader.next()
                if frame is None:
                    self._read(wanted=True)
                    return
                self.frame_received(frame)
            except MalformedMessage as error:
                logger.warning("link closed: %s", error)
                self.abort()
                return
        self._read(wanted=False)
        self.resume()

    def _read(self, *, wanted: bool) -> None:
        if wanted == self._reading or self._transport is None:
            return
        self._reading = wanted
        if wanted:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()
