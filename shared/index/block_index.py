"""The index: which block has which id, kept exact by following what transactions touch.

`settle` runs after a transaction: it reads the touched elements as they are then, gives out ids
(`shared.index.settlement`) and says what happened (`shared.feed.change_rows`). Nothing here costs
more than what was touched: a document of 10,000 blocks is typed in like one of 100.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec
from pycrdt import XmlElement, XmlFragment, XmlText

from shared.feed.block_changes import Draft
from shared.feed.change_rows import Step, change_rows
from shared.ids import is_block_id
from shared.index.observer import BlockObserver, Slot, id_attribute
from shared.index.reader import BlockReader, StockReader
from shared.index.record import Entry, Lately, SavedIndex, SpliceWriter, carry_on
from shared.index.settlement import Known, Seen, Touched, Words, settle_ids
from shared.tree import NO_HINTS, Hints, Node
from shared.yjs.raw_xml import raw_transaction

__all__ = ["BlockIndex", "SavedIndex", "Settled"]

_AS_BEFORE: Final[Mapping[str, Hints]] = {}
Placed = Sequence[tuple[int, Slot]]


class Settled(msgspec.Struct, frozen=True):
    """What became of a transaction.

    Attributes:
        splice: To be stored beside the update; b"" when no entry changed.
        rows: For the change feed.
        touched: Ids of blocks that came, went or were changed inside.
    """

    splice: bytes = b""
    rows: tuple[Draft, ...] = ()
    touched: frozenset[str] = frozenset()


NOTHING: Final = Settled()
OPAQUE: Final = "opaque"  # type of a node no stock editor knows


class BlockIndex:
    """The blocks of one fragment in order. Made by `attach`; call `detach` before dropping it.

    Between a transaction and its settling the answers are those of before.
    """

    def __init__(self, fragment: XmlFragment, mint: Callable[[], str], reader: BlockReader) -> None:
        self._fragment = fragment
        self._mint = mint
        self._reader = reader
        self._observer = BlockObserver(fragment)
        self._slots: dict[str, Slot] = {}
        self._carriers: Counter[str] = Counter()  # blocks by the attribute last seen on them
        self._lately = Lately()
        self._ids: tuple[str, ...] | None = None
        self._cold: deque[Slot] = deque()  # words not read since the load

    # --- life ------------------------------------------------------------------------------------

    @classmethod
    def attach(
        cls,
        fragment: XmlFragment,
        saved: SavedIndex | None,
        mint: Callable[[], str],
        now_ms: int,
        reader: BlockReader | None = None,
    ) -> tuple[BlockIndex, Settled]:
        """An index that follows `fragment` from now on. No transaction may be open.

        With `saved` None the document is new to us: valid, unique attributes become ids, others are
        minted, and there are no rows. A saved index that does not fit is settled anew, and the rows
        tell the difference.
        """
        index = cls(fragment, mint, reader or StockReader())
        if saved is None:
            settled = index._restart((), now_ms, own=True)
            return index, msgspec.structs.replace(settled, rows=())
        return index, index._load(saved, now_ms)

    def _load(self, saved: SavedIndex, now_ms: int) -> Settled:
        self._lately = saved.lately
        slots = self._fitting(saved.entries)
        if slots is None:
            return self._restart([Slot(None, entry) for entry in saved.entries], now_ms, own=False)
        self._observer.adopt(slots)
        for slot, entry in zip(slots, saved.entries, strict=True):
            self._enter(slot, entry)
            if entry.known.words.head is None:
                self._cold.append(slot)
        return NOTHING

    def _fitting(self, entries: Sequence[Entry]) -> list[Slot] | None:
        """Slots of the children when they are as many as `entries` and carry the same ids."""
        children = self._observer.blocks()
        if children is None or len(children) != len(entries):
            return None
        with self._fragment.doc.transaction():
            txn = raw_transaction(self._fragment)
            for child, entry in zip(children, entries, strict=True):
                if id_attribute(child, txn) != entry.known.attribute:
                    return None
        return [Slot(child) for child in children]

    def _restart(self, before: Sequence[Slot], now_ms: int, *, own: bool) -> Settled:
        for slot in before:
            if slot.entry is not None:
                self._enter(slot, slot.entry)
        self._observer.astray = True
        self._observer.order.replace_all(before)
        return self._settle(now_ms, _AS_BEFORE, own=own)

    def detach(self) -> None:
        """Stop following the fragment. The observers hold the index: without this it is kept."""
        self._observer.detach()

    def save(self) -> bytes:
        """The whole index, for a checkpoint. Everything must be settled."""
        entries = [slot.entry for slot in self._observer.order if slot.entry is not None]
        return SavedIndex(entries, self._lately).dump()

    # --- reading ---------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, block_id: object) -> bool:
        return block_id in self._slots

    @property
    def ids(self) -> Sequence[str]:
        """The ids in document order."""
        if self._ids is None:
            entries = (slot.entry for slot in self._observer.order)
            self._ids = tuple(entry.id for entry in entries if entry is not None)
        return self._ids

    def position(self, block_id: str) -> int | None:
        """The block's place, in `ids` and among the children of the fragment."""
        slot = self._slots.get(block_id)
        return None if slot is None else self._observer.order.place(slot)

    def element(self, block_id: str) -> XmlElement | XmlText:
        """The block's element. Raises KeyError for an unknown id, as all below do."""
        element = self._slots[block_id].element
        if element is None:
            raise KeyError(block_id)
        return element

    def hints(self, block_id: str) -> Hints:
        """The block's style hints."""
        return _entry_of(self._slots[block_id]).hints

    def fingerprint(self, block_id: str) -> str:
        """16 hex digits that differ exactly when the block's Markdown does."""
        return _entry_of(self._slots[block_id]).fingerprint

    def node(self, block_id: str) -> Node:
        """The block as a tree; read once per change."""
        slot = self._slots[block_id]
        if slot.node is None:
            with self._fragment.doc.transaction():
                slot.node = self._reader.read(self.element(block_id), block_id)
        return slot.node

    def foreign(self) -> bool:
        """Whether the fragment has children that are no blocks.

        While it has, `settle` settles nothing: repair in a transaction of your own and settle
        that; it tells of both.
        """
        return self._observer.astray and self._observer.blocks() is None

    def warm(self, count: int) -> bool:
        """Read the words of up to `count` blocks not read since the load; True when all are.

        What changes before goes by place where words would decide. A block that holds other words
        than the index says counts as touched: the next settling puts it right.
        """
        if not self._cold:
            return True
        observer = self._observer
        with self._fragment.doc.transaction():
            while self._cold and count > 0:
                slot = self._cold.popleft()
                if slot.element is None or slot in observer.touched:
                    continue
                entry = _entry_of(slot)
                if entry.known.words.head is None:
                    count -= 1
                    words = Words.of(self._reader.words(slot.element, slot.node))
                    if words.digest != entry.known.words.digest:
                        observer.touch(slot)
                        continue
                    known = msgspec.structs.replace(entry.known, words=words)
                    slot.entry = msgspec.structs.replace(entry, known=known)
        return not self._cold

    # --- settling --------------------------------------------------------------------------------

    def settle(self, now_ms: int) -> Settled:
        """Settle ids after a transaction that came from outside; empty when it touched no block."""
        return self._settle(now_ms, _AS_BEFORE, own=False)

    def settle_own(self, now_ms: int, hints: Mapping[str, Hints] = _AS_BEFORE) -> Settled:
        """The same after a transaction of the server's own.

        New elements carry their id in the attribute `id`, others keep theirs; `hints` are those of
        the blocks named, others keep theirs as long as they keep their type.
        """
        return self._settle(now_ms, hints, own=True)

    def _settle(self, now_ms: int, hints: Mapping[str, Hints], *, own: bool) -> Settled:
        observer = self._observer
        for block_id in hints:
            slot = self._slots.get(block_id)
            if slot is not None and not slot.gone:
                observer.touch(slot)
        observer.check()
        if not observer.touched and not observer.astray:
            return NOTHING
        if (slot := observer.alone()) is not None and not hints:
            return self._settle_alone(slot, now_ms)
        settled_anew = observer.astray
        if settled_anew and not observer.restart(list(observer.order)):
            return NOTHING
        self._lately.forget(now_ms)
        with self._fragment.doc.transaction():
            placed = observer.placed()
            touched = self._look(placed)
            if own and not settled_anew:
                ids = self._own_ids(touched)
            else:
                ids = self._settled_ids(touched, adopt=own)
            after = [
                None
                if block_id is None or one.after is None
                else self._entry(slot, one.after, block_id, hints)
                for (_, slot), one, block_id in zip(placed, touched, ids, strict=True)
            ]
        return self._finish(now_ms, placed, after)

    def _settle_alone(self, slot: Slot, now_ms: int) -> Settled:
        """What a keystroke takes: the rules leave the only block touched its id."""
        old = _entry_of(slot)
        self._lately.forget(now_ms)
        with self._fragment.doc.transaction():
            ((place, _),) = self._observer.placed()
            seen = self._see(slot)
            assert seen is not None
            slot.entry = entry = self._entry(slot, seen, old.id, _AS_BEFORE)
        writer = SpliceWriter()
        writer.keep(place)
        writer.replace(old, entry)
        self._observer.settled()
        same = entry.fingerprint == old.fingerprint
        rows = () if same else (Draft(old.id, "changed"),)
        return Settled(writer.done(now_ms), rows, frozenset((old.id,)))

    def _look(self, placed: Placed) -> list[Touched]:
        """The touched elements as values. Only what changed inside is read."""
        touched = []
        last = -2
        for place, slot in placed:
            before = None if slot.entry is None else slot.entry.known
            attribute_set = slot.attribute_set and not slot.gone
            touched.append(Touched(before, self._see(slot), attribute_set, place == last + 1))
            last = place
        return touched

    def _see(self, slot: Slot) -> Seen | None:
        if slot.element is None:
            return None
        if slot.entry is None:
            attribute = id_attribute(slot.element, raw_transaction(self._fragment))
        else:
            attribute = slot.attribute if slot.attribute_set else slot.entry.known.attribute
            if not slot.inside:
                return Seen(attribute, slot.entry.known.look, slot.entry.known.words)
        slot.node = self._reader.read(slot.element)
        look = self._reader.fingerprint(slot.node, NO_HINTS)
        return Seen(attribute, look, Words.of(self._reader.words(slot.element, slot.node)))

    # --- whose id --------------------------------------------------------------------------------

    def _settled_ids(self, touched: Sequence[Touched], *, adopt: bool) -> list[str | None]:
        """Ids by the rules. `adopt`: where they say "a fresh one", a valid attribute is as good."""
        touched_carriers = Counter(one.before.attribute for one in touched if one.before)
        minted: set[str] = set()

        def carried_elsewhere(value: str) -> bool:
            return self._carriers[value] > touched_carriers[value]

        def mint() -> str:
            block_id = self._fresh(minted)
            minted.add(block_id)
            return block_id

        ids = settle_ids(touched, self._lately, carried_elsewhere, mint)
        if adopt:
            for at, one in enumerate(touched):
                value = one.after.attribute if one.after else None
                free = value is not None and is_block_id(value) and not self._taken(value, minted)
                if ids[at] in minted and value is not None and free:
                    minted.add(value)
                    ids[at] = value
        return ids

    def _own_ids(self, touched: Sequence[Touched]) -> list[str | None]:
        """Ids after a transaction of the server's own."""
        free = {one.before.id for one in touched if one.before and one.after is None}
        given: set[str] = set()
        ids: list[str | None] = []
        for one in touched:
            block_id = None
            if one.before and one.after:
                block_id = one.before.id
            elif one.after:
                block_id = one.after.attribute
                known = block_id in self._slots and block_id not in free
                if block_id is None or known or block_id in given or not is_block_id(block_id):
                    block_id = self._fresh(given)
                given.add(block_id)
            ids.append(block_id)
        return ids

    def _fresh(self, given: set[str]) -> str:
        while self._taken(block_id := self._mint(), given):
            pass
        return block_id

    def _taken(self, block_id: str, given: set[str]) -> bool:
        return block_id in self._slots or block_id in self._lately or block_id in given

    # --- what becomes of it ----------------------------------------------------------------------

    def _entry(self, slot: Slot, seen: Seen, block_id: str, hints: Mapping[str, Hints]) -> Entry:
        known = Known(block_id, seen.attribute, seen.look, seen.words)
        if slot.node is None or not (slot.inside or slot.entry is None):
            return msgspec.structs.replace(_entry_of(slot), known=known)
        kind = slot.node.type
        kept = self._kept_hints(block_id, kind)
        own_hints = hints.get(block_id, kept)
        if kind == OPAQUE:  # its text names its id
            assert slot.element is not None
            slot.node = self._reader.read(slot.element, block_id)
        elif own_hints == NO_HINTS:
            return Entry(known, seen.look, NO_HINTS, kind)
        return Entry(known, self._reader.fingerprint(slot.node, own_hints), own_hints, kind)

    def _kept_hints(self, block_id: str, kind: str) -> Hints:
        """The hints the id had, unless its type is another now."""
        slot = self._slots.get(block_id)
        before = self._lately.get(block_id) if slot is None else slot.entry
        return before.hints if before is not None and before.type == kind else NO_HINTS

    def _finish(self, now_ms: int, placed: Placed, after: Sequence[Entry | None]) -> Settled:
        before = {slot.entry.id: slot.entry for _, slot in placed if slot.entry is not None}
        now = {entry.id: entry for entry in after if entry is not None}
        steps: list[Step] = []
        writer = SpliceWriter()
        told: set[str] = set()
        written = 0
        for n, ((place, slot), entry) in enumerate(zip(placed, after, strict=True)):
            old, old_id = slot.entry, None if slot.entry is None else slot.entry.id
            steps.append(Step(old_id, None if entry is None else entry.id, place - n))
            writer.keep(place - written)
            writer.replace(old, entry)
            written = place + 1
            if slot.inside or old is None or entry is None:
                told.update(one.id for one in (old, entry) if one is not None)
        rows = change_rows(
            steps,
            {block_id: entry.fingerprint for block_id, entry in before.items()},
            {block_id: entry.fingerprint for block_id, entry in now.items()},
        )
        if any(step.before != step.after for step in steps):
            self._ids = None
        self._exchange(placed, after)
        carry_on(self._lately, before, now, now_ms)
        self._observer.settled()
        return Settled(writer.done(now_ms), rows, frozenset(told))

    def _exchange(self, placed: Placed, after: Sequence[Entry | None]) -> None:
        for _, slot in placed:
            if slot.entry is not None:
                self._leave(slot.entry)
        for (_, slot), entry in zip(placed, after, strict=True):
            slot.entry = None
            if entry is not None:
                self._enter(slot, entry)

    def _enter(self, slot: Slot, entry: Entry) -> None:
        slot.entry = entry
        self._slots[entry.id] = slot
        if entry.known.attribute is not None:
            self._carriers[entry.known.attribute] += 1

    def _leave(self, entry: Entry) -> None:
        del self._slots[entry.id]
        value = entry.known.attribute
        if value is not None:
            self._carriers[value] -= 1
            if not self._carriers[value]:
                del self._carriers[value]


def _entry_of(slot: Slot) -> Entry:
    assert slot.entry is not None
    return slot.entry
