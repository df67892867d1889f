"""What transactions touch: a fragment's children in order, followed by their events.

Observers only collect. Children are observed at the fragment, the inside of each block at the
block: one deep observer on the fragment costs the square of the events of a transaction, because
they are sorted by path and each path walks the siblings.

A removed element may not be looked at again, not even to compare it: its memory is gone. So a block
is known by its place in the list, and its element is dropped with its removal.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import zip_longest
from typing import Any, Final, Protocol

from pycrdt import Subscription, XmlElement, XmlFragment, XmlText

from shared.index.order import PIECE, BlockOrder
from shared.index.record import Entry
from shared.limits import MAX_ID_ATTRIBUTE_CHARS
from shared.tree import Node
from shared.yjs.raw_xml import RawTransaction

ID: Final = "id"  # the attribute; a courtesy to editors, the index is the truth


class _Watch(Protocol):
    def drop(self) -> None: ...


class Slot:
    """A child of the fragment. `entry` is what the index held at the last settling."""

    __slots__ = (
        "attribute",
        "attribute_set",
        "element",
        "entry",
        "gone",
        "inside",
        "node",
        "piece",
        "watch",
    )

    def __init__(self, element: XmlElement | XmlText | None, entry: Entry | None = None) -> None:
        self.element = element
        self.entry = entry
        self.watch: _Watch | None = None
        self.piece: list[Any] | None = None
        self.node: Node | None = None  # as last read
        self.attribute: str | None = None  # as the last event said, if `attribute_set`
        self.attribute_set = False
        self.inside = False  # something but the attribute `id` was touched
        self.gone = False


class BlockObserver:
    """The children of `fragment` in order. Call `detach` before dropping it.

    Attributes:
        order: The children, with those removed since `settled` was called, marked as gone.
        touched: Those that came, went or were changed inside since then.
        astray: The order can no longer be told from events; `restart` reads it anew.
    """

    def __init__(self, fragment: XmlFragment) -> None:
        self.order: BlockOrder[Slot] = BlockOrder()
        self.touched: dict[Slot, None] = {}
        self.astray = False
        self._fragment = fragment
        self._gone = 0  # slots marked as gone
        self._moved = False  # children came or went
        self._watch: Subscription = fragment.observe(self._on_children)

    def adopt(self, slots: list[Slot]) -> None:
        """Start with `slots`: the children as they are, nothing touched."""
        self.order.replace_all(slots)
        for slot in slots:
            self._follow(slot)

    def detach(self) -> None:
        """Stop following. The observers hold this object: without it both live on."""
        self._fragment.unobserve(self._watch)
        for slot in self.order:
            _leave(slot)

    def blocks(self) -> list[XmlElement | XmlText] | None:
        """The children as they are; None when some are no blocks.

        A client that opened the root as another type leaves such; iterating stops at them silently.
        """
        children: list[Any] = list(self._fragment.children)
        whole = len(children) == len(self._fragment.children)
        return children if whole and all(map(_is_block, children)) else None

    def touch(self, slot: Slot) -> None:
        """Count `slot` as changed inside."""
        slot.inside = True
        self.touched[slot] = None

    def check(self) -> None:
        """Notice children that no event showed."""
        if self._moved and len(self._fragment.children) != len(self.order) - self._gone:
            self.astray = True

    def restart(self, before: Iterable[Slot]) -> bool:
        """Take all of `before` as removed and all children as new; False when some are no blocks.

        Both are listed side by side, so that places still say something.
        """
        children = self.blocks()
        if children is None:
            return False
        old = [slot for slot in before if slot.entry is not None]
        for slot in [*self.order, *old]:
            _leave(slot)
            slot.gone = True
            slot.element = slot.node = None
        pairs = zip_longest(old, map(Slot, children))
        slots = [slot for pair in pairs for slot in pair if slot is not None]
        self.order.replace_all(slots)
        self.touched = dict.fromkeys(slots)
        self._gone = len(old)
        self.astray = False
        return True

    def alone(self) -> Slot | None:
        """The only block touched, when nothing but its inside was; else None."""
        if len(self.touched) != 1 or self.astray:
            return None
        (slot,) = self.touched
        known = slot.entry is not None and slot.element is not None and not slot.gone
        return slot if known and slot.inside and not slot.attribute_set else None

    def placed(self) -> list[tuple[int, Slot]]:
        """What was touched, with places in `order`. A block that came and went is nothing."""
        for slot in [slot for slot in self.touched if slot.gone and slot.entry is None]:
            del self.touched[slot]
            self.order.remove(slot)
            self._gone -= 1
        return self.order.places(self.touched)

    def settled(self) -> None:
        """Drop the removed, follow the new, and start collecting afresh."""
        if self._gone > PIECE:
            self.order.replace_all([slot for slot in self.order if not slot.gone])
        for slot in self.touched:
            if not slot.gone:
                slot.inside = slot.attribute_set = False
                self._follow(slot)
            else:
                _leave(slot)
                if self._gone <= PIECE:
                    self.order.remove(slot)
        self.touched = {}
        self._gone = 0
        self._moved = False

    # --- events ----------------------------------------------------------------------------------

    def _on_children(self, event: Any) -> None:
        self._moved = True
        if self.astray:
            return
        place = 0
        for operation in event.delta:
            if "retain" in operation:
                place = self._skip(place, int(operation["retain"]))
            elif "delete" in operation:
                place = self._remove(place, int(operation["delete"]))
            else:
                place = self._insert(place, operation["insert"])

    def _skip(self, place: int, count: int) -> int:
        """The place `count` children further on; those gone do not count."""
        if not self._gone:
            return place + count
        while count > 0:
            here = self.order.slice(place, count)
            if not here:
                break
            place += len(here)
            count -= sum(not slot.gone for slot in here)
        return place

    def _remove(self, place: int, count: int) -> int:
        while count > 0:
            here = self.order.slice(place, count)
            if not here:
                self.astray = True
                break
            for slot in here:
                if not slot.gone:
                    count -= 1
                    slot.gone = True
                    slot.element = slot.node = None
                    self.touched[slot] = None
                    self._gone += 1
            place += len(here)
        return place

    def _insert(self, place: int, children: object) -> int:
        """Foreign children are left out of the list or come as something else."""
        if not isinstance(children, list) or place > len(self.order):
            self.astray = True
            return place
        slots = [Slot(child) for child in children if _is_block(child)]
        self.astray = self.astray or not slots or len(slots) != len(children)
        self.order.insert(place, slots)
        self.touched.update(dict.fromkeys(slots))
        return place + len(slots)

    def _follow(self, slot: Slot) -> None:
        """Observe the inside of a block.

        At the binding's own element: through pycrdt's wrapper it takes 18 µs instead of 1 and reads
        everything an event can say, needed or not.
        """
        if slot.watch is None and slot.element is not None:
            slot.watch = slot.element.integrated.observe_deep(partial(self._on_inside, slot))

    def _on_inside(self, slot: Slot, events: list[Any]) -> None:
        """The events of one block; that of the block itself, if any, comes first."""
        self.touched[slot] = None
        for event in events:
            if event.path:
                slot.inside = True
                return
            keys = event.keys
            if ID in keys:
                slot.attribute = id_value(keys[ID].get("newValue"))
                slot.attribute_set = True
            if len(keys) > (ID in keys) or event.delta:
                slot.inside = True


def id_attribute(element: XmlElement | XmlText, txn: RawTransaction) -> str | None:
    """The attribute `id` as far as the index takes note of it."""
    return id_value(element.integrated.attribute(txn, ID))


def id_value(value: object) -> str | None:
    """Any value is an attribute; one that is no short string says nothing."""
    if isinstance(value, str) and 0 < len(value) <= MAX_ID_ATTRIBUTE_CHARS:
        return value
    return None


def _is_block(child: object) -> bool:
    return isinstance(child, XmlElement | XmlText)


def _leave(slot: Slot) -> None:
    if slot.watch is not None:
        slot.watch.drop()
        slot.watch = None
