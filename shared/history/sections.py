"""A document cut into sections as changes are told of: a heading and what stands under it.

Flat, unlike the outline (`shared.sections`): a section ends at the next heading of any level, so
that writing under a sub-heading changes one section and not all those it is in.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from shared.history.states import PastBlock
from shared.history.words import one_line
from shared.limits import MAX_TITLE_CHARS
from shared.markdown.schema import is_blank
from shared.sections import heading_of


class FlatSection(msgspec.Struct, frozen=True):
    """`section_id` None: the blocks before the first heading. `title` is on one line."""

    section_id: str | None
    title: str
    blocks: tuple[PastBlock, ...]

    @property
    def body(self) -> tuple[PastBlock, ...]:
        """The blocks without the heading."""
        return self.blocks if self.section_id is None else self.blocks[1:]


def shown(blocks: Sequence[PastBlock]) -> Sequence[PastBlock]:
    """Without the empty paragraphs at the end: an editor adds one when it is clicked into."""
    end = len(blocks)
    while end and is_blank(blocks[end - 1].block.node):
        end -= 1
    return blocks[:end]


def flat_sections(blocks: Sequence[PastBlock]) -> tuple[FlatSection, ...]:
    """Every block in one section, in document order; no section without blocks."""
    found: list[FlatSection] = []
    start = 0
    headings = [at for at, block in enumerate(blocks) if heading_of(block.block.node) is not None]
    for end in (*headings, len(blocks)):
        if end > start:
            found.append(_section(tuple(blocks[start:end])))
        start = end
    return tuple(found)


def _section(blocks: tuple[PastBlock, ...]) -> FlatSection:
    heading = heading_of(blocks[0].block.node)
    if heading is None:
        return FlatSection(None, "", blocks)
    return FlatSection(blocks[0].block_id, one_line(heading[1], MAX_TITLE_CHARS), blocks)
