"""An agent that may only suggest, a person who decides, an editor that sees what was accepted."""

from __future__ import annotations

import pytest

from gateway.cli import REFUSED, main
from tests.acceptance.agents import agent
from tests.acceptance.conftest import OpenEditor
from tests.acceptance.editors import until
from tests.acceptance.server import Server

pytestmark = pytest.mark.anyio

TEXT = "First sentense.\n\nSecond sentense.\n\nThird sentence.\n"


async def test_two_of_three_are_accepted_and_an_editor_sees_exactly_them(
    server: Server,
    editor: OpenEditor,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("DOCACTOR_TOKEN", "DOCACTOR_DATA"):
        monkeypatch.delenv(name, raising=False)
    command = ["export", "--suggestions", "--data", str(server.data)]
    doc = server.create(TEXT)
    ann = editor(doc)
    reviewer = server.create_token("Reviewer", "suggest")
    async with agent(server.mcp, reviewer) as scribe, agent(server.mcp, server.token) as judge:
        read = await scribe.call("read_document", doc_id=doc, format="blocks")
        edits = [
            {"old_text": "First sentense", "new_text": "First sentence"},
            {"old_text": "Second sentense", "new_text": "Second sentence"},
            {"old_text": "Third", "new_text": "Last"},
        ]
        denied = await scribe.refused("replace_text", doc_id=doc, edits=edits)
        assert denied["code"] == "capability_denied"
        made = await scribe.call("suggest", doc_id=doc, edits=edits, note="spelling")
        first, second, third = made["suggestions"]
        assert server.read(doc) == TEXT
        ann.type("My ", block=1, at=0)
        until("her words", lambda: "My Second" in server.read(doc))
        shown = await judge.call("list_suggestions", doc_id=doc)
        assert [one["id"] for one in shown["suggestions"]] == [first, second, third]
        assert {one["by"] for one in shown["suggestions"]} == {"Reviewer"}
        assert main([*command, doc]) == 0
        assert capsys.readouterr().out == (
            "First {~~sentense~>sentence~~}{>>spelling — Reviewer<<}.\n\n"
            "My Second {~~sentense~>sentence~~}{>>spelling — Reviewer<<}.\n\n"
            "{~~Third~>Last~~}{>>spelling — Reviewer<<} sentence.\n"
        )
        assert main([*command, "--all", str(server.data / "out")]) == REFUSED
        said = await judge.said("list_suggestions", doc_id=doc)
        assert said.index("--- content") < said.index("spelling") < said.index("--- end of")
        alone = await scribe.refused("decide_suggestion", doc_id=doc, id=first, decision="accept")
        assert alone["code"] == "capability_denied"
        for one in (first, second):
            done = await judge.call("decide_suggestion", doc_id=doc, id=one, decision="accept")
            assert [(each["id"], each["status"]) for each in done["decided"]] == [(one, "accepted")]
        await judge.call("decide_suggestion", doc_id=doc, id=third, decision="reject")
        server.kill_actor(doc)
        told = await scribe.call("read_changes", doc_id=doc, cursor=read["cursor"])
        assert {one["id"]: one["status"] for one in told["suggestions"]} == {
            first: "accepted",
            second: "accepted",
            third: "rejected",
        }
        assert "suggestions" not in await scribe.call("read_document", doc_id=doc)
    ann.wait_texts(["First sentence.", "My Second sentence.", "Third sentence."])
    assert server.read(doc) == "First sentence.\n\nMy Second sentence.\n\nThird sentence.\n"
    exported = server.request("GET", f"/api/documents/{doc}.md", params={"suggestions": "critic"})
    assert exported.text == server.read(doc)
