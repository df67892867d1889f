"""Roles against a whole server with two gateways: given, changed, taken back, and hidden."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import httpx
import pytest
from websockets.sync.client import connect

from tests.acceptance.conftest import OpenEditor
from tests.acceptance.editors import HOCUSPOCUS_CLIENTS, Y_CLIENTS, Editor, until
from tests.acceptance.server import Server
from tests.acceptance.sockets import Typist, closed
from tests.acceptance.test_tokens import NEW_CONNECTIONS, REACHES_S, call, error, made

MISSING: Final = "nowhere12345"


def person(server: Server, name: str) -> str:
    """A token of somebody who has no role on anything yet."""
    return made(server, name=name, person=name, agent=False)[0]


def grant(server: Server, doc: str, who: str, role: str | None) -> float:
    """Gives a role or takes it back; when that was answered."""
    path = f"/api/documents/{doc}/members"
    if role is None:
        answer = server.request("DELETE", path, params={"principal": who})
    else:
        answer = server.request("PUT", path, json={"principal": who, "role": role})
    assert answer.status_code == 200, answer.text
    return time.monotonic()


def link(server: Server, doc: str, role: str | None) -> None:
    answer = server.request("PUT", f"/api/documents/{doc}/link", json={"role": role})
    assert answer.status_code == 200, answer.text


def get(server: Server, path: str, token: str | None = None) -> httpx.Response:
    """Over a connection of its own."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.get(server.url + path, headers=headers, timeout=60)


@pytest.mark.parametrize("client", [Y_CLIENTS[0], HOCUSPOCUS_CLIENTS[0]])
def test_a_role_follows_whoever_has_the_document_open(
    server: Server, editor: OpenEditor, client: str
) -> None:
    doc, token = server.create("# Plan\n"), person(server, "ben")
    grant(server, doc, "ben", "editor")
    typing = editor(doc, client, token)
    typing.insert("as editor")
    until("stored", lambda: "as editor" in server.read(doc))
    hocuspocus = client in HOCUSPOCUS_CLIENTS
    at = grant(server, doc, "ben", "viewer")
    for _ in range(NEW_CONNECTIONS):  # both gateways
        left = at + REACHES_S - time.monotonic()
        until("refused", lambda: _inserted(server, token, doc) == DENIED, left)
    if hocuspocus:
        until("told", lambda: typing.events("scope")[-1]["scope"] == "readonly")
    typing.insert("as viewer")
    server.tool("insert", doc_id=doc, markdown="by the owner")
    until("others' edits still come", lambda: "by the owner" in typing.texts)
    assert "as viewer" not in server.read(doc)
    grant(server, doc, "ben", "editor")
    # Without a new connection, and without another keystroke.
    until("what was typed meanwhile", lambda: "as viewer" in server.read(doc))
    assert typing.connections == 1
    assert typing.events("closed") == []
    before = server.tool("read_document", token, doc_id=doc)["cursor"]
    with ThreadPoolExecutor(1) as threads:
        waits = threads.submit(
            call, server, token, "read_changes", doc_id=doc, cursor=before, wait_s=50
        )
        until("a waiting call", lambda: _waits(server) > 0)
        at = grant(server, doc, "ben", None)
        told = waits.result(timeout=max(0.1, at + REACHES_S - time.monotonic()))
    assert error(told)["code"] == "doc_not_found"
    until("told", lambda: typing.events("denied" if hocuspocus else "closed"), REACHES_S)
    if not hocuspocus:
        assert typing.wait_closed() == 4404
    for _ in range(NEW_CONNECTIONS):
        assert get(server, f"/api/documents/{doc}.md", token).status_code == 404
    assert "as viewer" in server.read(doc)


DENIED: Final = "capability_denied"


def _inserted(server: Server, token: str, doc: str) -> str | None:
    answer = call(server, token, "insert", doc_id=doc, markdown="x")
    result = answer.json()["result"]
    return str(error(answer)["code"]) if result.get("isError") else None


def _waits(server: Server) -> float:
    lines = server.request("GET", "/metrics").text.splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith("docactor_waits{"))


PAGES: Final = ("api/documents/{}", "api/documents/{}.md", "d/{}", "api/documents/{}/changes")
OWNERS: Final = (
    ("GET", "members", None),
    ("PUT", "members", {"principal": "eve", "role": "viewer"}),
    ("PUT", "link", {"role": None}),
)


def sent(server: Server, method: str, path: str, token: str, body: Any) -> httpx.Response:
    headers = {"Authorization": f"Bearer {token}"}
    url = f"{server.url}/api/documents/{path}"
    return httpx.request(method, url, headers=headers, json=body, timeout=60)


def test_a_private_document_is_in_no_way_unlike_one_that_is_not_there(
    server: Server, editor: OpenEditor
) -> None:
    doc, token = server.create("# Hidden\n"), person(server, "eve")
    slug = server.tool("list_documents", query="Hidden")["documents"][0]["slug"]
    gone = server.create("# Gone\n")
    server.request("DELETE", f"/api/documents/{gone}")

    def told(ref: str) -> list[tuple[int, str, set[str]]]:
        answers = [
            *(get(server, f"/{path.format(ref)}", who) for path in PAGES for who in (token, None)),
            call(server, token, "read_document", doc_id=ref),
            call(server, token, "insert", doc_id=ref, markdown="x"),
            *(sent(server, method, f"{ref}/{path}", token, body) for method, path, body in OWNERS),
        ]
        return [
            (each.status_code, each.text.replace(ref, "X"), set(each.headers)) for each in answers
        ]

    missing = told(MISSING)
    assert {answer[0] for answer in missing} == {200, 401, 404}
    assert told(doc) == told(gone) == told(slug) == missing
    for client, what in ((Y_CLIENTS[0], "closed"), (HOCUSPOCUS_CLIENTS[0], "denied")):
        ends = [
            _first(editor(ref, client, token, synced=False), what)
            for ref in (doc, gone, slug, MISSING)
        ]
        assert ends[1:] == ends[:-1]
    assert call(server, token, "list_documents").json()["result"]["structuredContent"] == {
        "documents": []
    }


def _first(late: Editor, kind: str) -> dict[str, Any]:
    told = until(f"a word of {kind}", lambda: late.events(kind))[0]
    return {name: value for name, value in told.items() if name != "at"}


def test_whoever_has_the_link_comes_without_a_token(server: Server) -> None:
    doc = server.create("# Open\n\nto all\n")
    assert get(server, f"/d/{doc}").status_code == 401
    link(server, doc, "viewer")
    assert "to all" in get(server, f"/d/{doc}").text
    assert "to all" in get(server, f"/api/documents/{doc}.md").text
    with connect(f"{server.collab}/{doc}", compression=None) as socket:
        reader = Typist(socket)
        reader.send(reader.type(" but reading"))
        link(server, doc, "editor")
        reader.answer_step1()  # it may write now, and what was refused is asked for
        until("stored", lambda: "but reading" in server.read(doc))
        link(server, doc, None)
        assert closed(socket) == 4401
    assert get(server, f"/api/documents/{doc}.md").status_code == 401


def test_a_ticket_opens_a_socket_in_the_place_of_a_token(
    server: Server, editor: OpenEditor
) -> None:
    doc, other = server.create("# Mine\n"), server.create("# Other\n")
    token, token_id = made(server, agent=False)
    answer = httpx.post(
        f"{server.url}/api/tickets",
        headers={"Authorization": f"Bearer {token}"},
        json={"document": doc},
        timeout=60,
    )
    ticket = answer.json()["ticket"]
    with connect(f"{server.collab}/{doc}?ticket={ticket}", compression=None) as socket:
        typist = Typist(socket)
        typist.send(typist.type(" with a ticket"))
        until("stored", lambda: "with a ticket" in server.read(doc))
        for query, code in ((f"ticket={token}", 4401), (f"token={token}", 4401)):
            with connect(f"{server.collab}/{doc}?{query}", compression=None) as refused:
                assert closed(refused) == code
        with connect(f"{server.collab}/{other}?ticket={ticket}", compression=None) as refused:
            assert closed(refused) == 4404
        assert get(server, f"/api/documents/{doc}.md", ticket).status_code == 401
        provider = editor(doc, HOCUSPOCUS_CLIENTS[0], ticket)
        server.request("DELETE", f"/api/tokens/{token_id}")
        assert closed(socket) == 4401
        until("told", lambda: provider.events("denied"), REACHES_S)
    with connect(f"{server.collab}/{doc}?ticket={ticket}", compression=None) as refused:
        assert closed(refused) == 4401
