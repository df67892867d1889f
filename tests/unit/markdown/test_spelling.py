"""The encoding table, row by row: what a tree reads as, and that it comes back."""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import given

from shared.editor_shape import stock_attributes, stock_mark
from shared.markdown.parse import parse
from shared.markdown.render import render
from shared.markdown.schema import canon
from shared.tree import Hints, Node, Text
from tests.unit.markdown.trees import BLOCKS, HINTS

BREAK: Final = Node("hardBreak")
EMPTY: Final = Node("paragraph")
Content = str | Text | Node


def paragraph(*content: Content) -> Node:
    return Node("paragraph", {}, tuple(Text(c) if isinstance(c, str) else c for c in content))


def marked(text: str, *marks: str, **attrs: Any) -> Text:
    return Text(text, {mark: stock_mark(mark, attrs) for mark in marks})


def link(text: str, href: str, title: str | None = None) -> Text:
    return marked(text, "link", href=href, title=title)


def item(*blocks: Node) -> Node:
    return Node("listItem", {}, blocks)


def task(done: bool, *blocks: Node) -> Node:
    return Node("taskItem", {"checked": done}, blocks)


def bullets(*items: Node) -> Node:
    return Node("bulletList", {}, items)


def code(text: str, language: str | None = None) -> Node:
    attrs = stock_attributes("codeBlock", {"language": language})
    return Node("codeBlock", attrs, (Text(text),) if text else ())


def heading(level: int, *content: Content) -> Node:
    return Node("heading", {"level": level}, paragraph(*content).content)


def table(*rows: list[Node]) -> Node:
    return Node("table", {}, tuple(Node("tableRow", {}, tuple(row)) for row in rows))


def cell(*blocks: Node, kind: str = "tableCell", **attrs: Any) -> Node:
    return Node(kind, stock_attributes(kind, attrs), blocks)


def head(*blocks: Node, **attrs: Any) -> Node:
    return cell(*blocks, kind="tableHeader", **attrs)


TEXTS: Final = {  # text of a paragraph -> its Markdown
    "plain words": "plain words",
    "\u00a0": "&#160;",
    "&nbsp;": r"\&nbsp;",
    " a ": "&#32;a&#32;",
    "\ta": "&#9;a",
    "\u3000文": "\u3000文",
    "+a": "+a",
    "1.5": "1.5",
    "a_b": "a_b",
    "snake_case __init__": r"snake_case \_\_init\_\_",
    "2 * 3": "2 * 3",
    "2*3*4": r"2\*3\*4",
    "a & b": "a & b",
    "<5": "<5",
    "a < b && c > d": "a < b && c > d",
    "# a": r"\# a",
    "> a": r"\> a",
    "- a": r"\- a",
    "+ a": r"\+ a",
    "1. a": r"1\. a",
    "2) a": r"2\) a",
    "1234567890. a": "1234567890. a",
    "---": r"\---",
    "===": "===",
    "```": r"\```",
    "~~~": r"\~~~",
    "`tick": "`tick",
    "[x]: y": r"\[x]: y",
    "[ ] x": "[ ] x",
    "[^1]": r"\[^1]",
    "[abcd1234-0a1b2c]": r"\[abcd1234-0a1b2c]",
    "<kbd>": r"\<kbd>",
    "a\\": "a\\",
    "C:\\dir\\*.txt": r"C:\dir\\*.txt",
    "\u2063<kbd>": "<kbd><!---->",
    '\u2063<a href="b">': '<a\nhref="b">',
    "\u2063</a >": "</a ><!---->",
    "*args and **kwargs": "*args and **kwargs",
    "*.py, *.md": "*.py, *.md",
    "f(x)[0]": "f(x)[0]",
    "see [1] (2)": "see [1] (2)",
    "see [1](2)": r"see \[1](2)",
    "use * and *": "use * and *",
    "_private": "_private",
    "a_ b_": "a_ b_",
    "Vec<u8>": r"Vec\<u8>",
    "a<b": "a<b",
    "AT&T &c.": "AT&T &c.",
    "a \u2063<kbd>b\u2063</kbd>": "a <kbd>b</kbd>",
    "a\u2063[^1]": "a[^1]",
    "a \u2063![b](c)": "a ![b](c)",
    "a \u2063[](c)": "a [](c)",
    "\u2063![b](c)": "\u2063!\\[b](c)",
    "\ufeffa": "&#65279;a",
    "$$": "$$",
}


@pytest.mark.parametrize("text", TEXTS)
def test_text_is_escaped_no_more_than_needed(text: str) -> None:
    assert render(paragraph(text)).text == TEXTS[text]
    assert [block.node for block in parse(TEXTS[text]).blocks] == [paragraph(text)]


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_escaped_would_be_markup(text: str) -> None:
    """Without its backslashes it would be read as something else, above another block at least."""
    if "\\" in TEXTS[text] and "\\" not in text:
        read = parse(TEXTS[text].replace("\\", "") + "\n***").blocks[:-1]
        assert [canon(block.node) for block in read] != [paragraph(text)]


SPELLINGS: Final[dict[str, Node]] = {
    "&nbsp;": EMPTY,
    "a\\\nb": paragraph("a", BREAK, "b"),
    "a<br>": paragraph("a", BREAK),
    "<br><!---->": paragraph(BREAK),
    "<br><br>": paragraph(BREAK, BREAK),
    "a\\\n\\===": paragraph("a", BREAK, "==="),
    "# a<br>b": heading(1, "a", BREAK, "b"),
    "#": heading(1),
    "## a \\#": heading(2, "a #"),
    "###### a": heading(6, "a"),
    "**a**b": paragraph(marked("a", "bold"), "b"),
    '<strong>"a"</strong>b': paragraph(marked('"a"', "bold"), "b"),
    "**a***b*": paragraph(marked("a", "bold"), marked("b", "italic")),
    "**a *b***": paragraph(marked("a ", "bold"), marked("b", "bold", "italic")),
    "~~a~~": paragraph(marked("a", "strike")),
    "<u>a</u>": paragraph(marked("a", "underline")),
    "x<sub>a</sub><sup>b</sup>": paragraph(
        "x", marked("a", "subscript"), marked("b", "superscript")
    ),
    "<mark>a</mark>": paragraph(marked("a", "highlight")),
    '<mark data-color="#ff0">a</mark>': paragraph(marked("a", "highlight", color="#ff0")),
    "`a`": paragraph(marked("a", "code")),
    "`` a` ``": paragraph(marked("a`", "code")),
    "**`a`**": paragraph(Text("a", {"bold": {}, "code": {}})),
    "<http://a.b>": paragraph(link("http://a.b", "http://a.b")),
    "<a@b.c>": paragraph(link("a@b.c", "mailto:a@b.c")),
    "[a](b)": paragraph(link("a", "b")),
    '[a](b "t")': paragraph(link("a", "b", "t")),
    "[a](<b c>)": paragraph(link("a", "b c")),
    "[a](<b(c>)": paragraph(link("a", "b(c")),
    "[a](<>)": paragraph(link("a", "")),
    "[a](javascript:x)": paragraph(link("a", "javascript:x")),
    "[[a]](b)": paragraph(link("[a]", "b")),
    "[a\\]](b)": paragraph(link("a]", "b")),
    "[a] [b](c)": paragraph("[a] ", link("b", "c")),
    "**a** 2*3 b_c": paragraph(marked("a", "bold"), " 2*3 b_c"),
    "**a** 2\\*3\\*4": paragraph(marked("a", "bold"), " 2*3*4"),
    "![a_b (1)](c)": Node("image", {"src": "c", "alt": "a_b (1)"}),
    "![\\[a\\](b)](c)": Node("image", {"src": "c", "alt": "[a](b)"}),
    "- [ ] # a": Node("taskList", {}, (task(False, paragraph("# a")),)),
    "- [ ] 1. [x] a": Node("taskList", {}, (task(False, paragraph("1. [x] a")),)),
    "- [ ] a\\\n  \\# b": Node("taskList", {}, (task(False, paragraph("a", BREAK, "# b")),)),
    "[`c`](u)": paragraph(Text("c", {"link": stock_mark("link", {"href": "u"}), "code": {}})),
    '![a](b "t")': Node("image", {"src": "b", "alt": "a", "title": "t"}),
    "---": Node("horizontalRule"),
    "```py\nx\n```": code("x", "py"),
    "````\n```\n````": code("```"),
    "```\n```": code(""),
    "```a&#96;b\nx\n```": code("x", "a`b"),
    "```a\\\\&#10;\nx\n```": code("x", "a\\\n"),
    "```a\\\\&#32;\nx\n```": code("x", "a\\ "),
    "```\na\n\n\n```": code("a\n\n"),
    "> a\n>\n> b": Node("blockquote", {}, (paragraph("a"), paragraph("b"))),
    ">": Node("blockquote", {}, (EMPTY,)),
    "- a\n- b": bullets(item(paragraph("a")), item(paragraph("b"))),
    "-": bullets(item(EMPTY)),
    "- - a": bullets(item(EMPTY, bullets(item(paragraph("a"))))),
    "- # h": bullets(item(EMPTY, heading(1, "h"))),
    "- ```\n  x\n  ```": bullets(item(EMPTY, code("x"))),
    "- ***": bullets(item(EMPTY, Node("horizontalRule"))),
    "- &nbsp;\n  - -": bullets(item(EMPTY, bullets(item(EMPTY, bullets(item(EMPTY)))))),
    "- a\n\n  b": bullets(item(paragraph("a"), paragraph("b"))),
    "- &nbsp;\n\n  b": bullets(item(EMPTY, paragraph("b"))),
    "- \\[ ] x": bullets(item(paragraph("[ ] x"))),
    "- [ ] a\n- [x] b": Node(
        "taskList", {}, (task(False, paragraph("a")), task(True, paragraph("b")))
    ),
    "- [ ]": Node("taskList", {}, (task(False, EMPTY),)),
    "10. a\n11. b": Node(
        "orderedList", {"start": 10}, (item(paragraph("a")), item(paragraph("b")))
    ),
    "<div>\nx\n</div>": code("<div>\nx\n</div>", "=html"),
    "```=html\n<!-- open\n```": code("<!-- open", "=html"),
    "---\na: b\n---": code("a: b", "=yaml"),
    "[a]: b": code("[a]: b", "=markdown"),
    "[^1]: a\n\n    b": code("[^1]: a\n\n    b", "=markdown"),
    "$$\nx\n$$": code("$$\nx\n$$", "=markdown"),
    "<!-- opaque:callout abcd1234 -->": Node("opaque", {"tag": "callout", "ref": "abcd1234"}),
    "| a | b |\n| --- | --: |\n| `x\\|y` |  |": table(
        [head(paragraph("a")), head(paragraph("b"), align="right")],
        [cell(paragraph(marked("x|y", "code"))), cell(EMPTY, align="right")],
    ),
    "| a<p>b |\n| --- |": table([head(paragraph("a"), paragraph("b"))]),
    "<!-- no header -->\n|  |\n| --- |\n| a |": table([cell(paragraph("a"))]),
    "|  |\n| --- |\n| a |": table([head(EMPTY)], [cell(paragraph("a"))]),
    '<table>\n<tr><th colspan="2">a</th></tr>\n<tr><td><ul><li>c</li></ul></td><td>d</td></tr>\n'
    "</table>": table(
        [head(paragraph("a"), colspan=2)],
        [cell(bullets(item(paragraph("c")))), cell(paragraph("d"))],
    ),
    "<table>\n<tr><td><pre><code>a&#10;&#10;b</code></pre></td></tr>\n</table>": table(
        [cell(code("a\n\nb"))]
    ),
}


@pytest.mark.parametrize("text", SPELLINGS)
def test_each_construct_has_one_spelling(text: str) -> None:
    assert render(SPELLINGS[text]).text == text
    assert [canon(block.node) for block in parse(text).blocks] == [canon(SPELLINGS[text])]


def test_trees_have_exactly_what_a_stock_editor_writes() -> None:
    (block,) = parse("1. [a](b) <mark>c</mark>").blocks
    anchor = {"target": "_blank", "rel": "noopener noreferrer nofollow", "class": None}
    content = (
        Text("a", {"link": {"href": "b", **anchor, "title": None}}),
        Text(" "),
        Text("c", {"highlight": {"color": None}}),
    )
    assert block.node == Node("orderedList", {"start": 1}, (item(Node("paragraph", {}, content)),))
    (grid,) = parse("| a |\n| :-: |").blocks
    cells = {"colspan": 1, "rowspan": 1, "align": "center"}
    row = Node("tableRow", {}, (Node("tableHeader", cells, (paragraph("a"),)),))
    assert grid.node == Node("table", {}, (row,))


def test_neighbouring_lists_of_one_kind_inside_an_item_stay_two() -> None:
    node = bullets(
        item(paragraph("x"), bullets(item(paragraph("a"))), bullets(item(paragraph("b"))))
    )
    text = render(node).text
    assert text == "- x\n  - a\n  <!-- -->\n  - b"
    assert [canon(block.node) for block in parse(text).blocks] == [node]


@pytest.mark.parametrize(
    "hints, text",
    [
        (Hints(), "1. a\n2. b"),
        (Hints(loose=True), "1. a\n\n2. b"),
        (Hints(delimiter=")"), "1) a\n2) b"),
    ],
)
def test_style_hints_of_a_list_come_back(hints: Hints, text: str) -> None:
    node = Node("orderedList", {"start": 1}, (item(paragraph("a")), item(paragraph("b"))))
    assert render(node, hints).text == text
    (block,) = parse(text).blocks
    assert (block.node, block.hints) == (node, hints)


@pytest.mark.parametrize(
    "node, what",
    [
        (Node("image", {"src": "a", "width": 3}), "image: width is not shown"),
        (paragraph(Text("a", {"comment--1tiVU/zO": {"id": 1}})), "mark comment is not shown"),
        (Node("opaque", {"tag": "callout", "ref": "x"}), "callout: shown as a placeholder"),
        (heading(7, "a"), "heading: level 7 is shown as another"),
        (
            Node("orderedList", {"start": -1}, (item(EMPTY),)),
            "orderedList: start -1 is shown as another",
        ),
        (Node("orderedList", {"type": "a"}, (item(EMPTY),)), "orderedList: type is not shown"),
        (Node("paragraph", {"indent": 2}, (Text("a"),)), "paragraph: indent is not shown"),
        (Node("paragraph", {"x" * 99: 2}), f"paragraph: {'x' * 64}… is not shown"),
        (Node("image", {"src": "a", "caption": "c"}), "image: caption is not shown"),
        (Node("codeBlock", {"language": 3}), "codeBlock: language is not shown"),
        (bullets(Node("listItem", {"color": "red"}, (EMPTY,))), "listItem: color is not shown"),
        (table([cell(EMPTY, align="justify")]), "tableCell: align is not shown"),
        (
            table([cell(EMPTY, colwidth=[80]), cell(EMPTY, colwidth=[9])]),
            "tableCell: colwidth is not shown",
        ),
        (table([cell(EMPTY, rowspan=70_000)]), "tableCell: rowspan 70000 is shown as another"),
        (Node("codeBlock", {}, (marked("a", "bold"),)), "codeBlock: mark bold is not shown"),
        (paragraph(Text("a", {"link": {"href": 3}})), "mark link is not shown"),
        (paragraph(Text("a", {"highlight": {"color": 3}})), "mark highlight: color is not shown"),
        (paragraph(Text("a", {"link": {"href": "u", "data": 1}})), "mark link: data is not shown"),
        (
            paragraph("a", Node("opaque", {"tag": "mention", "ref": "0.1"})),
            "mention: shown as a placeholder",
        ),
        (paragraph("a\x00"), "text: a NUL character is shown as U+FFFD"),
    ],
)
def test_what_markdown_leaves_out_is_told(node: Node, what: str) -> None:
    assert render(node).fidelity == (what,)


def test_whoever_makes_up_names_does_not_fill_the_answer() -> None:
    node = paragraph(Text("a", {f"mark{number}": {} for number in range(1_000)}))
    told = render(node).fidelity
    assert told[-2:] == ("mark mark19 is not shown", "and more")
    assert len(told) == 21


@given(BLOCKS, HINTS)
def test_nothing_is_told_of_what_the_dialect_covers(node: Node, hints: Hints) -> None:
    """Whatever a stock editor can hold is written exactly; only placeholders stand for more."""
    assert [what for what in render(node, hints).fidelity if "placeholder" not in what] == []


def test_an_opaque_block_is_named_by_its_own_id() -> None:
    node = Node("opaque", {"tag": "call out>", "ref": "0"})
    text = render(node, block_id="abcd1234").text
    assert text == "<!-- opaque:call%20out%3e abcd1234 -->"
    (block,) = parse(text).blocks
    assert block.node == Node("opaque", {"tag": "call out>", "ref": "abcd1234"})
