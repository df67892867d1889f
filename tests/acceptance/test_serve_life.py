"""`docactor serve` as a process: what it leaves behind, what it shows, what survives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import psutil
import pytest

from tests.acceptance.server import Server, command, is_running

pytestmark = pytest.mark.timeout(240)

LOOPBACK: Final = {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
OURS: Final = (
    "Starting:",
    "  … ",
    "Ready after ",
    "For an MCP client: ",
    "Data is in ",
    "Stopping",
    "Stopped.",
)


def until(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.05)


def test_document_is_created_and_read(server: Server) -> None:
    assert server.read(server.create("# Hello\n\nWorld.")) == "# Hello\n\nWorld.\n"


def test_nothing_listens_outside_loopback(server: Server) -> None:
    server.create("# Somebody at home")
    listening = [
        (command(process), connection.laddr.ip)
        for process in [*server.family(), psutil.Process(server.process.pid)]
        for connection in process.net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert listening
    assert [entry for entry in listening if entry[1] not in LOOPBACK] == []


def test_actors_run_at_the_gateways_priority(server: Server) -> None:
    server.create("# Somebody at home")
    actors = server.actors()
    assert actors
    assert {p.nice() for p in actors} == {p.nice() for p in server.gateways()}


def test_private_files_are_private(server: Server) -> None:
    for name in ("owner-token", "ray_token"):
        assert (server.data / name).stat().st_mode & 0o077 == 0
    assert server.temp_folder().stat().st_mode & 0o077 == 0


def test_killed_gateway_is_replaced(server: Server) -> None:
    doc_id = server.create("# Kept")
    before = {p.pid for p in server.gateways()}
    victim = min(before)
    os.kill(victim, signal.SIGKILL)
    until(lambda: len({p.pid for p in server.gateways()} - {victim}) == 2, 60)
    assert server.read(doc_id) == "# Kept\n"


def test_killed_actors_are_replaced_and_stdout_has_our_lines_alone(server: Server) -> None:
    doc_id = server.create("# Kept")
    for actor in server.actors():
        actor.kill()
    assert server.read(doc_id) == "# Kept\n"
    assert [line for line in server.lines if not line.startswith(OURS)] == []


def test_second_server_on_the_same_data_is_refused(server: Server) -> None:
    again = subprocess.run(
        [sys.executable, "-m", "gateway.cli", "serve", "--port", "0", "--data", str(server.data)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 2
    assert "another server runs" in again.stderr


def test_taken_port_is_refused_before_anything_starts(server: Server, tmp_path: Path) -> None:
    port = server.url.rpartition(":")[2]
    again = subprocess.run(
        [sys.executable, "-m", "gateway.cli", "serve", "--port", port, "--data", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 2
    assert "port: cannot listen" in again.stderr
    assert not (tmp_path / "catalog.sqlite3").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_leaves_no_process_and_no_folder(tmp_path: Path, number: signal.Signals) -> None:
    with Server(tmp_path / "data") as server:
        doc_id = server.create("# Kept")
        temp = server.temp_folder()
        assert server.stop(number) == 0
        until(lambda: server.family() == [], 10)
        assert not temp.exists()
        assert not (tmp_path / "data" / "address").exists()
        assert server.lines[-1] == "Stopped."
        assert server.errors == []
        # In order: nothing is left in a log beside the file.
        file = tmp_path / "data" / "documents" / doc_id[:2] / f"{doc_id}.sqlite3"
        assert file.exists()
        assert not file.with_name(file.name + "-wal").exists()


def test_signal_while_it_starts_leaves_nothing_either(tmp_path: Path) -> None:
    server = Server(tmp_path / "data").start()
    until(lambda: server.named("gcs_server") != [], 60)
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(60) == 0
    server.finish()
    until(lambda: server.family() == [], 10)
    assert [line for line in server.lines if not line.startswith(OURS)] == []


def test_killed_server_leaves_nothing_and_the_next_start_works(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        doc_id = server.create("# Kept")
        temp = server.temp_folder()
        ours = server.gateways() + server.actors() + server.named("ray::DirectoryActor")
        assert len(ours) >= 3
        os.kill(server.process.pid, signal.SIGKILL)
        with Server(tmp_path / "data") as again:
            assert again.read(doc_id) == "# Kept\n"
        until(lambda: not any(is_running(p) for p in ours), 5)
        until(lambda: not temp.exists(), 30)


def test_killed_server_lets_go_of_ports_and_files_within_five_seconds(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        server.create("# Kept")
        ours = server.gateways() + server.actors() + server.named("ray::DirectoryActor")
        os.kill(server.process.pid, signal.SIGKILL)
        until(lambda: not any(is_running(p) for p in ours), 5)
