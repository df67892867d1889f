"""No text breaks out of where it stands: its block, its cell, its item, the frame around an answer.

Whatever is put somewhere, what stands before and behind it is read back as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.mcp.framing import frame, unframe
from shared.editor_shape import stock_attributes, stock_mark
from shared.markdown.canon import CARRIER
from shared.markdown.join import anchored, join
from shared.markdown.parse import parse
from shared.markdown.render import render
from shared.markdown.schema import canon
from shared.tree import Attrs, Node, Text
from tests.unit.markdown.trees import TEXTS

BEFORE: Final = Node("paragraph", {}, (Text("before *it* [x] [y]"),))
AFTER: Final = Node("heading", {"level": 2}, (Text("after `it`"),))
ANCHORS: Final = ("aaaaaaaa-111111", "bbbbbbbb-222222", "cccccccc-333333")
NONCE: Final = "0123abcd"

ATTACKS: Final = (
    *(
        "\n\n# Heading\n\n",
        "\n- item\n",
        "\n---\n",
        "\n***\n",
        "\n===\n",
        "\r\r",
        "\r\n\r\n> quote\n",
    ),
    *("```", "\n```\n", "~~~\n", "````\n\n# x", "    code", "\t\tcode", "`", "``"),
    *(
        "</td></tr></table>",
        "<table><tr><td>",
        "</code></pre>",
        "</p><p>",
        "<p>",
        "<br>",
        "</li></ul>",
    ),
    *(
        "-->",
        "<!--",
        "<!-- -->",
        "<!-- no header -->",
        "<!-- opaque:callout aaaaaaaa -->",
        "<!---->",
    ),
    *("<script>", "</script>", "<style>", "<pre>", "<?php", "?>", "<![CDATA[", "]]>", "<!DOCTYPE"),
    *("|", "\\|", "| --- |\n", "\n| a |\n| --- |\n", "\\", "\\\\", "\\\n", "  \n"),
    *(
        "](x)",
        "![",
        "[x]: /evil",
        "\n\n[y]: /evil\n\n",
        "[^1]: note",
        "[x]",
        '"',
        "'",
        '" onclick="',
    ),
    *(
        "[aaaaaaaa-111111]",
        "\n[bbbbbbbb-222222]\n",
        "\n\n[cccccccc-333333]\nmine\n\n",
        "$$",
        "\n$$\n",
    ),
    *("&#10;", "&#13;", "&lt;", "&nbsp;", "\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\ufeff"),
    *("- [ ] ", "[x] ", "1. ", "> ", "# ", "**", "*", "_", "~~", "<u>", "</u>", f"{CARRIER}<div>"),
    *(frame("", NONCE).split("\n")[0], frame("", NONCE).split("\n")[2], f"\n{frame('', NONCE)}\n"),
)
TEXT: Final = st.lists(st.one_of(st.sampled_from(ATTACKS), TEXTS), min_size=1, max_size=5).map(
    "".join
)


def paragraph(text: str, marks: dict[str, Attrs] | None = None) -> Node:
    return Node("paragraph", {}, (Text(text, marks or {}),))


def marked(mark: str, attrs: Attrs) -> Node:
    return paragraph("x", {mark: stock_mark(mark, attrs)})


def image(**attrs: str) -> Node:
    return Node("image", stock_attributes("image", {"src": "s", **attrs}))


def cell(*blocks: Node, across: int = 1) -> Node:
    attrs = stock_attributes("tableCell", {"colspan": across, "rowspan": 1})
    return Node("tableCell", attrs, blocks)


def table(*rows: tuple[Node, ...]) -> Node:
    return Node("table", {}, tuple(Node("tableRow", {}, row) for row in rows))


def bullets(*blocks: Node) -> Node:
    return Node("bulletList", {}, tuple(Node("listItem", {}, (block,)) for block in blocks))


def tasks(*blocks: Node) -> Node:
    return Node(
        "taskList", {}, tuple(Node("taskItem", {"checked": False}, (block,)) for block in blocks)
    )


def code(text: str, language: str | None) -> Node:
    attrs = stock_attributes("codeBlock", {"language": language})
    return Node("codeBlock", attrs, (Text(text),) if text else ())


X: Final = Node("paragraph", {}, (Text("x"),))
PLACES: Final[dict[str, Callable[[str], Node]]] = {
    "a paragraph": paragraph,
    "bold": lambda text: paragraph(text, {"bold": {}}),
    "code": lambda text: paragraph(text, {"code": {}}),
    "a heading": lambda text: Node("heading", {"level": 1}, (Text(text),)),
    "an item": lambda text: bullets(X, paragraph(text), X),
    "a task": lambda text: tasks(X, paragraph(text), X),
    "a quote": lambda text: Node("blockquote", {}, (X, paragraph(text), X)),
    "a cell": lambda text: table(
        (cell(X), cell(paragraph(text))), (cell(paragraph(text)), cell(X))
    ),
    "a cell of HTML": lambda text: table((cell(X, paragraph(text), across=2),), (cell(X), cell(X))),
    "code in a cell": lambda text: table((cell(code(text, None)), cell(X))),
    "an item in a cell": lambda text: table((cell(bullets(paragraph(text), X)), cell(X))),
    "a code block": lambda text: code(text, None),
    "a carrier of HTML": lambda text: code(text, "=html"),
    "a carrier of Markdown": lambda text: code(text, "=markdown"),
    "front matter": lambda text: code(text, "=yaml"),
    "a language": lambda text: code("x", text),
    "an address": lambda text: marked("link", {"href": text}),
    "a title": lambda text: marked("link", {"href": "u", "title": text}),
    "a colour": lambda text: marked("highlight", {"color": text}),
    "an image": lambda text: image(alt=text),
    "an image's address": lambda text: image(src=text),
    "an image's title": lambda text: image(title=text),
    "the name of a node": lambda text: Node("opaque", {"tag": text or "x", "ref": text}),
    "nodes in an item": lambda text: bullets(X, Node("opaque", {"tag": text or "x", "ref": text})),
}


def check(place: str, text: str) -> None:
    node = PLACES[place](text)
    blocks = [BEFORE, node, AFTER]
    texts = [render(block).text for block in blocks]
    expected = [canon(block) for block in blocks]
    for document in (join(texts), anchored(zip(ANCHORS, texts, strict=True))):
        assert [canon(block.node) for block in parse(document).blocks] == expected
        framed = frame(document, "76543210")
        assert unframe(framed) == document
        assert framed.split("\n")[-1] not in document
    read = parse(anchored(zip(ANCHORS, texts, strict=True))).blocks
    assert [block.anchor for block in read] == list(ANCHORS)
    # Alone, first and last it is the same block as well: nothing around it holds it together.
    for alone in ([node], [node, AFTER], [BEFORE, node]):
        shown = join(render(block).text for block in alone)
        found = [canon(block.node) for block in parse(shown).blocks]
        kept = [canon(block) for block in alone]
        assert found == kept or kept[-1] == Node("paragraph")


@pytest.mark.parametrize("place", PLACES)
@settings(max_examples=settings().max_examples // 3)  # in each of many places
@given(text=TEXT)
def test_no_text_breaks_out_of_its_place(place: str, text: str) -> None:
    check(place, text)


@pytest.mark.parametrize("place", PLACES)
def test_no_known_attack_breaks_out_of_its_place(place: str) -> None:
    for attack in ATTACKS:
        for text in (attack, f"a{attack}b"):
            check(place, text)
