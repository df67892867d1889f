"""A table with holes or colliding spans is completed to what prosemirror-tables makes of it.

The published `fixTables` runs beside our own completion on the same tables, without an editor
around it, so that thousands take seconds.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.markdown.canon import canon
from shared.markdown.grid import complete
from shared.tree import Node, Text
from shared.yjs.edit import edit
from tests.acceptance.editors import NPM
from tests.unit.blocks_trees import Page

Cells = list[list[list[Any]]]  # rows of cells: kind, colspan, rowspan, colwidth, words
Mend = Callable[[Cells], Cells | None]

_SPANS: Final = st.sampled_from((1, 1, 1, 2, 3, 4))
_DOWN: Final = st.sampled_from((1, 1, 1, 2, 3, 7))
_KINDS: Final = st.sampled_from(("tableCell", "tableHeader"))
_CELLS: Final = st.tuples(_KINDS, _SPANS, _DOWN, st.none(), st.sampled_from(("", "a", "bc"))).map(
    list
)
_LATER: Final = st.lists(_CELLS, max_size=4)
_TABLES: Final = st.tuples(
    st.lists(_CELLS, min_size=1, max_size=4), st.lists(_LATER, max_size=4)
).map(lambda rows: [rows[0], *rows[1]])
_PLAIN: Final = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.lists(
            st.sampled_from(("", "a", "bc", "word")).map(
                lambda words: ["tableCell", 1, 1, None, words]
            ),
            min_size=width,
            max_size=width,
        ),
        min_size=1,
        max_size=5,
    )
)
_ACTS: Final = (
    "a row more",
    "a row less",
    "a row moves",
    "a column more",
    "a column less",
    "a column moves",
    "other words",
)


@pytest.fixture(scope="module")
def mend() -> Iterator[Mend]:
    """`fixTables`, until it finds nothing more; None for a table that it deletes."""
    command = ["node", "tables.mjs"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=NPM, text=True, **pipes) as process:  # type: ignore[call-overload]
        yield lambda table: _asked(process, table)
        process.stdin.close()


def _asked(process: subprocess.Popen[str], table: Cells) -> Cells | None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(table) + "\n")
    process.stdin.flush()
    mended: Cells | None = json.loads(process.stdout.readline())
    return mended


def _node(table: Cells) -> Node:
    return Node("table", {}, tuple(Node("tableRow", {}, tuple(map(_cell, row))) for row in table))


def _cell(cell: list[Any]) -> Node:
    kind, across, down, widths, words = cell
    spans = {"colspan": across, "rowspan": down}
    text = (Text(words),) if words else ()
    attrs = spans if widths is None else {**spans, "colwidth": widths}
    return Node(kind, attrs, (Node("paragraph", {}, text),))


def _cells(table: Node) -> Cells:
    return [
        [
            [
                cell.type,
                cell.attrs["colspan"],
                cell.attrs["rowspan"],
                cell.attrs.get("colwidth"),
                _words(cell),
            ]
            for cell in row.content
            if isinstance(cell, Node)
        ]
        for row in table.content
        if isinstance(row, Node)
    ]


def _words(cell: Node) -> str:
    (paragraph,) = cell.content
    assert isinstance(paragraph, Node)
    return "".join(run.text for run in paragraph.content if isinstance(run, Text))


@settings(max_examples=1_000)
@given(table=_TABLES)
def test_a_table_is_completed_as_prosemirror_completes_it(table: Cells, mend: Mend) -> None:
    completed = complete(_node(table), {"colspan": 1, "rowspan": 1})
    expected = mend(table)
    assert completed is not None
    assert _cells(completed) == expected
    assert mend(expected) == expected


@st.composite
def _merged_at_once(draw: st.DrawFn) -> Cells:
    """A table in which two or three people have merged cells that overlap, at the same time."""
    rows, columns = draw(st.integers(2, 10)), draw(st.integers(2, 10))
    spans: dict[tuple[int, int], tuple[int, int]] = {}
    gone: set[tuple[int, int]] = set()
    for _ in range(draw(st.integers(2, 3))):
        top, left = draw(st.integers(0, rows - 1)), draw(st.integers(0, columns - 1))
        down = draw(st.integers(1, rows - top))
        across = draw(st.integers(1, columns - left))
        spans[top, left] = across, down
        gone |= {
            (row, column) for row in range(top, top + down) for column in range(left, left + across)
        } - {(top, left)}
    return [
        [
            ["tableCell", *spans.get((row, column), (1, 1)), None, "a"]
            for column in range(columns)
            if (row, column) not in gone
        ]
        for row in range(rows)
    ]


@settings(max_examples=300)
@given(table=_merged_at_once().filter(any))
def test_merges_that_overlap_are_completed_as_prosemirror_completes_them(
    table: Cells, mend: Mend
) -> None:
    completed = complete(_node(table), {"colspan": 1, "rowspan": 1})
    assert completed is not None
    assert _cells(completed) == mend(table)


def _with_widths(table: Cells, widths: list[int], mend: Mend) -> Cells:
    """The table whole, as an editor has it when somebody has dragged columns of it."""
    whole = mend(table)
    assert whole is not None
    for row in whole:
        for at, cell in enumerate(row):
            cell[3] = [widths[at % len(widths)], *[0] * (cell[1] - 1)] if at % 3 else None
    settled = mend(whole)
    assert settled is not None
    return settled


def _changed(table: Cells, data: st.DataObject) -> Cells:
    """The table after rows and columns came, went or moved, without widths, as an author sends."""
    rows = [list(row) for row in table]
    new = ["tableCell", 1, 1, None, "new"]
    for act in data.draw(st.lists(st.sampled_from(_ACTS), min_size=1, max_size=3)):
        at = data.draw(st.integers(0, len(rows) - 1))
        if act == "a row more":
            rows.insert(at, [new] * max(len(rows[0]), 1))
        elif act == "a row less" and len(rows) > 1:
            del rows[at]
        elif act == "a row moves":
            rows.append(rows.pop(at))
        elif act == "a column more":
            rows = [[*row[:at], new, *row[at:]] for row in rows]
        elif act == "a column moves":
            rows = [[*row[1:], *row[:1]] for row in rows]
        elif act == "a column less" and min(map(len, rows)) > 1:
            rows = [row[1:] for row in rows]
        elif rows[at]:
            rows[at] = [*rows[at][:-1], [*rows[at][-1][:4], "other words"]]
    return rows if any(rows) else [[new]]


@settings(max_examples=200)
@given(
    table=st.one_of(_TABLES, _PLAIN),
    other=_TABLES,
    widths=st.lists(st.sampled_from((80, 120, 0)), min_size=8, max_size=8),
    data=st.data(),
)
def test_a_table_of_set_widths_is_edited_into_one_that_needs_no_mending(
    table: Cells, other: Cells, widths: list[int], data: st.DataObject, mend: Mend
) -> None:
    old = _node(_with_widths(table, widths, mend))
    new = _node(data.draw(st.sampled_from((other, _changed(table, data)))))
    page = Page()
    page.put(old)
    page.do(lambda: edit(page.at(0), new))
    edited = page.read()
    assert canon(edited) == canon(new)
    cells = _cells(edited)
    if complete(new, {}) is not None:
        assert mend(cells) == cells
