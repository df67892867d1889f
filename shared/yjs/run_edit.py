"""One XmlText edited in place: only the characters and marks that differ are touched.

Marks a reader of Markdown does not see (unknown ones, link targets) stay on every character that
is kept; a new character between two that carry the same unknown mark takes it, as when typed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

import msgspec

from shared.editor_shape import is_known_mark, mark_name, stock_mark
from shared.markdown.canon import WHITE, canon_marks
from shared.tree import Attrs
from shared.yjs.build import copy_value
from shared.yjs.raw_xml import RawText, RawTransaction, byte_offsets
from shared.yjs.text_diff import Edit, diff

BREAK: Final = "\ud800"  # stands for a hard break in a flat text
FIRST_OBJECT: Final = 0xD801  # the surrogates from here on stand for opaque objects
_EDGES: Final = frozenset({"bold", "italic", "strike"})  # mean nothing on a blank at their end

SYMBOL: Final = 0  # the run of breaks and objects: without marks, and kept as they are

Marks = Mapping[str, Any]  # as stored: the value of a mark is whatever a client wrote


class Flat(msgspec.Struct):
    """Text with one code point a character or object, and for each the run it belongs to."""

    text: str
    owners: list[int]  # position -> index into `runs`
    runs: list[Marks]

    def part(self, start: int, end: int) -> Flat:
        return Flat(self.text[start:end], self.owners[start:end], self.runs)

    def precious(self) -> bytes:
        """For each position whether it carries an unknown mark; empty when none does."""
        unknown = [any(not is_known_mark(key) for key in run) for run in self.runs]
        return bytes(unknown[owner] for owner in self.owners) if any(unknown) else b""

    def marks(self, at: int) -> Marks:
        """The marks at a position; none beyond the ends."""
        return self.runs[self.owners[at]] if 0 <= at < len(self.owners) else {}


class RunEdit:
    """Turns one XmlText from `old` into `new`.

    Args:
        loose: For a mark, the positions in `new` where having it or not means the same.
        objects: What the surrogates in `new` stand for, to be copied when one is inserted.
    """

    def __init__(
        self, raw: RawText, txn: RawTransaction, old: Flat, new: Flat, objects: Mapping[str, Any]
    ) -> None:
        self._raw = raw
        self._txn = txn
        self._old = old
        self._new = new
        self._objects = objects
        self._edits: Sequence[Edit] = ()

    def apply(self, loose: Loose, edits: Sequence[Edit] | None = None) -> bool:
        """Make the change; whether there was any."""
        old = self._old
        self._edits = diff(old.text, self._new.text, old.precious()) if edits is None else edits
        self._write_text()
        changes = self._mark_changes(loose)
        offsets = byte_offsets_of(self._new.text, changes)
        for (start, end), marks in changes.items():
            length = offsets[end] - offsets[start]
            self._raw.format(self._txn, offsets[start], length, iter(marks.items()))
        return bool(self._edits or changes)

    def _write_text(self) -> None:
        """Insertions first, last one first: what is copied must still be there."""
        points = [at for edit in self._edits for at in (edit.at, edit.at + edit.delete)]
        offsets = byte_offsets(self._old.text, points)
        places = list(zip(offsets[::2], offsets[1::2], self._edits, strict=True))
        shift = sum(len(edit.insert) - edit.delete for edit in self._edits)
        lengths: list[int] = []
        for start, _, edit in reversed(places):
            shift -= len(edit.insert) - edit.delete
            lengths.append(self._insert(start, edit, edit.at + shift))
        added = sum(lengths)
        for (start, end, _), length in zip(reversed(places), lengths, strict=True):
            if end > start:
                self._raw.remove_range(self._txn, start + added, end - start)
            added -= length

    def _insert(self, offset: int, edit: Edit, at: int) -> int:
        """Insert what stands at position `at` of the new text; return its length in bytes."""
        left = self._old.marks(edit.at - 1)
        right = self._old.marks(edit.at + edit.delete)
        ended = dict.fromkeys(key for marks in self._old.runs for key in marks)
        done = 0
        for owner, group in groupby(range(at, at + len(edit.insert)), self._new.owners.__getitem__):
            marks = ended | inherited(left, right) | spelled(self._new.runs[owner], left, right)
            ended |= dict.fromkeys(marks)
            for piece in self._pieces(list(group)):
                done += copy_value(self._raw, self._txn, offset + done, piece, marks)
        return done

    def _pieces(self, positions: Sequence[int]) -> Iterator[Any]:
        text = self._new.text[positions[0] : positions[-1] + 1]
        if text.isascii():
            yield text
            return
        for is_object, group in groupby(text, self._objects.__contains__):
            if is_object:
                yield from (self._objects[symbol] for symbol in group)
            else:
                yield "".join(group)

    def _mark_changes(self, loose: Loose) -> dict[tuple[int, int], dict[str, Any]]:
        """What has to be formatted: (start, end) in the new text -> marks to set, None to end."""
        old, new = self._old, self._new
        if not any(old.runs) and not any(new.runs):
            return {}
        found: list[_Change] = []
        last: dict[str, _Change] = {}
        for start, end, was, becomes in self._kept_runs():
            for key, value in changed_marks(old.runs[was], new.runs[becomes]).items():
                before = last.get(key)
                if before is not None and before.end == start and before.value == value:
                    before.end = end
                else:
                    found.append(change := _Change(start, end, key, value))
                    last[key] = change
        changes: dict[tuple[int, int], dict[str, Any]] = {}
        for change in found:
            loose.shrink(change)
            if change.start < change.end:
                changes.setdefault((change.start, change.end), {})[change.key] = change.value
        return changes

    def _kept_runs(self) -> Iterator[tuple[int, int, int, int]]:
        """Stretches that stay: start and end in the new text, their run in both."""
        old, new = self._old, self._new
        at = shift = 0
        for edit in (*self._edits, Edit(len(old.text), 0, "")):
            owners = zip(old.owners[at : edit.at], new.owners[at + shift :], strict=False)
            start = at + shift
            for (was, becomes), group in groupby(owners):
                end = start + sum(1 for _ in group)
                if becomes != SYMBOL:
                    yield start, end, was, becomes
                start = end
            at = edit.at + edit.delete
            shift += len(edit.insert) - edit.delete


class _Change(msgspec.Struct):
    start: int
    end: int
    key: str
    value: Any


class Loose:
    """Where a mark means nothing: on blanks that do not have it on both sides.

    Editors put it there (a double click selects the blank behind a word), Markdown cannot say it;
    it is left as it is at the ends of a change.
    """

    def __init__(
        self, flat: Flat, start: int = 0, cache: dict[str, bytearray] | None = None
    ) -> None:
        self._flat = flat
        self._start = start
        self._cache = {} if cache is None else cache

    def part(self, start: int) -> Loose:
        """The same for a text that begins at `start`."""
        return Loose(self._flat, start, self._cache)

    def shrink(self, change: _Change) -> None:
        """Take the positions that mean nothing off both ends of a change."""
        name = mark_name(change.key)
        if name not in _EDGES:
            return
        if name not in self._cache:
            self._cache[name] = _meaningless(self._flat, name)
        nothing, offset = self._cache[name], self._start
        while change.start < change.end and nothing[offset + change.start]:
            change.start += 1
        while change.start < change.end and nothing[offset + change.end - 1]:
            change.end -= 1


def _meaningless(flat: Flat, name: str) -> bytearray:
    """For each position 1 where the mark `name` means nothing."""
    marked = [name in canon_marks(dict(run)) for run in flat.runs]
    white = [char in WHITE or char == BREAK for char in flat.text]
    code = [any(mark_name(key) == "code" for key in run) for run in flat.runs]
    result = bytearray(len(flat.text))
    at = 0
    solid_before = False
    for is_white, group in groupby(
        range(len(flat.text)), lambda it: white[it] and not code[flat.owners[it]]
    ):
        positions = list(group)
        at = positions[-1] + 1
        if is_white:
            after = at < len(flat.text) and marked[flat.owners[at]]
            if not (solid_before and after):
                result[positions[0] : at] = b"\1" * len(positions)
        else:
            solid_before = marked[flat.owners[at - 1]]
    return result


def byte_offsets_of(text: str, ranges: Mapping[tuple[int, int], object]) -> dict[int, int]:
    """Byte offsets of all ends of the ranges."""
    points = sorted({point for both in ranges for point in both})
    return dict(zip(points, byte_offsets(text, points), strict=True))


def inherited(left: Marks, right: Marks) -> dict[str, Any]:
    """The unknown marks a character between the two takes."""
    return {
        key: value
        for key, value in left.items()
        if value is not None and not is_known_mark(key) and right.get(key) == value
    }


def spelled(marks: Mapping[str, Attrs], left: Marks, right: Marks) -> dict[str, Any]:
    """The marks of a new run, spelled as a neighbour has them, else as a stock editor would."""
    result: dict[str, Any] = {}
    for key, attrs in marks.items():
        told = canon_marks({key: attrs})
        for near in (left, right):
            twin = next((k for k in near if told and _told(k, near[k]) == told), None)
            if twin is not None:
                result[twin] = near[twin]
                break
        else:
            result[key] = stock_mark(key, attrs)
    return result


def changed_marks(old: Marks, new: Mapping[str, Attrs]) -> dict[str, Any]:
    """What to format on kept characters: marks to set, None for those to end."""
    told = canon_marks(dict(new))
    changes: dict[str, Any] = {}
    satisfied: set[str] = set()
    for key, value in old.items():
        if value is None or not (had := _told(key, value)):
            continue
        name = mark_name(key)
        if told.get(name) == had[name]:
            satisfied.add(name)
        else:
            changes[key] = None
    for key, attrs in new.items():
        if is_known_mark(key):
            if mark_name(key) not in satisfied and mark_name(key) in told:
                was = old.get(key)
                changes[key] = stock_mark(key, attrs, was if isinstance(was, dict) else None)
        elif old.get(key) != attrs:
            changes[key] = attrs
    return changes


def _told(key: str, value: Any) -> dict[str, Attrs]:
    """What a stored mark says to a reader; empty for an unknown one."""
    return canon_marks({key: value if isinstance(value, dict) else {}})
