"""The websocket protocol under a transport that only says what it was told."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from uvicorn.config import Config
from uvicorn.server import ServerState
from websockets.frames import Frame, Opcode

from gateway.editors.socket_protocol import EXTENSION, EditorSocketProtocol, binary_frame


@given(st.sampled_from([0, 1, 125, 126, 127, 65_535, 65_536, 100_000]))
def test_a_frame_is_what_the_websockets_library_makes(size: int) -> None:
    message = bytes(size)
    expected = Frame(Opcode.BINARY, message).serialize(mask=False, extensions=[])
    assert binary_frame(message) == expected


class FakeTransport(asyncio.Transport):
    """Keeps what is written; `unsent` is what a slow peer has left in the buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.unsent = 0
        self.written = b""
        self.ended = False

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def is_closing(self) -> bool:
        return self.ended

    def close(self) -> None:
        self.ended = True

    def abort(self) -> None:
        self.ended = True

    def pause_reading(self) -> None:
        return

    def resume_reading(self) -> None:
        return


REQUEST = (
    b"GET /collab/doc HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


class Connection:
    """An accepted connection whose application does nothing."""

    def __init__(self) -> None:
        self.transport = FakeTransport()
        self.extensions: dict[str, Any] = {}
        config = Config(
            self._application,
            interface="asgi3",
            ws_ping_interval=20,
            ws_ping_timeout=20,
            lifespan="off",
            log_level="error",
        )
        config.load()
        self.protocol = EditorSocketProtocol(config, ServerState(), {})
        self.protocol.connection_made(self.transport)
        self.protocol.data_received(REQUEST)
        self.accepted = asyncio.Event()
        self._over = asyncio.Event()

    async def _application(self, scope: Any, receive: Any, send: Any) -> None:
        self.extensions = scope["extensions"]
        await receive()
        await send({"type": "websocket.accept"})
        self.accepted.set()
        await self._over.wait()

    def ping(self) -> None:
        """Sends a ping now, whose answer is then due."""
        self.protocol.send_keepalive_ping()

    def over(self) -> None:
        self.protocol.stop_keepalive()
        self._over.set()


@pytest.fixture
async def connection() -> Any:
    connection = Connection()
    await connection.accepted.wait()
    yield connection
    connection.over()
    await asyncio.gather(*connection.protocol.tasks)


pytestmark = pytest.mark.anyio


async def test_an_endpoint_is_offered_the_socket(connection: Connection) -> None:
    assert connection.extensions[EXTENSION] is connection.protocol


async def test_a_frame_is_written_as_it_is(connection: Connection) -> None:
    before = connection.transport.written
    assert connection.protocol.write_frame(b"frame")
    assert connection.transport.written == before + b"frame"


async def test_a_full_socket_takes_nothing(connection: Connection) -> None:
    before = connection.transport.written
    connection.protocol.pause_writing()
    assert not connection.protocol.write_frame(b"frame")
    connection.protocol.resume_writing()
    await connection.protocol.wait_writable()
    assert connection.protocol.write_frame(b"frame")
    assert connection.transport.written == before + b"frame"


async def test_nothing_follows_a_close_frame(connection: Connection) -> None:
    await connection.protocol.send({"type": "websocket.close", "code": 4404, "reason": ""})
    before = connection.transport.written
    assert connection.protocol.write_frame(b"frame")
    assert connection.transport.written == before


async def test_a_silent_peer_is_dropped(connection: Connection) -> None:
    connection.transport.unsent = 1_000
    connection.ping()
    connection.protocol.keepalive_timeout()
    assert connection.transport.ended


async def test_a_peer_that_is_still_taking_a_large_message_is_kept(
    connection: Connection,
) -> None:
    connection.transport.unsent = 1_000
    connection.ping()
    connection.transport.unsent = 900
    connection.protocol.keepalive_timeout()
    assert not connection.transport.ended
    assert cast("asyncio.TimerHandle", connection.protocol.pong_timer).when() > 0
    connection.protocol.keepalive_timeout()  # nothing more was taken
    assert connection.transport.ended


async def test_a_peer_that_is_still_sending_a_large_message_is_kept(
    connection: Connection,
) -> None:
    connection.ping()
    connection.protocol.data_received(b"\x82\xff\x00\x00\x00\x00\x00\x10\x00\x00")
    connection.protocol.keepalive_timeout()
    assert not connection.transport.ended
    connection.protocol.keepalive_timeout()
    assert connection.transport.ended


async def test_a_peer_we_do_not_read_is_not_blamed(connection: Connection) -> None:
    connection.ping()
    connection.protocol.read_paused = True
    connection.protocol.keepalive_timeout()
    assert not connection.transport.ended
