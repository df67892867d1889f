"""Sending back what was read changes nothing, whatever the document was made from."""

from __future__ import annotations

from typing import Any

import pytest

from shared.markdown.parse import parse
from tests.commonmark import EXAMPLES
from tests.unit.documents import Bench
from tests.unit.markdown.gfm import CASES

pytestmark = pytest.mark.anyio

EVERYTHING = b"\x00"  # the state vector of whoever has nothing


async def send_back(bench: Bench, form: str) -> None:
    before = bench.document.diff(EVERYTHING)
    shown = await bench.read(format=form, max_chars=1_000_000)
    assert isinstance(shown.markdown, str)
    result = await bench.patch(shown.markdown, base=shown.cursor)
    assert (result.replaced, result.inserted, result.deleted, result.moved) == (0, 0, 0, 0)
    assert (result.charged, result.conflicts, result.kept) == (0, (), ())
    assert bench.document.diff(EVERYTHING) == before


async def check(markdown: str) -> None:
    bench = await Bench.of(markdown)
    for form in ("markdown", "anchored"):
        await send_back(bench, form)
    await bench.document.close()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: str(example["example"]))
async def test_a_commonmark_example_sent_back(example: dict[str, Any]) -> None:
    await check(example["markdown"])


@pytest.mark.parametrize("name", CASES)
async def test_a_gfm_case_sent_back(name: str) -> None:
    await check(CASES[name])


async def test_the_source_itself_sent_again_changes_nothing() -> None:
    """As an author does who keeps the file: spelled another way, it means the same."""
    changing = []
    for name, text in {**CASES, **{str(e["example"]): e["markdown"] for e in EXAMPLES}}.items():
        bench = await Bench.of(text)
        before = bench.document.diff(EVERYTHING)
        shown = await bench.read(format="markdown", max_chars=1_000_000)
        if parse(text).blocks:
            await bench.patch(text, base=shown.cursor)
        if bench.document.diff(EVERYTHING) != before:
            changing.append(name)
        await bench.document.close()
    assert changing == []
