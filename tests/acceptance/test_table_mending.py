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

from shared.limits import MAX_TABLE_FILLING
from shared.markdown.grid import FEW_CELLS, complete
from shared.tree import Node, Text
from tests.acceptance.editors import NPM

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
    kind, across, down, _, words = cell
    text = (Text(words),) if words else ()
    return Node(kind, {"colspan": across, "rowspan": down}, (Node("paragraph", {}, text),))


def _cells(table: Node) -> Cells:
    return [
        [
            [cell.type, cell.attrs["colspan"], cell.attrs["rowspan"], None, _words(cell)]
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


@settings(max_examples=1_500)
@given(table=_TABLES)
def test_a_table_is_completed_as_prosemirror_completes_it(table: Cells, mend: Mend) -> None:
    completed = complete(_node(table), {"colspan": 1, "rowspan": 1})
    expected = mend(table)
    assert expected is not None
    if completed is None:
        cells, more = sum(map(len, table)), sum(map(len, expected))
        assert more - cells > MAX_TABLE_FILLING * max(cells, FEW_CELLS)
        return
    assert _cells(completed) == expected
    assert mend(expected) == expected
