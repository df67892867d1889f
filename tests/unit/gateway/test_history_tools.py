"""The tools and routes of a document's history: what goes in, and in which channel texts come."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from shared.protocol import WriteOptions
from shared.protocol_history import (
    CompareCounts,
    ComparedBlock,
    ComparedState,
    CompareRequest,
    CompareResult,
    ListVersionsResult,
    ReadVersionResult,
    RestoreRequest,
    SaveVersionRequest,
    Version,
)
from tests.unit.gateway.conftest import McpClient
from tests.unit.gateway.fakes import FakeRouter
from tests.unit.gateway.test_tools import MARK, call, framed

pytestmark = pytest.mark.anyio
AT = "2026-03-31T09:00:00.000+00:00"
COMPARED = CompareResult(
    since=ComparedState(AT, "v1"),
    until=ComparedState(AT),
    counts=CompareCounts(1, 0, 1, 0, 2, 1),
    blocks=(
        ComparedBlock("k3x9d2ab", "changed", 1, 1, f"{{--old--}}{{++{MARK}++}}"),
        ComparedBlock("aaaaaaaa", "added", 1, 0),
    ),
    truncated=True,
    next_step="Ask for more.",
)


@pytest.fixture
async def doc(mcp: McpClient) -> str:
    _, made = await call(mcp, "create_document", markdown="one", title="Plan")
    return str(made["doc_id"])


async def test_versions_are_listed_in_both_channels(
    mcp: McpClient, router: FakeRouter, doc: str
) -> None:
    told = Version("v2", AT, "restored", f"as {MARK}", "Ann", "v1")
    router.answers["list_versions"] = ListVersionsResult((told,), "v2")
    text, data = await call(mcp, "list_versions", doc_id=doc, before="v3", limit="5")
    assert "1 version, newest first." in text
    assert "before='v2'" in text
    assert framed(text) == f'v2 {AT} restored v1 "as {MARK}" by "Ann"'
    assert data["versions"] == [
        {
            "version": "v2",
            "at": AT,
            "kind": "restored",
            "name": f"as {MARK}",
            "by": "Ann",
            "restored": "v1",
        }
    ]


async def test_the_text_of_a_version_is_in_content_alone(
    mcp: McpClient, router: FakeRouter, doc: str
) -> None:
    router.answers["read_version"] = ReadVersionResult("v2", AT, f"{MARK}\n", 9, truncated=True)
    text, data = await call(mcp, "read_version", doc_id=doc, version="v2")
    assert MARK in framed(text)
    assert MARK not in json.dumps(data)
    assert data == {"version": "v2", "at": AT, "total_chars": 9, "truncated": True}


async def test_the_texts_of_a_comparison_are_in_content_alone(
    mcp: McpClient, router: FakeRouter, doc: str
) -> None:
    router.answers["compare"] = COMPARED
    text, data = await call(mcp, "compare", **{"doc_id": doc, "from": "v1"})
    assert framed(text) == (f"[k3x9d2ab] changed\n{{--old--}}{{++{MARK}++}}\n\n[aaaaaaaa] added")
    assert MARK not in json.dumps(data)
    assert (data["from"], data["to"]) == ({"at": AT, "version": "v1"}, {"at": AT})
    assert data["blocks"][0] == {
        "block_id": "k3x9d2ab",
        "change": "changed",
        "words_added": 1,
        "words_removed": 1,
    }
    assert f"From {AT} (v1) to {AT}:" in text
    assert "cut. Ask for more." in text


@pytest.mark.parametrize(
    "given, meant", [(5, 5), ("5", 5), ("v5", "v5"), ("as agreed", "as agreed"), (AT, AT)]
)
async def test_a_point_is_taken_as_a_cursor_or_by_its_name(
    mcp: McpClient, router: FakeRouter, doc: str, given: Any, meant: int | str
) -> None:
    await call(mcp, "compare", **{"doc_id": doc, "from": given, "to": given})
    request = router.requests[-1][2]
    assert request == CompareRequest(meant, meant)


@pytest.mark.parametrize("point", [1.5, "", "x" * 101, ["v1"], True])
async def test_a_point_that_is_none_is_refused(mcp: McpClient, doc: str, point: Any) -> None:
    result = await mcp.call_tool("compare", {"doc_id": doc, "from": point}, raise_on_error=False)
    assert result.is_error


async def test_naming_and_restoring_reach_the_document(
    mcp: McpClient, router: FakeRouter, doc: str
) -> None:
    await call(mcp, "save_version", doc_id=doc, name="as agreed", version="v2")
    assert router.requests[-1][2] == SaveVersionRequest("as agreed", "v2")
    text, data = await call(mcp, "restore", doc_id=doc, version="v1", base=7, dry_run=True)
    options = WriteOptions(7, dry_run=True)
    assert router.requests[-1][2] == RestoreRequest("v1", options)
    assert (data["version"], data["undo"]) == ("v3", "v2")
    assert "version: v3; restoring v2 undoes it." in text


async def test_rest_takes_and_answers_the_same(
    http: httpx.AsyncClient, router: FakeRouter, doc: str
) -> None:
    one = f"/api/documents/{doc}"
    router.answers["compare"] = COMPARED
    listed = await http.get(f"{one}/versions", params={"limit": 2})
    assert listed.json()["versions"][0]["version"] == "v1"
    read = await http.get(f"{one}/versions/v1")
    assert read.json()["markdown"] == "one\n"
    compared = await http.get(f"{one}/compare", params={"from": "17", "to": "as agreed"})
    assert router.requests[-1][2] == CompareRequest(17, "as agreed")
    assert compared.json()["blocks"][0]["diff"] == f"{{--old--}}{{++{MARK}++}}"
    named = await http.post(f"{one}/versions", json={"name": "as agreed"})
    assert (named.status_code, named.json()["name"]) == (201, "as agreed")
    restored = await http.post(f"{one}/restore", json={"version": "v1", "idempotency_key": "k"})
    assert restored.json()["undo"] == "v2"
    assert router.requests[-1][2].options.idempotency_key == "k"
    assert listed.headers["Cache-Control"] == "no-store"
