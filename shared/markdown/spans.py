"""Marks as nested spans: the longest-running one stands outside."""

from __future__ import annotations

from typing import Final

import msgspec

from shared.markdown.canon import MARK_ORDER, Inline
from shared.tree import Attrs, Node, Text

_ORDER: Final = {name: number for number, name in enumerate(MARK_ORDER)}


class Edge(msgspec.Struct, frozen=True):
    """Where a span opens or closes.

    Attributes:
        span: Number of the span in its textblock, the same at both edges.
        items: The items it holds, `items[0]` up to `items[1]`.
    """

    mark: str
    attrs: Attrs
    span: int
    items: tuple[int, int]
    opens: bool


def spans(content: Inline) -> list[Edge | int]:
    """Edges and item numbers in the order they are written. Code is no span but its item's own."""
    marks = [marks_at(content, number) for number in range(len(content))]
    return _Nesting(marks).written


class _Nesting:
    def __init__(self, marks: list[dict[str, Attrs]]) -> None:
        self.written: list[Edge | int] = []
        self._marks = marks
        self._spans = 0
        self._write(0, len(marks), frozenset())

    def _write(self, start: int, end: int, within: frozenset[str]) -> None:
        at = start
        while at < end:
            waiting = [mark for mark in self._marks[at] if mark not in within]
            if not waiting:
                self.written.append(at)
                at += 1
                continue
            reaches = {mark: self._reach(at, end, mark) for mark in waiting}
            mark = max(waiting, key=lambda name: (reaches[name], -_ORDER[name]))
            self._span(at, reaches[mark], mark, within)
            at = reaches[mark]

    def _span(self, start: int, end: int, mark: str, within: frozenset[str]) -> None:
        edge = Edge(mark, self._marks[start][mark], self._spans, (start, end), opens=True)
        self._spans += 1
        self.written.append(edge)
        self._write(start, end, within | {mark})
        self.written.append(msgspec.structs.replace(edge, opens=False))

    def _reach(self, start: int, end: int, mark: str) -> int:
        attrs = self._marks[start][mark]
        at = start + 1
        while at < end and self._marks[at].get(mark) == attrs:
            at += 1
        return at


def marks_at(content: Inline, at: int) -> dict[str, Attrs]:
    """The marks of a run but code; of a break, those that the runs on both sides share."""
    item = content[at]
    if isinstance(item, Text):
        return {mark: attrs for mark, attrs in item.marks.items() if mark != "code"}
    before = _nearest(content, range(at - 1, -1, -1))
    after = _nearest(content, range(at + 1, len(content)))
    return {mark: attrs for mark, attrs in before.items() if after.get(mark) == attrs}


def _nearest(content: Inline, numbers: range) -> dict[str, Attrs]:
    for number in numbers:
        if not isinstance(content[number], Node):
            return marks_at(content, number)
    return {}
