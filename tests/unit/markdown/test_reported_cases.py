"""Cases from public bug reports of other editors and servers doing the same job.

Where a report asks for something this dialect decides otherwise, the test says so.
"""

from __future__ import annotations

from typing import Final

import pytest

from shared.markdown.join import join
from shared.markdown.parse import parse
from shared.markdown.render import render
from shared.markdown.schema import canon
from shared.tree import Node, Text

BREAK: Final = Node("hardBreak")


def again(text: str) -> str:
    return join([render(block.node, block.hints).text for block in parse(text).blocks])


def paragraph(*content: str | Node) -> Node:
    return Node("paragraph", {}, tuple(Text(c) if isinstance(c, str) else c for c in content))


def comes_back(node: Node) -> bool:
    text = render(node).text
    forms = [canon(block.node) for block in parse(text).blocks]
    return forms == [canon(node)] and again(text) == text + "\n"


# --- text that looks like syntax ---------------------------------------------------------------

LIKE_BLOCKS: Final = (
    *("# a", "- b", "+ c", "1. d", "2) e", "> f", "---", "===", "```", "~~~", "    four spaces"),
    *("\tTab", "| a | b |", "[x]: http://e", "<div>", "* * *", "#", "1.", "+", "-", ":::", "$$"),
)
LIKE_INLINE: Final = (
    *("2*3*4 = 24", "snake_case_name __init__", "a < b && c > d", "&amp; &copy; &#35;"),
    *("[not a link]", "![no]", "~tilde~ ~~no", "C:\\dir\\*.txt", "call (216) 555-0100"),
    *("<user@example.org>", "`tick", "a\\", "$5 and $6", "100% ^up^", "http://e.org/a_b_c(d)"),
)


@pytest.mark.parametrize("text", LIKE_BLOCKS + LIKE_INLINE)
def test_typed_text_stays_text_wherever_it_stands(text: str) -> None:
    item = Node("listItem", {}, (paragraph(text), paragraph("x", BREAK, text)))
    task = Node("taskItem", {"checked": False}, (paragraph(text),))
    cell = Node("tableCell", {}, (paragraph(text),))
    for node in (
        paragraph(text),
        paragraph("x", BREAK, text),
        Node("heading", {"level": 2}, (Text(text),)),
        Node("bulletList", {}, (item,)),
        Node("orderedList", {"start": 1}, (item,)),
        Node("taskList", {}, (task,)),
        Node("blockquote", {}, (paragraph(text), paragraph(text))),
        Node("table", {}, (Node("tableRow", {}, (cell, cell)),)),
    ):
        assert comes_back(node)


@pytest.mark.parametrize("text", LIKE_BLOCKS + LIKE_INLINE)
def test_the_same_text_in_two_blocks_makes_no_third(text: str) -> None:
    document = join([render(paragraph(text)).text] * 2)
    assert [canon(block.node) for block in parse(document).blocks] == [paragraph(text)] * 2


# --- tables, code ------------------------------------------------------------------------------


def test_pipes_in_cells() -> None:
    text = "| op | regex |\n|:--|--:|\n| or | `a\\|b` |\n| lit | x \\| y |\n|  |  |\n| one |\n"
    assert again(text) == (
        "| op | regex |\n| :-- | --: |\n| or | `a\\|b` |\n| lit | x \\| y |\n|  |  |\n| one |  |\n"
    )
    typed = Text("a|b\\c"), Text("|", {"code": {}})
    cells = tuple(Node("tableCell", {}, (Node("paragraph", {}, (run,)),)) for run in typed)
    assert comes_back(Node("table", {}, (Node("tableRow", {}, cells),)))


def test_a_surplus_cell_is_neither_dropped_nor_a_reason_to_refuse() -> None:
    assert again("| a | b |\n|---|---|\n| 1 | 2 | 3 |\n") == (
        "| a | b |\n| --- | --- |\n| 1 | 2 3 |\n"
    )


def test_fences_in_fences() -> None:
    text = '````md title="a b"\n```py\nx = 1\n```\n````\n\n````\n```\n````\n'
    assert again(text) == text
    assert again("~~~\n```\n~~~\n") == "````\n```\n````\n"
    assert again("```\nopen\n") == "```\nopen\n```\n"


@pytest.mark.parametrize("text", ["````\n```\n~~~", "a\n\n\n", "", "\tx", "  "])
def test_code_is_exact(text: str) -> None:
    node = Node("codeBlock", {"language": "c++ {1,3}"}, (Text(text),) if text else ())
    assert comes_back(node)


# --- lists -------------------------------------------------------------------------------------


def test_numbers_and_delimiters_of_lists() -> None:
    text = "10. ten\n11. eleven\n\np\n\n3) a\n4) b\n\np\n\n0. zero\n\n1234567890. p\n\n7. q\n"
    assert again(text) == text


def test_a_list_of_ones_is_numbered() -> None:
    """The report asks for `1. 1. 1.` to be kept; a block has one spelling here."""
    assert again("1. x\n1. y\n") == "1. x\n2. y\n"


def test_children_stand_below_the_text_of_their_parent() -> None:
    text = "1. a\n   - b\n     1. c\n        code para\n2. d\n\t- tab child\n"
    assert again(text) == "1. a\n   - b\n     1. c code para\n2. d\n   - tab child\n"
    assert again("10. ten\n    - under\n") == "10. ten\n    - under\n"
    assert again("- e\n    - four\n  - two\n") == "- e\n  - four\n  - two\n"


def test_loose_lists_stay_loose_and_tight_ones_tight() -> None:
    text = "- a\n- b\n\n---\n\n- c\n\n- d\n\n---\n\n1. g\n   ```\n   x\n   ```\n2. h\n"
    assert again(text) == text


def test_items_with_a_box_and_without() -> None:
    text = "- [ ] a\n- [x] b\n- plain\n  - [x] nested\n- [ ]\n- [x]no space\n- [ ] [link](u)\n"
    assert again(text) == text
    assert again("- [X] b\n") == "- [x] b\n"


# --- breaks, front matter, references ------------------------------------------------------------


def test_breaks_have_one_spelling_that_no_tool_strips() -> None:
    text = "one  \ntwo\\\nthree   \n\n**bold  \nmore** rest\n\n- item  \n  next\n"
    assert again(text) == "one\\\ntwo\\\nthree\n\n**bold\\\nmore** rest\n\n- item\\\n  next\n"
    for content in ((Text("a"), BREAK), (Text("a"), BREAK, BREAK), (BREAK,), (BREAK, Text("a"))):
        for kind, attrs in (("paragraph", {}), ("heading", {"level": 1})):
            assert comes_back(Node(kind, attrs, content))


def test_front_matter_is_exact() -> None:
    text = '---\ntitle: "A: b"\ntags: [x, y]\nbody: |\n  ---\n  two\n---\n\n# Real\n'
    assert again(text) == text
    assert parse(text).blocks[0].node.attrs == {"language": "=yaml"}
    assert again("---\n---\n") == "---\n---\n"


@pytest.mark.parametrize("text", ["---\n\ntext\n", "+++ a=1 +++\n", "---\n\na\n\n---\n"])
def test_what_is_no_front_matter_stays_what_it_is(text: str) -> None:
    assert again(text) == text
    assert "codeBlock" not in {block.node.type for block in parse(text).blocks}


def test_definitions_and_footnotes() -> None:
    """The report wants `[docs][d]` untouched; here a block stands alone: resolved."""
    text = "[docs][d] and note[^1].\n\n[d]: <https://e.org/a b> 'T'\n[unused]: /u\n\n"
    note = "[^1]: first\n\n    second para\n\n    - list\n\nTail.\n"
    assert again(text + note) == (
        f'[docs](<https://e.org/a b> "T") and note[^1].\n\n[unused]: /u\n\n{note}'
    )


# --- HTML, empty documents, size -----------------------------------------------------------------


def test_html_is_carried_not_understood() -> None:
    text = (
        "<details>\n<summary>S</summary>\n\n**md**\n\n</details>\n\n<!-- keep\n\nthis -->\n\n"
        "text <kbd>Ctrl</kbd> <x-y a='1'>\n\n<script>\n\nlet a = '<b>';\n</script>\n\n"
        "<div>\n*not md*\n</div>\n"
    )
    assert again(text) == text


def test_blank_paragraphs_a_person_left_are_kept() -> None:
    """The report wants no literal `&nbsp;`: there is none in the document, only in its Markdown."""
    document = join(
        [render(node).text for node in (paragraph("a"), *[paragraph()] * 2, paragraph("b"))]
    )
    assert document == "a\n\n&nbsp;\n\n&nbsp;\n\nb\n"
    assert [block.node for block in parse(document).blocks] == [
        *(paragraph("a"), paragraph(), paragraph(), paragraph("b"))
    ]


@pytest.mark.parametrize("sign", ["[", "*a", "`", "![", "<", "\\", "_a ", "&"])
def test_a_flood_of_signs_that_was_typed_can_be_read_back(sign: str) -> None:
    assert comes_back(paragraph(sign * 2_000))


@pytest.mark.parametrize("sign", ["[", "![", "[a](", "*a", "<"])
def test_a_flood_of_signs_typed_in_two_paragraphs_of_a_cell_can_be_read_back(sign: str) -> None:
    cell = Node("tableCell", {}, (paragraph(sign * 500), paragraph("*" + sign * 500)))
    assert comes_back(Node("table", {}, (Node("tableRow", {}, (cell,)),)))


def test_a_paragraph_of_a_megabyte() -> None:
    node = paragraph(("lorem ipsum " * 80_000).strip())
    assert comes_back(node)
