"""`docactor serve` where Ray does not come up: one line that says what to do, and nothing left."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.editors import until
from tests.acceptance.server import Server

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def silent_port() -> Iterator[int]:
    """Somebody listens there and never says a word."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def started(data: Path, *flags: str, **environment: str) -> Server:
    server = Server(data, *flags)
    server.environment |= environment
    return server.start()


def test_a_ray_that_cannot_start_is_one_line(tmp_path: Path, silent_port: int) -> None:
    """Its port is taken, and it gives up by itself, as it does on a machine that is too busy."""
    server = started(
        tmp_path / "data",
        RAY_GCS_SERVER_PORT=str(silent_port),
        RAY_NUM_REDIS_GET_RETRIES="1",  # of 20,
        RAY_py_gcs_connect_timeout_s="2",  # of 30: it takes half a minute as it is
    )
    until("Ray's processes", lambda: server.family() != [])
    assert server.process.wait(90) == 1
    server.finish()
    ours = [line for line in server.errors if line.startswith("docactor: ")]
    assert len(ours) == 1
    assert "Ray did not start: Failed to start GCS." in ours[0]
    assert "start the server again" in ours[0]
    assert "Traceback" not in "".join(server.errors)
    log = (tmp_path / "data" / "logs" / "server.jsonl").read_text()
    assert '"trace":' in log  # for whoever wants to know more
    until("nothing of it runs", lambda: server.family() == [])


def test_a_cluster_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        server = started(tmp_path / "data", "--ray-address", address)
        assert server.process.wait(60) == 1
    server.finish()
    (error,) = server.errors
    assert error.startswith(f"docactor: ray_address: cannot join the cluster at {address}: ")
    assert "ray status" in error


def test_a_start_that_hangs_ends_when_it_is_told_twice(tmp_path: Path, silent_port: int) -> None:
    """Ray itself would wait there for more than ten minutes, deaf to every signal but SIGKILL."""
    server = started(tmp_path / "data", "--ray-address", f"127.0.0.1:{silent_port}")
    until("it is starting", lambda: server.lines != [])
    server.process.send_signal(signal.SIGINT)
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(15) == 0
    server.finish()
    assert server.lines[-1] == "Stopped."
    assert server.errors == []
