"""Strategies for trees: everything the content rules allow, mostly what Markdown finds hard."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st

from shared.editor_shape import stock_attributes, stock_mark
from shared.tree import Hints, Node, Text

HARD_BREAK: Final = Node("hardBreak")

# Words and signs that mean something somewhere: line starts, delimiters, entities, HTML, spaces.
PIECES: Final = (
    *("a", "b", "word", "中", "文", "é", "😀", "\u3000", "\u00a0", "\u200b", "\u2028", "\u0301"),
    *(
        "1",
        "1.",
        "10)",
        "123456789.",
        "1234567890.",
        "-",
        "+",
        "*",
        "**",
        "***",
        "_",
        "__",
        "~",
        "~~",
    ),
    *(
        "~~~",
        "`",
        "``",
        "```",
        "#",
        "##",
        "#######",
        ">",
        "=",
        "===",
        "---",
        "- - -",
        "|",
        "||",
        "\\",
    ),
    *("[", "]", "(", ")", "](", "![", "[a](b)", "[ ] ", "[x] ", "[x]", "[^1]", "[^1]: x", "[a]: b"),
    *(
        "<",
        ">",
        "<b>",
        "</b>",
        "<u>",
        "</u>",
        "<br>",
        "<p>",
        "<div>",
        "<!--",
        "-->",
        "<!-- -->",
        "<?",
    ),
    *(
        "<http://a.b>",
        "http://a.b/c_d_e",
        "a@b.c",
        "<a@b.c>",
        "&",
        "&amp;",
        "&nbsp;",
        "&#35;",
        ";",
        "$",
    ),
    *(
        "$$",
        "$$ x $$",
        ":",
        ":-:",
        ":::",
        "!",
        '"',
        "'",
        "“",
        "」",
        "%",
        "^",
        "{",
        "}",
        "@",
        "/",
        "=",
    ),
    *(" ", "  ", "    ", "\t", "\n", "\x0b", "\x0c", "\x1f", "\x85", "\u2063", "\u2063<kbd>"),
    *(
        "\u2063[^1]",
        "\u2063![a](b)",
        "\u2063[](u)",
        "\u2063<div>",
        "\u2063<!-- opaque:mention 0.1 -->",
    ),
    *("[abcd1234-0a1b2c]", "<!-- opaque:callout abcd1234 -->", "| a | b |", "| --- | --- |", "|-|"),
)
_WORD: Final = st.sampled_from(PIECES)
_ANY: Final = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00\r"), max_size=4
)
TEXTS: Final = st.lists(st.one_of(_WORD, _WORD, _ANY), min_size=1, max_size=6).map("".join)
PLAIN_TEXTS: Final = TEXTS.filter(lambda text: "\n" not in text)
URLS: Final = st.one_of(
    st.sampled_from(
        ("u", "http://a.b", "https://e.org/a_b(c)", "mailto:a@b.c", "javascript:x", "#x", "", "a b")
    ),
    PLAIN_TEXTS,
)


def _link(href: str, title: str | None) -> dict[str, Any]:
    return stock_mark("link", {"href": href, "title": title})


def marks() -> st.SearchStrategy[dict[str, Any]]:
    plain = ("bold", "italic", "strike", "underline", "code", "subscript", "superscript")
    none: st.SearchStrategy[dict[str, Any]] = st.just({})
    some: st.SearchStrategy[dict[str, Any]] = st.lists(st.sampled_from(plain), max_size=3).map(
        lambda names: {n: {} for n in names}
    )
    links = st.builds(_link, URLS, st.one_of(st.none(), TEXTS)).map(lambda attrs: {"link": attrs})
    colors = st.one_of(st.none(), st.sampled_from(("#ff0", "red", 'a"b', "a<b&c", "x\ny")))
    highlights = colors.map(lambda color: {"highlight": {"color": color}})
    joined = st.tuples(some, st.one_of(none, none, links), st.one_of(none, none, highlights))
    return st.one_of(none, joined.map(lambda parts: {**parts[0], **parts[1], **parts[2]}))


def inline(max_size: int = 5) -> st.SearchStrategy[tuple[Node | Text, ...]]:
    run = st.builds(Text, TEXTS, marks())
    item = st.one_of(run, run, run, st.just(HARD_BREAK))
    autolink = st.sampled_from(("http://a.b", "x:y")).map(
        lambda url: (Text(url, {"link": _link(url, None)}),)
    )
    return st.one_of(st.lists(item, max_size=max_size).map(tuple), autolink)


def paragraphs() -> st.SearchStrategy[Node]:
    simple = PLAIN_TEXTS.map(lambda text: Node("paragraph", {}, (Text(text),)))
    return st.one_of(
        simple, simple, st.just(Node("paragraph")), inline().map(lambda c: Node("paragraph", {}, c))
    )


CODE_TEXTS: Final = st.lists(
    st.one_of(
        st.sampled_from(("", "  ", "\tx", "```", "`````", "~~~", "---", "- a", "x\\")), TEXTS
    ),
    max_size=4,
).map("\n".join)
LANGUAGES: Final = st.one_of(
    st.none(),
    st.sampled_from(
        ("py", "c++ {1,3}", "a`b", "=html", "=yaml", "=markdown", " x ", "&amp;", "\\*")
    ),
    PLAIN_TEXTS,
)
CARRIED: Final = st.sampled_from(
    (
        ("=html", "<div>\n*x*\n</div>"),
        ("=html", "<!-- a\n\nb -->"),
        ("=html", "<!-- open"),
        ("=html", "<script>\n\nx\n</script>"),
        ("=html", "<!-- -->"),
        ("=html", "<!-- no header -->"),
        ("=html", "<!-- opaque:x y -->"),
        ("=html", "<table><tr><td>a</td></tr></table>"),
        ("=html", "  <kbd>"),
        ("=html", "text"),
        ("=yaml", "title: x"),
        ("=yaml", ""),
        ("=yaml", "\nx"),
        ("=yaml", "a\n---\nb"),
        ("=markdown", "[a]: b"),
        ("=markdown", "[a]: b\n[b]: c"),
        ("=markdown", "[^1]: x\n\n    y"),
        ("=markdown", "$$\nx\n$$"),
        ("=markdown", "$$ x $$"),
        ("=markdown", "# x"),
    )
)


def _code(language: str | None, text: str) -> Node:
    attrs = stock_attributes("codeBlock", {"language": language})
    return Node("codeBlock", attrs, (Text(text),) if text else ())


def leaves() -> st.SearchStrategy[Node]:
    levels = st.integers(1, 6)
    images = st.builds(
        lambda src, alt, title: Node(
            "image", stock_attributes("image", {"src": src, "alt": alt, "title": title})
        ),
        URLS,
        st.one_of(st.none(), TEXTS),
        st.one_of(st.none(), TEXTS),
    )
    tags = st.sampled_from(("callout", "x-y", "mention"))
    return st.one_of(
        paragraphs(),
        paragraphs(),
        st.builds(lambda level, c: Node("heading", {"level": level}, c), levels, inline()),
        st.builds(_code, LANGUAGES, CODE_TEXTS),
        CARRIED.map(lambda pair: _code(*pair)),
        st.just(Node("horizontalRule")),
        images,
        tags.map(lambda tag: Node("opaque", {"tag": tag, "ref": "0.1"})),
    )


def containers(blocks: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    some = st.lists(blocks, min_size=1, max_size=3).map(tuple)
    body = st.tuples(paragraphs(), st.lists(blocks, max_size=2)).map(lambda t: (t[0], *t[1]))
    implied = blocks.map(lambda block: (Node("paragraph"), block))
    filled = st.one_of(body, implied)
    item = filled.map(lambda content: Node("listItem", {}, content))
    task = st.builds(lambda done, c: Node("taskItem", {"checked": done}, c), st.booleans(), filled)
    items = st.lists(item, min_size=1, max_size=3).map(tuple)
    tasks = st.lists(task, min_size=1, max_size=3).map(tuple)
    starts = st.sampled_from((0, 1, 1, 1, 2, 9, 10, 999_999_999))
    return st.one_of(
        items.map(lambda content: Node("bulletList", {}, content)),
        st.builds(lambda start, c: Node("orderedList", {"start": start}, c), starts, items),
        tasks.map(lambda content: Node("taskList", {}, content)),
        some.map(lambda content: Node("blockquote", {}, content)),
        tables(blocks),
    )


def tables(blocks: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    return st.one_of(_gfm_tables(), _any_tables(blocks))


def _cell_node(
    kind: str, align: str | None, content: tuple[Node, ...], across: int = 1, down: int = 1
) -> Node:
    attrs = {"align": align, "colspan": across, "rowspan": down}
    return Node(kind, stock_attributes(kind, attrs), content)


@st.composite
def _gfm_tables(draw: st.DrawFn) -> Node:
    aligns = draw(
        st.lists(st.sampled_from((None, "left", "center", "right")), min_size=1, max_size=3)
    )
    headed = draw(st.booleans())
    rows = []
    for number in range(draw(st.integers(1, 3))):
        kind = "tableHeader" if headed and not number else "tableCell"
        cells = [
            _cell_node(kind, align, tuple(draw(st.lists(paragraphs(), min_size=1, max_size=2))))
            for align in aligns
        ]
        rows.append(Node("tableRow", {}, tuple(cells)))
    return Node("table", {}, tuple(rows))


@st.composite
def _any_tables(draw: st.DrawFn, blocks: st.SearchStrategy[Node]) -> Node:
    rows = []
    for number in range(draw(st.integers(1, 3))):
        cells = [
            _cell_node(
                draw(st.sampled_from(("tableHeader", "tableCell"))),
                draw(st.sampled_from((None, "left"))),
                tuple(draw(st.lists(blocks, min_size=1, max_size=2))),
                draw(st.sampled_from((1, 1, 2))),
                draw(st.sampled_from((1, 1, 2, 3))),
            )
            for _ in range(draw(st.integers(0 if number else 1, 3)))
        ]
        rows.append(Node("tableRow", {}, tuple(cells)))
    return Node("table", {}, tuple(rows))


BLOCKS: Final = st.recursive(leaves(), containers, max_leaves=8)
HINTS: Final = st.builds(Hints, st.booleans(), st.sampled_from((".", ")")))

# Lines of Markdown as people and agents write it, to be thrown together.
LINES: Final = (
    *(
        "",
        "",
        "",
        "a",
        "b c",
        "# h",
        "h\n===",
        "h\n---",
        "- a",
        "- b",
        "* c",
        "+ d",
        "  - e",
        "    - f",
    ),
    *(
        "1. g",
        "2) h",
        "10. i",
        "   j",
        "    k",
        "\tl",
        "> q",
        "> > r",
        "> - s",
        ">",
        "```",
        "```py",
        "~~~",
    ),
    *(
        "---",
        "***",
        "- - -",
        "| a | b |",
        "|---|:-:|",
        "| 1 | 2 | 3 |",
        "a | b",
        "- [ ] t",
        "- [x] u",
    ),
    *(
        "- [ ]",
        "1. [ ] v",
        "[x]: /y",
        "[z]: <a b> 'T'",
        "[x]",
        "[w][z]",
        "[^1]",
        "[^1]: note",
        "    more",
    ),
    *(
        "<div>",
        "</div>",
        "<!-- c -->",
        "<!-- -->",
        "<!-- no header -->",
        "<!--",
        "-->",
        "<br>",
        "<kbd>k</kbd>",
    ),
    *(
        "<table><tr><td>a</td></tr></table>",
        "<u>*x*</u>",
        "**a *b* c**",
        "`c`",
        "![i](j)",
        "![i](j) k",
    ),
    *(
        "a\\",
        "a  ",
        "&nbsp;",
        "&amp;",
        "$$",
        "$$ x $$",
        "[abcd1234-0a1b2c]",
        "\\# n",
        "http://a.b",
        "<x:y>",
    ),
    *(
        "<!-- opaque:callout abcd1234 -->",
        "- ```",
        "- # h",
        "-",
        "1.",
        "\u3000z",
        "\ufeff",
        "\u2063<b>",
    ),
)
SOURCES: Final = st.lists(st.one_of(st.sampled_from(LINES), TEXTS), max_size=10).map("\n".join)
