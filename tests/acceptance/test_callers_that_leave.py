"""P57: agents that hang up in the middle of a call, and one that never reads its answer."""

from __future__ import annotations

import json
import random
import socket
import time
from typing import Final
from urllib.parse import urlsplit

from tests.acceptance.server import Server
from tests.amount import amount

BLOCKS: Final = 300
LEAVES_AFTER_S: Final = (0.005, 0.02, 0.08)
ANSWERED_S: Final = 5.0 * 3


def text(number: int) -> str:
    return "\n\n".join(f"Paragraph {n} as number {number} wrote it." for n in range(BLOCKS)) + "\n"


def patch(server: Server, doc: str, number: int) -> socket.socket:
    """Sends a patch of every block; whoever has the socket may read the answer."""
    arguments = {"doc_id": doc, "markdown": text(number), "allow_large_delete": True}
    call = {"name": "patch", "arguments": arguments}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode()
    head = (
        "POST /mcp HTTP/1.1",
        f"Host: {urlsplit(server.mcp).netloc}",
        f"Authorization: Bearer {server.token}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        "MCP-Protocol-Version: 2025-06-18",
        f"Content-Length: {len(body)}",
    )
    address = urlsplit(server.mcp)
    connection = socket.create_connection((address.hostname, address.port), ANSWERED_S)
    connection.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + body)
    return connection


def test_who_hangs_up_leaves_a_whole_patch_or_none(server: Server, rng: random.Random) -> None:
    doc = server.create(text(0))
    server.tool("read_document", doc_id=doc, max_chars=1_000_000)  # the patches go by this
    silent = patch(server, doc, 1_000)  # and never reads
    rounds = range(1, amount(9, 50) + 1)
    whole = {text(number) for number in (0, *rounds, 1_000)}
    for number in rounds:
        with patch(server, doc, number):
            time.sleep(rng.choice(LEAVES_AFTER_S))  # the moment at which it leaves
        began = time.monotonic()
        assert server.read(doc) in whole
        assert time.monotonic() - began < ANSWERED_S
    # A call may go on without its caller; what it does, it does as a whole.
    inserted = server.tool("insert", doc_id=doc, markdown="A call as any other.")
    assert inserted["inserted"] == 1
    silent.close()
    server.kill_actor(doc)
    assert server.read(doc) in {f"{one}\nA call as any other.\n" for one in whole}
