"""The tools and routes of suggestions: what goes in, and in which channel people's text comes."""

from __future__ import annotations

import json

import anyio
import httpx
import msgspec
import pytest
from msgspec import UNSET

from gateway.mcp.held import Held
from gateway.mcp.waiting import ChangesWait
from shared.ids import BlockRef
from shared.protocol import (
    ReadChangesRequest,
    ReadChangesResult,
    ReadDocumentResult,
    TextEdit,
    WriteOptions,
)
from shared.protocol_suggestions import (
    DecideRequest,
    ListSuggestionsRequest,
    ListSuggestionsResult,
    SuggestRequest,
)
from shared.suggestions.info import SuggestionInfo
from tests.unit.gateway.conftest import McpClient
from tests.unit.gateway.fakes import READER, FakeRouter
from tests.unit.gateway.test_tools import MARK, call, framed

pytestmark = pytest.mark.anyio
AT = "2026-03-31T09:00:00.000+00:00"
TOLD = SuggestionInfo(
    *("s57", "g57", "text", "open", f"Ann {MARK}"),
    mine=False,
    at=AT,
    anchor="k3x9d2ab-1f09c3",
    old=f"old {MARK}",
    new=f"new {MARK}",
    note=f"note {MARK}",
)


@pytest.fixture
async def doc(mcp: McpClient) -> str:
    _, made = await call(mcp, "create_document", markdown="one", title="Plan")
    return str(made["doc_id"])


async def test_what_people_wrote_of_a_suggestion_is_framed_and_not_in_the_data(
    mcp: McpClient, router: FakeRouter, doc: str
) -> None:
    router.answers["list_suggestions"] = ListSuggestionsResult((TOLD,), "s57")
    text, data = await call(mcp, "list_suggestions", doc_id=doc, status="all", limit="5")
    for words in (f"old: old {MARK}", f"new: new {MARK}", f"note: note {MARK}"):
        assert words in framed(text)
    assert "after='s57'" in text
    kept = {**data["suggestions"][0], "by": ""}
    assert MARK not in json.dumps(kept)
    assert router.requests[-1][2] == ListSuggestionsRequest("all", 5, None)


async def test_beside_the_text_they_are_where_the_text_is(
    mcp: McpClient, router: FakeRouter, doc: str
) -> None:
    router.answers["read_document"] = ReadDocumentResult(
        *("T", 5, 4), truncated=False, markdown="text", suggestions=(TOLD,)
    )
    text, data = await call(mcp, "read_document", doc_id=doc, suggestions="all")
    assert f"new: new {MARK}" in text
    assert "new" not in data["suggestions"][0]
    _, data = await call(mcp, "read_document", doc_id=doc, format="markdown")
    assert data["suggestions"][0]["new"] == f"new {MARK}"


async def test_what_goes_in(mcp: McpClient, router: FakeRouter, doc: str) -> None:
    edit = {"old_text": "one", "new_text": "two", "anchor": "k3x9d2ab"}
    text, data = await call(mcp, "suggest", doc_id=doc, edits=edit, note="why", base=7)
    assert router.requests[-1][2] == SuggestRequest(
        (TextEdit("one", "two", BlockRef("k3x9d2ab")),), "why", WriteOptions(7)
    )
    assert "1 suggestion in group g1: s2" in text
    assert data["suggestions"] == ["s2"]
    text, data = await call(mcp, "decide_suggestion", doc_id=doc, id="s2", decision="Accept")
    assert router.requests[-1][2] == DecideRequest("accept", "s2")
    assert "s2 accepted" in text
    assert data["decided"][0]["status"] == "accepted"
    await call(mcp, "decide_suggestion", doc_id=doc, group="g1", decision="reject", dry_run=True)
    asked = DecideRequest("reject", group="g1", options=WriteOptions(dry_run=True))
    assert router.requests[-1][2] == asked


async def test_the_same_over_rest_with_the_texts(
    http: httpx.AsyncClient, router: FakeRouter
) -> None:
    made = await http.post("/api/documents", content="one", params={"slug": "plan"})
    assert made.status_code == 201
    path = "/api/documents/plan"
    body = {"edits": [{"old_text": "one", "new_text": "two"}], "note": "why"}
    assert (await http.post(f"{path}/suggest", json=body)).json()["suggestions"] == ["s2"]
    listed = (await http.get(f"{path}/suggestions", params={"limit": 1})).json()
    assert (listed["suggestions"][0]["old"], listed["next"]) == ("One", "s1")
    done = await http.post(f"{path}/suggestions/decide", json={"decision": "reject", "id": "s1"})
    assert done.json()["decided"] == [
        {"id": "s1", "status": "rejected", "by": "Ana", "decided_by": "Ana"}
    ]
    none = await http.post(f"{path}/suggestions/decide", json={"decision": "reject", "id": "s9"})
    assert (none.status_code, none.json()["code"]) == (404, "suggestion_not_found")
    assert router.requests[-1][2] == DecideRequest("reject", "s9")


async def test_a_suggestion_ends_a_wait_for_changes(router: FakeRouter, mcp: McpClient) -> None:
    await call(mcp, "create_document", markdown="one", slug="plan", title="Plan")
    document = router.document("plan")
    nothing = ReadChangesResult((), (), document.cursor(), truncated=False, more=False)
    router.answers["read_changes"] = nothing
    request = ReadChangesRequest(cursor=document.cursor())
    wait = ChangesWait(router, Held(), "plan", READER, request)
    found: list[ReadChangesResult] = []

    async def read() -> None:
        found.append(await wait.answer(50, 0.0))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        with anyio.fail_after(5):
            while not document.link.waiting:
                await anyio.lowlevel.checkpoint()
        told = msgspec.structs.replace(nothing, suggestions=(TOLD,))
        router.answers["read_changes"] = told
        document.link.notify(len(document.log) + 1, "ann")
    assert found[0].suggestions is not UNSET
