"""Equality of trees, fingerprints, and what a stock editor would delete."""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import given

from shared.markdown.render import render
from shared.markdown.schema import canon, check, fingerprint, is_blank, plain_text
from shared.tree import Attrs, Hints, Node, Text
from tests.unit.markdown.trees import BLOCKS

BREAK: Final = Node("hardBreak")
EMPTY: Final = Node("paragraph")


def paragraph(*content: str | Text | Node) -> Node:
    return Node("paragraph", {}, tuple(Text(c) if isinstance(c, str) else c for c in content))


def bold(text: str, **more: Attrs) -> Text:
    return Text(text, {"bold": {}, **more})


def items(kind: str, *blocks: Node) -> Node:
    return Node(kind, {}, (Node("listItem", {}, blocks),))


SAME: Final = [
    (paragraph("a", "b", ""), paragraph("ab")),
    (paragraph("a\r\nb\rc"), paragraph("a", BREAK, "b", BREAK, "c")),
    (paragraph("a\x00\ud800"), paragraph("a\ufffd\ufffd")),
    (paragraph(bold(" a "), "b"), paragraph(" ", bold("a"), " b")),
    (paragraph(bold("\u3000")), paragraph("\u3000")),
    (paragraph(bold("a "), bold("", code={})), paragraph(bold("a"), " ")),
    (paragraph(bold("a"), BREAK, bold(" b")), paragraph(bold("a"), BREAK, bold(" b"))),
    (paragraph(bold("a "), BREAK, "b"), paragraph(bold("a"), " ", BREAK, "b")),
    (paragraph(bold(" ", code={})), paragraph(Text(" ", {"code": {}, "bold": {}}))),
    (paragraph(Text("a", {"comment--1tiVU/zO": {}})), paragraph("a")),
    (paragraph(Text("a", {"bold--1tiVU/zO": {}})), paragraph(bold("a"))),
    (paragraph(Text("a", {"link": {"href": None}})), paragraph("a")),
    (
        paragraph(
            Text("a", {"link": {"href": "u", "target": "_blank", "title": None, "rel": "x"}})
        ),
        paragraph(Text("a", {"link": {"href": "u"}})),
    ),
    (Node("heading", {"level": 2.0, "id": "x"}), Node("heading", {"level": 2})),
    (Node("heading", {"level": 9}), Node("heading", {"level": 6})),
    (Node("heading"), Node("heading", {"level": 1})),
    (
        Node("codeBlock", {"language": None}, (Text("a"), Text("\rb"))),
        Node("codeBlock", {}, (Text("a\nb"),)),
    ),
    (Node("blockquote"), Node("blockquote", {}, (EMPTY,))),
    (items("bulletList"), items("bulletList", EMPTY)),
    (
        items("bulletList", Node("horizontalRule")),
        items("bulletList", EMPTY, Node("horizontalRule")),
    ),
    (
        Node("orderedList", {"start": 1, "type": "a"}, (Node("listItem", {}, (EMPTY,)),)),
        items("orderedList", EMPTY),
    ),
    (Node("image", {"src": "a", "alt": "", "width": 3}), Node("image", {"src": "a"})),
]


@pytest.mark.parametrize("one, other", SAME)
def test_trees_that_read_the_same_are_equal(one: Node, other: Node) -> None:
    assert canon(one) == canon(other)
    assert fingerprint(one) == fingerprint(other)
    assert render(one).text == render(other).text


def test_marks_have_one_order() -> None:
    (run,) = canon(paragraph(Text("a", {"code": {}, "bold": {}, "link": {"href": "u"}}))).content
    assert isinstance(run, Text)
    assert list(run.marks) == ["link", "bold", "code"]


@given(BLOCKS)
def test_equal_text_means_equal_fingerprint(node: Node) -> None:
    assert render(canon(node)).text == render(node).text
    assert fingerprint(canon(node)) == fingerprint(node)


def test_a_fingerprint_covers_the_style_that_shows() -> None:
    two = Node("bulletList", {}, (*[Node("listItem", {}, (EMPTY,))] * 2,))
    assert fingerprint(two, Hints(loose=True)) != fingerprint(two)
    assert fingerprint(two, Hints(delimiter=")")) == fingerprint(two)
    assert fingerprint(items("bulletList", EMPTY), Hints(loose=True)) == fingerprint(
        items("bulletList", EMPTY)
    )
    spread = items("bulletList", paragraph("a"), paragraph("b"))
    assert fingerprint(spread, Hints(loose=True)) == fingerprint(spread)
    assert fingerprint(paragraph("a"), Hints(loose=True)) == fingerprint(paragraph("a"))


def test_plain_text_has_neither_marks_nor_markup() -> None:
    node = items(
        "bulletList", paragraph(bold("a"), BREAK, "b"), Node("horizontalRule"), paragraph("c")
    )
    assert plain_text(node) == "a\nb\nc"
    assert plain_text(Node("codeBlock", {}, (Text("x\ny"),))) == "x\ny"
    assert plain_text(Node("image", {"src": "a", "alt": "b"})) == ""


def test_only_an_empty_paragraph_is_blank() -> None:
    assert is_blank(EMPTY)
    assert is_blank(paragraph(""))
    assert not is_blank(paragraph(" "))
    assert not is_blank(Node("heading", {"level": 1}))


@pytest.mark.parametrize(
    "node, reason",
    [
        (Node("htmlBlock"), "htmlBlock is no block"),
        (Node("listItem", {}, (EMPTY,)), "listItem is no block"),
        (items("bulletList", Node("horizontalRule")), "listItem starts with horizontalRule"),
        (items("bulletList"), "listItem may not be empty"),
        (items("taskList", EMPTY), "taskList holds listItem"),
        (Node("bulletList"), "bulletList may not be empty"),
        (Node("blockquote"), "blockquote may not be empty"),
        (Node("blockquote", {}, (Text("a"),)), "blockquote holds text directly"),
        (Node("codeBlock", {}, (bold("a"),)), "codeBlock holds marks"),
        (Node("codeBlock", {}, (BREAK,)), "codeBlock holds hardBreak"),
        (paragraph(Node("image")), "paragraph holds image"),
        (paragraph(Text("a", {"comment": {}})), "the mark comment is unknown"),
        (Node("image", {}, (Text("a"),)), "image holds nothing"),
        (Node("table", {}, (Node("tableRow", {}, (EMPTY,)),)), "tableRow holds paragraph"),
    ],
)
def test_what_a_stock_editor_would_delete_is_named(node: Node, reason: str) -> None:
    assert check(node) == reason


@pytest.mark.parametrize("tag", ["callout", "mention"])
def test_opaque_nodes_break_no_rule(tag: str) -> None:
    opaque: Any = Node("opaque", {"tag": tag, "ref": "0"})
    assert check(opaque) is None
    assert check(Node("blockquote", {}, (opaque,))) is None
