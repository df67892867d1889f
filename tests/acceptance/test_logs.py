"""What a run leaves in its logs: no token, no text of a document, no argument."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.acceptance.editors import Editor, until
from tests.acceptance.hostile import Caller, as_json
from tests.acceptance.server import Server
from tests.amount import amount

SECRET: Final = "quokka"  # in all that is sent
LINES: Final = amount(1_500, 10_000)  # of logs, at the level that says most


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path / "data", "--log-level", "debug") as running:
        yield running


def files(server: Server, temp: Path) -> dict[str, str]:
    """Everything that was logged: by us, by Ray, on standard error."""
    found = [path for folder in (server.data / "logs", temp) for path in folder.rglob("*")]
    logs = {
        str(path): path.read_text(encoding="utf-8", errors="replace")
        for path in found
        if path.is_file() and path.suffix in (".jsonl", ".log", ".out", ".err", ".txt")
    }
    return logs | {"standard error": "".join(server.errors)}


def misuse(caller: Caller, doc: str) -> None:
    """Calls that are refused in as many places as there are, each with the word in it."""
    sent: list[tuple[Any, Any]] = [
        ("insert", {"doc_id": doc, "markdown": f"{SECRET}\x00"}),
        ("insert", {"doc_id": f"{SECRET} {SECRET}", "markdown": SECRET}),
        ("insert", {"doc_id": doc, "markdown": [SECRET], SECRET: SECRET}),
        ("read_document", {"doc_id": doc, "find": SECRET, "max_chars": SECRET}),
        ("read_changes", {"doc_id": doc, "cursor": SECRET}),
        ("replace_text", {"doc_id": doc, "edits": [{"old_text": SECRET * 2, "new_text": SECRET}]}),
        (SECRET, {SECRET: SECRET}),
        ("insert", SECRET),
        (None, {"doc_id": SECRET}),
    ]
    for name, arguments in sent:
        caller.tool(name, arguments)
    for body in (b'{"' + SECRET.encode(), b'["' + SECRET.encode() + b'"]', as_json(SECRET)):
        caller.post("/mcp", body)
        caller.post(f"/api/documents/{doc}/patch", body)
    wrong = {"jsonrpc": "2.0", "id": SECRET, "method": SECRET, "params": {SECRET: SECRET}}
    caller.post("/mcp", as_json(wrong))
    for path in (f"/api/documents?query={SECRET}", f"/d/{doc}?{SECRET}={SECRET}", f"/{SECRET}"):
        caller.request("GET", path)


def lines(server: Server, temp: Path) -> int:
    return sum(text.count("\n") for text in files(server, temp).values())


def one_round(server: Server, caller: Caller, doc: str, token: str) -> str:
    """Everything with the word in it goes by, and the document's actor dies over a write of it.

    Returns the ticket that was used.
    """
    misuse(caller, doc)
    made = caller.request("POST", "/api/tickets", json={"document": doc})
    ticket: str = made.json()["ticket"]
    for shown in (ticket, ticket + SECRET, SECRET):
        with connect(f"{server.collab}/{doc}?ticket={shown}") as socket:
            until("an answer", partial(spoken_to, socket))
    with ThreadPoolExecutor(1) as threads:
        writes = threads.submit(wrote, server, doc, token)
        server.kill_actor(doc)
        writes.result()
    until("opened again", lambda: SECRET in server.read(doc))
    return ticket


def spoken_to(socket: ClientConnection) -> bool:
    """Whether the server let the socket in, or closed it."""
    with suppress(ConnectionClosed):
        return bool(socket.recv(20))
    return True


def wrote(server: Server, doc: str, token: str) -> int:
    """Whatever becomes of it: the actor dies meanwhile."""
    body = {"markdown": f"{SECRET} and more", "idempotency_key": SECRET}
    headers = {"Authorization": f"Bearer {token}"}
    path = f"{server.url}/api/documents/{doc}/insert"
    return httpx.post(path, json=body, headers=headers, timeout=60).status_code


@pytest.mark.timeout(amount(120, 1_800))
def test_no_token_no_text_and_no_argument_is_logged(own: Server) -> None:
    token = own.create_token("Reporter")
    temp = own.temp_folder()
    caller = Caller(own.url, token)
    made = caller.tool("create_document", {"markdown": f"# {SECRET}\n\n{SECRET} {SECRET}"})
    doc = made["structuredContent"]["doc_id"]
    misuse(caller, doc)
    editor = Editor(own.collab, doc, token).wait_synced()
    try:
        editor.insert(f"typed {SECRET}")
        until("stored", lambda: f"typed {SECRET}" in own.read(doc))
        own.kill_actor(doc)  # and what is said of that
        until("opened again", lambda: f"typed {SECRET}" in own.read(doc))
    finally:
        editor.kill()
    hidden = {SECRET, token, own.token}
    while lines(own, temp) < LINES:
        hidden.add(one_round(own, caller, doc, token))
    Editor(own.collab, doc, f"{token[:-1]}{SECRET}").kill()
    caller.close()
    logs = files(own, temp)
    own.stop()
    logs |= files(own, temp)
    assert len(hidden) > 3
    for name, text in logs.items():
        for word in hidden:
            at = text.find(word)
            assert at < 0, (name, text[max(0, at - 300) : at + 200])
