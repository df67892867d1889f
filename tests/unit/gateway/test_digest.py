"""Which documents changed: those that did not are not asked, one that fails costs only itself."""

from __future__ import annotations

import json
from typing import Any

import httpx
import msgspec
import pytest

from shared.errors import DocumentCorrupt
from shared.history.changes import ChangeCounts, Changes
from shared.protocol_changes import FoundChanges
from tests.unit.gateway.conftest import McpClient, text_of
from tests.unit.gateway.fake_past import NOW
from tests.unit.gateway.fakes import FakeDocument, FakeRouter

pytestmark = pytest.mark.anyio

SINCE = "2025-11-01T00:00:00+00:00"
ME = "person:local"
TITLE = "Zebra title"


async def made(mcp: McpClient, router: FakeRouter, slug: str, *words: int) -> FakeDocument:
    """A document last changed now; `words`: how many were added since."""
    await mcp.call_tool("create_document", {"title": TITLE, "slug": slug, "markdown": "one"})
    document = router.document(slug)
    counts = ChangeCounts(changed=len(words), words_added=sum(words))
    document.found = FoundChanges(0, False, NOW, NOW, Changes(counts))
    return document


def read(router: FakeRouter, document: FakeDocument, at: int) -> None:
    """The person of the calls last left the document then, by its file and by the catalog."""
    document.last_left[ME] = at
    router.left.setdefault(ME, {})[document.row.doc_id] = at


async def ask(mcp: McpClient, **arguments: Any) -> tuple[str, dict[str, Any]]:
    result = await mcp.call_tool("list_changes", arguments)
    assert result.structured_content is not None
    return text_of(result), result.structured_content


async def test_what_changed_is_told_and_what_did_not_is_not_even_asked(
    mcp: McpClient, router: FakeRouter
) -> None:
    changed, quiet, unread, looked = [
        await made(mcp, router, slug, *words)
        for slug, words in (("plan", (3,)), ("quiet", (9,)), ("unread", (9,)), ("looked", ()))
    ]
    read(router, changed, NOW - 5)
    read(router, quiet, NOW)
    read(router, looked, NOW - 5)  # it changed, and nothing of it is left to see
    text, told = await ask(mcp)
    assert [one["slug"] for one in told["documents"]] == ["plan"]
    assert told["documents"][0]["counts"]["words_added"] == 3
    assert told["documents"][0]["from_last_left"] is True
    assert told["documents"][0]["url"] == "http://127.0.0.1:8000/d/plan"
    assert (told["unchanged"], told["never_opened"], told["failed"]) == (2, 1, [])
    assert [len(one.asked) for one in (changed, quiet, unread, looked)] == [1, 0, 0, 1]
    assert text.startswith("1 changed, 2 unchanged, 1 that you never opened in an editor.")
    assert f'plan "{TITLE}" +3 -0 words, since ' in text


async def test_titles_are_framed_and_no_id_is_told(mcp: McpClient, router: FakeRouter) -> None:
    document = await made(mcp, router, "plan", 3)
    text, told = await ask(mcp, since=SINCE)
    head, _, rest = text.partition("--- content ")
    inside, _, tail = rest.partition("--- end of content ")
    assert TITLE in inside
    assert TITLE not in head + tail + json.dumps(told)
    assert document.row.doc_id not in text + json.dumps(told)


async def test_with_since_every_document_counts(mcp: McpClient, router: FakeRouter) -> None:
    await made(mcp, router, "plan", 3)
    _, told = await ask(mcp, since=SINCE)
    assert [one["from_last_left"] for one in told["documents"]] == [False]
    assert told["never_opened"] == 0


async def test_one_that_cannot_be_read_costs_only_itself(
    mcp: McpClient, router: FakeRouter, monkeypatch: pytest.MonkeyPatch
) -> None:
    await made(mcp, router, "plan", 3)
    broken = await made(mcp, router, "broken", 3)

    def corrupt(*_arguments: object) -> None:
        raise DocumentCorrupt("It cannot be read.")

    monkeypatch.setattr(broken, "get_changes", corrupt)
    text, told = await ask(mcp, since=SINCE)
    assert [one["slug"] for one in told["documents"]] == ["plan"]
    assert told["failed"] == [{"slug": "broken", "code": "document_corrupt"}]
    assert "could not be asked: broken (document_corrupt)" in text


async def test_whose_file_knows_no_visit_was_never_opened(
    mcp: McpClient, router: FakeRouter
) -> None:
    document = await made(mcp, router, "plan", 3)
    read(router, document, NOW - 5)
    document.last_left.clear()  # a backup was restored
    assert (await ask(mcp))[1]["never_opened"] == 1


async def test_the_last_changed_comes_first(mcp: McpClient, router: FakeRouter) -> None:
    for slug in ("third", "first", "second"):
        document = await made(mcp, router, slug, 1)
        at = NOW - {"first": 1, "second": 2, "third": 3}[slug]
        document.row = msgspec.structs.replace(document.row, updated_at=at)
    _, told = await ask(mcp, since=SINCE)
    assert [one["slug"] for one in told["documents"]] == ["first", "second", "third"]


async def test_rest_answers_the_same_and_the_titles(
    http: httpx.AsyncClient, mcp: McpClient, router: FakeRouter
) -> None:
    await made(mcp, router, "plan", 3)
    _, told = await ask(mcp, since=SINCE)
    answer = (await http.get("/api/changed", params={"since": SINCE})).json()
    assert answer.pop("titles") == {"plan": TITLE}
    assert answer == told
