"""Tables edited in place: what Markdown cannot say stays on rows, columns and cells."""

from __future__ import annotations

from typing import Any, Final

import pytest
from pycrdt import XmlElement

from shared.markdown.parse import parse
from shared.tree import Attrs, Node, Text
from shared.yjs.edit import edit
from tests.unit.blocks_trees import Page

SMALL: Final = "| name | price |\n| --- | --- |\n| apple | 1 |\n| pear | 2 |\n| plum | 3 |"


def page_of(markdown: str, widths: dict[int, int] | None = None) -> Page:
    """A page with the table, each cell with an attribute `was` that names its row and column."""
    page = Page()
    (block,) = parse(markdown).blocks
    page.put(block.node)
    with page.doc.transaction():
        for y, row in enumerate(rows_of(page)):
            row.attributes["was"] = f"row {y}"
            for x, cell in enumerate(row.children):
                cell.attributes["was"] = f"{y},{x}"
                if widths and x in widths:
                    cell.attributes["colwidth"] = [widths[x]]
    return page


def rows_of(page: Page) -> list[Any]:
    return list(page.any(0).children)


def became(page: Page, markdown: str) -> list[list[str]]:
    """`was` of each cell after the edit, with its row's in front; "" for a new one."""
    (block,) = parse(markdown).blocks
    page.do(lambda: edit(page.at(0), block.node))
    assert shown(page.read()) == shown(block.node)
    return [
        [dict(element.attributes).get("was", "") for element in (row, *row.children)]
        for row in rows_of(page)
    ]


def shown(node: Node) -> Any:
    """The tree without what only an editor says."""
    told: Attrs = {
        name: value for name, value in node.attrs.items() if name not in ("was", "colwidth")
    }
    content = [child if isinstance(child, Text) else shown(child) for child in node.content]
    return node.type, told, content


def widths_of(page: Page) -> list[list[list[int] | None]]:
    return [
        [cell.attrs.get("colwidth") for cell in row.content if isinstance(cell, Node)]
        for row in page.read().content
        if isinstance(row, Node)
    ]


def row(number: int, *cells: str) -> list[str]:
    return [f"row {number}", *cells]


HEAD: Final = row(0, "0,0", "0,1")
APPLE, PEAR, PLUM = (row(y, f"{y},0", f"{y},1") for y in (1, 2, 3))
NEW: Final = ["", "", ""]


@pytest.mark.parametrize(
    "case, body, expected",
    [
        ("text in a cell", ["apple | 1", "pear | 2.50", "plum | 3"], [APPLE, PEAR, PLUM]),
        ("a row more", ["apple | 1", "fig | 9", "pear | 2", "plum | 3"], [APPLE, NEW, PEAR, PLUM]),
        ("a row less", ["apple | 1", "plum | 3"], [APPLE, PLUM]),
        ("a row moved down", ["pear | 2", "plum | 3", "apple | 1"], [PEAR, PLUM, APPLE]),
        ("a row moved up", ["plum | 3", "apple | 1", "pear | 2"], [PLUM, APPLE, PEAR]),
        ("rows in reverse", ["plum | 3", "pear | 2", "apple | 1"], [PLUM, PEAR, APPLE]),
        ("a row moved and edited", ["plums | 3", "apple | 1", "pear | 2"], [PLUM, APPLE, PEAR]),
        ("a row moved, another in its place", ["plum | 3", "apple | 1", "x | y"], None),
        ("a cell emptied", ["apple |", "pear | 2", "plum | 3"], [APPLE, PEAR, PLUM]),
    ],
)
def test_rows_keep_what_is_on_them(
    case: str, body: list[str], expected: list[list[str]] | None
) -> None:
    lines = ["name | price", "--- | ---", *body]
    after = became(page_of(SMALL), "\n".join(f"| {line} |" for line in lines))
    if expected is None:
        assert PLUM in after
        assert APPLE in after
    else:
        assert after == [HEAD, *expected], case


def columns(*names: str) -> list[list[str]]:
    """The rows of `SMALL` with these columns; "" for a new one."""
    return [row(y, *(f"{y},{x}" if x else "" for x in names)) for y in range(4)]


@pytest.mark.parametrize(
    "lines, expected",
    [
        (["name | x | price", "apple | | 1", "pear | | 2", "plum | | 3"], ["0", "", "1"]),
        (["x | name | price", "2 | apple | 1", "| pear | 2", "3 | plum | 3"], ["", "0", "1"]),
        (["price", "1", "2", "3"], ["1"]),
        (["name", "apple", "pear", "plum"], ["0"]),
        (["price | name", "1 | apple", "2 | pear", "3 | plum"], ["1", "0"]),
        (["price | name!", "1 | apples", "2 | pears", "3 | plums"], ["1", "0"]),
    ],
)
def test_columns_keep_what_is_on_their_cells(lines: list[str], expected: list[str]) -> None:
    rule = " | ".join("---" for _ in expected)
    text = "\n".join(f"| {line} |" for line in (lines[0], rule, *lines[1:]))
    assert became(page_of(SMALL), text) == columns(*expected)


def test_empty_cells_stay_in_their_columns_beside_a_new_one() -> None:
    empty = "| a | b | c |\n| --- | --- | --- |\n|  |  |  |\n|  | x |  |"
    text = "| a | new | b | c |\n| --- | --- | --- | --- |\n|  |  |  |  |\n|  |  | x |  |"
    after = became(page_of(empty), text)
    assert after == [[f"row {y}", f"{y},0", "", f"{y},1", f"{y},2"] for y in range(3)]


def test_a_changed_alignment_touches_only_its_attribute() -> None:
    page = page_of(SMALL, {0: 120})
    kept = [list(row.children) for row in rows_of(page)]
    text = SMALL.replace("| --- | --- |", "| --- | --: |")
    assert became(page, text) == [HEAD, APPLE, PEAR, PLUM]
    assert [list(row.children) for row in rows_of(page)] == kept
    assert widths_of(page) == [[[120], None]] * 4
    assert became(page, SMALL) == [HEAD, APPLE, PEAR, PLUM]
    assert "align" not in dict(rows_of(page)[1].children[1].attributes)


def test_a_header_made_plain_and_back_keeps_what_is_on_its_cells() -> None:
    plain = "<!-- no header -->\n|  |  |\n" + "\n".join(
        [SMALL.splitlines()[1], SMALL.splitlines()[0], *SMALL.splitlines()[2:]]
    )
    page = page_of(SMALL, {0: 120, 1: 80})
    assert became(page, plain) == [HEAD, APPLE, PEAR, PLUM]
    assert became(page, SMALL) == [HEAD, APPLE, PEAR, PLUM]
    assert widths_of(page) == [[[120], [80]]] * 4


def test_comments_come_along_with_a_row_that_moves() -> None:
    page = page_of(SMALL)
    mark = {"comment--1tiVU/zO": {"thread": "x"}}
    with page.doc.transaction():
        text = rows_of(page)[3].children[0].children[0].children[0]
        text.format(0, 4, mark)
    lines = SMALL.splitlines()
    (block,) = parse("\n".join([*lines[:2], "| plum | 33 |", lines[2], lines[3]])).blocks
    page.do(lambda: edit(page.at(0), block.node))
    moved = rows_of(page)[1].children[0].children[0].children[0]
    assert moved.diff() == [("plum", mark)]


def test_what_another_editor_put_in_a_cell_stays_where_a_row_goes() -> None:
    page = page_of(SMALL)
    with page.doc.transaction():
        rows_of(page)[2].children[1].children.append(XmlElement("chip", {"n": "1"}))
    header, _, *others = page.read().content
    node = Node("table", {}, (header, *others))
    page.do(lambda: edit(page.at(0), node))
    assert str(rows_of(page)[1].children[1]).count('<chip n="1">') == 1
    back = Node("table", {}, (header, others[1], others[0]))
    page.do(lambda: edit(page.at(0), back))
    assert str(rows_of(page)[2].children[1]).count('<chip n="1">') == 1
    assert str(page.root).count("<chip") == 1


# --- widths of columns ---------------------------------------------------------------------------


def test_new_rows_get_the_widths_of_their_columns() -> None:
    page = page_of(SMALL, {0: 120, 1: 80})
    became(page, SMALL + "\n| fig | 4 |\n| date | 5 |")
    assert widths_of(page) == [[[120], [80]]] * 6


def test_a_new_column_has_no_width_and_the_others_keep_theirs() -> None:
    page = page_of(SMALL, {0: 120, 1: 80})
    became(page, "| name | x | price |\n|---|---|---|\n| apple |  | 1 |\n| fig | 2 | 3 |")
    assert widths_of(page) == [[[120], None, [80]]] * 3


def test_columns_that_change_places_take_their_widths_along() -> None:
    page = page_of(SMALL, {0: 120, 1: 80})
    became(page, "| price | name |\n|---|---|\n| 1 | apple |\n| 2 | pear |\n| 4 | fig |")
    assert widths_of(page) == [[[80], [120]]] * 4


def test_a_table_without_widths_gets_none() -> None:
    page = page_of(SMALL)
    became(page, SMALL + "\n| fig | 4 |")
    assert widths_of(page) == [[None, None]] * 5


def test_a_cell_that_spans_fewer_columns_keeps_the_width_of_the_first() -> None:
    page = page_of(
        "<table><tr><td colspan=2>a</td><td>b</td></tr>"
        "<tr><td>c</td><td>d</td><td>e</td></tr></table>"
    )
    with page.doc.transaction():
        rows_of(page)[0].children[0].attributes["colwidth"] = [100, 50]
        rows_of(page)[1].children[0].attributes["colwidth"] = [100]
        rows_of(page)[1].children[1].attributes["colwidth"] = [50]
    became(
        page,
        "<table><tr><td>a</td><td>n</td><td>b</td></tr>"
        "<tr><td>c</td><td>d</td><td>e</td></tr><tr><td colspan=3>f</td></tr></table>",
    )
    assert widths_of(page) == [[[100], [50], None], [[100], [50], None], [[100, 50, 0]]]


def test_odd_widths_of_other_clients_do_no_harm() -> None:
    page = page_of(SMALL)
    with page.doc.transaction():
        for number, odd in enumerate(("wide", [None, "x"], [], {"a": 1})):
            rows_of(page)[number].children[0].attributes["colwidth"] = odd
    became(page, SMALL + "\n| fig | 4 |")
    assert dict(rows_of(page)[4].children[0].attributes).get("colwidth") is None


def test_a_table_inside_a_cell_has_widths_of_its_own() -> None:
    inner = "<table><tr><td>x</td><td>y</td></tr></table>"
    page = page_of(f"<table><tr><td>a</td><td>{inner}</td></tr></table>")
    with page.doc.transaction():
        (inside,) = rows_of(page)[0].children[1].children
        inside.children[0].children[1].attributes["colwidth"] = [70]
    longer = "<table><tr><td>x</td><td>y</td></tr><tr><td>z</td><td>w</td></tr></table>"
    became(page, f"<table><tr><td>a</td><td>{longer}</td></tr></table>")
    (inside,) = rows_of(page)[0].children[1].children
    widths = [dict(row.children[1].attributes).get("colwidth") for row in inside.children]
    assert widths == [[70], [70]]
