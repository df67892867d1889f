"""Whatever a document is, a patch makes of it what was sent, down to marks, items and cells."""

from __future__ import annotations

import asyncio

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shared.errors import EmptyPatch, UnsupportedMarkup
from shared.markdown.join import join
from shared.markdown.parse import parse
from shared.markdown.render import render
from shared.tree import Node
from tests.unit.documents import Bench
from tests.unit.markdown.trees import BLOCKS, SOURCES

# A placeholder stands for a block that only an editor can make.
SHOWN = BLOCKS.filter(lambda node: "<!-- opaque:" not in render(node).text)
DOCUMENTS = st.lists(SHOWN, min_size=1, max_size=4).map(
    lambda nodes: join(render(node).text for node in nodes)
)


def canonical(text: str) -> str:
    return join(render(block.node, block.hints).text for block in parse(text).blocks)


async def become(before: str, after: str) -> str:
    """A document of one text, patched to be another; what an editor has that followed."""
    bench = await Bench.of(before)
    editor = bench.editor()
    shown = await bench.read(format="markdown", max_chars=1_000_000)
    assert shown.markdown == before
    try:
        result = await bench.patch(after, base=shown.cursor, allow_large_delete=True)
        assert (result.conflicts, result.kept) == ((), ())
        editor.pull()
        assert editor.doc.get_state() == bench.document.state_vector()
        return await bench.markdown()
    except EmptyPatch:
        return canonical(after)
    finally:
        await bench.document.close()


@settings(max_examples=20)  # documents are large
@given(DOCUMENTS, DOCUMENTS)
def test_any_document_becomes_any_other(before: str, after: str) -> None:
    with asyncio.Runner() as runner:
        assert runner.run(become(canonical(before), after)) == canonical(after)


@settings(max_examples=20)  # documents are large
@given(DOCUMENTS, st.data())
def test_an_edit_of_some_blocks_gives_those_blocks(before: str, data: st.DataObject) -> None:
    texts = [render(block.node, block.hints).text for block in parse(before).blocks]
    edited = list(texts)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(edited)))
        new: Node = data.draw(SHOWN)
        edited[at : at + data.draw(st.integers(0, 1))] = [render(new).text]
    after = join(edited)
    with asyncio.Runner() as runner:
        assert runner.run(become(canonical(before), after)) == canonical(after)


@settings(max_examples=20)  # documents are large
@given(DOCUMENTS, SOURCES)
def test_any_text_an_agent_sends_is_what_is_then_read(before: str, after: str) -> None:
    assume("opaque:" not in after)
    try:
        blocks = parse(after).blocks
    except UnsupportedMarkup:
        assume(False)
    assume(not any(block.anchor for block in blocks))  # of another document: it stays as text
    expected = canonical(after)
    with asyncio.Runner() as runner:
        assert runner.run(become(canonical(before), after)) == expected
