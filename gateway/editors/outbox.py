"""What one socket still has to send.

A frame is written at once when the socket takes it; what it does not take waits here, in order, up
to a bound. A reader that falls further behind is closed with a code that makes it come back: it
syncs again and has missed nothing, where a dropped frame would leave it wrong without anybody
knowing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import anyio
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from gateway.counts import GatewayCounts
from gateway.editors.link_session import Shared
from gateway.editors.socket_protocol import EXTENSION, FrameSocket, binary_frame
from shared.limits import OUTBOX_BYTES, OUTBOX_FRAMES, SOCKET_CLOSE_S, SOCKET_QUIET_S
from shared.wire import close_codes


class Outbox:
    """The sending side of one accepted websocket. `run` is its one task.

    Args:
        websocket: Accepted.
        keep_alive: A message without effect, sent when there was nothing else for a while: clients
            take a long silence for a dead connection.
        counts: Where its messages are counted.
    """

    def __init__(
        self,
        websocket: WebSocket,
        keep_alive: bytes,
        counts: GatewayCounts | None = None,
    ) -> None:
        self._websocket = websocket
        self._socket: FrameSocket | None = websocket.scope.get("extensions", {}).get(EXTENSION)
        self._keep_alive = keep_alive
        self._counts = counts or GatewayCounts()
        self._queue: deque[bytes] = deque()
        self._bytes = 0
        self._filled = anyio.Event()
        self._closing: tuple[int, str] | None = None
        self._sending = anyio.CancelScope()
        self._quiet = False

    @property
    def closing(self) -> bool:
        return self._closing is not None

    def push(self, message: bytes) -> None:
        """Sends a message, now or in its turn."""
        self._push(message if self._socket is None else binary_frame(message))

    def push_shared(self, shared: Shared, wire: str, encode: Callable[[bytes], bytes]) -> None:
        """Sends what every session of a wire gets; encoded and framed for the first of them.

        `wire` names all that `encode` depends on.
        """
        if self._socket is None:
            self._push(shared.encoded(wire, encode))
        else:
            self._push(shared.encoded(f"{wire}, framed", lambda body: binary_frame(encode(body))))

    def close(self, code: int, reason: str) -> None:
        """Closes the socket after nothing more than what it already took."""
        if self._closing is None:
            self._closing = (code, reason)
            self._queue.clear()
            self._bytes = 0
            self._filled.set()
            self._sending.cancel()

    async def run(self) -> None:
        """Sends what had to wait; returns when the socket is closed or gone."""
        try:
            while self._closing is None:
                if self._queue:
                    await self._send_first()
                else:
                    await self._wait()
        except WebSocketDisconnect:
            return
        await self._close(*self._closing)

    def _push(self, frame: bytes) -> None:
        if self._closing is not None:
            return
        self._quiet = False
        self._counts.frames_out += 1
        if not self._queue and self._socket is not None and self._socket.write_frame(frame):
            return
        if self._queue and (
            self._bytes + len(frame) > OUTBOX_BYTES or len(self._queue) >= OUTBOX_FRAMES
        ):
            self.close(close_codes.TRY_AGAIN, "too slow")
            return
        self._queue.append(frame)
        self._bytes += len(frame)
        self._filled.set()

    async def _send_first(self) -> None:
        frame = self._queue[0]
        with anyio.CancelScope() as self._sending:  # `close` does not wait for a stuck socket
            if self._socket is None:
                await self._websocket.send_bytes(frame)
            else:
                while not self._socket.write_frame(frame):
                    await self._socket.wait_writable()
        if self._closing is None:
            self._queue.popleft()
            self._bytes -= len(frame)

    async def _wait(self) -> None:
        self._filled = anyio.Event()
        with anyio.move_on_after(SOCKET_QUIET_S):
            await self._filled.wait()
            return
        if self._quiet:
            self.push(self._keep_alive)
        self._quiet = True

    async def _close(self, code: int, reason: str) -> None:
        if self._websocket.application_state is not WebSocketState.CONNECTED:
            return
        with anyio.move_on_after(SOCKET_CLOSE_S) as scope:
            try:
                await self._websocket.close(code, reason)
            except (WebSocketDisconnect, RuntimeError):
                return  # it was gone already
        if scope.cancelled_caught and self._socket is not None:
            self._socket.abort()
