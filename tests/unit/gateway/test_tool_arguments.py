"""Arguments as they arrive over MCP: taken, or refused by name with nothing changed."""

from __future__ import annotations

from typing import Any

import pytest

from shared.protocol import ReadChangesRequest, ReadDocumentRequest
from tests.unit.gateway.conftest import McpClient, text_of
from tests.unit.gateway.fakes import FakeRouter

pytestmark = pytest.mark.anyio


async def call(mcp: McpClient, tool: str, **arguments: Any) -> tuple[bool, str, dict[str, Any]]:
    result = await mcp.call_tool(tool, arguments, raise_on_error=False)
    return result.is_error, text_of(result), result.structured_content or {}


@pytest.fixture
async def doc(mcp: McpClient) -> str:
    _, _, made = await call(mcp, "create_document", markdown="one\n\ntwo", title="Plan")
    return str(made["doc_id"])


CURSORS = [
    *[-1, "-1", 1.5, "1.5", "0x10", "", " ", True, [], {"o": 1}, "9" * 400, 2**63, 7.0],
]


@pytest.mark.parametrize("tool, name", [("read_changes", "cursor"), ("delete", "base")])
@pytest.mark.parametrize("value", CURSORS)
async def test_a_cursor_that_is_none_is_refused_by_name(
    mcp: McpClient, doc: str, tool: str, name: str, value: object
) -> None:
    arguments = {"doc_id": doc, name: value} | ({"blocks": "k3x9d2ab"} if tool == "delete" else {})
    failed, text, answer = await call(mcp, tool, **arguments)
    assert failed
    assert text.startswith(f"{name}: ")
    assert answer["error"]["code"] == "invalid_cursor"
    assert "next_step" in answer["error"]


async def test_a_cursor_with_another_last_digit_is_refused(mcp: McpClient, doc: str) -> None:
    _, _, read = await call(mcp, "read_document", doc_id=doc)
    wrong = int(read["cursor"]) ^ 1
    failed, _, answer = await call(mcp, "read_changes", doc_id=doc, cursor=wrong)
    assert failed
    assert answer["error"]["code"] == "invalid_cursor"


@pytest.mark.parametrize("arguments", [{}, {"cursor": None}])
async def test_no_cursor_and_null_are_the_documented_start(
    mcp: McpClient, doc: str, arguments: dict[str, Any]
) -> None:
    failed, text, answer = await call(mcp, "read_changes", doc_id=doc, **arguments)
    assert not failed
    assert answer["truncated"] is True
    assert answer["reason"] == "no_cursor"
    assert "truncated" in text


async def test_a_cursor_is_taken_as_a_string(mcp: McpClient, doc: str) -> None:
    _, _, read = await call(mcp, "read_document", doc_id=doc)
    failed, _, answer = await call(mcp, "read_changes", doc_id=doc, cursor=str(read["cursor"]))
    assert not failed
    assert answer["blocks"] == []


BAD = [
    ("patch", {"markdown": 5}, "markdown"),
    ("patch", {"markdown": None}, "markdown"),
    ("patch", {"markdown": ["a"]}, "markdown"),
    ("patch", {"markdown": {}}, "markdown"),
    ("patch", {}, "markdown"),
    ("patch", {"markdown": "a", "foo": 1}, "foo"),
    ("patch", {"text": "a"}, "text"),
    ("patch", {"markdown": "a", "anchors": 5}, "anchors"),
    ("patch", {"markdown": "a", "dry_run": "no"}, "dry_run"),
    ("patch", {"markdown": "a", "mode": "propose"}, "mode"),
    ("insert", {"markdown": "a", "after": "middle"}, "after"),
    ("replace", {"markdown": "a", "start": "k3x9d2ab"}, "start"),
    ("replace", {"markdown": "a"}, "from"),
    ("delete", {"blocks": []}, "blocks"),
    ("delete", {"blocks": '["nope"]'}, "blocks"),
    ("move", {"block": "k3x9d2ab"}, "after"),
    ("move", {"after": "end"}, "block"),
    ("move", {"block": "k3x9d2ab", "section_id": "k3x9d2ab", "after": "end"}, "block"),
    ("replace_text", {}, "edits"),
    ("replace_text", {"edits": "recieve"}, "edits"),
    ("replace_text", {"edits": [{"old_text": "a"}]}, "edits"),
    ("replace_text", {"old_text": "a"}, "old_text"),
    ("read_document", {"max_chars": True}, "max_chars"),
    ("read_document", {"max_chars": 0}, "max_chars"),
    ("read_document", {"max_chars": 10**12}, "max_chars"),
    ("read_document", {"section_id": 5}, "section_id"),
    ("read_document", {"format": "html"}, "format"),
    ("read_changes", {"wait_s": 51}, "wait_s"),
]


@pytest.mark.parametrize("bad", BAD)
async def test_a_bad_argument_is_named_and_nothing_changes(
    mcp: McpClient, router: FakeRouter, doc: str, bad: tuple[str, dict[str, Any], str]
) -> None:
    tool, arguments, field = bad
    failed, text, answer = await call(mcp, tool, doc_id=doc, **arguments)
    assert failed
    assert text.startswith(f"{field}: ")
    assert answer["error"]["code"] == "invalid_argument"
    assert answer["error"]["field"] == field
    assert not router.requests
    assert "pydantic" not in text
    assert (await call(mcp, "read_document", doc_id=doc))[0] is False


async def test_an_unknown_name_is_told_the_nearest_one(mcp: McpClient, doc: str) -> None:
    _, text, _ = await call(mcp, "read_document", doc_id=doc, sectionid="k3x9d2ab")
    assert "Did you mean section_id?" in text
    _, text, _ = await call(mcp, "read_document", document=doc)
    assert text.startswith("document: no such argument")
    assert "doc_id: is required." in text


async def test_a_missing_document_names_the_parameter(mcp: McpClient) -> None:
    for given in ({}, {"doc_id": None}, {"doc_id": ""}):
        failed, text, _ = await call(mcp, "read_document", **given)
        assert failed
        assert text.startswith("doc_id: ")


@pytest.mark.parametrize("ref", ["nothing-here", "a b", "../x", "x" * 100])
async def test_an_unknown_document_answers_alike_whatever_its_form(
    mcp: McpClient, ref: str
) -> None:
    failed, text, answer = await call(mcp, "read_document", doc_id=ref)
    assert failed
    assert text.startswith("doc_id: no document ")
    assert answer["error"]["code"] == "doc_not_found"


@pytest.mark.parametrize("form", ["{id}", "plan", "http://127.0.0.1:8000/d/plan", " {id}\n"])
async def test_a_document_is_named_by_id_slug_or_url(mcp: McpClient, doc: str, form: str) -> None:
    failed, _, answer = await call(mcp, "read_document", doc_id=form.replace("{id}", doc))
    assert not failed
    assert answer["title"] == "Plan"


async def test_null_is_absent_for_every_optional_argument(
    mcp: McpClient, router: FakeRouter, doc: str
) -> None:
    for tool in await mcp.list_tools():
        schema = tool.input_schema
        optional = set(schema["properties"]) - set(schema.get("required", ()))
        first, text = next(iter(router.document(doc).texts.items()))
        needed: dict[str, dict[str, Any]] = {
            "patch": {"markdown": "new"},
            "insert": {"markdown": "new"},
            "replace": {"markdown": "new", "from": first},
            "delete": {"blocks": first},
            "replace_text": {"edits": {"old_text": text, "new_text": "x", "anchor": None}},
            "move": {"block": first, "after": "end"},
            "get_changes": {"slug": doc, "since": "2026-03-31T09:00:00Z"},
            "read_version": {"version": "v1"},
            "restore": {"version": "v1"},
            "compare": {"from": "v1"},
            "save_version": {"name": "as agreed"},
            "list_chats": {"slug": doc},
            "read_chat": {"slug": doc},
            "post_chat_message": {"slug": doc, "text": "x"},
            "reply": {"slug": doc, "thread_id": "t", "text": "x"},
            "edit_message": {"slug": doc, "message_id": "m", "text": "x"},
            "delete_message": {"slug": doc, "message_id": "m"},
            "resolve_thread": {"slug": doc, "thread_id": "t"},
            "suggest": {"edits": {"old_text": text, "new_text": "x"}},
            "decide_suggestion": {"id": "s1", "decision": "reject"},
        }
        given = {**dict.fromkeys(optional), **needed.get(tool.name, {})}
        if "doc_id" in schema["properties"]:
            given["doc_id"] = doc
        failed, said, _ = await call(mcp, tool.name, **given)
        assert not failed, said


async def test_defaults_reach_the_document(mcp: McpClient, router: FakeRouter, doc: str) -> None:
    await call(mcp, "read_document", doc_id=doc, max_chars=None, format=None)
    await call(mcp, "read_changes", doc_id=doc, max_chars="100", exclude_self="true")
    assert [request for _, _, request in router.requests] == [
        ReadDocumentRequest(),
        ReadChangesRequest(max_chars=100, exclude_self=True),
    ]


@pytest.mark.parametrize("name", ["blocks", "edits"])
@pytest.mark.parametrize("value", ["[" * 20_000, "[" * 400 + "]" * 400, "[" * 900 + "]" * 900])
async def test_a_list_written_as_text_nested_without_end_is_refused_by_name(
    mcp: McpClient, doc: str, name: str, value: str
) -> None:
    tool = {"blocks": "delete", "edits": "replace_text"}[name]
    failed, text, answer = await call(mcp, tool, doc_id=doc, **{name: value})
    assert failed
    assert text.startswith(f"{name}: ")
    assert answer["error"]["code"] == "invalid_argument"
