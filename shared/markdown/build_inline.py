"""Inline tokens to runs of text with marks, and breaks.

What has no mark stays as it was written, as text behind U+2063: inline HTML, images inside a line,
footnote references, links without text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from markdown_it.token import Token

from shared.editor_shape import stock_mark
from shared.markdown.canon import CARRIER, HARD_BREAK, Inline
from shared.markdown.destination import link_tail
from shared.tree import Attrs, Node, Text

TAG_MARKS: Final = {
    "strong": "bold",
    "em": "italic",
    "del": "strike",
    "u": "underline",
    "mark": "highlight",
    "sub": "subscript",
    "sup": "superscript",
}
_TOKEN_MARKS: Final = {"strong": "bold", "em": "italic", "s": "strike"}
OUR_TAG: Final = re.compile(r'<(/?)(strong|em|del|u|mark|sub|sup)(?: data-color="([^"<>\n]*)")?>\Z')
BREAK_TAG: Final = re.compile(r"<br ?/?>\Z")
NOTHING: Final = "<!---->"  # keeps a line that is one tag from being an HTML block
PARAGRAPH_TAG: Final = "<p>"  # between the paragraphs of a table cell
_LINE_END: Final = re.compile("\r\n?|\n")
_ESCAPABLE: Final = re.compile(r"([\\\[\]<>&`*_~!])")


class InlineBuilder:
    """Builds the content of one textblock; several when `<p>` tags divide it (a table cell).

    Attributes:
        paragraphs: What was built: a list of items each.
    """

    def __init__(self, tokens: Sequence[Token], *, divided: bool = False) -> None:
        self.paragraphs: list[list[Node | Text]] = [[]]
        self._divided = divided
        self._tokens = tokens
        self._open: dict[str, list[Attrs]] = {}  # of each mark what is open, outermost first
        self._marks: dict[str, Attrs] = {}
        self._linked = False  # whether the open link has text
        self._paired = _pair_tags(tokens) if len(tokens) > 1 else set()
        for number, token in enumerate(tokens):
            take = self._TAKE.get(token.type)
            if take:
                take(self, token)
            elif token.type == "html_inline":
                self._html(token.content, number)
            elif token.nesting > 0:
                self._start(_TOKEN_MARKS[token.tag], {})
            else:
                self._end(_TOKEN_MARKS[token.tag])

    def _plain(self, token: Token) -> None:
        """Text; a line end that was written as an entity is white space, as in HTML."""
        text = token.content
        if "\n" in text or "\r" in text:
            text = _LINE_END.sub(" ", text)
        self._text(text)

    def _soft_break(self, _token: Token) -> None:
        if self.paragraphs[-1][-1:] != [HARD_BREAK]:
            self._text(" ")

    def _hard_break(self, _token: Token) -> None:
        self.paragraphs[-1].append(HARD_BREAK)

    def _code(self, token: Token) -> None:
        self._text(token.content, {**self._marks, "code": {}})

    def _image(self, token: Token) -> None:
        self._verbatim(image_source(token))

    def _footnote(self, token: Token) -> None:
        self._verbatim(token.content)

    def _text(self, text: str, marks: dict[str, Attrs] | None = None) -> None:
        if not text:
            return
        marks = self._marks if marks is None else marks
        items = self.paragraphs[-1]
        self._linked = True
        if items and isinstance(last := items[-1], Text) and last.marks == marks:
            items[-1] = Text(last.text + text, marks)
        else:
            items.append(Text(text, marks))

    def _verbatim(self, source: str) -> None:
        self._text(CARRIER + source.replace("\n", " "))

    def _html(self, tag: str, number: int) -> None:
        if BREAK_TAG.match(tag):
            self.paragraphs[-1].append(HARD_BREAK)
        elif tag == PARAGRAPH_TAG and self._divided:
            self.paragraphs.append([])
        elif number in self._paired:
            match = OUR_TAG.match(tag)
            assert match
            mark = TAG_MARKS[match[2]]
            if match[1]:
                self._end(mark)
            else:
                color = {} if match[3] is None else {"color": html.unescape(match[3])}
                self._start(mark, stock_mark(mark, color))
        elif not (tag == NOTHING and number and _one_tag(self._tokens)):
            self._verbatim(tag)

    def _link_open(self, token: Token) -> None:
        href, title = str(token.attrs.get("href", "")), token.attrs.get("title")
        named = {"href": href, "title": str(title)} if title else {"href": href}
        self._start("link", stock_mark("link", named))
        self._linked = False

    def _link_close(self, _token: Token) -> None:
        link = self._open["link"][-1]
        self._end("link")
        if not self._linked:  # nothing in it that could bear the mark
            self._verbatim("[]" + link_tail(link["href"], link.get("title") or ""))

    def _start(self, mark: str, attrs: Attrs) -> None:
        self._open.setdefault(mark, []).append(attrs)
        self._marks = {**self._marks, mark: attrs}

    def _end(self, mark: str) -> None:
        opened = self._open[mark]
        opened.pop()
        if not opened:
            del self._open[mark]
        self._marks = {name: attrs[-1] for name, attrs in self._open.items()}

    _TAKE: ClassVar[dict[str, Callable[[InlineBuilder, Token], None]]] = {
        "text": _plain,
        "softbreak": _soft_break,
        "hardbreak": _hard_break,
        "code_inline": _code,
        "image": _image,
        "footnote_reference": _footnote,
        "link_open": _link_open,
        "link_close": _link_close,
    }


def _one_tag(tokens: Sequence[Token]) -> bool:
    return len(tokens) == 2 and tokens[0].type == "html_inline"


def _pair_tags(tokens: Sequence[Token]) -> set[int]:
    """Indices of our own tags that have their counterpart in this textblock."""
    paired: set[int] = set()
    waiting: dict[str, list[int]] = {}
    for number, token in enumerate(tokens):
        if token.type != "html_inline" or not (match := OUR_TAG.match(token.content)):
            continue
        closing, name, color = match.groups()
        if color is not None and (closing or name != "mark"):
            continue
        if not closing:
            waiting.setdefault(name, []).append(number)
        elif waiting.get(name):
            paired |= {waiting[name].pop(), number}
    return paired


def build_inline(tokens: Sequence[Token]) -> Inline:
    """The content of one textblock."""
    return tuple(InlineBuilder(tokens).paragraphs[0])


def alt_of(image: Token) -> str:
    """An image's description as plain text."""
    return plain_alt(image.children or [])


def plain_alt(tokens: Sequence[Token]) -> str:
    """The plain text of an image's description."""
    parts = []
    for token in tokens:
        if token.type in {"text", "code_inline", "html_inline", "footnote_reference"}:
            parts.append(token.content)
        elif token.type in {"softbreak", "hardbreak"}:
            parts.append(" ")
        elif token.type == "image":
            parts.append(alt_of(token))
    return "".join(parts)


def image_source(token: Token) -> str:
    """An image's own source; with a reference in it, what that reference stands for."""
    if "label" not in token.meta:
        return str(token.meta["source"])
    alt = _ESCAPABLE.sub(r"\\\1", alt_of(token))
    tail = link_tail(str(token.attrs["src"]), str(token.attrs.get("title", "")))
    return f"![{alt}]{tail}"
