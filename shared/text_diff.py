"""The smallest readable change from one text to another.

Lines are compared first, then words inside the stretches that differ, then characters. What stays
between two changes is kept only when it is worth it: an island keeps marks, carets and what others
type in it where they are, but costs an update some 30 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

import msgspec
from rapidfuzz.distance import LCSseq, Postfix, Prefix

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
    longest: int


_UNITS: Final = (
    _Unit(
        re.compile(r"[^\n\ud800-\udfff]*\n|[^\n\ud800-\udfff]+|[\ud800-\udfff]").findall,
        str.strip,
        2**62,
    ),
    _Unit(
        re.compile(rf"[^\W{_IDEOGRAPHS}]+[ \t]*|.[ \t]*", re.DOTALL).findall, _WORTH.search, 2**62
    ),
    _Unit(list, lambda kept: len(kept) >= MIN_CHARACTERS, MAX_CHARACTERS),
)


def diff(old: str, new: str, precious: bytes = b"") -> list[Edit]:
    """The edits that turn `old` into `new`, ascending, something kept between each two.

    Common ends cost nothing. What differs is compared in pieces; where that would take more than
    `MAX_CELLS`, it is replaced as a whole.

    Args:
        old: Code points; indices are counted in them.
        new: What `old` becomes.
        precious: For each code point of `old` whether it is worth an island by itself. A lone
            surrogate always is: it stands for an object.
    """
    edits = _Comparison(precious or bytes(len(old))).compare(old, new, 0, _UNITS)
    if len(edits) > MANY_EDITS:
        edits = _joined(edits, old, precious)
    return edits


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
        if max(len(old), len(new)) > unit.longest or len(before) * len(after) > MAX_CELLS:
            return [Edit(at, len(old), new)]
        edits: list[Edit] = []
        for removed, inserted, where in self._stretches(before, after, at, unit):
            edits += self.compare(removed, inserted, where, finer)
        return edits

    def _stretches(
        self, before: Sequence[str], after: Sequence[str], at: int, unit: _Unit
    ) -> list[tuple[str, str, int]]:
        """What differs: the old text, the new one, and where the old one begins."""
        found: list[tuple[str, str, int]] = []
        kept = ""
        for code in LCSseq.opcodes(before, after):
            removed = "".join(before[code.src_start : code.src_end])
            inserted = "".join(after[code.dest_start : code.dest_end])
            if code.tag == "equal":
                kept = removed
            elif found and not self._worth(kept, at, unit):
                gone, put, where = found[-1]
                found[-1] = (gone + kept + removed, put + kept + inserted, where)
                kept = ""
            else:
                found.append((removed, inserted, at))
                kept = ""
            at += len(removed)
        return found

    def _worth(self, kept: str, end: int, unit: _Unit) -> bool:
        return bool(kept and (unit.worth(kept) or any(self._precious[end - len(kept) : end])))


def _joined(edits: Sequence[Edit], old: str, precious: bytes) -> list[Edit]:
    """The edits with short islands between them given up."""
    result = [edits[0]]
    for edit in edits[1:]:
        last = result[-1]
        start = last.at + last.delete
        island = old[start : edit.at]
        if len(island) >= MIN_ISLAND or _OBJECT.search(island) or any(precious[start : edit.at]):
            result.append(edit)
            continue
        delete = edit.at + edit.delete - last.at
        result[-1] = Edit(last.at, delete, last.insert + island + edit.insert)
    return result
