"""The widths of a table's columns, which every cell of a column has as its own.

A stock editor with columns somebody has dragged keeps a `colwidth` on each cell: one number for
each column it spans, 0 or none where nobody has set one. Cells of one column that disagree are set
right by prosemirror-tables at the next change; what is written here leaves it nothing to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from shared.tree import Attrs, Node

Widths = list[int | float]


def has_widths(node: Node) -> bool:
    """Whether somebody has set the width of a column, in this table or one inside."""
    return "colwidth" in node.attrs or any(
        has_widths(child) for child in node.content if isinstance(child, Node)
    )


def resized(attrs: Attrs, across: int) -> Widths | None:
    """The `colwidth` of a cell that now spans `across` columns; None when it says nothing then."""
    told = (_told(attrs) + [0] * across)[:across]
    return told if any(told) else None


def settled(table: Node) -> Iterator[tuple[int, int, Widths]]:
    """Cells that lack the widths of their columns: row, position in it, and its `colwidth`.

    A column is as wide as the cells say that come first, as prosemirror-tables counts.
    """
    rows = [
        [cell for cell in row.content if isinstance(cell, Node)]
        for row in table.content
        if isinstance(row, Node)
    ]
    starts = _starts(rows)
    widths = _columns(rows, starts)
    for number, row in enumerate(rows):
        for at, cell in enumerate(row):
            across, start = _span(cell, "colspan"), starts[number][at]
            told = (_told(cell.attrs) + [0] * across)[:across]
            due = [widths.get(start + offset, was) for offset, was in enumerate(told)]
            if due != told:
                yield number, at, due


def _columns(rows: list[list[Node]], starts: list[list[int]]) -> Mapping[int, int | float]:
    """The width of each column that has one. One cell alone is overruled by the next."""
    widths: dict[int, int | float] = {}
    agree: dict[int, int] = {}
    for number, row in enumerate(rows):
        for cell, start in zip(row, starts[number], strict=True):
            reached = min(_span(cell, "rowspan"), len(rows) - number)
            for column, width in enumerate(_told(cell.attrs)[: _span(cell, "colspan")], start):
                if not width:
                    continue
                for _ in range(reached):
                    if column not in widths or (widths[column] != width and agree[column] == 1):
                        widths[column], agree[column] = width, 1
                    elif widths[column] == width:
                        agree[column] += 1
    return widths


def _starts(rows: list[list[Node]]) -> list[list[int]]:
    """The column each cell begins in."""
    free_from: list[int] = []  # of each column, the first row not taken from above
    starts: list[list[int]] = []
    for number, row in enumerate(rows):
        at = 0
        starts.append([])
        for cell in row:
            while at < len(free_from) and free_from[at] > number:
                at += 1
            starts[-1].append(at)
            across = _span(cell, "colspan")
            free_from += [0] * (at + across - len(free_from))
            for column in range(at, at + across):
                free_from[column] = max(free_from[column], number + _span(cell, "rowspan"))
            at += across
    return starts


def _span(cell: Node, name: str) -> int:
    span = cell.attrs.get(name, 1)
    return span if isinstance(span, int) and span > 0 else 1


def _told(attrs: Attrs) -> Widths:
    """What a `colwidth` says; another client may have written anything."""
    told: Any = attrs.get("colwidth")
    if not isinstance(told, list):
        return []
    return [width if isinstance(width, int | float) else 0 for width in told]
