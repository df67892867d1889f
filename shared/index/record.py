"""The block index as stored: whole in every checkpoint, as a splice beside every update.

A splice says at which places entries were replaced, so replaying the log gives the list of any
moment, and with it the ids removed in the last minutes, which may still come back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from shared.errors import DocumentCorrupt
from shared.index.settlement import BLANK, Known, Words
from shared.limits import MAX_REMEMBERED, REMEMBER_REMOVED_MS
from shared.tree import NO_HINTS, Hints

FORMAT: Final = 1
_Record = list[Any]  # see `_pack`


class Entry(msgspec.Struct, frozen=True):
    """What the index holds of a block.

    Attributes:
        known: Id, attribute, fingerprint without hints, words.
        hints: What Markdown says of a list and no editor keeps.
        fingerprint: Over the block with its hints: differs exactly when its text does.
        type: Type of the node, kept with hints: they go when it changes.
    """

    known: Known
    fingerprint: str
    hints: Hints = NO_HINTS
    type: str = ""

    @property
    def id(self) -> str:
        return self.known.id


class Removed(msgspec.Struct, frozen=True):
    """An entry whose block went, and when (milliseconds)."""

    at: int
    entry: Entry


class Lately:
    """The ids removed within the last ten minutes and not present."""

    def __init__(self, removed: Iterable[Removed] = ()) -> None:
        self._removed: dict[str, Removed] = {}  # by time
        self._by_words: dict[bytes, dict[str, None]] = {}
        self._by_attribute: dict[str, dict[str, None]] = {}
        for one in removed:
            self.add(one.entry, one.at)

    def __contains__(self, block_id: object) -> bool:
        return block_id in self._removed

    def __iter__(self) -> Iterator[Removed]:
        return iter(self._removed.values())

    def with_words(self, digest: bytes) -> Sequence[Known]:
        return self._latest_first(self._by_words.get(digest, ()))

    def with_attribute(self, value: str) -> Sequence[Known]:
        return self._latest_first(self._by_attribute.get(value, ()))

    def get(self, block_id: str) -> Entry | None:
        removed = self._removed.get(block_id)
        return None if removed is None else removed.entry

    def add(self, entry: Entry, at: int) -> None:
        self.discard(entry.id)
        known = entry.known
        self._removed[known.id] = Removed(at, entry)
        self._by_words.setdefault(known.words.digest, {})[known.id] = None
        if known.attribute is not None:
            self._by_attribute.setdefault(known.attribute, {})[known.id] = None

    def discard(self, block_id: str) -> None:
        removed = self._removed.pop(block_id, None)
        if removed is None:
            return
        known = removed.entry.known
        _discard(self._by_words, known.words.digest, block_id)
        if known.attribute is not None:
            _discard(self._by_attribute, known.attribute, block_id)

    def forget(self, now_ms: int) -> None:
        """Drop what was removed too long ago, and the oldest past the limit."""
        surplus = len(self._removed) - MAX_REMEMBERED
        old = []
        for n, (block_id, removed) in enumerate(self._removed.items()):
            if n >= surplus and removed.at >= now_ms - REMEMBER_REMOVED_MS:
                break
            old.append(block_id)
        for block_id in old:
            self.discard(block_id)

    def _latest_first(self, ids: Iterable[str]) -> list[Known]:
        """By time, the latest first; those of one time in the order they stood in."""
        removed = [self._removed[block_id] for block_id in ids]
        removed.sort(key=lambda one: -one.at)
        return [one.entry.known for one in removed]


class SavedIndex:
    """An index as it was stored: what `BlockIndex.attach` goes on from."""

    def __init__(self, entries: Iterable[Entry] = (), removed: Iterable[Removed] = ()) -> None:
        self.entries = list(entries)
        self.lately = Lately(removed)

    @classmethod
    def load(cls, checkpoint: bytes, splices: Sequence[bytes]) -> SavedIndex:
        """The index after `splices`, in order; empty ones say nothing changed.

        An empty `checkpoint` is an empty index.

        Raises:
            DocumentCorrupt: The bytes are not what this version writes, or do not fit together.
        """
        try:
            saved = cls() if not checkpoint else cls._unpack(checkpoint)
            for splice in splices:
                if splice:
                    saved.apply(splice)
        except (msgspec.MsgspecError, ValueError, TypeError, IndexError) as error:
            raise DocumentCorrupt(f"the block index cannot be read: {error}") from error
        return saved

    def dump(self) -> bytes:
        """The whole, as `load` takes it."""
        entries = [_pack(entry) for entry in self.entries]
        removed = [(one.at, _pack(one.entry)) for one in self.lately]
        return msgspec.msgpack.encode((FORMAT, entries, removed))

    @classmethod
    def _unpack(cls, data: bytes) -> SavedIndex:
        version, entries, removed = msgspec.msgpack.decode(data)
        if version != FORMAT:
            raise ValueError(f"format {version}")
        return cls(map(_entry, entries), (Removed(at, _entry(record)) for at, record in removed))

    def apply(self, splice: bytes) -> None:
        """Carry the index on by what one transaction did to it."""
        at, operations = msgspec.msgpack.decode(splice)
        dropped: dict[str, Entry] = {}
        put: list[str] = []
        place = 0
        for skip, drop, records in operations:
            place += skip
            old = self.entries[place : place + drop]
            if len(old) != drop:
                raise ValueError("a splice goes past the end")
            new = [
                without_attribute(old[n]) if record is None else _entry(record)
                for n, record in enumerate(records)
            ]
            self.entries[place : place + drop] = new
            place += len(new)
            dropped.update((entry.id, entry) for entry in old)
            put += [entry.id for entry in new]
        carry_on(self.lately, dropped, put, at)


def carry_on(lately: Lately, before: dict[str, Entry], after: Iterable[str], at: int) -> None:
    """Remember what was there `before` and is not `after`; forget what is back or too old."""
    back = set(after)
    for block_id in back:
        lately.discard(block_id)
    for block_id, entry in before.items():
        if block_id not in back:
            lately.add(entry, at)
    lately.forget(at)


class SpliceWriter:
    """Gathers what one transaction did to the entries; told of them in order.

    A block that lost its attribute and nothing else is one byte: editors that do not know the
    attribute strip it from every block of the document with one Enter.
    """

    def __init__(self) -> None:
        self._operations: list[tuple[int, int, list[_Record | None]]] = []
        self._skip = 0
        self._aligned = False  # as many dropped as put, so far

    def keep(self, count: int) -> None:
        """`count` entries stay as they are."""
        if count:
            self._skip += count
            self._aligned = False

    def replace(self, old: Entry | None, new: Entry | None) -> None:
        """`old` (None: nothing) is taken out and `new` (None: nothing) put in its place."""
        was = None if old is None else _pack(old)
        record = None if new is None else _pack(new)
        if was == record:
            self.keep(0 if old is None else 1)
            return
        stripped = record is not None and was is not None and record == [was[0], None, *was[2:]]
        if self._skip or not self._operations or (stripped and not self._aligned):
            self._operations.append((self._skip, 0, []))
            self._skip = 0
            self._aligned = True
        skip, drop, records = self._operations[-1]
        if new is not None:
            records.append(None if stripped else record)
        self._operations[-1] = (skip, drop + (old is not None), records)
        self._aligned = self._aligned and old is not None and new is not None

    def done(self, at: int) -> bytes:
        """The splice; b"" when every entry stayed as it was."""
        return msgspec.msgpack.encode((at, self._operations)) if self._operations else b""


def without_attribute(entry: Entry) -> Entry:
    if entry.known.attribute is None:
        return entry
    known = msgspec.structs.replace(entry.known, attribute=None)
    return msgspec.structs.replace(entry, known=known)


def _pack(entry: Entry) -> _Record:
    known = entry.known
    attribute = True if known.attribute == known.id else known.attribute
    record: _Record = [known.id, attribute, bytes.fromhex(known.look), known.words.digest]
    if entry.hints != NO_HINTS or entry.fingerprint != known.look:
        fingerprint = bytes.fromhex(entry.fingerprint)
        record += [fingerprint, entry.hints.loose, entry.hints.delimiter, entry.type]
    return record


def _entry(record: _Record) -> Entry:
    block_id, attribute, look, digest, *more = record
    words = Words(digest, "" if digest == BLANK else None)
    known = Known(block_id, block_id if attribute is True else attribute, look.hex(), words)
    if not more:
        return Entry(known, known.look)
    fingerprint, loose, delimiter, kind = more
    return Entry(known, fingerprint.hex(), Hints(loose, delimiter), kind)


def _discard(index: dict[Any, dict[str, None]], key: bytes | str, block_id: str) -> None:
    ids = index[key]
    del ids[block_id]
    if not ids:
        del index[key]
