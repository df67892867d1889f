""" "What changed since I last looked?", after reading in real editors for ten real seconds."""

from __future__ import annotations

import time
from typing import Any, Final

import httpx

from shared.limits import READING_MS
from tests.acceptance.conftest import OpenEditor
from tests.acceptance.editors import HOCUSPOCUS_CLIENTS, Y_CLIENTS, until
from tests.acceptance.server import Server
from tests.acceptance.test_roles import grant, person
from tests.acceptance.test_tokens import call, error, made

PLAN: Final = "# Launch plan\n\nWe start in May.\n\n## Budget\n\nTen thousand.\n"
READ_S: Final = READING_MS / 1000 + 0.5


def agents_token(server: Server, name: str) -> str:
    """Of an agent of that person's."""
    return made(server, name="Planner", person=name, agent=True)[0]


def refused(answer: httpx.Response) -> bool:
    return bool(answer.json()["result"].get("isError"))


def changed(server: Server, name: str, doc: str, **arguments: Any) -> dict[str, Any]:
    return server.tool("get_changes", agents_token(server, name), slug=doc, **arguments)


def statuses(found: dict[str, Any]) -> list[str]:
    return [section["status"] for section in found["sections"]]


def test_read_leave_and_ask_what_others_did_meanwhile(server: Server, editor: OpenEditor) -> None:
    doc = server.create(PLAN)
    tokens = {name: person(server, name) for name in ("ann", "cara", "dora", "eli")}
    for name in tokens:
        grant(server, doc, name, "viewer")
    tabs = {
        "ann": editor(doc, Y_CLIENTS[0], tokens["ann"]),
        "cara": editor(doc, HOCUSPOCUS_CLIENTS[0], tokens["cara"]),
        "dora": editor(doc, Y_CLIENTS[1], tokens["dora"]),
        "eli": editor(doc, HOCUSPOCUS_CLIENTS[1], tokens["eli"]),
    }
    begun = time.monotonic()
    tabs["dora"].run("provider.awareness.setLocalStateField('visible', false)")
    tabs["eli"].ask("disconnect")
    until("ten seconds", lambda: time.monotonic() - begun > READ_S)
    still_open = call(server, agents_token(server, "ann"), "get_changes", slug=doc)
    assert error(still_open)["field"] == "since", "nobody has left while a tab is open"
    for name in ("ann", "cara", "dora"):
        tabs[name].ask("disconnect")

    def left(name: str) -> dict[str, Any] | None:
        answer = call(server, agents_token(server, name), "get_changes", slug=doc)
        told: dict[str, Any] = answer.json()["result"]["structuredContent"]
        return None if refused(answer) else told

    first = {name: until(f"{name} left", lambda n=name: left(n)) for name in ("ann", "cara")}  # type: ignore[misc]
    assert not any(found["changed"] for found in first.values())
    server.tool("replace_text", doc_id=doc, edits=[{"old_text": "May", "new_text": "early June"}])
    server.tool("insert", doc_id=doc, markdown="## Risks\n\nNone yet.")
    for name, before in first.items():
        found = changed(server, name, doc)
        assert statuses(found) == ["changed", "added"]
        assert (found["from_last_left"], found["since"]) == (True, before["since"])
        assert found["counts"]["words_added"] == 5
        assert all(row["url"].endswith(f"?id={row['section_id']}") for row in found["sections"])
        assert changed(server, name, doc) == found, "asking moves nothing"
    for name in ("dora", "eli"):
        answer = call(server, agents_token(server, name), "get_changes", slug=doc)
        assert error(answer)["code"] == "invalid_argument", f"{name} has read nothing"
        assert statuses(changed(server, name, doc, since=first["ann"]["since"])) == [
            "changed",
            "added",
        ]

    def digest() -> list[dict[str, Any]]:
        told = server.tool("list_changes", agents_token(server, "ann"))
        found: list[dict[str, Any]] = told["documents"]
        return found

    (of_ann,) = until("the catalog has heard of it", digest)
    assert of_ann["since"] == first["ann"]["since"]
    assert of_ann["counts"]["words_added"] == 5
