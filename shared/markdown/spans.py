"""Marks as nested spans: the longest-running one stands outside."""

from __future__ import annotations

from typing import Final

import msgspec

from shared.markdown.canon import MARK_ORDER, Inline
from shared.tree import Attrs, Text

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
    if not any(isinstance(item, Text) and item.marks for item in content):
        return list(range(len(content)))
    return _Nesting(_marks(content)).written


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


def _marks(content: Inline) -> list[dict[str, Attrs]]:
    """The marks of each run but code; of a break, those that the runs on both sides share."""
    before = _nearest(content)
    after = _nearest(content[::-1])[::-1]
    return [
        left if left is right else {m: attrs for m, attrs in left.items() if right.get(m) == attrs}
        for left, right in zip(before, after, strict=True)
    ]


def _nearest(content: Inline) -> list[dict[str, Attrs]]:
    """For each item the marks of the last run up to it."""
    nearest: list[dict[str, Attrs]] = []
    marks: dict[str, Attrs] = {}
    for item in content:
        if isinstance(item, Text):
            marks = {mark: attrs for mark, attrs in item.marks.items() if mark != "code"}
        nearest.append(marks)
    return nearest
