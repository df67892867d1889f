"""Writes the content of one textblock, each way with less trust in the reader than the last."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable
from enum import Enum
from itertools import pairwise
from typing import Final

from markdown_it.common.html_re import HTML_OPEN_CLOSE_TAG_STR
from markdown_it.common.utils import isMdAsciiPunct, isPunctChar, isWhiteSpace
from markdown_it.rules_inline.autolink import AUTOLINK_RE, EMAIL_RE

from shared.markdown.build_inline import NOTHING, TAG_MARKS
from shared.markdown.canon import CARRIER, Inline
from shared.markdown.destination import link_tail
from shared.markdown.escape import (
    EVERYTHING,
    Run,
    caution,
    escape,
    escape_all,
    guard_edges,
    guard_heading,
    guard_lines,
    verbatim_end,
)
from shared.markdown.spans import Edge, spans
from shared.tree import Node, Text

_TAGS: Final = {mark: tag for tag, mark in TAG_MARKS.items()}
_SIGNS: Final = {"bold": "**", "italic": "*", "strike": "~~"}
_LONE_TAG: Final = re.compile(HTML_OPEN_CLOSE_TAG_STR)
_TICKS: Final = re.compile("`+")

Part = str | Edge


class Place(Enum):
    """Where a textblock stands; it decides how breaks and line starts are written."""

    PARAGRAPH = "paragraph"
    BULLET = "bullet"  # the first paragraph of a bullet without a box
    TASK = "task"  # the first paragraph of a task, right behind its box
    HEADING = "heading"
    CELL = "cell"


class InlineWriter:
    """The ways to write one textblock; `ways` has them from the nicest to the surest."""

    def __init__(self, content: Inline, place: Place) -> None:
        self._content = content
        self._place = place
        self._spans = spans(content)
        edges = [part for part in self._spans if isinstance(part, Edge)]
        self._all = {edge.span for edge in edges}
        self._autolinks = {edge.span for edge in edges if _is_autolink(edge, content)}
        self._literal = {edge.items[0] for edge in edges if edge.span in self._autolinks}
        runs = [item for item in content if isinstance(item, Text)]
        marks = {edge.mark for edge in edges} | {"code" for run in runs if "code" in run.marks}
        self._care = caution([run.text for run in runs if "code" not in run.marks], marks)
        self._last = len(content) - 1
        self._last_run = next(
            (at for at in range(self._last, -1, -1) if isinstance(content[at], Text)), -1
        )

    def ways(self) -> Iterable[Callable[[], str]]:
        """Ways that read back as the same content nearly always; `inert` is for the rest."""
        if not self._all:
            return (self.bare, self.plain, self.careful)
        return (self.bare, self.plain, self.apart, self.tagged, self.careful)

    def bare(self) -> str:
        """As `plain`, and no sign inside a line escaped: most mean nothing where they stand."""
        parts = self._parts(self._unescaped)
        return self._finish(parts, self._not_flanking(parts, set()))

    def plain(self) -> str:
        """Delimiters everywhere but where one alone could not open or close."""
        parts = self._parts(self._escaped)
        return self._finish(parts, self._not_flanking(parts, set()))

    def apart(self) -> str:
        """As `plain`, and tags for spans whose delimiters touch others of the same sign."""
        parts = self._parts(self._escaped)
        tagged = _touching(parts)
        return self._finish(parts, tagged | self._not_flanking(parts, tagged))

    def tagged(self) -> str:
        """Tags for every span."""
        return self._finish(self._parts(self._escaped), self._all)

    def careful(self) -> str:
        """Tags for every span, and every sign escaped that can ever mean something."""
        return self._finish(self._parts(self._guarded), self._all)

    def inert(self) -> str:
        """Tags for every span, and no character of the text that could mean anything."""
        return self._finish(self._parts(_inert), self._all)

    def _parts(self, spell: Callable[[Text, int], str]) -> list[Part]:
        return [part if isinstance(part, Edge) else self._leaf(part, spell) for part in self._spans]

    def _leaf(self, at: int, spell: Callable[[Text, int], str]) -> str:
        item = self._content[at]
        if isinstance(item, Node):
            inside = at < self._last_run and self._place not in _ONE_LINE
            return "\\\n" if inside else "<br>"
        if at in self._literal:
            return item.text
        return _code_span(item.text) if "code" in item.marks else spell(item, at)

    def _unescaped(self, item: Text, at: int) -> str:
        return self._escaped(item, at) if CARRIER in item.text else item.text

    def _escaped(self, item: Text, at: int) -> str:
        run = Run(linked="link" in item.marks, last=at == self._last)
        if CARRIER not in item.text:
            return escape(item.text, self._care, run)
        parts: list[str] = []
        done = 0
        mark = item.text.find(CARRIER)
        while mark >= 0:
            end = verbatim_end(item.text, mark + 1)
            if end >= 0:
                inner = escape(item.text[done:mark], self._care, Run(linked=run.linked))
                parts += (inner, item.text[mark + 1 : end])
                done = end
            mark = item.text.find(CARRIER, max(mark + 1, end))
        return "".join((*parts, escape(item.text[done:], self._care, run)))

    def _guarded(self, item: Text, at: int) -> str:
        run = Run(linked="link" in item.marks, last=at == self._last)
        return escape(item.text, EVERYTHING, run)

    def _finish(self, parts: list[Part], tagged: set[int]) -> str:
        text = "".join(self._spelled(parts, tagged))
        if self._place is Place.HEADING:
            return guard_edges(guard_heading(text))
        if self._place is Place.CELL:
            return guard_edges(text)
        if self._place is Place.TASK:
            return guard_edges(guard_lines(text, behind_box=True))
        if _LONE_TAG.fullmatch(text):
            return _lone_tag(text)
        return guard_edges(guard_lines(text, bullet=self._place is Place.BULLET))

    def _spelled(self, parts: list[Part], tagged: set[int]) -> list[str]:
        return [part if isinstance(part, str) else self._edge(part, tagged) for part in parts]

    def _edge(self, edge: Edge, tagged: set[int]) -> str:
        if edge.span in self._autolinks:
            return "<" if edge.opens else ">"
        if edge.mark == "link":
            tail = link_tail(edge.attrs["href"], edge.attrs.get("title", ""))
            return "[" if edge.opens else f"]{tail}"
        if edge.mark in _SIGNS and edge.span not in tagged:
            return _SIGNS[edge.mark]
        tag = _TAGS[edge.mark]
        color = edge.attrs.get("color")
        if edge.opens and color is not None:
            quoted = html.escape(color).replace("\n", "&#10;").replace("\r", "&#13;")
            return f'<{tag} data-color="{quoted}">'
        return f"<{tag}>" if edge.opens else f"</{tag}>"

    def _not_flanking(self, parts: list[Part], tagged: set[int]) -> set[int]:
        """Spans whose delimiters, by what stands beside them, could not open or close."""
        texts = self._spelled(parts, tagged)
        failing: set[int] = set()
        for at, part in enumerate(parts):
            if isinstance(part, str) or part.mark not in _SIGNS or part.span in tagged:
                continue
            sign = _SIGNS[part.mark][0]
            before = _neighbour((texts[n] for n in range(at - 1, -1, -1)), sign, -1)
            after = _neighbour((texts[n] for n in range(at + 1, len(texts))), sign, 0)
            inner, outer = (after, before) if part.opens else (before, after)
            if not _may_stand(inner, outer):
                failing.add(part.span)
        return failing


_ONE_LINE: Final = frozenset({Place.HEADING, Place.CELL})


def _lone_tag(tag: str) -> str:
    """A tag alone in its paragraph, so that it is no HTML block: with a line end inside if it can.

    On one line a complete tag would be one; white space inside a tag is white space.
    """
    name, _, rest = tag.partition(" ")
    return f"{name}\n{rest}" if rest[:1].isalpha() else tag + NOTHING


def _inert(item: Text, at: int) -> str:
    del at
    return escape_all(item.text)


def _is_autolink(edge: Edge, content: Inline) -> bool:
    """Whether a link can be written `<url>`: its text is its address and nothing else is said."""
    at, end = edge.items
    item = content[at]
    if edge.mark != "link" or end != at + 1 or not isinstance(item, Text):
        return False
    if "title" in edge.attrs or len(item.marks) > 1:
        return False
    if item.text == edge.attrs["href"]:
        return AUTOLINK_RE.search(item.text) is not None
    return f"mailto:{item.text}" == edge.attrs["href"] and EMAIL_RE.search(item.text) is not None


def _code_span(text: str) -> str:
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * (longest + 1)
    blank = text[0] == text[-1] == " " and text.strip(" ")
    pad = " " if blank or text[0] == "`" or text[-1] == "`" else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _neighbour(texts: Iterable[str], sign: str, index: int) -> str:
    """The character next to a run of delimiters."""
    return next((text[index] for text in texts if text.strip(sign)), " ")


def _may_stand(inner: str, outer: str) -> bool:
    """CommonMark's flanking rule, from the inside of a span."""
    if isWhiteSpace(ord(inner)):
        return False
    free = isWhiteSpace(ord(outer)) or _is_punctuation(outer)
    return free or not _is_punctuation(inner)


def _is_punctuation(character: str) -> bool:
    return isMdAsciiPunct(ord(character)) or isPunctChar(character)


def _touching(parts: list[Part]) -> set[int]:
    """Spans with a delimiter right beside another one of the same sign."""
    touching: set[int] = set()
    for one, other in pairwise(parts):
        if isinstance(one, Edge) and isinstance(other, Edge):
            sign = _SIGNS.get(one.mark, "")[:1]
            if sign and sign == _SIGNS.get(other.mark, "")[:1]:
                touching |= {one.span, other.span}
    return touching
