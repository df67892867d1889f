"""Tables with holes are the tables an editor makes of them."""

from __future__ import annotations

from typing import Final

import pytest

from shared.editor_shape import stock_attributes
from shared.limits import MAX_COLSPAN, MAX_TABLE_PLACES
from shared.markdown.canon import canon
from shared.markdown.grid import complete, is_hollow
from shared.markdown.parse import parse
from shared.markdown.render import render
from shared.tree import Node, Text

Row = tuple[tuple[str, int, int], ...]


def table(*rows: Row) -> Node:
    return Node(
        "table",
        {},
        tuple(Node("tableRow", {}, tuple(cell(*spans) for spans in row)) for row in rows),
    )


def cell(words: str, across: int = 1, down: int = 1) -> Node:
    content = (Text(words),) if words else ()
    attrs = stock_attributes("tableCell", {"colspan": across, "rowspan": down})
    return Node("tableCell", attrs, (Node("paragraph", {}, content),))


def shown(node: Node) -> list[list[tuple[str, int, int]]]:
    """Words and spans of each cell."""
    return [
        [
            (
                "".join(text.text for text in cell.content[0].content),  # type: ignore[union-attr]
                cell.attrs.get("colspan", 1),
                cell.attrs.get("rowspan", 1),
            )
            for cell in row.content
            if isinstance(cell, Node)
        ]
        for row in node.content
        if isinstance(row, Node)
    ]


A, B, C, HOLE = ("a", 1, 1), ("b", 1, 1), ("c", 1, 1), ("", 1, 1)


@pytest.mark.parametrize(
    "rows, whole",
    [
        ([(A, B), (C, A)], [[A, B], [C, A]]),
        ([(A, B), (C,)], [[A, B], [C, HOLE]]),
        ([(A,), (B, C)], [[HOLE, A], [B, C]]),  # the first row alone is short: in front
        ([(A,), (B, C), (A,)], [[A, HOLE], [B, C], [A, HOLE]]),
        ([(("a", 2, 1),), (B,)], [[("a", 2, 1)], [B, HOLE]]),
        ([(("a", 1, 2), B), (C,)], [[("a", 1, 2), B], [C]]),
        ([(("a", 1, 5), B), (C,)], [[("a", 1, 2), B], [C]]),
        ([(A, ("b", 1, 2)), (("c", 2, 1),)], [[HOLE, A, ("b", 1, 2), HOLE], [HOLE, HOLE, C]]),
        # a cell that collides and reaches below the table: cut short at the second attempt only
        (
            [(A, ("b", 1, 3)), (), (("c", 2, 2),)],
            [[A, ("b", 1, 3), *[HOLE] * 4], [HOLE] * 5, [C, *[HOLE] * 4]],
        ),
        ([(("a", 1, 2),), ()], [[("a", 1, 2)], []]),
        ([(A,), ()], [[A], [HOLE]]),
        ([()], [[HOLE]]),
        ([(), ()], [[HOLE], [HOLE]]),
    ],
)
def test_every_place_is_taken_once(rows: list[Row], whole: list[list[object]]) -> None:
    completed = canon(table(*rows))
    assert shown(completed) == whole
    assert canon(completed) == completed
    (block,) = parse(render(table(*rows)).text).blocks
    assert canon(block.node) == completed


def test_html_with_holes_is_built_whole() -> None:
    html = "<table><tr><th>a</th><th>b</th></tr><tr><td rowspan=3>c</td></tr></table>"
    (block,) = parse(html).blocks
    attrs = stock_attributes("tableCell", {})
    assert block.node.type == "table"
    assert all(
        cell.attrs == attrs
        for row in block.node.content
        if isinstance(row, Node)
        for cell in row.content
        if isinstance(cell, Node)
    )
    assert shown(block.node) == [[A, B], [C, HOLE]]


@pytest.mark.parametrize(
    "html",
    [
        "<table><tr><td colspan=9>a</td></tr>" + "<tr><td>b</td></tr>" * 9 + "</table>",
        f"<table><tr><td colspan={MAX_COLSPAN + 1}>a</td></tr></table>",
        f"<table><tr><td colspan={MAX_COLSPAN}>a</td></tr><tr><td>b</td></tr></table>",
        "<table><tr><td rowspan=65535>a</td></tr></table>",
        "<table>"
        + "<tr><td colspan=1000>a</td></tr>" * (MAX_TABLE_PLACES // 1000 + 1)
        + "</table>",
    ],
)
def test_html_that_takes_too_much_to_complete_stays_source(html: str) -> None:
    (block,) = parse(html).blocks
    assert block.node.attrs == {"language": "=html"}


TANGLE: Final[list[Row]] = [(A, ("b", 3, 7)), (("c", 4, 4),), ()]
HOLLOW: Final[list[Row]] = [(("a", 100, 1),), *[(B,)] * 20]


def test_a_tangle_of_spans_is_what_an_editor_makes_of_it() -> None:
    """An editor adds cells for each place lost, many times over what there was."""
    whole = canon(table(*TANGLE))
    assert [len(row.content) for row in whole.content if isinstance(row, Node)] == [43, 42, 41]
    assert canon(whole) == whole
    (block,) = parse(render(table(*TANGLE)).text).blocks
    assert canon(block.node) == whole


@pytest.mark.parametrize(
    "block, hollow",
    [
        (table(*TANGLE), False),
        (table(*HOLLOW), True),
        (Node("blockquote", {}, (table(*HOLLOW),)), True),
        (Node("blockquote", {}, (table(*TANGLE),) * 4), False),
        (Node("blockquote", {}, (table(*TANGLE),) * 5), True),
        (table(*[((("a", 4, 1)),), *[(B,)] * 900]), False),
        (table(*[(("a", 1, 65_534),)] * 20_000), True),
        (Node("paragraph", {}, (Text("a"),)), False),
    ],
)
def test_a_block_of_tables_that_lack_far_too_much_is_hollow(block: Node, hollow: bool) -> None:
    assert is_hollow(block) == hollow


def test_what_is_no_row_or_cell_is_left_where_it_is() -> None:
    odd = Node("table", {}, (Node("tableRow", {}, (Node("opaque", {"tag": "x", "ref": "0"}),)),))
    assert complete(odd, {}) is odd


def test_many_rows_with_large_spans_take_no_time() -> None:
    """Seconds if it looked at each place a cell claims; the timeout is the test."""
    rows = tuple((("a", 1, 65_534),) for _ in range(20_000))
    assert complete(table(*rows), {}) is None
