"""An agent's working day beside a person, on the whole server and both wires of MCP."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import anyio
import msgspec
import pytest

from shared.feed.mirror import Mirror
from shared.protocol import ReadChangesResult, ReadDocumentResult
from tests.acceptance.agents import WIRES, Agent, agent
from tests.acceptance.conftest import OpenEditor
from tests.acceptance.editors import until
from tests.acceptance.server import Server

pytestmark = pytest.mark.anyio

PLAN: Final = "# Plan\n\nWe start on Monday.\n\n## Open\n\nWho brings bread?\n"
LONG_S: Final = 50


async def read(scribe: Agent, doc: str) -> Mirror:
    answer = await scribe.call("read_document", doc_id=doc, format="blocks")
    return Mirror(msgspec.convert(answer, ReadDocumentResult))


async def follow(scribe: Agent, doc: str, mirror: Mirror, **arguments: Any) -> ReadChangesResult:
    answer = await scribe.call("read_changes", doc_id=doc, cursor=mirror.cursor, **arguments)
    changes = msgspec.convert(answer, ReadChangesResult)
    mirror.apply(changes)
    return changes


@pytest.mark.parametrize("wire", WIRES)
async def test_an_agent_creates_reads_follows_patches_and_meets_a_conflict(
    server: Server, editor: OpenEditor, wire: str
) -> None:
    async with agent(server.mcp, server.create_token("Scribe"), wire) as scribe:
        made = await scribe.call("create_document", markdown=PLAN, idempotency_key=f"plan-{wire}")
        again = await scribe.call("create_document", markdown=PLAN, idempotency_key=f"plan-{wire}")
        doc = made["doc_id"]
        assert again["doc_id"] == doc
        mirror = await read(scribe, doc)
        assert mirror.markdown() == PLAN
        ann = editor(doc)

        # It waits; she types; it is answered once, when she pauses.
        answers: list[ReadChangesResult] = []

        async def wait() -> None:
            answers.append(await follow(scribe, doc, mirror, wait_s=LONG_S, settle_s=1))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            for letter in " Or on Tuesday.":
                await anyio.to_thread.run_sync(partial(ann.type, letter, block=1))
        (block,) = answers[0].blocks
        assert (block.text, block.change) == ("We start on Monday. Or on Tuesday.", "changed")
        assert block.by == ("owner",)

        # It sends all of it back with one paragraph changed; hers, which it has seen, stays.
        text = mirror.markdown().replace("Who brings bread?", "Bread: Ann. Salt: nobody yet.")
        done = await scribe.call("patch", doc_id=doc, markdown=text, base=mirror.cursor)
        assert (done["replaced"], done["inserted"], done["deleted"]) == (1, 0, 0)
        assert done["conflicts"] == []
        until("the patch at Ann's", lambda: "Bread: Ann. Salt: nobody yet." in ann.texts)
        assert not done["behind"]
        mirror = await read(scribe, doc)

        # Both change one paragraph: apart they merge, on one spot she keeps what she typed.
        ann.type("Still open: ", block=3, at=0)
        until("her words", lambda: "Still open: Bread" in server.read(doc))
        text = mirror.markdown().replace("nobody yet", "Ben")
        done = await scribe.call("patch", doc_id=doc, markdown=text, base=mirror.cursor)
        assert done["conflicts"] == []
        assert "Still open: Bread: Ann. Salt: Ben." in server.read(doc)
        mirror = await read(scribe, doc)
        ann.run("leaf(3).delete(12, 5); leaf(3).insert(12, 'Rolls')")
        until("her words", lambda: "Still open: Rolls: Ann" in server.read(doc))
        text = mirror.markdown().replace("Bread", "Cake")
        done = await scribe.call("patch", doc_id=doc, markdown=text, base=mirror.cursor)
        (conflict,) = done["conflicts"]
        assert "Rolls" in conflict["theirs"]
        assert "Cake" in conflict["yours"]
        assert "Still open: Rolls: Ann" in server.read(doc)

        # What it was told adds up to the document, its own writes included.
        changes = await follow(scribe, doc, mirror)
        assert not changes.more
        assert mirror.markdown() == server.read(doc)


@pytest.mark.parametrize("wire", WIRES)
async def test_an_agent_overwrites_nothing_it_has_not_seen(
    server: Server, editor: OpenEditor, wire: str
) -> None:
    doc = server.create(PLAN)
    ann = editor(doc)
    async with agent(server.mcp, server.create_token("Scribe"), wire) as scribe:
        refused = await scribe.refused("replace", doc_id=doc, **{"from": "0" * 8}, markdown="x")
        assert refused["code"] == "stale_anchor"
        shown = await scribe.call("read_document", doc_id=doc)
        anchor = shown["blocks"][1]["anchor"]
        ann.type(" Surely.", block=1)
        until("her words", lambda: "Surely" in server.read(doc))
        refused = await scribe.refused("replace", doc_id=doc, **{"from": anchor}, markdown="Never.")
        assert refused["code"] == "stale_block"
        assert refused["text"] == "We start on Monday. Surely."
        done = await scribe.call(
            "replace", doc_id=doc, **{"from": refused["anchor"]}, markdown="We start now."
        )
        assert done["replaced"] == 1
        ann.insert("Added where nobody looked.")
        until("her paragraph", lambda: "nobody looked" in server.read(doc))
        kept = await scribe.call("patch", doc_id=doc, markdown="# Plan\n\nWe start now.")
        assert len(kept["kept"]) == 1
        assert "Added where nobody looked." in server.read(doc)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_reader_may_follow_and_not_write(server: Server, wire: str) -> None:
    doc = server.create(PLAN)
    async with agent(server.mcp, server.create_token("Rea", "read"), wire) as reader:
        assert await reader.tools() == [
            "list_documents",
            "read_document",
            "read_changes",
            "get_changes",
            "list_changes",
            "list_chats",
            "read_chat",
            "compare",
        ]
        assert (await read(reader, doc)).markdown() == PLAN
        refused = await reader.refused("insert", doc_id=doc, markdown="x")
        assert (refused["code"], refused["needs"]) == ("capability_denied", "write")
