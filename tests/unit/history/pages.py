"""States of a document written down by hand: ids and Markdown of their blocks."""

from __future__ import annotations

from collections.abc import Iterable

from shared.history.states import PastBlock
from shared.markdown.parse import parse
from shared.markdown.render import render
from shared.tree import Block, Node

Written = tuple[str, str]


def page(*blocks: Written) -> tuple[PastBlock, ...]:
    """Each block as (id, Markdown)."""
    return tuple(_block(block_id, text) for block_id, text in blocks)


def of_nodes(nodes: Iterable[tuple[str, Node]]) -> tuple[PastBlock, ...]:
    """Each block as (id, tree)."""
    found = []
    for block_id, node in nodes:
        text = render(node).text
        found.append(PastBlock(block_id, Block(node), text))
    return tuple(found)


def _block(block_id: str, text: str) -> PastBlock:
    (block,) = parse(text).blocks
    rendered = render(block.node, block.hints, block_id).text
    return PastBlock(block_id, block, rendered)
