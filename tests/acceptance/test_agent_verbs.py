"""The agent's small verbs and REST against a whole server: quotes, moves, budgets."""

from __future__ import annotations

from typing import Any

import httpx

from tests.acceptance.conftest import OpenEditor
from tests.acceptance.editors import until
from tests.acceptance.server import Server

TEXT = "# Plan\n\nWe will recieve it.\n\n## One\n\nFirst.\n\n## Two\n\nSecond.\n"


def rest(
    server: Server, method: str, path: str, token: str | None = None, **arguments: Any
) -> httpx.Response:
    headers = {"Authorization": f"Bearer {token or server.token}"}
    url = f"{server.url}/api/documents/{path}"
    return httpx.request(method, url, headers=headers, timeout=60, **arguments)


def test_a_word_is_fixed_and_a_section_moved_before_an_editors_eyes(
    server: Server, editor: OpenEditor
) -> None:
    doc = server.create(TEXT)
    ann = editor(doc)
    agent = server.create_token("Fixer")
    edits = [{"old_text": "recieve", "new_text": "receive"}]
    fixed = server.tool("replace_text", agent, doc_id=doc, edits=edits)
    assert (fixed["replaced"], fixed["charged"]) == (1, 7)
    outline = server.tool("read_document", agent, doc_id=doc, outline=True)["outline"]
    ids = {entry["title"]: entry["section_id"] for entry in outline}
    after = fixed["blocks"][0]["anchor"]
    moved = server.tool("move", agent, doc_id=doc, section_id=ids["Two"], after=after)
    assert moved["moved"] == 2
    now = ["Plan", "We will receive it.", "Two", "Second.", "One", "First."]
    ann.wait_texts(now)
    assert server.read(doc) == (
        "# Plan\n\nWe will receive it.\n\n## Two\n\nSecond.\n\n## One\n\nFirst.\n"
    )


def test_a_block_in_which_somebodys_caret_stands_stays_and_the_other_moves(
    server: Server, editor: OpenEditor
) -> None:
    """Presence as y-prosemirror tells it: the caret's place relative to the text it is in."""
    doc = server.create("One.\n\nTwo.\n\nThree.\n")
    ann, ben = editor(doc), editor(doc)
    ann.run(
        "const at = Y.createRelativePositionFromTypeIndex(leaf(0), 2);"
        "provider.awareness.setLocalState({ cursor: { anchor: at, head: at } })"
    )
    until("Ann's caret", lambda: any("cursor" in state for state in ben.present.values()))
    agent = server.create_token("Mover")
    read = server.tool("read_document", agent, doc_id=doc, format="blocks")
    one, two, _ = (block["anchor"] for block in read["blocks"])
    moved = server.tool("move", agent, doc_id=doc, block=one, after=two)
    assert [block["anchor"] for block in moved["blocks"]] == [two]
    ann.type("!", block=1, at=3)
    ben.wait_texts(["Two.", "One!.", "Three."])


def test_the_same_by_rest_and_the_description_is_there(server: Server) -> None:
    doc = server.create(TEXT)
    read = rest(server, "GET", doc, params={"format": "blocks"}).json()
    anchors = [block["anchor"] for block in read["blocks"]]
    moved = rest(server, "POST", f"{doc}/move", json={"section_id": anchors[2], "after": "end"})
    assert moved.json()["moved"] == 2
    edits = [{"old_text": "First.", "new_text": "1st."}]
    quoted = rest(server, "POST", f"{doc}/replace_text", json={"edits": edits})
    assert quoted.json()["remaining"]["writes"] > 0
    changes = rest(server, "GET", f"{doc}/changes", params={"cursor": read["cursor"]}).json()
    assert [block["change"] for block in changes["blocks"]] == ["moved", "moved"]
    missing = rest(server, "POST", f"{doc}/replace_text", json={"edits": edits})
    assert (missing.status_code, missing.json()["code"]) == (409, "find_not_matched")
    assert missing.headers["content-type"] == "application/problem+json"
    description = httpx.get(f"{server.url}/api/openapi.json", timeout=60).json()
    assert "/api/documents/{doc}/replace_text" in description["paths"]


def test_a_token_with_a_budget_of_its_own_is_held_to_it_whoever_is_killed(server: Server) -> None:
    doc = server.create(TEXT)
    order = {"name": "Slow", "scope": "write", "agent": True, "writes_per_minute": 2}
    token = server.request("POST", "/api/tokens", json=order).json()["token"]

    def insert(key: str) -> httpx.Response:
        # With a key: a call that meets the killed actor is made again, not told as unknown.
        order = {"markdown": "x", "idempotency_key": key}
        return rest(server, "POST", f"{doc}/insert", token, json=order)

    for left in (1, 0):
        assert insert(f"{left} left").json()["remaining"]["writes"] == left
        server.kill_actor(doc)
    refused = insert("one more")
    assert refused.status_code == 429
    assert 0 < int(refused.headers["retry-after"]) <= 61
    assert refused.json()["budget"] == "writes_per_minute"
    assert rest(server, "POST", f"{doc}/insert", json={"markdown": "y"}).status_code == 200
