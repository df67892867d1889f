"""Any document as HTML: well formed, and nothing of its text is markup."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.markdown.parse import parse
from shared.page_html import block_html
from shared.tree import Attrs, Node, Text

TAGS = {
    *("p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code"),
    *("table", "tbody", "tr", "td", "th", "strong", "em", "s", "u", "sub", "sup", "mark", "a"),
    *("br", "hr", "input"),
}
ATTRIBUTES = {
    *("id", "start", "colspan", "rowspan", "class", "href", "rel", "type", "disabled", "checked"),
}
VOID = {"br", "hr", "input"}
HOSTILE = "<script>\"'&><img onerror=x>"


class Reader(HTMLParser):
    """Text and links of a page; fails on any element or attribute that is not ours."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.links: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        for name, value in attrs:
            assert name in ATTRIBUTES, name
            if name == "href":
                self.links.append(value or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader


@settings(max_examples=150, deadline=None)
@given(st.text(st.sampled_from("#*_`<>&\"'|-[]()!:\\x \n1.~=/")))
def test_any_markdown_is_well_formed_and_ours(text: str) -> None:
    for block in parse(text).blocks:
        read(block_html(block.node, "k3x9d2ab"))


def test_hostile_words_stay_words_wherever_they_stand() -> None:
    marks: dict[str, Attrs] = {
        name: {} for name in ("bold", "italic", "strike", "code", "highlight", HOSTILE)
    }
    node = Node("paragraph", {}, (Text(HOSTILE, marks),))
    assert read(block_html(node)).text == HOSTILE
    opaque = Node("opaque", {"tag": HOSTILE, "ref": HOSTILE})
    assert read(block_html(opaque)).text == HOSTILE
    image = Node("image", {"src": HOSTILE, "alt": HOSTILE})
    assert read(block_html(image)).text == HOSTILE
    cell = Node("tableCell", {"colspan": HOSTILE, "align": HOSTILE, "rowspan": True}, (node,))
    table = Node("table", {}, (Node("tableRow", {}, (cell,)),))
    assert read(block_html(table)).text == HOSTILE
    heading = Node("heading", {"level": HOSTILE}, (Text(HOSTILE),))
    assert block_html(heading).startswith("<h1>")


@pytest.mark.parametrize(
    "address",
    [
        *("javascript:alert(1)", " javascript:x", "JaVaScRiPt:x", "data:text/html,x", "vbscript:x"),
        *("//evil.example", "java\tscript:x", "/\\evil.example", "file:///etc/passwd", ""),
        "\x01http://x",
    ],
)
def test_an_address_that_is_no_web_address_is_no_link(address: str) -> None:
    node = Node("paragraph", {}, (Text("here", {"link": {"href": address}}),))
    assert block_html(node) == "<p>here</p>"


def test_links_lists_and_tables_look_like_it() -> None:
    table = "| a | b |\n|:-:|---|\n| 1 | 2 |\n"
    text = f"[a](https://example.org/?a=1&b=2)\n\n3. x\n\n- [x] done\n\n{table}"
    html = "".join(block_html(block.node) for block in parse(text).blocks)
    reader = read(html)
    assert reader.links == ["https://example.org/?a=1&b=2"]
    assert '<ol start="3"><li><p>x</p></li></ol>' in html
    assert '<input type="checkbox" disabled checked>' in html
    assert '<th class="center">' in html
