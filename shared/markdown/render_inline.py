"""Inline content to Markdown.

Written as a person would, then read back: where CommonMark understands something else (`**"a"**b`
is not bold), the marks in the way become HTML tags, and where that is not enough every punctuation
character is escaped. The last resort is always understood.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from enum import Enum
from typing import Final

import msgspec
from markdown_it.common.utils import isMdAsciiPunct, isPunctChar, isWhiteSpace
from markdown_it.rules_inline.autolink import AUTOLINK_RE, EMAIL_RE

from shared.markdown.build import EMPTY_TEXT, BlockBuilder
from shared.markdown.build_inline import NOTHING, TAG_MARKS, InlineBuilder
from shared.markdown.canon import CARRIER, HARD_BREAK, MARK_ORDER, Inline, canon, canon_inline
from shared.markdown.destination import link_tail
from shared.markdown.escape import (
    PLAIN,
    Caution,
    caution,
    escape,
    escape_all,
    guard_edges,
    guard_heading,
    guard_lines,
    verbatim_end,
)
from shared.markdown.parser import block_tokens, inline_tokens
from shared.tree import Attrs, Node, Text

_TAGS: Final = {mark: tag for tag, mark in TAG_MARKS.items()}
_SIGNS: Final = {"bold": "**", "italic": "*", "strike": "~~"}
_TICKS: Final = re.compile("`+")
_NO_BREAK_SPACE: Final = "\u00a0"


class Place(Enum):
    """Where a textblock stands; it decides how breaks and line starts are written."""

    PARAGRAPH = "paragraph"
    BULLET = "bullet"  # the first paragraph of a bullet without a box
    HEADING = "heading"
    CELL = "cell"


class Edge(msgspec.Struct, frozen=True):
    """Where a marked span opens or closes."""

    mark: str
    attrs: Attrs
    span: int
    opens: bool
    bare: bool = False  # an autolink: `<` and `>`


Part = str | Edge


def render_inline(content: Inline, place: Place) -> str:
    """Canonical inline content as Markdown that reads back as the same content."""
    if len(content) == 1:
        (only,) = content
        if isinstance(only, Text) and not only.marks:
            if PLAIN.match(only.text):
                return only.text
            if only.text == _NO_BREAK_SPACE:
                return "&#160;"
    if not content:
        return "" if place in {Place.HEADING, Place.CELL} else EMPTY_TEXT
    writer = _Writer(content, place)
    for attempt in (writer.plain, writer.apart, writer.tagged):
        if _reads_back(text := attempt(), content, place):
            return text
    return writer.inert()


def _reads_back(text: str, content: Inline, place: Place) -> bool:
    try:
        if place is Place.CELL:
            (items,) = InlineBuilder(inline_tokens(text), divided=True).paragraphs
            return text != EMPTY_TEXT and canon_inline(items) == content
        if place is Place.HEADING:
            blocks = BlockBuilder(block_tokens(f"# {text}"), "").blocks()
            expected = Node("heading", {"level": 1}, content)
        else:
            blocks = BlockBuilder(block_tokens(text), "").blocks()
            expected = Node("paragraph", {}, content)
    except (RecursionError, ValueError):
        return False
    return len(blocks) == 1 and canon(blocks[0].node) == expected


class _Writer:
    """Writes one textblock, each attempt with less trust than the one before."""

    def __init__(self, content: Inline, place: Place) -> None:
        self._content = content
        self._place = place
        self._marks = [_marks_at(content, number) for number in range(len(content))]
        texts = [
            item.text for item in content if isinstance(item, Text) and "code" not in item.marks
        ]
        marks = frozenset(mark for known in self._marks for mark in known) | frozenset(
            "code" for item in content if isinstance(item, Text) and "code" in item.marks
        )
        self._care = caution(texts, marks)
        self._spans = 0

    def plain(self) -> str:
        """Delimiters everywhere but where a lone span could not be one."""
        parts = self._parts(self._escaped)
        return self._finish(parts, _not_flanking(parts, set()))

    def apart(self) -> str:
        """As `plain`, and tags for spans whose delimiters touch others of the same sign."""
        parts = self._parts(self._escaped)
        tagged = _touching(parts)
        return self._finish(parts, tagged | _not_flanking(parts, tagged))

    def tagged(self) -> str:
        """Tags for every span."""
        parts = self._parts(self._escaped)
        return self._finish(parts, set(range(self._spans)))

    def inert(self) -> str:
        """Tags for every span, and no character left that could mean anything."""
        parts = self._parts(_inert)
        return self._finish(parts, set(range(self._spans)))

    def _parts(self, spell: Callable[[Text, bool], str]) -> list[Part]:
        self._spans = 0
        self._spell = spell
        parts: list[Part] = []
        self._write(0, len(self._content), frozenset(), parts)
        return parts

    def _write(self, start: int, end: int, within: frozenset[str], parts: list[Part]) -> None:
        """Items `start`…`end`, already inside the marks `within`; the longest span outermost."""
        at = start
        while at < end:
            open_marks = [mark for mark in self._marks[at] if mark not in within]
            if not open_marks:
                parts.append(self._leaf(at))
                at += 1
                continue
            mark = max(open_marks, key=lambda name: (self._reach(at, end, name), -_ORDER[name]))
            stop = self._reach(at, end, mark)
            self._span(at, stop, mark, within, parts)
            at = stop

    def _span(
        self, start: int, stop: int, mark: str, within: frozenset[str], parts: list[Part]
    ) -> None:
        attrs = self._marks[start][mark]
        span = self._spans
        self._spans += 1
        bare = mark == "link" and stop == start + 1 and self._is_autolink(start, attrs)
        parts.append(Edge(mark, attrs, span, opens=True, bare=bare))
        if bare:
            item = self._content[start]
            assert isinstance(item, Text)
            parts.append(item.text)
        else:
            self._write(start, stop, within | {mark}, parts)
        parts.append(Edge(mark, attrs, span, opens=False, bare=bare))

    def _reach(self, start: int, end: int, mark: str) -> int:
        attrs = self._marks[start][mark]
        at = start + 1
        while at < end and self._marks[at].get(mark) == attrs:
            at += 1
        return at

    def _is_autolink(self, at: int, attrs: Attrs) -> bool:
        item = self._content[at]
        if not isinstance(item, Text) or "title" in attrs or len(item.marks) > 1:
            return False
        if item.text == attrs["href"]:
            return AUTOLINK_RE.search(item.text) is not None
        return f"mailto:{item.text}" == attrs["href"] and EMAIL_RE.search(item.text) is not None

    def _leaf(self, at: int) -> str:
        item = self._content[at]
        if isinstance(item, Node):
            if self._place in {Place.HEADING, Place.CELL} or self._at_end(at):
                return "<br>"
            return "\\\n"
        if "code" in item.marks:
            return _code_span(item.text)
        return self._spell(item, at == len(self._content) - 1)

    def _at_end(self, at: int) -> bool:
        return all(item is HARD_BREAK or item == HARD_BREAK for item in self._content[at:])

    def _escaped(self, item: Text, last: bool) -> str:
        linked = "link" in item.marks
        if CARRIER not in item.text:
            return escape(item.text, self._care, linked=linked, last=last)
        return _with_carriers(item.text, self._care, linked=linked, last=last)

    def _finish(self, parts: list[Part], tagged: set[int]) -> str:
        text = "".join(_spell_edges(parts, tagged))
        if self._place is Place.HEADING:
            return guard_edges(guard_heading(text))
        if self._place is Place.CELL:
            return guard_edges(text)
        if text == "<br>":
            return text + NOTHING
        return guard_edges(guard_lines(text, bullet=self._place is Place.BULLET))


_ORDER: Final = {name: number for number, name in enumerate(MARK_ORDER)}


def _marks_at(content: Inline, at: int) -> dict[str, Attrs]:
    """The marks of a run but code; of a break, those of the runs on both sides."""
    item = content[at]
    if isinstance(item, Text):
        return {mark: attrs for mark, attrs in item.marks.items() if mark != "code"}
    before = next((x for x in reversed(content[:at]) if isinstance(x, Text)), None)
    after = next((x for x in content[at + 1 :] if isinstance(x, Text)), None)
    if before is None or after is None:
        return {}
    return {
        mark: attrs
        for mark, attrs in before.marks.items()
        if mark != "code" and after.marks.get(mark) == attrs
    }


def _inert(item: Text, last: bool) -> str:
    del last
    return escape_all(item.text)


def _with_carriers(text: str, care: Caution, *, linked: bool, last: bool) -> str:
    """Text between carried source escaped, the source itself as it is and without its U+2063."""
    parts: list[str] = []
    done = 0
    at = text.find(CARRIER)
    while at >= 0:
        end = verbatim_end(text, at + 1)
        if end >= 0:
            parts += (escape(text[done:at], care, linked=linked, last=False), text[at + 1 : end])
            done = end
        at = text.find(CARRIER, max(at + 1, end))
    return "".join((*parts, escape(text[done:], care, linked=linked, last=last)))


def _code_span(text: str) -> str:
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * (longest + 1)
    blank = text[0] == text[-1] == " " and text.strip(" ")
    pad = " " if blank or text[0] == "`" or text[-1] == "`" else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _spell_edges(parts: list[Part], tagged: set[int]) -> list[str]:
    return [part if isinstance(part, str) else _spell_edge(part, tagged) for part in parts]


def _spell_edge(edge: Edge, tagged: set[int]) -> str:
    if edge.mark == "link":
        if edge.bare:
            return "<" if edge.opens else ">"
        if edge.opens:
            return "["
        return "]" + link_tail(edge.attrs["href"], edge.attrs.get("title", ""))
    if edge.mark in _SIGNS and edge.span not in tagged:
        return _SIGNS[edge.mark]
    tag = _TAGS[edge.mark]
    if not edge.opens:
        return f"</{tag}>"
    color = edge.attrs.get("color")
    if color is None:
        return f"<{tag}>"
    return f'<{tag} data-color="{html.escape(color)}">'.replace("\n", "&#10;")


def _not_flanking(parts: list[Part], tagged: set[int]) -> set[int]:
    """Spans whose delimiters CommonMark would not let open or close, by what stands beside them."""
    texts = _spell_edges(parts, tagged)
    failing: set[int] = set()
    for at, part in enumerate(parts):
        if isinstance(part, str) or part.mark not in _SIGNS or part.span in tagged:
            continue
        sign = _SIGNS[part.mark][0]
        before = _neighbour(texts[:at][::-1], sign, -1)
        after = _neighbour(texts[at + 1 :], sign, 0)
        outer, inner = (before, after) if part.opens else (after, before)
        if _is_white(inner) or (
            _is_punctuation(inner) and not (_is_white(outer) or _is_punctuation(outer))
        ):
            failing.add(part.span)
    return failing


def _neighbour(texts: list[str], sign: str, index: int) -> str:
    for text in texts:
        if text and text.strip(sign):
            return text[index]
    return " "


def _is_white(character: str) -> bool:
    return isWhiteSpace(ord(character))


def _is_punctuation(character: str) -> bool:
    return isMdAsciiPunct(ord(character)) or isPunctChar(character)


def _touching(parts: list[Part]) -> set[int]:
    """Spans with a delimiter right beside another one of the same sign."""
    touching: set[int] = set()
    for one, other in zip(parts, parts[1:], strict=False):
        if isinstance(one, Edge) and isinstance(other, Edge):
            signs = _SIGNS.get(one.mark, "")[:1], _SIGNS.get(other.mark, " ")[:1]
            if signs[0] == signs[1]:
                touching |= {one.span, other.span}
    return touching
