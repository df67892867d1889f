"""A question about a sentence, asked by an agent, while a person edits around it."""

from __future__ import annotations

from typing import Any, Final

import anyio
import httpx
import pytest

from tests.acceptance.agents import agent
from tests.acceptance.conftest import OpenEditor
from tests.acceptance.editors import until
from tests.acceptance.server import Server

pytestmark = pytest.mark.anyio

PLAN: Final = "# Plan\n\nWe ship the **first** version on Friday.\n\n## Open\n\nWho brings bread?\n"
QUOTE: Final = "the first version"


def rest(server: Server, method: str, path: str, **arguments: Any) -> Any:
    answer: httpx.Response = server.request(method, f"/api/documents/{path}", **arguments)
    assert answer.status_code < 300, answer.text
    return answer.json()


async def test_a_quoted_question_is_followed_answered_and_resolved(
    server: Server, editor: OpenEditor
) -> None:
    doc = server.create(PLAN)
    ann = editor(doc)
    async with agent(server.mcp, server.create_token("Scribe")) as scribe:
        outline = (await scribe.call("read_document", doc_id=doc, outline=True))["outline"]
        section, other = (entry["section_id"] for entry in outline)
        ask = {"slug": doc, "section_id": section, "text": "Is <that> agreed, @ann?"}
        refused = await scribe.refused("post_chat_message", **ask, quote="the **first** version")
        assert refused["suggestion"] == QUOTE
        posted = await scribe.call("post_chat_message", **ask, quote=QUOTE, idempotency_key="q")
        assert (
            await scribe.call("post_chat_message", **ask, quote=QUOTE, idempotency_key="q")
            == posted
        )
        assert posted.keys() == {"thread_id", "message_id", "seq", "section_id"}
        elsewhere = await scribe.refused(
            "post_chat_message", **{**ask, "section_id": other}, quote=QUOTE
        )
        assert elsewhere["code"] == "invalid_argument"
        cursor = (await scribe.call("read_document", doc_id=doc))["cursor"]

        # Ann types in front of it, reads the question where she works, and answers.
        ann.type("Hear: ", block=1, at=0)
        until("her words", lambda: "Hear: We ship" in server.read(doc))
        (thread,) = rest(server, "GET", f"{doc}/threads")["threads"]
        assert (thread["quote"], thread["messages"][0]["text"]) == (QUOTE, "Is that agreed, ann?")
        assert thread["messages"][0]["via"] == "connected_app"
        path = f"{doc}/threads/{thread['thread_id']}"
        changes: list[dict[str, Any]] = []

        async def follow() -> None:
            changes.append(
                await scribe.call(
                    "read_changes", doc_id=doc, cursor=cursor, wait_s=20, settle_s=0.2
                )
            )

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            rest(server, "POST", f"{path}/messages", json={"text": "Yes, <all> of it."})
        told = {one["thread_id"]: one for answer in changes for one in answer.get("threads", ())}
        if posted["thread_id"] not in told:  # her typing was told first
            cursor = changes[0]["cursor"]
            await follow()
            told = {one["thread_id"]: one for one in changes[1]["threads"]}
        assert told[posted["thread_id"]]["messages"][-1]["text"] == "Yes, <all> of it."

        # She breaks the sentence and takes that back; after a kill it stands where it stood.
        ann.type("XX", block=1, at=len("Hear: We ship the f"))
        until(
            "an orphan",
            lambda: "block_id" not in rest(server, "GET", f"{doc}/threads")["threads"][0],
        )
        ann.run(f"leaf(1).delete({len('Hear: We ship the f')}, 2)")
        until(
            "its place", lambda: "block_id" in rest(server, "GET", f"{doc}/threads")["threads"][0]
        )
        server.kill_actor(doc)
        until("the document", lambda: "Hear: We ship" in server.read(doc))
        said = await scribe.said("read_chat", slug=doc, thread_id=posted["thread_id"])
        assert "Yes, <all> of it." in said
        assert said.index("--- content") < said.index(QUOTE) < said.index("--- end of content")
        rest(server, "PUT", path, json={"resolved": True})
        chats = await scribe.call("list_chats", slug=doc)
        assert [(one["resolved"], one["message_count"]) for one in chats["chats"]] == [(True, 2)]
        assert "threads" not in await scribe.call("read_document", doc_id=doc)
