"""Blocks of an XmlFragment: read, built, copied, removed; foreign children found."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from pycrdt import Doc, Map, XmlElement, XmlFragment, XmlText
from pycrdt import Text as SharedText

from shared.errors import UnsupportedMarkup
from shared.tree import Node, Text
from shared.yjs import blocks
from shared.yjs.raw_xml import byte_offsets
from tests.unit.blocks_trees import Page, trees


def paragraph(*content: Text | Node | str) -> Node:
    return Node("paragraph", {}, tuple(Text(it) if isinstance(it, str) else it for it in content))


def filled(node: Node) -> Node:
    """`node` as it must be read back: equal neighbouring runs are one."""
    content: list[Node | Text] = []
    for child in node.content:
        last = content[-1] if content else None
        if isinstance(child, Node):
            content.append(filled(child))
        elif isinstance(last, Text) and last.marks == written(child):
            content[-1] = Text(last.text + child.text, last.marks)
        else:
            content.append(Text(child.text, written(child)))
    return Node(node.type, node.attrs, tuple(content))


def written(run: Text) -> dict[str, dict[str, Any]]:
    stock = {"target": "_blank", "rel": "noopener noreferrer nofollow", "class": None}
    return {k: {**stock, **v} if k == "link" else v for k, v in run.marks.items()}


@given(trees)
def test_a_built_tree_reads_back_as_it_was(tree: Node) -> None:
    page = Page()
    page.put(tree)
    assert page.read() == filled(tree)


@given(trees)
def test_what_was_built_reaches_another_client_unchanged(tree: Node) -> None:
    page = Page()
    page.put(tree)
    assert page.twin().read() == page.read()


def stored(node: Node) -> str:
    page = Page()
    page.put(node)
    return str(page.root).replace(' id="block000"', "")


def test_attributes_and_marks_are_those_of_a_stock_editor() -> None:
    page = Page()
    page.put(
        Node("heading", {"level": 2}, (Text("a", {"bold": {}}),)),
        Node("orderedList", {}, (Node("listItem", {}, (paragraph("x"),)),)),
        Node("taskList", {}, (Node("taskItem", {}, (paragraph("x"),)),)),
        Node("codeBlock", {"language": None}, (Text("x"),)),
        paragraph(Text("a", {"link": {"href": "u"}, "highlight": {}})),
    )
    heading, ordered, tasks, code, linked = (page.any(at) for at in range(5))
    assert dict(heading.attributes) == {"level": 2, "id": "block000"}
    assert dict(ordered.attributes) == {"start": 1, "id": "block001"}
    assert dict(tasks.children[0].attributes) == {"checked": False}
    assert dict(code.attributes) == {"id": "block003"}
    assert linked.children[0].diff() == [
        (
            "a",
            {
                "link": {
                    "href": "u",
                    "target": "_blank",
                    "rel": "noopener noreferrer nofollow",
                    "class": None,
                    "title": None,
                },
                "highlight": {"color": None},
            },
        )
    ]


def test_a_cell_says_its_spans_and_an_empty_paragraph_has_no_child() -> None:
    cell = Node("tableCell", {"colwidth": [100]}, (paragraph(),))
    page = Page()
    page.put(Node("table", {}, (Node("tableRow", {}, (cell,)),)))
    element = page.any(0).children[0].children[0]
    assert dict(element.attributes) == {"colspan": 1, "rowspan": 1, "colwidth": [100]}
    assert len(element.children[0].children) == 0


def test_hard_breaks_are_elements_between_texts() -> None:
    page = Page()
    page.put(paragraph("a", Node("hardBreak"), Node("hardBreak"), "b"))
    kinds = [getattr(child, "tag", "text") for child in page.any(0).children]
    assert kinds == ["text", "hardBreak", "hardBreak", "text"]


def test_the_id_attribute_is_set_only_when_given() -> None:
    page = Page()
    with page.doc.transaction():
        element = blocks.insert(page.root, 0, paragraph("a"), None)
    assert len(element.attributes) == 0


def test_a_lone_surrogate_is_refused_before_anything_changes() -> None:
    page = Page()
    tree = Node("blockquote", {}, (paragraph("fine"), paragraph("\ud800")))
    with pytest.raises(UnsupportedMarkup):
        page.put(tree)
    assert len(page.root.children) == 0


def test_whole_numbers_from_javascript_are_read_as_integers() -> None:
    page = Page()
    with page.doc.transaction():
        element = page.root.children.append(XmlElement("image"))
        element.attributes["width"] = 100.0
        element.attributes["height"] = 1.5
    assert repr(page.read().attrs["width"]) == "100"
    assert page.read().attrs["height"] == 1.5


def test_null_attributes_and_ids_are_not_read() -> None:
    page = Page()
    page.put(Node("codeBlock", {}, ()))
    with page.doc.transaction():
        page.at(0).attributes["language"] = None
    assert page.read() == Node("codeBlock", {}, ())


def test_unknown_marks_keep_their_whole_key() -> None:
    page = Page()
    page.put(paragraph(Text("a", {"comment--1tiVU/zO": {"thread": 7}}), "b"))
    assert page.read() == paragraph(Text("a", {"comment--1tiVU/zO": {"thread": 7}}), "b")


def test_marks_of_other_bindings_are_read() -> None:
    page = Page()
    page.put(paragraph("ab"))
    with page.doc.transaction():
        page.any(0).children[0].format(0, 1, {"bold": True, "odd": 3})
    assert page.read() == paragraph(Text("a", {"bold": {}, "odd": {"value": 3}}), "b")


def test_an_unknown_block_is_opaque_under_its_id_and_by_path_when_nested() -> None:
    page = Page()
    page.put(Node("callout", {"tone": "calm"}, (paragraph("x"),)))
    with page.doc.transaction():
        assert blocks.read(page.at(0), "k3f9a02b") == Node(
            "opaque", {"tag": "callout", "ref": "k3f9a02b"}
        )
    page = Page()
    page.put(Node("blockquote", {}, (paragraph("x"), Node("callout"), Node("listItem"))))
    assert page.read().content[1:] == (
        Node("opaque", {"tag": "callout", "ref": "1"}),
        Node("opaque", {"tag": "listItem", "ref": "2"}),
    )


def test_inline_elements_and_embeds_are_opaque() -> None:
    page = Page()
    page.put(paragraph("ab"))
    with page.doc.transaction():
        page.any(0).children.append(XmlElement("mention", {"who": "x"}))
        page.any(0).children[0].insert_embed(1, {"image": "x"})
    assert page.read() == paragraph(
        "a",
        Node("opaque", {"tag": "#embed", "ref": "0.1"}),
        "b",
        Node("opaque", {"tag": "mention", "ref": "1"}),
    )


def test_a_text_at_the_top_is_a_paragraph() -> None:
    page = Page()
    with page.doc.transaction():
        page.root.children.append(XmlText("loose"))
    with page.doc.transaction():
        assert blocks.read(page.root.children[0], "x") == paragraph("loose")
        assert blocks.words(page.root.children[0]) == "loose"


def test_an_element_with_children_that_are_no_elements_is_opaque() -> None:
    page = Page(client_id=5)
    page.put(Node("blockquote", {}, (paragraph("kept"),)))
    with page.doc.transaction():
        page.any(0).children.append(XmlText("@"))
    update = page.doc.get_update()
    text, array = b"\x87\x05\x01\x06", b"\x87\x05\x01\x00"  # the item of "@" and its type
    assert update.count(text) == 1
    other = Page()
    other.doc.apply_update(update.replace(text, array))
    with other.doc.transaction():
        assert blocks.read(other.at(0), "b") == Node("opaque", {"tag": "blockquote", "ref": "b"})
        with pytest.raises(UnsupportedMarkup):
            blocks.copy(other.root, other.at(0), 0, "c")
    assert len(other.root.children) == 1


def test_elements_nested_beyond_the_limit_are_opaque_and_their_words_are_read() -> None:
    page = Page()
    with page.doc.transaction():
        parent: Any = page.root
        for _ in range(1_500):
            parent = parent.children.append(XmlElement("blockquote"))
        parent.children.append(XmlText("deep"))
        node: Any = blocks.read(page.at(0))
        assert blocks.words(page.at(0)) == "deep"
    while node.type == "blockquote":
        node = node.content[0]
    assert node.type == "opaque"


def test_words_are_the_plain_text() -> None:
    page = Page()
    item = Node("listItem", {}, (paragraph(" a", Text("b", {"bold": {}}), Node("hardBreak"), "c"),))
    page.put(Node("bulletList", {}, (item, item)), Node("horizontalRule"))
    with page.doc.transaction():
        assert blocks.words(page.at(0)) == "ab\nc\n ab\nc"
        assert blocks.words(page.at(1)) == ""


def test_many_blocks_are_inserted_in_order() -> None:
    page = Page()
    page.put(paragraph("first"), paragraph("last"))
    nodes: list[tuple[Node, str | None]] = [(paragraph("a"), "a"), (paragraph("b"), "b")]
    with page.doc.transaction():
        made = blocks.insert_all(page.root, 1, nodes)
    assert [page.read(at) for at in (1, 2)] == [paragraph("a"), paragraph("b")]
    assert made == [page.at(1), page.at(2)]
    with pytest.raises(UnsupportedMarkup), page.doc.transaction():
        blocks.insert_all(page.root, 0, [(paragraph("\ud800"), None), (paragraph("x"), None)])
    assert len(page.root.children) == 4


def test_remove_takes_out_one_child() -> None:
    page = Page()
    page.put(paragraph("a"), paragraph("b"), paragraph("c"))
    page.do(lambda: blocks.remove(page.root, 1))
    assert [page.read(at) for at in range(2)] == [paragraph("a"), paragraph("c")]


@given(trees)
def test_a_copy_reads_as_its_source(tree: Node) -> None:
    page = Page()
    page.put(tree, paragraph("end"))
    page.do(lambda: blocks.copy(page.root, page.at(0), 2, "moved000"))
    assert page.read(2) == page.read(0)
    assert page.at(2).attributes["id"] == "moved000"


def test_a_copy_keeps_what_nobody_knows() -> None:
    page = Page()
    with page.doc.transaction():
        callout = page.root.children.append(XmlElement("callout", {"tone": "calm", "id": "old"}))
        inner = callout.children.append(XmlElement("paragraph", {"id": "inner"}))
        text = inner.children.append(XmlText("a😀b"))
        text.format(0, 1, {"comment--1tiVU/zO": {"n": None}, "bold": {}})
        text.insert_embed(1, {"image": "x"}, {"bold": {}})
        text.insert_embed(2, XmlElement("chip", {"who": "x"}))
    page.do(lambda: blocks.copy(page.root, page.at(0), 1, "new"))
    source, twin = page.root.children
    assert dict(twin.attributes) == {"tone": "calm", "id": "new"}
    assert str(twin.children[0]) == str(source.children[0])
    assert 'id="inner"' in str(twin)
    was, now = (it.children[0].children[0].diff() for it in (source, twin))
    assert [marks for _, marks in now] == [marks for _, marks in was]
    assert now[1][0] == {"image": "x"}


def test_a_shared_map_in_a_text_cannot_be_copied() -> None:
    page = Page()
    page.put(paragraph("a"))
    with page.doc.transaction():
        page.any(0).children[0].insert_embed(0, Map({"x": 1}))
    with page.doc.transaction(), pytest.raises(UnsupportedMarkup):
        blocks.copy(page.root, page.at(0), 1, "new")
    assert len(page.root.children) == 1


def poisoned() -> Page:
    page = Page()
    page.put(paragraph("one"), paragraph("two"))
    other: Doc[Any] = Doc()
    other.apply_update(page.doc.get_update())
    root = other.get("default", type=SharedText)
    with other.transaction():
        root.insert(2, " tail")
        root.insert(1, "po😀son", {"bold": {}})
        root.insert_embed(0, {"x": 1})
        root.insert_embed(0, Map({"x": 1}))
    page.doc.apply_update(other.get_update())
    return page


def test_foreign_children_are_found_and_their_text_is_kept() -> None:
    page = poisoned()
    with page.doc.transaction():
        foreign = blocks.foreign_children(page.root)
        assert foreign == [
            blocks.Foreign(0, 2, 0, ""),
            blocks.Foreign(3, 9, 1, "po😀son"),
            blocks.Foreign(13, 5, 2, " tail"),
        ]
        saved = blocks.remove_foreign(page.root, foreign, block_id="saved000")
        assert saved is not None
        assert blocks.foreign_children(page.root) == []
    assert [page.read(at) for at in range(3)] == [
        paragraph("po😀son tail"),
        paragraph("one"),
        paragraph("two"),
    ]


def test_a_sound_root_has_no_foreign_children() -> None:
    page = Page()
    page.put(paragraph("a"))
    with page.doc.transaction():
        assert blocks.foreign_children(page.root) == []


def test_code_points_become_bytes_at_every_position() -> None:
    text = "aé😀\u0301\u05d0"
    offsets = byte_offsets(text, range(len(text) + 1))
    assert offsets == [len(text[:at].encode()) for at in range(len(text) + 1)]
    assert byte_offsets("plain", [0, 3, 5]) == [0, 3, 5]
    assert byte_offsets("é\ud800b", [1, 2, 3]) == [2, 3, 4]


def test_without_a_transaction_it_says_so() -> None:
    doc: Doc[Any] = Doc()
    root = doc.get("default", type=XmlFragment)
    with pytest.raises(RuntimeError, match="transaction"):
        blocks.insert(root, 0, paragraph("a"), None)
