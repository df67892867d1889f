"""Opening a document in Tiptap sends nothing: an editor deletes what its schema refuses.

Every document here is built by the server and opened by the published editor. The first click may
add the one empty paragraph an editor keeps at the end, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycrdt import Doc, XmlElement, XmlFragment

from shared.markdown.canon import canon
from shared.tree import Node
from shared.yjs.blocks import read
from shared.yjs.build import insert_all
from tests.acceptance.tiptap import EMPTY, Tiptap
from tests.commonmark import EXAMPLES
from tests.unit.documents import ANN, Bench
from tests.unit.markdown import gfm, test_spelling
from tests.unit.markdown.trees import BLOCKS, leaves, tables

pytestmark = pytest.mark.anyio

ROOT: Final = Path(__file__).resolve().parents[2]
PAGES: Final = {
    str(page.relative_to(ROOT)): page.read_text(encoding="utf-8")
    for page in sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
}
_COMMONMARK: Final = {str(one["example"]): one["markdown"] for one in EXAMPLES}
_SPELLED: Final = [*test_spelling.SPELLINGS, *test_spelling.TEXTS.values()]


@pytest.fixture(scope="module")
def tiptap() -> Iterator[Tiptap]:
    with Tiptap() as running:
        yield running


async def check_silent(tiptap: Tiptap, markdown: str) -> None:
    bench = await Bench.of(markdown)
    shown = await bench.markdown()
    state = bench.document.diff(EMPTY)
    with tiptap.opened(state) as (desk, opened):
        assert opened.sent == [], opened.shown
        clicked = desk.ask("click")
    assert len(clicked.sent) <= 1, clicked.shown
    for update in clicked.sent:
        assert bench.document.apply(update, ANN).verdict == "applied"
    assert len(clicked.text) <= len(opened.text) + 1
    assert clicked.text[: len(opened.text)] == opened.text
    assert "".join(clicked.text[len(opened.text) :]) == ""
    assert await bench.markdown() == shown
    await bench.document.close()


@pytest.mark.parametrize("number", _COMMONMARK)
async def test_a_commonmark_example_opens_in_silence(number: str, tiptap: Tiptap) -> None:
    await check_silent(tiptap, _COMMONMARK[number])


@pytest.mark.parametrize("name", gfm.CASES)
async def test_a_gfm_case_opens_in_silence(name: str, tiptap: Tiptap) -> None:
    await check_silent(tiptap, gfm.CASES[name])


@pytest.mark.parametrize("markdown", _SPELLED)
async def test_every_construct_opens_in_silence(markdown: str, tiptap: Tiptap) -> None:
    if "opaque:" not in markdown:
        await check_silent(tiptap, markdown)


@pytest.mark.parametrize("page", PAGES)
async def test_our_own_pages_open_in_silence(page: str, tiptap: Tiptap) -> None:
    await check_silent(tiptap, PAGES[page])


@settings(max_examples=30)
@given(nodes=st.lists(BLOCKS, min_size=1, max_size=6))
def test_any_tree_of_the_content_rules_opens_in_silence(nodes: list[Node], tiptap: Tiptap) -> None:
    check_tree(nodes, tiptap)


@settings(max_examples=100)
@given(table=tables(leaves()))
def test_a_table_with_holes_is_to_us_what_an_editor_makes_of_it(
    table: Node, tiptap: Tiptap
) -> None:
    check_tree([table], tiptap)


def check_tree(nodes: Sequence[Node], tiptap: Tiptap) -> None:
    """Opened, it is as it was; clicked and typed in, its first blocks mean the same as before."""
    doc = document_of(nodes)
    before = forms_of(doc)
    with tiptap.opened(doc.get_update()) as (desk, opened):
        assert opened.sent == [], opened.shown
        sent = desk.ask("click").sent
        sent += desk.ask("append").sent
    for update in sent:
        doc.apply_update(update)
    after = forms_of(doc)
    assert after[: len(before)] == before
    assert all(form.type == "paragraph" for form in after[len(before) :])


def document_of(nodes: Sequence[Node]) -> Doc[XmlFragment]:
    doc: Doc[XmlFragment] = Doc()
    root = doc.get("default", type=XmlFragment)
    with doc.transaction():
        insert_all(root, 0, [(node, f"block{at:03}") for at, node in enumerate(nodes)])
    return doc


def forms_of(doc: Doc[XmlFragment]) -> list[Node]:
    with doc.transaction():
        children = list(doc.get("default", type=XmlFragment).children)
        return [canon(read(child)) for child in children if isinstance(child, XmlElement)]
