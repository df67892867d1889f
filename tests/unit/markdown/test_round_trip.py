"""Markdown and trees say the same, in both directions, whatever anyone has typed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shared.markdown.join import anchored, join
from shared.markdown.parse import parse
from shared.markdown.render import render
from shared.markdown.schema import canon, check, effective_hints, fingerprint, is_blank
from shared.tree import Block, Hints, Node, Text
from tests.unit.markdown.trees import BLOCKS, HINTS, SOURCES, inline


def text(block: Block) -> str:
    return render(block.node, block.hints).text


def canons(blocks: tuple[Block, ...]) -> list[tuple[Node, Hints]]:
    forms = [canon(block.node) for block in blocks]
    return [
        (form, effective_hints(form, block.hints))
        for form, block in zip(forms, blocks, strict=True)
    ]


@given(inline(8))
def test_a_paragraph_comes_back(content: tuple[Node | Text, ...]) -> None:
    node = Node("paragraph", {}, content)
    blocks = parse(render(node).text).blocks
    assert [canon(block.node) for block in blocks] == [canon(node)]


@given(BLOCKS, HINTS)
def test_a_block_comes_back_with_its_style(node: Node, hints: Hints) -> None:
    assert check(node) is None
    blocks = parse(render(node, hints).text).blocks
    assert canons(blocks) == [(canon(node), effective_hints(canon(node), hints))]
    assert check(blocks[0].node) is None
    assert fingerprint(blocks[0].node, blocks[0].hints) == fingerprint(node, hints)


@given(BLOCKS)
def test_canon_is_one_step(node: Node) -> None:
    assert canon(canon(node)) == canon(node)


@given(st.lists(st.builds(Block, BLOCKS, HINTS), max_size=5))
def test_a_document_comes_back(blocks: list[Block]) -> None:
    while blocks and is_blank(blocks[-1].node):
        blocks.pop()
    document = join([text(block) for block in blocks])
    read = parse(document).blocks
    assert canons(read) == canons(tuple(blocks))
    assert join([text(block) for block in read]) == document


@given(st.lists(st.builds(Block, BLOCKS, HINTS), max_size=4))
def test_an_anchored_document_comes_back(blocks: list[Block]) -> None:
    while blocks and is_blank(blocks[-1].node):
        blocks.pop()
    anchors = [f"abcd123{number}-00ff0{number}" for number in range(len(blocks))]
    document = anchored(zip(anchors, [text(block) for block in blocks], strict=True))
    read = parse(document).blocks
    assert canons(read) == canons(tuple(blocks))
    assert [block.anchor for block in read] == anchors


@given(SOURCES)
def test_what_was_written_settles_in_one_pass(source: str) -> None:
    blocks = parse(source).blocks
    for block in blocks:
        assert check(block.node) is None
    document = join([text(block) for block in blocks])
    again = parse(document).blocks
    shown = list(blocks)
    while shown and is_blank(shown[-1].node):
        shown.pop()
    assert canons(again) == canons(tuple(shown))
    assert join([text(block) for block in again]) == document
