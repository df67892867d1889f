"""What an agent is told of changes: which channel says what, and what neither says."""

from __future__ import annotations

import json
from typing import Any

import httpx
import msgspec
import pytest

from shared.errors import BaseExpired
from shared.history.changes import BlockChange, ChangeCounts, Changes, SectionChange, changes
from shared.history.people import Editor
from shared.protocol_changes import FoundChanges
from tests.unit.gateway.conftest import McpClient, text_of
from tests.unit.gateway.fake_past import NOW
from tests.unit.gateway.fakes import FakeDocument, FakeRouter
from tests.unit.history.pages import page

pytestmark = pytest.mark.anyio

HOUR = 3_600_000
SINCE = "2025-11-01T00:00:00+00:00"
HEADING, PASSAGE, GONE, NAME = "Zebra heading", "Okapi passage", "Quagga words", "Nadia Writes"
PEOPLE_WROTE = (HEADING, PASSAGE, GONE, NAME)
SECTIONS = (
    SectionChange("changed", "aaaaaaaa", HEADING, 2, 1, PASSAGE, GONE),
    SectionChange("removed", "bbbbbbbb", "Old", 0, 3, "", "was here"),
    SectionChange("changed", "cccccccc", "Bold"),
)
FOUND = FoundChanges(
    since=0,
    from_last_left=False,
    compared_at=NOW - 2 * HOUR,
    head_at=NOW - HOUR,
    changes=Changes(ChangeCounts(0, 1, 2, 0, 2, 4, 1), SECTIONS),
    editors=(
        Editor("agent:local", "person:local", "Lo", "local agent"),
        Editor("person:n", "person:n", NAME),
        Editor("anonymous"),
    ),
)


SUMMARY = (
    "Sections: 0 added, 1 removed, 2 changed, 0 moved. Words: 2 added, 4 removed."
    " Versions saved: 1."
)
WINDOW = (
    "Since 2025-11-01T00:00:00.000+00:00, compared with the state of 2025-11-30T08:53:20.000+00:00."
)
CLOSING = "Up to the last save at 2025-11-30T09:53:20.000+00:00. read_document has the text of now."
URL = "http://127.0.0.1:8000/d/plan"
ROWS = (
    (
        f'changed (+2 -1 words): "{HEADING}"; new: "{PASSAGE}"; gone: "{GONE}";'
        f" section_id aaaaaaaa, {URL}?id=aaaaaaaa"
    ),
    f'removed (+0 -3 words): "Old"; gone: "was here"; section_id bbbbbbbb, {URL}',
    f'changed: "Bold"; section_id cccccccc, {URL}?id=cccccccc',
)


@pytest.fixture
async def document(mcp: McpClient, router: FakeRouter) -> FakeDocument:
    await mcp.call_tool("create_document", {"markdown": "one", "title": "Plan"})
    document = router.document("plan")
    document.found = FOUND
    return document


async def ask(mcp: McpClient, **arguments: Any) -> tuple[str, dict[str, Any]]:
    result = await mcp.call_tool("get_changes", {"slug": "plan", "since": SINCE, **arguments})
    assert result.structured_content is not None
    return text_of(result), result.structured_content


async def refused(mcp: McpClient, **arguments: Any) -> dict[str, Any]:
    result = await mcp.call_tool("get_changes", arguments, raise_on_error=False)
    assert result.is_error
    assert result.structured_content is not None
    error: dict[str, Any] = result.structured_content["error"]
    return error


def apart(text: str) -> tuple[str, str]:
    """What stands inside of the frame, and what around it."""
    head, _, rest = text.partition("--- content ")
    inside, _, tail = rest.partition("--- end of content ")
    return inside.split("\n", 1)[1], head + tail.partition("\n")[2]


async def test_the_tool_is_listed_as_one_that_reads(mcp: McpClient) -> None:
    tools = {tool.name: tool for tool in await mcp.list_tools()}
    for name in ("get_changes", "list_changes"):
        hints = tools[name].annotations
        assert hints is not None
        assert hints.read_only_hint
        assert not hints.destructive_hint
        assert hints.open_world_hint is False
    start = "What changed in a document since you last left it, up to the last save."
    assert (tools["get_changes"].description or "").startswith(start)


async def test_what_people_wrote_is_in_the_frame_and_nowhere_else(
    mcp: McpClient, document: FakeDocument
) -> None:
    text, structured = await ask(mcp)
    inside, outside = apart(text)
    for words in PEOPLE_WROTE:
        assert words in inside
        assert words not in outside
        assert words not in json.dumps(structured)
    assert document.row.doc_id not in text + json.dumps(structured)


async def test_the_text_says_all_of_it(mcp: McpClient, document: FakeDocument) -> None:
    text, _ = await ask(mcp)
    inside, outside = apart(text)
    said = "people who edited in this window: you, by local agent; Nadia Writes; and 1 other"
    assert inside.split("\n")[:4] == [said, *ROWS]
    assert outside.strip().split("\n") == [SUMMARY, WINDOW, CLOSING]
    assert document.asked[-1][0] == "agent:local"


async def test_the_data_is_exactly_this(mcp: McpClient, document: FakeDocument) -> None:
    _, structured = await ask(mcp)
    assert structured == {
        "slug": "plan",
        "since": "2025-11-01T00:00:00.000+00:00",
        "head_at": "2025-11-30T09:53:20.000+00:00",
        "from_last_left": False,
        "changed": True,
        "counts": {
            "added": 0,
            "removed": 1,
            "changed": 2,
            "moved": 0,
            "words_added": 2,
            "words_removed": 4,
            "versions": 1,
        },
        "sections": [
            {
                "section_id": "aaaaaaaa",
                "status": "changed",
                "words_added": 2,
                "words_removed": 1,
                "url": "http://127.0.0.1:8000/d/plan?id=aaaaaaaa",
            },
            {
                "section_id": "bbbbbbbb",
                "status": "removed",
                "words_added": 0,
                "words_removed": 3,
                "url": "http://127.0.0.1:8000/d/plan",
            },
            {
                "section_id": "cccccccc",
                "status": "changed",
                "words_added": None,
                "words_removed": None,
                "url": "http://127.0.0.1:8000/d/plan?id=cccccccc",
            },
        ],
    }
    assert document.row.slug == "plan"


async def test_asked_for_by_its_id_it_is_told_by_its_slug(
    mcp: McpClient, document: FakeDocument
) -> None:
    text, structured = await ask(mcp, slug=document.row.doc_id)
    assert structured["slug"] == "plan"
    assert document.row.doc_id not in text + json.dumps(structured)


async def test_sixty_sections_are_fifty_in_both_channels(
    mcp: McpClient, document: FakeDocument
) -> None:
    many = page(*((f"section{n:02}", f"# Part {n}") for n in range(60)))
    document.found = msgspec.structs.replace(FOUND, changes=changes((), many))
    text, structured = await ask(mcp)
    inside, outside = apart(text)
    listed = [row["section_id"] for row in structured["sections"]]
    assert listed == [f"section{n:02}" for n in range(50)]
    assert [one for one in listed if f"section_id {one}," in inside] == listed
    assert "section50" not in text
    assert "10 more sections changed and are left out here" in outside
    assert "read_document and section_id" in outside
    assert structured["counts"]["added"] == 60


async def test_last_left_is_named_and_nothing_changed_is_said(
    mcp: McpClient, document: FakeDocument
) -> None:
    left = NOW - 30 * HOUR
    document.last_left["person:local"] = left
    document.found = FoundChanges(0, from_last_left=False, compared_at=left, head_at=NOW - HOUR)
    result = await mcp.call_tool("get_changes", {"slug": "plan"})
    text, structured = text_of(result), result.structured_content
    assert structured is not None
    assert text.split("\n") == [
        "Nothing changed; versions saved: 0.",
        "Since 2025-11-29T04:53:20.000+00:00, when you last left this document.",
        CLOSING,
    ]
    assert (structured["from_last_left"], structured["changed"]) == (True, False)
    assert structured["sections"] == []


async def test_a_document_without_a_save_has_no_head(
    mcp: McpClient, document: FakeDocument
) -> None:
    document.found = FoundChanges(0, from_last_left=False, compared_at=None, head_at=None)
    text, structured = await ask(mcp)
    assert structured["head_at"] is None
    assert text.endswith("Nothing has been saved yet.")


async def test_blocks_have_their_texts_in_the_frame(mcp: McpClient, document: FakeDocument) -> None:
    blocks = (
        BlockChange("added", "p1p1p1p1", "aaaaaaaa", f"**{PASSAGE}**", 2, 0),
        BlockChange("removed", "p2p2p2p2", None, GONE, 0, 2),
    )
    found = msgspec.structs.replace(FOUND.changes, blocks=blocks, blocks_left_out=4)
    document.found = msgspec.structs.replace(FOUND, changes=found)
    text, structured = await ask(mcp, detail="blocks")
    inside, outside = apart(text)
    assert f"[p1p1p1p1] added (+2 -0 words)\n**{PASSAGE}**\n[p2p2p2p2] removed" in inside
    assert "4 more blocks changed" in outside
    assert [tuple(row.values()) for row in structured["blocks"]] == [
        ("p1p1p1p1", "aaaaaaaa", "added", 2, 0),
        ("p2p2p2p2", None, "removed", 0, 2),
    ]
    assert PASSAGE not in json.dumps(structured)
    assert document.asked[-1][1].detail == "blocks"


async def test_long_texts_of_blocks_are_left_to_read_document(
    mcp: McpClient, document: FakeDocument
) -> None:
    blocks = tuple(
        BlockChange("added", f"block{n:03}", None, f"n{n} " + "x" * 30_000) for n in range(2)
    )
    found = Changes(FOUND.changes.counts, (), 0, blocks)
    document.found = msgspec.structs.replace(FOUND, changes=found)
    text, structured = await ask(mcp, detail="blocks")
    assert len(text) < 45_000
    assert "Blocks without a text here" in apart(text)[1]
    assert len(structured["blocks"]) == 2


@pytest.mark.parametrize(
    "since, said",
    [
        ("2026-03-31T09:00:00", "give 2026-03-31T09:00:00+00:00"),
        ("2026-03-31", "give 2026-03-31T00:00:00+00:00"),
        ("yesterday", "must be an ISO 8601 time with offset"),
        (1_764_500_000, "must be an ISO 8601 time with offset"),
        (True, "must be an ISO 8601 time with offset"),
    ],
)
async def test_a_time_that_is_none_is_refused_with_the_form(
    mcp: McpClient, document: FakeDocument, since: object, said: str
) -> None:
    error = await refused(mcp, slug="plan", since=since)
    assert error["code"] == "invalid_argument"
    assert error["message"].startswith("since: ")
    assert said in error["message"]
    assert document.asked == []


@pytest.mark.usefixtures("document")
async def test_who_never_opened_it_is_told_what_to_give(mcp: McpClient) -> None:
    error = await refused(mcp, slug="plan")
    assert (error["code"], error["field"]) == ("invalid_argument", "since")
    assert error["message"].startswith("since: you have not read this document")


async def test_an_unknown_document_is_not_found(mcp: McpClient) -> None:
    assert (await refused(mcp, slug="nothing", since=SINCE))["code"] == "doc_not_found"


async def test_a_state_that_is_gone_has_its_own_words(
    mcp: McpClient, router: FakeRouter, document: FakeDocument
) -> None:
    router.failure = BaseExpired("No saved version covers that time. Try a later since.")
    error = await refused(mcp, slug=document.row.slug, since=SINCE)
    assert error["code"] == "base_expired"
    assert error["message"] == "No saved version covers that time. Try a later since."


@pytest.mark.usefixtures("document")
async def test_rest_answers_the_same_and_what_is_to_be_read_beside_it(
    http: httpx.AsyncClient, mcp: McpClient
) -> None:
    _, structured = await ask(mcp)
    answer = await http.get("/api/documents/plan/changed", params={"since": SINCE})
    told = answer.json()
    read = told.pop("text")
    assert told == structured
    assert answer.headers["cache-control"] == "no-store"
    said = "people who edited in this window: Lo; Nadia Writes; and 1 other"
    assert read.split("\n") == [SUMMARY, WINDOW, said, *ROWS, CLOSING]
    naive = await http.get("/api/documents/plan/changed", params={"since": "2026-03-31"})
    assert (naive.status_code, naive.json()["code"]) == (400, "invalid_argument")
