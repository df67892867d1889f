"""Headings seen as an outline; a section here is the subtree: a heading and everything under it.

A top-level heading's block id is its `section_id`. Headings inside other blocks are text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

import msgspec

from shared.markdown.schema import plain_text
from shared.tree import Node


class Heading(msgspec.Struct, frozen=True):
    """A top-level heading: where it stands, how deep, and its plain text on one line."""

    position: int
    block_id: str
    level: int
    title: str


class Section(msgspec.Struct, frozen=True):
    """A heading with the half-open range of block positions under it, itself included."""

    heading: Heading
    start: int
    end: int


def heading_of(node: Node) -> tuple[int, str] | None:
    """Level and plain text on one line; None for what is no heading."""
    if node.type != "heading":
        return None
    return int(node.attrs.get("level", 1)), " ".join(plain_text(node).split())


def sections(headings: Sequence[Heading], blocks: int) -> tuple[Section, ...]:
    """The subtree of every heading, in document order. `headings` are in document order."""
    ends = [blocks] * len(headings)
    open_: list[int] = []
    for number, heading in enumerate(headings):
        while open_ and headings[open_[-1]].level >= heading.level:
            ends[open_.pop()] = heading.position
        open_.append(number)
    return tuple(Section(h, h.position, end) for h, end in zip(headings, ends, strict=True))


def section_of(headings: Sequence[Heading], position: int) -> Heading | None:
    """The nearest heading at or before a block's position."""
    before = [heading for heading in headings if heading.position <= position]
    return before[-1] if before else None


def running_total(sizes: Iterable[int]) -> list[int]:
    """How much stands before each block, and in all of them: of a section it is a difference."""
    return [0, *accumulate(sizes)]
