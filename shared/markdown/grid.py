"""Tables as a grid without holes, the way a stock editor completes them.

Two people who add a row and a column at the same time leave a table whose rows differ in length,
and an author of HTML may write one. A stock editor completes such a table at the next change of the
document. Trees are compared in the completed form, and tables are built in it, so that an editor
that opens one has nothing to add: fillings stand where prosemirror-tables puts them. A table to
which that would add far too much is none here: of a text it stays source, in a document it is
opaque, until an editor has made of it what it makes.
"""

from __future__ import annotations

from itertools import accumulate, compress
from typing import Any, Final

import msgspec

from shared.editor_shape import TEXTBLOCKS
from shared.limits import (
    MAX_BLOCK_FILLING,
    MAX_COLSPAN,
    MAX_ROWSPAN,
    MAX_TABLE_FILLING,
    MAX_TABLE_PLACES,
)
from shared.tree import Attrs, Node

_PASSES: Final = 16  # mending one row may uncover another; real tables need two
_CELLS: Final = frozenset({"tableCell", "tableHeader"})
_PARAGRAPH: Final = Node("paragraph")


def whole(value: Any, default: int, low: int, high: int) -> int:
    """A number of an editor as an integer within `low`…`high`; anything else is `default`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    return min(max(int(value), low), high) if value == value else default  # noqa: PLR0124  NaN


class _Cell(msgspec.Struct):
    """A cell; `node` is None for a filling."""

    kind: str
    node: Node | None = None
    across: int = 1
    down: int = 1


class _Mending(msgspec.Struct):
    """What is wrong with a grid.

    Attributes:
        missing: How many cells each row lacks.
        spans: Cells with the spans they are to have; of two for one cell the later one counts.
    """

    missing: list[int]
    spans: list[tuple[_Cell, int, int]] = []

    def needed(self) -> bool:
        return bool(self.spans or any(self.missing))


_Grid = list[list[_Cell]]


def complete(table: Node, plain: Attrs, few: int = MAX_TABLE_PLACES) -> Node | None:
    """`table` with every place of its grid taken once; itself when it is so already.

    Args:
        table: A table whose rows hold cells.
        plain: The attributes of a new cell.
        few: How many cells may be added, be the table as small as it may.

    Returns:
        None when that takes more cells, `MAX_TABLE_FILLING` for each it has, or a grid of more than
        `MAX_TABLE_PLACES`.
    """
    rows = [_nodes(row) for row in _nodes(table)]
    if (rows and rows[0] and _is_regular(rows)) or not _is_table(table, rows):
        return table
    room = max(MAX_TABLE_FILLING * sum(map(len, rows)), few)
    grid = _as_editors_do(_grid(rows), room)
    return _rebuilt(table, grid, plain) if grid else None


def is_hollow(block: Node) -> bool:
    """Whether the tables in a block lack more cells than a document may be shown with.

    `MAX_BLOCK_FILLING` in all, or `MAX_TABLE_FILLING` for each cell there is.
    """
    there = added = 0
    waiting = [block]
    while waiting:
        node = waiting.pop()
        if node.type == "table":
            completed = complete(node, {}, MAX_BLOCK_FILLING)
            if completed is None:
                return True
            there += _cells(node)
            added += _cells(completed) - _cells(node)
        if node.type not in TEXTBLOCKS:
            waiting += _nodes(node)
    return added > max(MAX_BLOCK_FILLING, MAX_TABLE_FILLING * there)


def _cells(table: Node) -> int:
    return sum(len(row.content) for row in _nodes(table))


def _as_editors_do(grid: _Grid, room: int) -> _Grid | None:
    """The grid as prosemirror-tables makes it; None when that takes more than `room` cells."""
    for _ in range(_PASSES):
        width = _width(grid)
        if width * len(grid) > MAX_TABLE_PLACES:
            return None
        found = _survey(grid, width) if width else _Mending([1] * len(grid), [])
        if not found.needed():
            return grid
        room -= sum(found.missing)
        if room < 0:
            return None
        _mend(grid, found)
    return None


def _nodes(node: Node) -> list[Node]:
    return [child for child in node.content if isinstance(child, Node)]


def _is_regular(rows: list[list[Node]]) -> bool:
    width = len(rows[0])
    return all(
        len(row) == width
        and all(c.attrs.get("colspan", 1) == 1 and c.attrs.get("rowspan", 1) == 1 for c in row)
        for row in rows
    )


def _is_table(table: Node, rows: list[list[Node]]) -> bool:
    """Whether rows and cells are all there is: what else a client puts there has no place."""
    return all(row.type == "tableRow" for row in _nodes(table)) and all(
        cell.type in _CELLS for row in rows for cell in row
    )


def _grid(rows: list[list[Node]]) -> _Grid:
    return [[_cell(node) for node in row] for row in rows]


def _cell(node: Node) -> _Cell:
    across = whole(node.attrs.get("colspan"), 1, 1, MAX_COLSPAN)
    return _Cell(node.type, node, across, whole(node.attrs.get("rowspan"), 1, 1, MAX_ROWSPAN))


def _width(grid: _Grid) -> int:
    """The longest row, with what cells above reach down into it."""
    steps = [0] * (len(grid) + 1)
    for number, row in enumerate(grid):
        for cell in row:
            steps[number] += cell.across
            steps[min(number + cell.down, len(grid))] -= cell.across
    return max(accumulate(steps), default=0)


def _survey(grid: _Grid, width: int) -> _Mending:
    taken = [bytearray(width) for _ in grid]
    found = _Mending([0] * len(grid), [])
    for number, row in enumerate(grid):
        at = 0
        for cell in row:
            at = taken[number].find(0, at)
            _place(taken, found, cell, number, at)
            at += cell.across
        found.missing[number] += taken[number].count(0, at)
    return found


def _place(taken: list[bytearray], found: _Mending, cell: _Cell, row: int, at: int) -> None:
    """Take the places of a cell; where one is taken already the cell ends before it.

    A cell that also reaches below the last row keeps its width this time: prosemirror-tables sets
    each span on the cell as it was, so the last one stands, and adds the cells for both.
    """
    end = min(row + cell.down, len(taken))
    behind = at + cell.across
    everywhere = b"\1" * cell.across
    lost = 0
    for reached in range(row, end):
        places = taken[reached][at:behind]
        if 1 in places:
            found.spans.append((cell, places.rfind(1), cell.down))
            lost += places.count(1) * cell.across - sum(compress(range(cell.across), places))
        taken[reached][at:behind] = everywhere
    if lost:
        for reached in range(row, end):
            found.missing[reached] += lost
    if end < row + cell.down:
        found.spans.append((cell, cell.across, end - row))


def _mend(grid: _Grid, found: _Mending) -> None:
    for cell, across, down in found.spans:
        cell.across, cell.down = across, down
    lacking = [number for number, missing in enumerate(found.missing) if missing]
    for number in lacking:
        row = grid[number]
        filling = [_Cell(row[0].kind if row else "tableCell") for _ in range(found.missing[number])]
        # As prosemirror-tables: the one short row of a table that starts with it, or with one.
        in_front = lacking[-1] == number and (number == 0 or lacking[0] == number - 1)
        row[:] = filling + row if in_front else row + filling


def _rebuilt(table: Node, grid: _Grid, plain: Attrs) -> Node:
    rows = _nodes(table)
    return Node(
        table.type,
        table.attrs,
        tuple(
            Node(row.type, row.attrs, tuple(_node(cell, plain) for cell in cells))
            for row, cells in zip(rows, grid, strict=True)
        ),
    )


def _node(cell: _Cell, plain: Attrs) -> Node:
    if cell.node is None:
        return Node(cell.kind, plain, (_PARAGRAPH,))
    spans = {"colspan": cell.across, "rowspan": cell.down}
    if all(cell.node.attrs.get(name, 1) == span for name, span in spans.items()):
        return cell.node
    kept = {name: value for name, value in cell.node.attrs.items() if name not in spans}
    told = {name: span for name, span in spans.items() if span != 1 or name in plain}
    return Node(cell.node.type, {**told, **kept}, cell.node.content)
