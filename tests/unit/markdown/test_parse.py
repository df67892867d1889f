"""What parsing takes, refuses and tells, beside the trees themselves."""

from __future__ import annotations

import re
from typing import Final

import pytest
from hypothesis import given

from shared.errors import Refused, TooLarge, UnsupportedMarkup
from shared.limits import MAX_BLOCKS, MAX_DEPTH, MAX_MARKDOWN_CHARS
from shared.markdown.parse import parse
from shared.markdown.parser import MARKDOWN
from shared.tree import Fidelity, Hints, Node, Text
from tests.unit.markdown.trees import TEXTS

ANCHOR: Final = "abcd1234-0a1b2c"


def kinds(text: str) -> list[str]:
    return [block.node.type for block in parse(text).blocks]


def words(text: str) -> list[str]:
    return [
        "".join(item.text for item in block.node.content if isinstance(item, Text))
        for block in parse(text).blocks
    ]


@pytest.mark.parametrize("text", ["", "\n", "   ", "\n\n \n", "\ufeff"])
def test_nothing_is_no_block(text: str) -> None:
    assert parse(text).blocks == ()


@pytest.mark.parametrize(
    "text", ["# T\r\n\r\na\r\nb\r\n", "# T\r\ra\rb", "\ufeff# T\n\na\nb", "# T\n\na\nb\n\n\n"]
)
def test_line_ends_and_a_byte_order_mark_are_transport(text: str) -> None:
    assert parse(text).blocks == parse("# T\n\na\nb\n").blocks


@given(TEXTS)
def test_text_without_a_sign_is_text_by_every_rule(text: str) -> None:
    """Such text is not shown to the rules; they would make the same of it."""
    plain = "x" + re.sub(r"[\n\\`*_~\[<&]", "x", text)
    (whole,) = MARKDOWN.inline.parse(plain, MARKDOWN, {}, [])
    (token,) = MARKDOWN.parseInline(plain, {})
    assert token.children == [whole]
    assert (whole.type, whole.content) == ("text", plain)


def test_a_soft_break_is_a_space() -> None:
    assert words("a\nb") == ["a b"]


@pytest.mark.parametrize(
    "text, error, place",
    [
        ("a\nbc\x00d", UnsupportedMarkup, "NUL character in line 2, column 3"),
        ("a\r\nb\ud800", UnsupportedMarkup, "U+D800 in line 2, column 2"),
        ("a" * (MAX_MARKDOWN_CHARS + 1), TooLarge, "1,000,001 characters, at most 1,000,000"),
        (
            "a\n\n" * (MAX_BLOCKS + 1),
            TooLarge,
            f"the first too many is in line {2 * MAX_BLOCKS + 1:,}",
        ),
        ("x\n\n" + "> " * MAX_DEPTH + "a", UnsupportedMarkup, "deeper than 100 levels in line 3"),
        ("- " * 60 + "a", UnsupportedMarkup, "deeper than 100 levels in line 1"),
        ("> " * 97 + "| a |\n" + "> " * 97 + "|---|", UnsupportedMarkup, "deeper than 100 levels"),
        ("x\n\n" + ">" * 50_000, UnsupportedMarkup, "deeper than 100 levels in line 3"),
        (
            "".join(f"{'  ' * level}- a\n" for level in range(500)),
            UnsupportedMarkup,
            "deeper than 100 levels in line 51",
        ),
        ("x\n\n" + "[" * 50_000, UnsupportedMarkup, "nested too deep to be read, from line 3 on"),
    ],
    ids=lambda value: str(value)[:12].encode("unicode_escape").decode(),
)
def test_a_limit_is_named_with_its_place(text: str, error: type[Refused], place: str) -> None:
    with pytest.raises(error, match=r"^markdown: ") as refused:
        parse(text)
    assert place in refused.value.message


def test_as_much_as_the_limits_allow_is_read() -> None:
    assert len(parse("a\n\n" * MAX_BLOCKS).blocks) == MAX_BLOCKS
    assert kinds("> " * (MAX_DEPTH - 1) + "a") == ["blockquote"]
    assert words("a" * MAX_MARKDOWN_CHARS) == ["a" * MAX_MARKDOWN_CHARS]


def test_blocks_know_their_source() -> None:
    text = "# a  \n\n- [ ] b\n- c\n\n  d\n\n\n<!-- no header -->\n|  |\n|--|\n| x |\n"
    sources = [block.source for block in parse(text).blocks]
    assert sources == [
        "# a  ",
        "- [ ] b",
        "- c\n\n  d",
        "<!-- no header -->\n|  |\n|--|\n| x |",
    ]


def test_an_anchor_stands_right_above_its_block() -> None:
    (one, two) = parse(f"[{ANCHOR}]\n- a\n\n[{ANCHOR[:-1]}d]\nb").blocks
    assert (one.anchor, one.source, one.node.type) == (ANCHOR, "- a", "bulletList")
    assert (two.anchor, two.source) == (f"{ANCHOR[:-1]}d", "b")


def test_an_anchor_ends_a_paragraph_and_an_item() -> None:
    blocks = parse(f"a\n[{ANCHOR}]\nb\n\n- c\n[{ANCHOR}]\nd").blocks
    assert [block.anchor for block in blocks] == [None, ANCHOR, None, ANCHOR]


def test_front_matter_below_its_anchor_is_front_matter() -> None:
    (block,) = parse(f"[{ANCHOR}]\n---\na: b\n---\n").blocks
    assert (block.anchor, block.node.attrs) == (ANCHOR, {"language": "=yaml"})


@pytest.mark.parametrize(
    "text",
    [
        f"[{ANCHOR}]",
        f"[{ANCHOR}]\n\na",
        f" [{ANCHOR}]\na",
        f"> [{ANCHOR}]\n> a",
        f"- [{ANCHOR}]\n  a",
        f"[{ANCHOR}] a\nb",
        "[abcd123-0a1b2c]\na",
        "[abcd1234-0a1b2g]\na",
    ],
)
def test_what_is_not_quite_an_anchor_is_text(text: str) -> None:
    assert [block.anchor for block in parse(text).blocks if block.anchor] == []


def test_a_list_of_mixed_items_is_split_by_kind() -> None:
    text = "- [ ] a\n- b\n  - [X] c\n- [ ]\n- [x]no\n"
    assert kinds(text) == ["taskList", "bulletList", "taskList", "bulletList"]
    assert kinds("1. [ ] a\n\n[x] b") == ["orderedList", "paragraph"]


def test_a_reference_is_resolved_and_what_nobody_refers_to_is_kept() -> None:
    text = "[a][d] [d]\n\n[d]: <x y> 'T'\n[u]: /u\n[v]: /v\n\n[d]: /second\n"
    one, two, three = parse(text).blocks
    hrefs = {
        item.marks["link"]["href"]
        for item in one.node.content
        if isinstance(item, Text) and item.marks
    }
    assert hrefs == {"x y"}
    assert two.node.content == (Text("[u]: /u\n[v]: /v"),)
    assert three.node.content == (Text("[d]: /second"),)


def test_an_image_in_a_line_keeps_what_its_reference_stood_for() -> None:
    assert words("a ![b *c*][d]\n\n[d]: /u 't'\n") == ['a \u2063![b c](/u "t")']


def test_surplus_cells_are_kept_and_told() -> None:
    parsed = parse("x\n\n| a | b |\n|---|---|\n| 1 | 2 | 3 |\n")
    row = parsed.blocks[1].node.content[1]
    assert isinstance(row, Node)
    (_, last) = row.content
    assert isinstance(last, Node)
    assert last.content == (Node("paragraph", {}, (Text("2 3"),)),)
    assert parsed.fidelity == (Fidelity(1, "1 more cells than columns in a table row"),)


@pytest.mark.parametrize(
    "text, loose",
    [
        ("- a\n- b", False),
        ("- a\n\n- b", True),
        ("- a\n\n  b\n- c", True),
        ("- a\n  - b\n\n  - c\n- d", False),
        ("- a\n\n\n", False),
        ("> - a\n>\n> - b", False),
        ("- > a\n  >\n- b", False),
        ("- ```\n\n  ```\n- b", False),
    ],
)
def test_blank_lines_make_a_list_loose(text: str, loose: bool) -> None:
    assert parse(text).blocks[0].hints == Hints(loose)


@pytest.mark.parametrize(
    "text",
    [
        "<table><tr><td onclick=x>a</td></tr></table>",
        "<table><tr><td><kbd>a</kbd></td></tr></table>",
        "<table><tr><td>a</tr></table>",
        "<table><tr><td><b>a</b></td></tr></table>",
        "<table><tr><td><u>a</td></tr></table>",
        "<table>a</table>",
        "<table></table>",
        "<table><tr><td>a</td></tr></table>b",
        "<table><tr><td><ul></ul></td></tr></table>",
        "<table><tr><td><!-- c --></td></tr></table>",
        "<table><tr><td><![CDATA[x]]></td></tr></table>",
        "<table><tr><td><script>a</script></td></tr></table>",
        "<table><tr><td>" * 40 + "</td></tr></table>" * 40,
    ],
)
def test_html_outside_the_subset_stays_html(text: str) -> None:
    (block,) = parse(text).blocks
    assert block.node == Node("codeBlock", {"language": "=html"}, (Text(text),))


def test_a_table_as_a_person_indents_it_is_read() -> None:
    text = (
        "<table>\n  <thead>\n  <tr>\n    <th colspan=2>\n a\n b\n</th>\n  </tr></thead>\n</table>"
    )
    (block,) = parse(text).blocks
    cell = Node(
        "tableHeader", {"colspan": 2, "rowspan": 1}, (Node("paragraph", {}, (Text("a b"),)),)
    )
    assert block.node == Node("table", {}, (Node("tableRow", {}, (cell,)),))


def test_far_too_many_blocks_are_refused_before_all_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("its tokens were built")

    monkeypatch.setattr("shared.markdown.parse.BlockBuilder", never)
    with pytest.raises(TooLarge, match=rf"markdown: more than {MAX_BLOCKS:,} blocks"):
        parse("a\n\n" * (2 * MAX_BLOCKS + 2))


@pytest.mark.timeout(60)
def test_marks_nested_by_the_thousand_take_no_time() -> None:
    """A minute or more if each mark copied those around it; the timeout is the test."""
    (block,) = parse("*a **b " * 15_000 + "b** a*" * 15_000).blocks
    assert block.node.type == "paragraph"
