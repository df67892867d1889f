"""The smallest readable change from one text to another.

Lines are compared first, then sentences, words and characters in what differs. What stays
between two changes is kept only when it is worth it: an island keeps marks, carets and what others
type in it where they are, but costs an update some 30 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import msgspec
from rapidfuzz.distance import LCSseq, Opcode, Postfix, Prefix

from shared.limits import MAX_MARKDOWN_CHARS

MAX_CELLS: Final = 2**27  # units x units compared at once: 16 MB and some 30 ms
MAX_CHARACTERS: Final = 400  # of a stretch that is compared character by character
MIN_CHARACTERS: Final = 4  # of an island inside a word
MANY_EDITS: Final = 6  # in a text rewritten all over, only long islands stay
MIN_ISLAND: Final = 16  # characters of such an island

_IDEOGRAPHS: Final = "\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_OBJECT: Final = re.compile(r"[\ud800-\udfff]")
_WORTH: Final = re.compile(rf"\w{{3}}|[{_IDEOGRAPHS}]{{2}}")


class Edit(msgspec.Struct, frozen=True):
    """At code point `at` of the old text: take out `delete` code points, put in `insert`."""

    at: int
    delete: int
    insert: str


class _Unit(msgspec.Struct, frozen=True):
    """A way to cut a text, and whether an island of such pieces is worth keeping."""

    cut: Callable[[str], Sequence[str]]
    worth: Callable[[str], object]
    longest: int = MAX_MARKDOWN_CHARS


_UNITS: Final = (
    _Unit(
        re.compile(r"[^\n\ud800-\udfff]*\n|[^\n\ud800-\udfff]+|[\ud800-\udfff]").findall,
        str.strip,
    ),
    _Unit(re.compile(r".*?[.!?][\"')\]]*\s+|.+", re.DOTALL).findall, str.strip),
    _Unit(re.compile(rf"[^\W{_IDEOGRAPHS}]+[ \t]*|.[ \t]*", re.DOTALL).findall, _WORTH.search),
    _Unit(list, lambda kept: len(kept) >= MIN_CHARACTERS, MAX_CHARACTERS),
)


def diff(old: str, new: str, precious: bytes = b"") -> list[Edit]:
    """The edits that turn `old` into `new`, ascending, something kept between each two.

    Common ends cost nothing. What differs is compared in pieces, in at most `MAX_CELLS` bit steps
    a stretch.

    Args:
        old: Code points; indices are counted in them.
        new: What `old` becomes.
        precious: For each code point of `old` whether it is worth an island by itself. A lone
            surrogate always is: it stands for an object.
    """
    edits = _Comparison(precious or bytes(len(old))).compare(old, new, 0, _UNITS)
    return _joined(edits, old, precious, MIN_ISLAND if len(edits) > MANY_EDITS else 1)


def apply(old: str, edits: Sequence[Edit]) -> str:
    """`old` with the edits made: `apply(old, diff(old, new)) == new`."""
    parts: list[str] = []
    done = 0
    for edit in edits:
        parts += [old[done : edit.at], edit.insert]
        done = edit.at + edit.delete
    return "".join([*parts, old[done:]])


class _Comparison:
    def __init__(self, precious: bytes) -> None:
        self._precious = precious

    def compare(self, old: str, new: str, at: int, units: Sequence[_Unit]) -> list[Edit]:
        """The edits of a stretch that begins at `at`."""
        start = Prefix.similarity(old, new)
        end = min(Postfix.similarity(old, new), len(old) - start, len(new) - start)
        old, new, at = old[start : len(old) - end], new[start : len(new) - end], at + start
        if not old and not new:
            return []
        if not old or not new or not units:
            return [Edit(at, len(old), new)]
        unit, *finer = units
        before, after = unit.cut(old), unit.cut(new)
        if max(len(old), len(new)) > unit.longest:
            return [Edit(at, len(old), new)]
        edits: list[Edit] = []
        for removed, inserted, start in self._stretches(before, after, at, unit):
            where = start
            for gone, put in _portions(removed, inserted):
                edits += self.compare(gone, put, where, finer)
                where += len(gone)
        return edits

    def _stretches(
        self, before: Sequence[str], after: Sequence[str], at: int, unit: _Unit
    ) -> list[tuple[list[str], list[str], int]]:
        """What differs: the old pieces, the new ones, and where the old ones begin."""
        found: list[tuple[list[str], list[str], int]] = []
        kept: list[str] = []
        for code in _aligned(before, after):
            removed = list(before[code.src_start : code.src_end])
            inserted = list(after[code.dest_start : code.dest_end])
            if code.tag == "equal":
                kept = removed
            elif found and not self._worth("".join(kept), at, unit):
                gone, put, _ = found[-1]
                gone += kept + removed
                put += kept + inserted
                kept = []
            else:
                found.append((removed, inserted, at))
                kept = []
            at += sum(map(len, removed))
        return found

    def _worth(self, kept: str, end: int, unit: _Unit) -> bool:
        return bool(kept and (unit.worth(kept) or any(self._precious[end - len(kept) : end])))


def _aligned(before: Sequence[str], after: Sequence[str]) -> Iterable[Opcode]:
    """Equal and different stretches in turn; too many pieces count as one that differs."""
    if len(before) * len(after) <= MAX_CELLS:
        return LCSseq.opcodes(before, after)
    return [Opcode("replace", 0, len(before), 0, len(after))]


def _portions(removed: Sequence[str], inserted: Sequence[str]) -> Iterator[tuple[str, str]]:
    """A stretch in the portions that are compared on: one, or piece by piece where it is long.

    As many pieces on both sides are mostly the same ones, a word in each replaced.
    """
    old, new = "".join(removed), "".join(inserted)
    if len(removed) == len(inserted) and len(old) * len(new) > MAX_CELLS:
        yield from zip(removed, inserted, strict=True)
    else:
        yield old, new


def _joined(edits: Sequence[Edit], old: str, precious: bytes, shortest: int) -> list[Edit]:
    """The edits with islands between them that are shorter than `shortest` given up."""
    result = [*edits[:1]]
    for edit in edits[1:]:
        last = result[-1]
        start = last.at + last.delete
        island = old[start : edit.at]
        if len(island) >= shortest or _OBJECT.search(island) or any(precious[start : edit.at]):
            result.append(edit)
            continue
        delete = edit.at + edit.delete - last.at
        result[-1] = Edit(last.at, delete, last.insert + island + edit.insert)
    return result
