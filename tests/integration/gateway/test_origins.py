"""A stranger's page at a real socket: refused before anything of ours runs, with the reason."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from tests.in_process import served
from tests.unit.gateway.fakes import FakeRouter


@pytest.fixture
def port(rng: random.Random) -> Iterator[int]:
    with served(FakeRouter(rng.choice)) as base:
        yield int(base.rpartition(":")[2])


def opened(port: int, path: str, host: str, origin: str | None) -> ClientConnection:
    """A connection to our socket that asks for whatever host it likes."""
    sock = socket.create_connection(("127.0.0.1", port))
    asked = None if origin is None else Origin(origin)
    return connect(f"ws://{host}{path}", sock=sock, origin=asked)


@pytest.mark.parametrize("path", ["/collab/plan", "/hocuspocus"])
@pytest.mark.parametrize(
    "host, origin, status",
    [
        ("evil.example", None, 421),
        ("127.0.0.1", "https://evil.example", 403),
        ("127.0.0.1", "null", 403),
    ],
)
def test_a_handshake_is_answered_with_its_status(
    port: int, path: str, host: str, origin: str | None, status: int
) -> None:
    with pytest.raises(InvalidStatus) as refused:
        opened(port, path, host, origin)
    assert refused.value.response.status_code == status
    with opened(port, path, "127.0.0.1", None):
        """And the next one, without them, is heard."""
