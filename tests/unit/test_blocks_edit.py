"""Blocks edited in place: right for any pair of trees, and minimal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycrdt import XmlElement, XmlText

from shared.errors import UnsupportedMarkup
from shared.markdown.schema import canon
from shared.tree import Node, Text
from shared.yjs import blocks
from shared.yjs.edit import can_edit, edit
from tests.unit.blocks_trees import Page, inline, same_kind, trees

PROSE = "The committee met on Tuesday and agreed to postpone the decision about the bridge. " * 30


def paragraph(*content: Text | Node | str) -> Node:
    runs = [Text(it) if isinstance(it, str) else it for it in content if it != ""]
    return Node("paragraph", {}, tuple(runs))


def bold(text: str) -> Text:
    return Text(text, {"bold": {}})


BREAK = Node("hardBreak")


def edited(old: Node, new: Node) -> tuple[Page, bytes]:
    """A page with `old` edited into `new`, and the update that took."""
    page = Page()
    page.put(old)
    return page, page.do(lambda: edit(page.at(0), new))


# --- right -------------------------------------------------------------------------------------


@given(same_kind)
def test_an_edited_block_reads_as_the_new_tree(pair: tuple[Node, Node]) -> None:
    old, new = pair
    page, update = edited(old, new)
    assert canon(page.read()) == canon(new)
    assert bool(update) == (canon(old) != canon(new))
    assert page.at(0).attributes["id"] == "block000"


@given(st.lists(inline, min_size=2, max_size=6))
def test_edits_upon_edits_read_right(contents: list[tuple[Node | Text, ...]]) -> None:
    page = Page()
    page.put(Node("paragraph", {}, contents[0]))
    for content in contents[1:]:
        new = Node("paragraph", {}, content)
        page.do(partial(edit, page.at(0), new))
        assert canon(page.read()) == canon(new)
        assert page.twin().read() == page.read()


@given(trees)
def test_an_equal_tree_touches_nothing(tree: Node) -> None:
    page, update = edited(tree, tree)
    assert update == b""
    assert page.do(lambda: edit(page.at(0), canon(tree))) == b""


@given(same_kind, st.data())
def test_concurrent_edits_converge(pair: tuple[Node, Node], data: st.DataObject) -> None:
    old, new = pair
    page = Page()
    page.put(old)
    other = page.twin()
    third = data.draw(st.sampled_from([old, new]))
    page.do(lambda: edit(page.at(0), new))
    other.do(lambda: edit(other.at(0), canon(third)))
    page.meet(other)
    assert page.read() == other.read()


def test_another_node_type_is_refused() -> None:
    page = Page()
    page.put(paragraph("a"))
    with page.doc.transaction():
        assert can_edit(page.at(0), paragraph("b"))
        assert not can_edit(page.at(0), Node("heading", {"level": 1}))
        with pytest.raises(ValueError, match="heading"):
            edit(page.at(0), Node("heading", {"level": 1}))


def test_a_lone_surrogate_is_refused_before_anything_changes() -> None:
    page = Page()
    quote = Node("blockquote", {}, (paragraph("a"), paragraph("b")))
    page.put(quote)
    new = Node("blockquote", {}, (paragraph("c"), paragraph("\udc00")))
    with pytest.raises(UnsupportedMarkup):
        page.do(lambda: edit(page.at(0), new))
    assert page.read() == quote


# --- small -------------------------------------------------------------------------------------


def test_one_word_in_a_long_paragraph_is_a_small_update() -> None:
    new = PROSE.replace("Tuesday", "Wednesday", 15).replace("Wednesday", "Tuesday", 14)
    _, update = edited(paragraph(PROSE), paragraph(new))
    assert len(update) <= 2 * len("Wednesday") + 200


def test_one_word_beside_marks_is_a_small_update() -> None:
    link = Text("link", {"link": {"href": "u", "title": None}})
    old = paragraph(PROSE, bold("met on Tuesday "), link, PROSE, BREAK, PROSE)
    new = paragraph(PROSE, bold("met on Friday"), " ", link, PROSE, BREAK, PROSE)
    _, update = edited(old, new)
    assert len(update) <= 2 * len("Friday") + 200


def test_a_reworded_sentence_is_a_small_update() -> None:
    was = "agreed to postpone the decision about the bridge"
    now = "decided, against advice, to put off any decision about a bridge"
    at = PROSE.index(was, 700)
    new = PROSE[:at] + now + PROSE[at + len(was) :]
    _, update = edited(paragraph(PROSE), paragraph(new))
    assert len(update) <= 2 * len(now) + 200


def items(*texts: str) -> Node:
    return Node("bulletList", {}, tuple(Node("listItem", {}, (paragraph(it),)) for it in texts))


def touched(page: Page, act: Callable[[], Any]) -> list[list[int | str]]:
    """The paths of the elements and texts an act changes, below the first block."""
    paths: list[list[int | str]] = []
    block = page.any(0)
    block.observe_deep(lambda events: paths.extend(list(event.path) for event in events))
    page.do(act)
    return paths


def test_one_item_of_fifty_touches_only_it() -> None:
    texts = [f"item number {n} of the list" for n in range(50)]
    page = Page()
    page.put(items(*texts))
    new = items(*texts[:30], "item number thirty of the list", *texts[31:])
    assert touched(page, lambda: edit(page.at(0), new)) == [[30, 0, 0]]
    assert page.read() == new


def test_items_come_and_go_beside_others() -> None:
    page = Page()
    page.put(items("alpha one", "beta two", "gamma three"))
    kept = [page.any(0).children[at] for at in (0, 2)]
    page.do(lambda: edit(page.at(0), items("new first", "alpha one!", "gamma three")))
    assert page.read() == items("new first", "alpha one!", "gamma three")
    assert [page.any(0).children[at] for at in (1, 2)] == kept


def test_rewritten_items_keep_their_elements() -> None:
    page = Page()
    page.put(items("one", "two", "three"))
    kept = list(page.any(0).children)
    page.do(lambda: edit(page.at(0), items("uno", "dos", "tres")))
    assert list(page.any(0).children) == kept


def table(*rows: tuple[str, ...]) -> Node:
    def cell(kind: str, text: str) -> Node:
        return Node(kind, {"colspan": 1, "rowspan": 1}, (paragraph(text),))

    first, *rest = rows
    head = Node("tableRow", {}, tuple(cell("tableHeader", it) for it in first))
    body = [Node("tableRow", {}, tuple(cell("tableCell", it) for it in row)) for row in rest]
    return Node("table", {}, (head, *body))


def test_one_cell_touches_only_it() -> None:
    rows = [("name", "price"), *((f"thing {n}", f"{n}.00") for n in range(20))]
    page = Page()
    page.put(table(*rows))
    rows[7] = ("thing 6", "6.50")
    assert touched(page, lambda: edit(page.at(0), table(*rows))) == [[7, 1, 0, 0]]
    assert page.read() == table(*rows)


def test_rows_and_columns_come_and_go_beside_kept_cells() -> None:
    page = Page()
    page.put(table(("a", "b"), ("apple", "1"), ("pear", "2"), ("plum", "3")))
    pear = page.any(0).children[2].children[0]
    new = table(("a", "x", "b"), ("pear", "", "2"), ("plum", "", "3"), ("fig", "", "4"))
    page.do(lambda: edit(page.at(0), new))
    assert page.read() == new
    assert page.any(0).children[1].children[0] == pear


def test_attributes_change_in_place() -> None:
    def task(checked: bool) -> Node:
        item = Node("taskItem", {"checked": checked}, (paragraph("x"),))
        return Node("taskList", {}, (item,))

    pairs = [
        (Node("heading", {"level": 2}, (Text("a"),)), Node("heading", {"level": 3}, (Text("a"),))),
        (Node("codeBlock", {"language": "js"}), Node("codeBlock", {"language": "ts"})),
        (Node("codeBlock", {"language": "js"}), Node("codeBlock", {})),
        (Node("codeBlock", {"language": "js"}), Node("codeBlock", {"language": None})),
        (Node("image", {"src": "a", "title": "t"}), Node("image", {"src": "b"})),
        (
            Node("orderedList", {"start": 3}, items("x").content),
            Node("orderedList", {}, items("x").content),
        ),
        (task(False), task(True)),
    ]
    for old, new in pairs:
        page, update = edited(old, new)
        assert canon(page.read()) == canon(new)
        assert len(update) < 60
    assert dict(edited(*pairs[3])[0].any(0).attributes) == {"id": "block000"}
    assert dict(edited(*pairs[5])[0].any(0).attributes) == {"id": "block000", "start": 1}


# --- what the server does not know ---------------------------------------------------------------


def test_unknown_attributes_and_unspoken_ones_stay() -> None:
    page = Page()
    page.put(Node("image", {"src": "a", "width": 100, "lazy": True}))
    page.do(lambda: edit(page.at(0), Node("image", {"src": "b"})))
    assert page.read().attrs == {"src": "b", "width": 100, "lazy": True}
    page.do(lambda: edit(page.at(0), Node("image", {"src": "c", "width": None})))
    assert page.read().attrs == {"src": "c", "lazy": True}


COMMENT = {"comment--1tiVU/zO": {"thread": "x"}}


def test_unknown_marks_stay_on_every_character_that_is_kept() -> None:
    old = paragraph("before ", Text("commented words here", COMMENT), " after")
    page, _ = edited(old, paragraph("Before commented new words here and after"))
    assert page.read() == paragraph(
        "Before ", Text("commented new words here", COMMENT), " and after"
    )


def test_text_between_two_that_carry_an_unknown_mark_takes_it_and_beside_it_does_not() -> None:
    old = paragraph("a", Text("bc", COMMENT), "d")
    page, _ = edited(old, paragraph("a1b2c3d"))
    assert page.read() == paragraph("a1", Text("b2c", COMMENT), "3d")


def test_text_beside_a_marked_run_is_plain() -> None:
    old = paragraph("one ", bold("two"), " three")
    page, _ = edited(old, paragraph("one X", bold("two"), "Y three"))
    assert page.read() == paragraph("one X", bold("two"), "Y three")
    page, _ = edited(paragraph(bold("two")), paragraph("X", bold("two"), "Y"))
    assert page.read() == paragraph("X", bold("two"), "Y")


def test_the_targets_of_links_stay() -> None:
    own = {"href": "u", "target": "_self", "data": 1}
    page, update = edited(
        paragraph("a ", Text("link", {"link": own}), " b"),
        paragraph("a ", Text("linked", {"link": {"href": "u", "title": None}}), " b c"),
    )
    marks = page.any(0).children[0].diff()[1][1]
    assert page.any(0).children[0].diff()[1][0] == "linked"
    assert marks["link"] == {
        **own,
        "rel": "noopener noreferrer nofollow",
        "class": None,
        "title": None,
    }
    assert b"noopener" not in update
    page.do(lambda: edit(page.at(0), paragraph("a ", Text("linked", {"link": {"href": "v"}}))))
    marks = page.any(0).children[0].diff()[1][1]
    assert (marks["link"]["href"], marks["link"]["target"], marks["link"]["data"]) == (
        "v",
        "_self",
        1,
    )


def test_instances_of_known_marks_are_that_mark() -> None:
    old = paragraph(Text("ab", {"highlight--1tiVU/zO": {"color": "red"}}), "c")
    page, update = edited(old, paragraph(Text("ab", {"highlight": {"color": "red"}}), "c"))
    assert update == b""
    page.do(lambda: edit(page.at(0), paragraph("abc")))
    assert page.read() == paragraph("abc")


def test_emphasis_on_a_blank_at_its_end_is_left_alone() -> None:
    old = paragraph(bold("word "), "and more")
    page, _ = edited(old, paragraph(bold("word"), " and less"))
    assert page.read() == paragraph(bold("word "), "and less")


def test_newlines_in_a_text_stay_when_something_else_changes() -> None:
    page, update = edited(
        paragraph("one\ntwo\nthree"), paragraph("one", BREAK, "2", BREAK, "three")
    )
    assert page.read() == paragraph("one\n2\nthree")
    assert len(update) < 60


def chip_page() -> Page:
    """A paragraph `one <chip> two <chip> three`, an unknown element, an embedded object."""
    page = Page()
    page.put(paragraph("one "))
    with page.doc.transaction():
        children = page.any(0).children
        children.append(XmlElement("chip", {"n": "1"}))
        children.append(XmlText(" two "))
        children.append(XmlElement("chip", {"n": "2"}))
        children.append(XmlText(" three"))
        children[4].insert_embed(6, {"image": "x"})
    return page


def test_unknown_elements_in_a_text_stay_where_text_around_them_changes() -> None:
    page = chip_page()
    shown = canon(page.read())
    chips = [page.any(0).children[at] for at in (1, 3)]
    text = shown.content[0]
    assert isinstance(text, Text)
    new = paragraph(text.text.replace("two", "zwei").replace("three", "drei"))
    page.do(lambda: edit(page.at(0), new))
    assert [page.any(0).children[at] for at in (1, 3)] == chips
    assert page.any(0).children[4].diff() == [(" drei", None), ({"image": "x"}, None)]


def test_the_right_one_of_two_unknown_elements_goes_or_moves() -> None:
    def chip(at: int) -> str:
        return f"\u2063<!-- opaque:chip {at} -->"

    embed = "\u2063<!-- opaque:#embed 4.1 -->"
    page = chip_page()
    page.do(lambda: edit(page.at(0), paragraph(f"one  two {chip(3)} three{embed}")))
    assert str(page.root).count("<chip") == 1
    assert '<chip n="2">' in str(page.root)
    page = chip_page()
    page.do(lambda: edit(page.at(0), paragraph(f"{embed}{chip(3)}one two {chip(1)} three")))
    chips = [it.attributes["n"] for it in page.any(0).children if isinstance(it, XmlElement)]
    assert chips == ["2", "1"]
    assert [
        value
        for it in page.any(0).children
        if isinstance(it, XmlText)
        for value, _ in it.diff()
        if not isinstance(value, str)
    ] == [{"image": "x"}]


def test_unknown_blocks_inside_a_block_stay_and_move() -> None:
    page = Page()
    callout = Node("callout", {"tone": "calm"}, (paragraph("inside"),))
    page.put(Node("blockquote", {}, (paragraph("a"), callout, paragraph("b"))))
    a, opaque, b = page.read().content
    before = str(page.any(0).children[1])
    kept = page.any(0).children[1]
    page.do(lambda: edit(page.at(0), Node("blockquote", {}, (paragraph("A"), opaque, b))))
    assert page.any(0).children[1] == kept
    nested = Node("blockquote", {}, (paragraph("A"), opaque))
    page.do(lambda: edit(page.at(0), Node("blockquote", {}, (nested, b))))
    assert str(page.any(0).children[0].children[1]) == before
    assert a == paragraph("a")


# --- others at work ------------------------------------------------------------------------------


@given(same_kind, st.randoms(use_true_random=False))
def test_no_keystroke_is_lost_in_elements_that_stay(pair: tuple[Node, Node], random: Any) -> None:
    old, new = pair
    page = Page()
    page.put(old)
    other = page.twin()
    texts = list(_texts(other.any(0)))
    keys = [f"<{number}>" for number in range(len(texts))]
    for text, key in zip(texts, keys, strict=True):
        value = "".join(it for it, _ in text.diff())
        text.insert(len(value[: random.randrange(len(value) + 1)].encode()), key)
    page.do(lambda: edit(page.at(0), new))
    page.meet(other)
    assert page.read() == other.read()
    if old.type in {"paragraph", "heading", "codeBlock"}:
        with page.doc.transaction():
            stored = blocks.words(page.at(0))
        assert all(key in stored for key in keys)


def _texts(element: Any) -> Iterator[XmlText]:
    for child in element.children:
        if isinstance(child, XmlText):
            yield child
        else:
            yield from _texts(child)


def test_a_text_typed_meanwhile_survives_an_edit_of_its_paragraph() -> None:
    page = Page()
    page.put(paragraph("The quick brown fox jumps over the lazy dog"))
    other = page.twin()
    other.do(lambda: other.any(0).children[0].insert(19, " (really)"))
    other.do(lambda: other.any(0).children[0].insert(3, "se"))
    page.do(lambda: edit(page.at(0), paragraph("The slow brown fox leaps over the lazy cat")))
    page.meet(other)
    assert page.read() == paragraph("These slow brown fox (really) leaps over the lazy cat")
    assert other.read() == page.read()


@pytest.mark.parametrize(
    "new",
    [
        paragraph("completely different"),
        paragraph(),
        paragraph("a", BREAK, "b"),
        paragraph("b c", BREAK, "a"),
        paragraph(bold("one two"), BREAK, "three four"),
    ],
)
def test_no_keystroke_is_lost_whatever_the_paragraph_becomes(new: Node) -> None:
    page = Page()
    page.put(paragraph("one two", BREAK, "three four", BREAK, BREAK, "five"))
    other = page.twin()
    for child in other.any(0).children:
        if isinstance(child, XmlText):
            child.insert(3, "KEY")
    page.do(lambda: edit(page.at(0), new))
    page.meet(other)
    with page.doc.transaction():
        assert blocks.words(page.at(0)).count("KEY") == 3


def test_two_texts_joined_keep_both_elements() -> None:
    page = Page()
    page.put(paragraph("first line", BREAK, "second line"))
    texts = [page.any(0).children[at] for at in (0, 2)]
    page.do(lambda: edit(page.at(0), paragraph("first line second line")))
    assert list(page.any(0).children) == texts
    assert page.read() == paragraph("first line second line")


def test_a_text_split_keeps_its_larger_part_in_place() -> None:
    page = Page()
    page.put(paragraph("short, and the much longer rest"))
    text = page.any(0).children[0]
    page.do(lambda: edit(page.at(0), paragraph("short,", BREAK, "and the much longer rest")))
    assert page.any(0).children[2] == text
    assert str(page.any(0).children[0]) == "short,"


def test_a_loose_text_at_the_top_is_edited_as_a_paragraph() -> None:
    page = Page()
    with page.doc.transaction():
        page.root.children.append(XmlText("loose text"))
    page.do(lambda: edit(page.any(0), paragraph("loose", BREAK, bold("words"))))
    assert page.any(0).diff() == [("loose\n", None), ("words", {"bold": {}})]


def test_an_empty_paragraph_is_filled_and_emptied() -> None:
    page = Page()
    page.put(paragraph())
    page.do(lambda: edit(page.at(0), paragraph("x")))
    assert page.read() == paragraph("x")
    page.do(lambda: edit(page.at(0), paragraph()))
    assert page.read() == paragraph()


def test_an_unknown_element_named_in_a_loose_text_stays_where_it_is() -> None:
    page = Page()
    page.put(Node("blockquote", {}, (paragraph("a"),)))
    with page.doc.transaction():
        page.any(0).children.insert(0, XmlText("loose"))
        page.any(0).children[1].children.append(XmlElement("chip", {"n": "1"}))
    chip = "\u2063<!-- opaque:chip 1.1 -->"
    new = Node("blockquote", {}, (paragraph(f"loose {chip}"), paragraph(f"b{chip}")))
    page.do(lambda: edit(page.at(0), new))
    assert str(page.any(0).children[0]) == f"loose {chip}"
    assert str(page.any(0).children[1]) == '<paragraph>b<chip n="1"></chip></paragraph>'
