"""MCP over HTTP on a real socket: both wires, and the clients people have."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport

from shared.errors import BY_CODE, Moved
from shared.limits import MAX_BODY_BYTES
from tests.in_process import served
from tests.unit.gateway.fakes import FakeRouter

NPM: Final = Path(__file__).parent / "npm"
OLD, NEW = "2025-06-18", "2026-07-28"
WIRES: Final = (OLD, NEW)
MODES: Final = {OLD: "legacy", NEW: NEW}
WRITER_TOKEN: Final = "writer-token"
TOLD: Final = sorted(set(BY_CODE) - {Moved.code})


@pytest.fixture
def router(rng: random.Random) -> FakeRouter:
    return FakeRouter(rng.choice)


@pytest.fixture
def url(router: FakeRouter) -> Iterator[str]:
    with served(router) as base:
        yield f"{base}/mcp"


def post(
    url: str,
    wire: str,
    method: str,
    params: dict[str, Any] | None = None,
    *,
    token: str | None = WRITER_TOKEN,
) -> httpx.Response:
    """One request by hand, as a client of that wire sends it."""
    params = dict(params or {})
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": wire,
    }
    if token:
        headers["Authorization"] = f"Bearer {token}"
    if wire == NEW:
        headers["Mcp-Method"] = method
        if "name" in params:
            headers["Mcp-Name"] = params["name"]
        params["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": NEW,
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return httpx.post(url, json=message, headers=headers, timeout=30)


def call(url: str, wire: str, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = post(url, wire, "tools/call", {"name": tool, "arguments": arguments})
    assert answer.status_code == 200
    result: dict[str, Any] = answer.json()["result"]
    assert len(result["content"]) == 1
    return result


@pytest.mark.parametrize("wire", WIRES)
def test_a_document_is_made_read_followed_and_written(url: str, wire: str) -> None:
    made = call(url, wire, "create_document", markdown="one\n\ntwo", title="Plan")
    doc_id = made["structuredContent"]["doc_id"]
    read = call(url, wire, "read_document", doc_id=doc_id)
    assert not read.get("isError", False)
    cursor = read["structuredContent"]["cursor"]
    assert f"cursor: {cursor}" in read["content"][0]["text"]
    call(url, wire, "insert", doc_id=doc_id, markdown="three")
    changes = call(url, wire, "read_changes", doc_id=doc_id, cursor=cursor, wait_s=5, settle_s=0)
    assert [block["text"] for block in changes["structuredContent"]["blocks"]] == ["three"]


@pytest.mark.parametrize("wire, method", [(OLD, "initialize"), (NEW, "server/discover")])
def test_the_server_says_what_it_is_and_has(url: str, wire: str, method: str) -> None:
    client = {"clientInfo": {"name": "test", "version": "1"}, "capabilities": {}}
    params = {"protocolVersion": OLD, **client} if wire == OLD else {}
    answer = post(url, wire, method, params)
    assert answer.status_code == 200, answer.text
    told = answer.json()["result"]
    assert told["capabilities"] == {"tools": {"listChanged": False}}
    identity = told.get("serverInfo") or told["_meta"]["io.modelcontextprotocol/serverInfo"]
    assert (identity["name"], identity["version"]) == ("docactor", version("docactor"))


@pytest.mark.parametrize("wire", WIRES)
def test_an_error_is_a_result_with_a_code(url: str, wire: str) -> None:
    result = call(url, wire, "read_changes", doc_id="nothing", cursor="1.5")
    assert result["isError"] is True
    assert result["structuredContent"]["error"]["code"] == "invalid_cursor"
    assert result["content"][0]["text"].startswith("cursor: ")


@pytest.mark.parametrize("wire", WIRES)
def test_the_same_tools_are_listed(url: str, wire: str) -> None:
    writer = post(url, wire, "tools/list").json()["result"]["tools"]
    reader = post(url, wire, "tools/list", token="reader-token").json()["result"]["tools"]
    assert len(writer) == 15
    assert len(json.dumps(writer, separators=(",", ":")).encode()) / 4 <= 6_000
    assert [tool["name"] for tool in reader] == [
        "list_documents",
        "read_document",
        "read_changes",
        "get_changes",
        "list_changes",
        "list_chats",
        "read_chat",
        "compare",
    ]


@pytest.mark.parametrize("wire", WIRES)
def test_the_address_may_ask_for_fewer(url: str, wire: str) -> None:
    fewer = post(f"{url}?profile=reader", wire, "tools/list").json()["result"]["tools"]
    assert len(fewer) == 8
    wrong = post(f"{url}?profile=writer", wire, "tools/list").json()["error"]
    assert wrong["code"] == -32602
    assert wrong["message"].startswith("profile: ")


@pytest.mark.parametrize("wire", WIRES)
def test_a_hidden_tool_says_what_the_token_lacks(url: str, wire: str) -> None:
    params = {"name": "create_document", "arguments": {"markdown": "a"}}
    answer = post(url, wire, "tools/call", params, token="reader-token")
    error = answer.json()["result"]["structuredContent"]["error"]
    assert error["code"] == "capability_denied"
    assert error["needs"] == "write"


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("token", [None, "wrong", "x" * 10_000])
def test_every_request_proves_itself(url: str, wire: str, token: str | None) -> None:
    answer = post(url, wire, "tools/list", token=token)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize("wire", WIRES)
def test_a_million_characters_pass_and_more_is_named(url: str, wire: str) -> None:
    markdown = "\U0001f600" * 1_000_000  # four bytes each in UTF-8, twelve escaped
    made = call(url, wire, "create_document", markdown=markdown)
    assert not made.get("isError", False)
    more = call(url, wire, "create_document", markdown=markdown + "a")
    assert more["structuredContent"]["error"]["code"] == "too_large"
    huge = post(url, wire, "tools/call", {"name": "patch", "x": "a" * MAX_BODY_BYTES})
    assert huge.status_code == 413
    assert huge.json()["limit_bytes"] == MAX_BODY_BYTES


GARBAGE = [b"{", b"[]", b'"x"', b"[" * 5_000, b" " * 2**20, b'{"jsonrpc":"2.0","id":1,"method":5}']


@pytest.mark.parametrize("body", GARBAGE)
def test_garbage_is_refused_and_the_next_call_works(url: str, body: bytes) -> None:
    headers = {
        "Authorization": "Bearer writer-token",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    answer = httpx.post(url, content=body, headers=headers)
    assert 400 <= answer.status_code < 500
    assert call(url, OLD, "list_documents")["structuredContent"]["documents"] == []


@pytest.mark.parametrize("arguments", ["x", ["a"], 5])
@pytest.mark.parametrize("wire", WIRES)
def test_arguments_that_are_no_object_are_refused(url: str, wire: str, arguments: object) -> None:
    params = {"name": "read_document", "arguments": arguments}
    answer = post(url, wire, "tools/call", params)
    assert "error" in answer.json()
    assert call(url, wire, "list_documents")["structuredContent"]["documents"] == []


def test_a_session_that_is_not_known_does_not_matter(url: str) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {
        "Authorization": "Bearer writer-token",
        "Accept": "application/json, text/event-stream",
        "Mcp-Session-Id": "../../gone",
    }
    assert httpx.post(url, json=message, headers=headers).status_code == 200


@pytest.mark.anyio
@pytest.mark.parametrize("wire", WIRES)
async def test_the_fastmcp_client_speaks_both(url: str, router: FakeRouter, wire: str) -> None:
    transport = StreamableHttpTransport(url, headers={"Authorization": "Bearer writer-token"})
    async with Client(transport, mode=MODES[wire]) as client:
        made = await client.call_tool("create_document", {"markdown": "one"})
        assert made.structured_content is not None
        router.failure = BY_CODE["stale_block"]("from: it changed.", text="now")
        result = await client.call_tool(
            "read_document", {"doc_id": made.structured_content["doc_id"]}, raise_on_error=False
        )
    assert result.is_error
    assert (result.structured_content or {})["error"]["text"] == "now"


class Agent:
    """The official TypeScript client in a process of its own."""

    def __init__(self, url: str) -> None:
        command = ["node", "agent.mjs", "--url", url, "--token", "writer-token"]
        self._process = subprocess.Popen(
            command, cwd=NPM, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.tools = self._read()["tools"]

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"tool": tool, "arguments": arguments}) + "\n")
        self._process.stdin.flush()
        return self._read()

    def close(self) -> None:
        self._process.communicate(timeout=20)
        assert self._process.returncode == 0

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


def test_the_typescript_client_takes_every_success_and_every_error(
    url: str, router: FakeRouter
) -> None:
    agent = Agent(url)
    assert len(agent.tools) == 15
    made = agent.call("create_document", markdown="one\n\ntwo")["result"]
    doc_id = made["structuredContent"]["doc_id"]
    first = made["structuredContent"]["blocks"][0]["anchor"]
    successes = [
        ("list_documents", {}),
        ("read_document", {"doc_id": doc_id}),
        ("read_document", {"doc_id": doc_id, "format": "blocks"}),
        ("read_changes", {"doc_id": doc_id}),
        ("read_changes", {"doc_id": doc_id, "cursor": made["structuredContent"]["cursor"]}),
        ("get_changes", {"slug": doc_id, "since": "2026-03-31T09:00:00Z", "detail": "blocks"}),
        ("list_changes", {"since": "2026-03-31T09:00:00Z"}),
        ("list_chats", {"slug": doc_id}),
        ("read_chat", {"slug": doc_id, "thread_id": "t_1"}),
        ("compare", {"doc_id": doc_id, "from": "v1"}),
        ("insert", {"doc_id": doc_id, "markdown": "three"}),
        ("replace", {"doc_id": doc_id, "from": first, "markdown": "better"}),
        ("replace_text", {"doc_id": doc_id, "edits": [{"old_text": "two", "new_text": "2"}]}),
        ("move", {"doc_id": doc_id, "block": first, "after": "end"}),
        ("delete", {"doc_id": doc_id, "blocks": [first]}),
        ("patch", {"doc_id": doc_id, "markdown": "all new"}),
    ]
    for tool, arguments in successes:
        answer = agent.call(tool, **arguments)
        assert "result" in answer, answer
        assert not answer["result"].get("isError", False), answer
    for code in TOLD:
        router.failure = BY_CODE[code]("field: what is wrong.", limit=3)
        for tool, arguments in successes:
            answer = agent.call(tool, **arguments)
            assert "result" in answer, (code, tool, answer)
            assert answer["result"]["isError"] is True
            assert answer["result"]["structuredContent"]["error"]["code"] == code
    agent.close()
