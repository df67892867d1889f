"""P6: what `read_changes` costs an agent above a tool that does nothing."""

from __future__ import annotations

import http.client
import json
import statistics
import time
from typing import Any, Final, NamedTuple, Self
from urllib.parse import urlsplit

from bench.servers import Server
from bench.typist import Typist

BLOCKS: Final = 200
PROTOCOL: Final = "2025-06-18"
WARMUP: Final = 10
CHANGE_DEADLINE_S: Final = 10.0


class FollowCost(NamedTuple):
    """Medians in milliseconds; the no-op's is to be taken off the other two."""

    noop_ms: float
    nothing_changed_ms: float
    one_changed_ms: float


class Agent:
    """A bare MCP client on one kept-alive connection: the fewer of its own costs, the better."""

    def __init__(self, address: str, token: str = "") -> None:
        parts = urlsplit(address)
        self._path = parts.path
        self._connection = http.client.HTTPConnection(parts.netloc, timeout=30)
        self._headers = {
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "MCP-Protocol-Version": PROTOCOL,
        }
        if token:
            self._headers["Authorization"] = f"Bearer {token}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def call(self, tool: str, **arguments: Any) -> tuple[float, dict[str, Any]]:
        """Milliseconds and structured content of one call. Raises RuntimeError when refused."""
        request = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        }
        body = json.dumps(request)
        started = time.perf_counter()
        self._connection.request("POST", self._path, body, self._headers)
        answer = self._connection.getresponse().read()
        taken = (time.perf_counter() - started) * 1000
        result = json.loads(answer).get("result", {})
        if result.get("isError", True):
            msg = f"{tool} was refused: {answer.decode()[:500]}"
            raise RuntimeError(msg)
        content: dict[str, Any] = result["structuredContent"]
        return taken, content


def follow(server: Server, noop_address: str, calls: int) -> FollowCost:
    """`calls` of each kind, in turn, so that all see the same machine."""
    markdown = "\n\n".join(f"Paragraph {n} of a document to follow." for n in range(BLOCKS))
    doc = server.create(markdown)
    noop, nothing, changed = [], [], []
    with (
        Agent(noop_address) as idler,
        Agent(server.mcp, server.token) as agent,
        Typist(server, doc) as typist,
        Typist(server, doc) as watcher,
    ):
        cursor = agent.call("read_document", doc_id=doc)[1]["cursor"]
        for n in range(WARMUP + calls):
            noop.append(idler.call("noop", doc_id=doc, cursor=cursor)[0])
            nothing.append(agent.call("read_changes", doc_id=doc, cursor=cursor)[0])
            typist.type(n % BLOCKS, f" {n}")
            watcher.wait_for(n % BLOCKS, f" {n}", CHANGE_DEADLINE_S)
            taken, answer = agent.call("read_changes", doc_id=doc, cursor=cursor)
            if len(answer["blocks"]) != 1:
                msg = f"one block was edited, {len(answer['blocks'])} are reported"
                raise RuntimeError(msg)
            changed.append(taken)
            cursor = answer["cursor"]
    medians = (statistics.median(taken[WARMUP:]) for taken in (noop, nothing, changed))
    return FollowCost(*medians)
