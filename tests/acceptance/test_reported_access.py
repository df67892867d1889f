"""Reported cases of MCP gateways and of access, by the name their docstring gives them.

P52  arguments of wrong types  test_hostile_arguments.py, unit/gateway/test_tool_arguments.py
P53  sessions nobody knows     here
P54  requests of wrong shape   here; test_hostile_arguments.py, test_mcp_wires.py
P55  huge arguments            test_mcp_wires.py, unit/test_large_patches.py
P56  calls sent again          test_failover.py, unit/test_document_durable.py
P57  callers that leave        test_callers_that_leave.py, unit/gateway/test_cancel.py
P62  every request proves who  here; test_mcp_wires.py
P63  readers that write        here; unit/gateway/test_access_table.py, unit/wire/test_read_only.py
P64  access taken back         here; test_roles.py, test_tokens.py, test_hibernation.py
"""

from __future__ import annotations

import json
import socket
import time
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import psutil
import pytest
from pycrdt import Doc, XmlFragment
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from shared.wire import close_codes
from shared.wire.sync_session import Apply
from shared.wire.y_protocol import step1_message
from tests.acceptance.editors import until
from tests.acceptance.server import Server
from tests.acceptance.sockets import closed, next_of
from tests.acceptance.test_roles import grant, person
from tests.amount import amount

ACCEPT: Final = "application/json, text/event-stream"
AT_ONCE_S: Final = 3.0  # asked for is one; the machine may be busy
STRANGERS: Final = amount(500, 10_000)
GROWN_BYTES: Final = 20 * 2**20


def message(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


INITIALIZE: Final = message(
    "initialize",
    protocolVersion="2025-06-18",
    capabilities={},
    clientInfo={"name": "test", "version": "1"},
)


def headers(token: str | None, session: str | None = None) -> dict[str, str]:
    made = {"Accept": ACCEPT}
    if token is not None:
        made["Authorization"] = f"Bearer {token}"
    return made if session is None else made | {"Mcp-Session-Id": session}


def works(server: Server) -> None:
    """A call in order is answered at once."""
    began = time.monotonic()
    server.tool("list_documents", limit=1)
    assert time.monotonic() - began < AT_ONCE_S


@pytest.mark.parametrize("session", ["gone", "../../x", "x" * 8_000, ""])
def test_a_session_nobody_knows_is_no_fault_and_nobodys(server: Server, session: str) -> None:
    """P53. There are no sessions: a call in one just works, as who sends it."""
    listing = message("tools/list")
    for _ in range(2):
        answer = httpx.post(server.mcp, json=listing, headers=headers(server.token, session))
        assert (answer.status_code, "result" in answer.json()) == (200, True)
    for method in ("DELETE", "DELETE", "PUT"):
        asked = httpx.request(method, server.mcp, headers=headers(server.token, session))
        assert asked.status_code < 500
    assert httpx.post(server.mcp, json=listing, headers=headers(None, session)).status_code == 401
    works(server)


SHAPES: Final = {
    "cut half way": "POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n"
    "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n{{",
    "shorter than it says": "POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}"
    "\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{{",
    "HTTP/1.0": "POST /mcp HTTP/1.0\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n"
    "Content-Length: 2\r\n\r\n{{}}",
    "no request": "\x00\x01\x02 {token} {host}\r\n\r\n",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_request_of_a_wrong_shape_holds_nobody_up(server: Server, shape: str) -> None:
    """P54."""
    at = urlsplit(server.url)
    assert at.hostname is not None
    text = SHAPES[shape].format(host=at.netloc, token=server.token)
    for _ in range(20):
        with socket.create_connection((at.hostname, at.port or 80), 20) as raw:
            raw.sendall(text.encode())
    works(server)


@pytest.mark.parametrize(
    "more", [{"Accept": "text/html"}, {"Accept": ""}, {"Content-Type": "text/plain"}]
)
def test_headers_that_do_not_fit_are_refused(server: Server, more: dict[str, str]) -> None:
    """P54."""
    body = json.dumps(message("tools/list"))
    sent = {"Content-Type": "application/json"} | headers(server.token) | more
    assert httpx.post(server.mcp, content=body, headers=sent).status_code < 500
    works(server)


def test_every_call_in_a_session_proves_who_sends_it(server: Server) -> None:
    """P62."""
    doc, other = server.create("# Hidden"), person(server, "mallory")
    begun = httpx.post(server.mcp, json=INITIALIZE, headers=headers(server.token))
    session = begun.headers.get("mcp-session-id", "as good as any")
    read = message("tools/call", name="read_document", arguments={"doc_id": doc})

    def answer(token: str | None) -> httpx.Response:
        return httpx.post(server.mcp, json=read, headers=headers(token, session))

    assert not answer(server.token).json()["result"].get("isError", False)
    assert [answer(token).status_code for token in (None, "wrong")] == [401] * 2
    told = answer(other).json()["result"]
    assert told["structuredContent"]["error"]["code"] == "doc_not_found"


def test_strangers_who_begin_sessions_leave_nothing_behind(server: Server) -> None:
    """P62."""

    def memory() -> int:
        return sum(psutil.Process(each.pid).memory_info().rss for each in server.gateways())

    def come(number: int) -> None:
        with httpx.Client(headers=headers(None)) as client:
            for _ in range(number):
                answer = client.post(server.mcp, json=INITIALIZE)
                assert (answer.status_code, "mcp-session-id" in answer.headers) == (401, False)

    come(100)
    before = memory()
    come(STRANGERS)
    assert memory() - before < GROWN_BYTES
    works(server)


def opened(server: Server, path: str, credential: str) -> str | int:
    """What is in the document that a socket of this address opens, or its close code."""
    offered = [Subprotocol(f"docactor.{credential}")]
    with connect(f"{server.collab}/{path}", subprotocols=offered, close_timeout=1) as there:
        try:
            there.send(step1_message(b"\x00"))
            told = next_of(there, Apply)
        except ConnectionClosed:
            return closed(there)
        doc: Doc[Any] = Doc()
        doc.apply_update(told.update)
        return str(doc.get("default", type=XmlFragment))


def test_the_document_that_is_opened_is_the_one_that_is_allowed(server: Server) -> None:
    """P63."""
    mine, others = server.create("mine"), server.create("others")
    token = person(server, "reader of one")
    grant(server, mine, "reader of one", "viewer")
    assert "mine" in str(opened(server, mine, token))
    for query in (f"?x={others}", f"?ref={others}", f"?document={others}"):
        assert "mine" in str(opened(server, mine + query, token))
    for path in (f"{mine}%2F..%2F{others}", f"{mine}/../{others}", mine.upper(), f"{mine}%00"):
        assert opened(server, path, token) == close_codes.NOT_FOUND
    assert opened(server, others, token) == close_codes.NOT_FOUND
    made = httpx.post(f"{server.url}/api/tickets", json={"document": mine}, headers=headers(token))
    ticket = made.json()["ticket"]
    assert "mine" in str(opened(server, mine, ticket))
    assert opened(server, others, ticket) == close_codes.NOT_FOUND


def test_who_comes_back_without_a_role_opens_nothing(server: Server) -> None:
    """P64."""
    doc, token = server.create("was shared"), person(server, "gone")
    grant(server, doc, "gone", "editor")
    assert "was shared" in str(opened(server, doc, token))
    grant(server, doc, "gone", None)

    def active() -> bool:
        told = server.request("GET", "/api/status").json()["active"]
        return doc in {each["doc_id"] for each in told}

    until("it is put away", lambda: not active(), 30)
    assert [opened(server, doc, token) for _ in range(20)] == [close_codes.NOT_FOUND] * 20
    assert not active()
