"""A whole server in its operator's hands: documents deleted, had back and expired; its one node."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from gateway.cli import NO_SERVER, REFUSED, main
from shared.wire import close_codes
from shared.wire.sync_session import Apply, Step1
from tests.acceptance.server import Server
from tests.acceptance.sockets import bare, closed, next_of

pytestmark = pytest.mark.timeout(240)

Captured = pytest.CaptureFixture[str]
COUNTED: Final = (
    "docactor_frames_out_total",
    "docactor_mcp_calls_total",
    "docactor_link_reconnects_total",
    "docactor_document_activations_total",
    "docactor_document_takeovers_total",
    "docactor_commit_seconds_count",
    "docactor_log_bytes_total",
)


def until(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("admin") / "data") as running:
        yield running


@pytest.fixture
def docactor(server: Server, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The command line, pointed at the server."""
    monkeypatch.chdir(server.data.parent)
    monkeypatch.delenv("DOCACTOR_TOKEN", raising=False)
    return lambda *arguments: main([*arguments, "--data", str(server.data)])


def status(server: Server) -> dict[str, Any]:
    told: dict[str, Any] = server.request("GET", "/api/status").json()
    return told


def active(server: Server) -> set[str]:
    return {document["doc_id"] for document in status(server)["active"]}


def test_deleting_closes_the_editors_and_frees_the_slot(
    server: Server, docactor: Callable[..., int], capsys: Captured
) -> None:
    doc_id = server.create("# Going away")
    with bare(server, doc_id) as socket:
        next_of(socket, Step1)
        assert docactor("delete", doc_id) == 0
        assert closed(socket) == close_codes.NOT_FOUND
    assert "can be had back" in capsys.readouterr().out
    assert doc_id not in active(server)
    assert server.request("GET", f"/api/documents/{doc_id}.md").status_code == 404
    assert docactor("list", "--deleted") == 0
    assert doc_id in capsys.readouterr().out
    assert docactor("undelete", doc_id) == 0
    assert server.read(doc_id) == "# Going away\n"


def test_waiting_agent_hears_at_once_that_its_document_is_gone(server: Server) -> None:
    doc_id = server.create("# Followed")
    cursor = server.tool("read_document", doc_id=doc_id)["cursor"]
    with ThreadPoolExecutor(1) as thread:
        asked = thread.submit(refusal, server, doc_id=doc_id, cursor=cursor, wait_s=50)
        until(lambda: waits(server), 20)
        began = time.monotonic()
        server.request("DELETE", f"/api/documents/{doc_id}")
        assert asked.result()["code"] == "doc_not_found"
        assert time.monotonic() - began < 20


def waits(server: Server) -> bool:
    """Whether some call waits for a change at the gateway."""
    return metric(server, "docactor_waits") == 1


def metric(server: Server, name: str) -> float:
    """The sum over its labels."""
    answer = server.request("GET", "/metrics")
    assert answer.status_code == 200
    families = text_string_to_metric_families(answer.text)
    return sum(s.value for family in families for s in family.samples if s.name == name)


def refusal(server: Server, **arguments: Any) -> dict[str, Any]:
    """What read_changes is refused with."""
    answer = httpx.post(
        server.mcp,
        headers={
            "Authorization": f"Bearer {server.token}",
            "Accept": "application/json, text/event-stream",
        },
        json={
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "read_changes", "arguments": arguments},
        },
        timeout=60,
    )
    error: dict[str, Any] = answer.json()["result"]["structuredContent"]["error"]
    return error


def test_document_that_expires_is_gone_on_time(
    server: Server, docactor: Callable[..., int], capsys: Captured
) -> None:
    expires = datetime.now(UTC) + timedelta(seconds=8)
    body = {"markdown": "# Brief", "expires": expires.isoformat()}
    made = server.request("POST", "/api/documents", json=body).json()
    doc_id = made["doc_id"]
    assert docactor("list") == 0
    assert f"expires {made['expires_at']}" in capsys.readouterr().out
    assert server.read(doc_id) == "# Brief\n"
    until(lambda: server.request("GET", f"/api/documents/{doc_id}.md").status_code == 404, 30)
    assert datetime.now(UTC) >= expires
    until(lambda: doc_id not in active(server), 30)
    assert docactor("list", "--deleted") == 0
    assert doc_id in capsys.readouterr().out


def test_only_node_is_drained_by_force_and_taken_back(
    server: Server, docactor: Callable[..., int], capsys: Captured
) -> None:
    doc_id = server.create("# Stays on disk")
    node = status(server)["nodes"][0]["node_id"]
    assert docactor("drain", node[:8]) == REFUSED
    assert "nowhere to go" in capsys.readouterr().err
    assert server.read(doc_id) == "# Stays on disk\n"
    assert docactor("drain", node[:8], "--force") == 0
    assert "no documents any more" in capsys.readouterr().out
    assert status(server)["nodes"][0]["draining"] is True
    assert active(server) == set()
    assert server.request("GET", "/readyz").json() == {"status": "no room"}
    answer = server.request("GET", f"/api/documents/{doc_id}.md")
    assert (answer.status_code, answer.json()["code"]) == (503, "overloaded")
    until(lambda: server.actors() == [], 30)
    assert docactor("undrain", node) == 0
    assert server.read(doc_id) == "# Stays on disk\n"


def test_editors_calls_and_commits_are_counted(server: Server) -> None:
    doc_id = server.create("# Counted")
    before = {name: metric(server, name) for name in COUNTED}
    with bare(server, doc_id) as socket:
        next_of(socket, Step1)
        assert metric(server, "docactor_sockets") == 1
        server.kill_actor(doc_id)
        next_of(socket, Step1)  # the next actor's
        server.tool("insert", doc_id=doc_id, markdown="More.")
        next_of(socket, Apply)  # the broadcast of it

    def still() -> list[str]:
        return [name for name in COUNTED if metric(server, name) <= before[name]]

    until(lambda: not still(), 30)
    assert metric(server, "docactor_directory_up") == 1
    until(lambda: metric(server, "docactor_sockets") == 0, 10)


def test_without_a_server_there_is_nobody_to_do_it(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("nowhere"))
    for command in (["delete", "x"], ["undelete", "x"], ["drain", "x"], ["undrain", "x"]):
        assert main([*command, "--url", "http://127.0.0.1:9"]) == NO_SERVER
