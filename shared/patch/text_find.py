"""Finding a quoted text in a document: as written, else as it reads, else nearly so.

Whoever quotes a text has it from a rendering, retyped it, or remembers it: spaces become
no-break spaces and back, quotes turn straight, escapes get lost. The readings are tried in order,
and the first in which the text occurs at all is the one that counts.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

_NUL: Final = "\x00"  # in no document, so nothing is found across two texts
_SPACE: Final = r"(?:[^\S\x00]|&nbsp;|&\#(?:32|160);)"
_ALIKE: Final = ('"“”„‟«»″', "'‘’‚‛′", "-‐‑‒–—−")
_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
_ESCAPED: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_FOLDED_SPACE: Final = re.compile(rf"{_SPACE}+")


class Spot(msgspec.Struct, frozen=True):
    """Characters `start` to `end` of text number `text`."""

    text: int
    start: int
    end: int


class Texts:
    """Texts to be searched as one."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._joined = _NUL.join(texts)
        self._starts: list[int] = []
        at = 0
        for text in texts:
            self._starts.append(at)
            at += len(text) + 1

    def exact(self, wanted: str, first: int, last: int) -> Iterator[Spot]:
        """Every place in the texts `first` to `last` (half-open), overlapping ones too."""
        if _NUL in wanted:
            return
        start, end = self._range(first, last)
        at = self._joined.find(wanted, start, end)
        while at >= 0:
            yield self._spot(at, at + len(wanted))
            at = self._joined.find(wanted, at + 1, end)

    def folded(self, wanted: re.Pattern[str], first: int, last: int) -> Iterator[Spot]:
        """The same by a pattern of `folded`; where one place can be read in two ways, once."""
        start, end = self._range(first, last)
        ended = -1
        while match := wanted.search(self._joined, start, end):
            if match.end() != ended:
                yield self._spot(*match.span())
            start, ended = match.start() + 1, match.end()

    def _range(self, first: int, last: int) -> tuple[int, int]:
        if first >= last:
            return 0, 0
        end = self._starts[last] - 1 if last < len(self._starts) else len(self._joined)
        return self._starts[first], end

    def _spot(self, start: int, end: int) -> Spot:
        text = bisect_right(self._starts, start) - 1
        return Spot(text, start - self._starts[text], end - self._starts[text])


def folded(wanted: str) -> re.Pattern[str] | None:
    """A pattern for a text whatever its spaces, quotes, dashes and escapes.

    None for one that cannot be found.
    """
    plain = _FOLDED_SPACE.sub(" ", _ESCAPED.sub(r"\1", wanted))
    if not plain.strip() or _NUL in plain:
        return None
    return re.compile("".join(_either(character) for character in plain))


def _either(character: str) -> str:
    if character == " ":
        return rf"{_SPACE}+"
    alike = next((kind for kind in _ALIKE if character in kind), character)
    one = f"[{re.escape(alike)}]" if len(alike) > 1 else re.escape(character)
    if character in _ENTITIES:
        one = f"(?:{_ENTITIES[character]}|{one})"
    return rf"\\?{one}" if _ESCAPED.match(f"\\{character}") else one


def strip_lines(text: str) -> str:
    """Without empty lines at the ends, which come from copying."""
    return re.sub(r"\A(?:[ \t]*\n)+|(?:\n[ \t]*)+\Z", "", text)


Search = Callable[[Texts, str, int, int], list[Spot]]


def as_written(texts: Texts, wanted: str, first: int, last: int) -> list[Spot]:
    return list(texts.exact(wanted, first, last))


def nearly(texts: Texts, wanted: str, first: int, last: int) -> list[Spot]:
    pattern = folded(strip_lines(wanted))
    return [] if pattern is None else list(texts.folded(pattern, first, last))
