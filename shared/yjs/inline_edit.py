"""The content of a textblock edited in place: XmlTexts with hard breaks and opaque objects between.

Both sides are flattened to one string, in which a surrogate stands for a break or an object, and
compared there. Each XmlText stays and takes the stretch that holds most of what is kept of it; one
of which nothing is left stays too, empty, because somebody may be typing in it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from shared.tree import Node
from shared.yjs.blocks import Path
from shared.yjs.build import NOTHING_KNOWN, Known, copy_element, is_copyable
from shared.yjs.flat_text import Stored, flatten, flatten_new
from shared.yjs.raw_xml import RawChild, RawElement, RawText, RawTransaction
from shared.yjs.run_edit import BREAK, Flat, Loose, RunEdit
from shared.yjs.text_diff import Edit, diff

_SYMBOLS: Final = re.compile("[\ud800-\udfff]")


class Workspace:
    """What the edits of one block share.

    Attributes:
        known: The block's opaque elements, to be copied where one stands at another place.
    """

    def __init__(self, txn: RawTransaction, known: Known) -> None:
        self.txn = txn
        self.known = known
        self._removed: list[tuple[RawElement, int]] = []

    def remove(self, parent: RawElement, at: int) -> None:
        """Take out the child at `at` in the end; whatever is inserted until then stands behind it.

        Until then it can be copied from.
        """
        self._removed.append((parent, at))

    def finish(self) -> bool:
        """Make the removals; whether there were any."""
        removed = bool(self._removed)
        for parent, at in reversed(self._removed):
            parent.remove_range(self.txn, at, 1)
        self._removed.clear()
        return removed


def edit_inline(work: Workspace, raw: RawElement | RawText, path: Path, new: Node) -> bool:
    """Turn the content of a textblock, or of a text that stands for one, into that of `new`."""
    children = [raw] if isinstance(raw, RawText) else raw.children(work.txn)
    breaks = new.type != "codeBlock"
    old = flatten(children, work.txn, path, breaks=breaks)
    known = NOTHING_KNOWN if isinstance(raw, RawText) else work.known  # a text holds no elements
    target = flatten_new(new, old, known, breaks=breaks)
    edits = diff(old.flat.text, target.text, old.flat.precious())
    kept = list(_kept(edits, len(old.flat.text)))
    text = _with_kept(target.text, old.stored, kept)
    target.text = text.replace(BREAK, "\n") if isinstance(raw, RawText) else text
    old.flat.text = old.stored
    if len(children) == 1 and isinstance(children[0], RawText) and not _elements(target, old):
        run = RunEdit(children[0], work.txn, old.flat, target, old.objects)
        return run.apply(Loose(target), edits)
    assert isinstance(raw, RawElement)
    return _Layout(work, raw, children, old, target, kept).apply()


def _kept(edits: Sequence[Edit], length: int) -> Iterator[tuple[int, int, int]]:
    """What stays: where it begins in the old text and in the new one, and how long it is."""
    at = shift = 0
    for edit in (*edits, Edit(length, 0, "")):
        if edit.at > at:
            yield at, at + shift, edit.at - at
        at = edit.at + edit.delete
        shift += len(edit.insert) - edit.delete


def _with_kept(text: str, stored: str, kept: Sequence[tuple[int, int, int]]) -> str:
    """The new text with what stays as it is stored: a newline that reads as a break stays one."""
    parts: list[str] = []
    done = 0
    for old_at, new_at, length in kept:
        parts += [text[done:new_at], stored[old_at : old_at + length]]
        done = new_at + length
    return "".join([*parts, text[done:]])


def _elements(flat: Flat, old: Stored) -> list[int]:
    """The positions in `flat` of what is an element beside the texts."""
    return [match.start() for match in _SYMBOLS.finditer(flat.text) if match[0] not in old.embedded]


class _Layout:
    """Texts and elements of a textblock brought into their new order, what is kept in place.

    The new content is segments of text with one element between each two.
    """

    def __init__(
        self,
        work: Workspace,
        parent: RawElement,
        children: Sequence[RawChild],
        old: Stored,
        target: Flat,
        kept: Sequence[tuple[int, int, int]],
    ) -> None:
        self._work = work
        self._parent = parent
        self._children = children
        self._old = old
        self._target = target
        self._kept = kept
        self._loose = Loose(target)
        self._cuts = _elements(target, old)
        self._changed = False
        self._at = 0  # the child position everything before which is done
        self._next = 0  # the first old child behind it

    def apply(self) -> bool:
        """Make the change; whether there was any besides removals."""
        stays = self._elements_that_stay()
        hosts = self._hosts(stays)
        for segment, texts in enumerate(hosts):
            start = self._cuts[segment - 1] + 1 if segment else 0
            last = segment == len(self._cuts)
            end = len(self._target.text) if last else self._cuts[segment]
            for child, piece in self._pieces(texts, start, end):
                self._text(child, *piece)
            if not texts and start < end:
                self._text(None, start, end)
            if not last:
                self._element(stays.get(segment), self._target.text[end])
        self._pass_to(len(self._children))
        return self._changed

    def _kept_of(self, child: int) -> Iterator[tuple[int, int]]:
        """Where in the new content the kept stretches of a child are."""
        start, end = self._old.spans[child]
        first = bisect_right(self._kept, start, key=lambda kept: kept[0]) - 1
        for old_at, new_at, length in self._kept[max(first, 0) :]:
            if old_at >= end:
                return
            low, high = max(start, old_at), min(end, old_at + length)
            if low < high:
                yield new_at + low - old_at, new_at + high - old_at

    def _elements_that_stay(self) -> dict[int, int]:
        """For each element of the new content that is there already, its child position."""
        numbers = {cut: number for number, cut in enumerate(self._cuts)}
        return {
            numbers[start]: child
            for child, raw in enumerate(self._children)
            if not isinstance(raw, RawText)
            for start, _ in self._kept_of(child)
        }

    def _hosts(self, stays: Mapping[int, int]) -> list[list[int]]:
        """For each segment, the texts that go into it, in order.

        A text goes where most of it is kept; one of which nothing is kept takes the first segment
        without a text between its neighbours', so that it is written over and not doubled.
        """
        chosen = {
            child: self._home(child)
            for child, raw in enumerate(self._children)
            if isinstance(raw, RawText)
        }
        places = {child: number for number, child in stays.items()}
        highest: dict[int, int] = {}
        high = len(self._cuts)
        for child in reversed(range(len(self._children))):
            high = places.get(child, high)
            home = chosen.get(child)
            high = high if home is None else home
            highest[child] = high
        hosts: list[list[int]] = [[] for _ in range(len(self._cuts) + 1)]
        taken = {home for home in chosen.values() if home is not None}
        low = 0
        for child in range(len(self._children)):
            if child in places:
                low = places[child] + 1
            elif child in chosen:
                home = chosen[child]
                low = self._free(low, highest[child], taken) if home is None else home
                taken.add(low)
                hosts[low].append(child)
        return hosts

    def _home(self, child: int) -> int | None:
        """The segment most of the text is kept in."""
        counts: Counter[int] = Counter()
        for start, end in self._kept_of(child):
            at = start
            segment = bisect_right(self._cuts, at)
            while at < end:
                stop = min(end, self._cuts[segment] if segment < len(self._cuts) else end)
                counts[segment] += stop - at
                at = stop + 1
                segment += 1
        return counts.most_common(1)[0][0] if counts else None

    def _free(self, low: int, high: int, taken: set[int]) -> int:
        for segment in range(low, high + 1):
            start = self._cuts[segment - 1] + 1 if segment else 0
            end = self._cuts[segment] if segment < len(self._cuts) else len(self._target.text)
            if segment not in taken and start < end:
                return segment
        return low

    def _pieces(
        self, texts: Sequence[int], start: int, end: int
    ) -> list[tuple[int, tuple[int, int]]]:
        """A segment dealt out to its texts: each begins with the first that is kept of it."""
        pieces: list[tuple[int, tuple[int, int]]] = []
        stop = end
        for child in reversed(texts[1:]):
            inside = [max(low, start) for low, high in self._kept_of(child) if high > start]
            begin = min([*inside, stop])
            pieces.append((child, (begin, stop)))
            stop = begin
        if texts:
            pieces.append((texts[0], (start, stop)))
        return pieces[::-1]

    def _pass_to(self, child: int) -> None:
        """Step over the old children before `child`: what nobody claimed goes."""
        while self._next < child:
            self._work.remove(self._parent, self._at)
            self._next += 1
            self._at += 1

    def _text(self, child: int | None, start: int, end: int) -> None:
        work, old = self._work, self._old
        if child is None:
            raw = self._parent.insert_str(work.txn, self._at, "")
            was = Flat("", [], [{}])
        else:
            self._pass_to(child)
            found = self._children[child]
            assert isinstance(found, RawText)
            raw = found
            was = old.flat.part(*old.spans[child])
            self._next += 1
        run = RunEdit(raw, work.txn, was, self._target.part(start, end), old.objects)
        self._changed |= run.apply(self._loose.part(start))
        self._at += 1

    def _element(self, child: int | None, symbol: str) -> None:
        if child is not None:
            self._pass_to(child)
            self._next += 1
        else:
            source = self._old.objects.get(symbol)
            if source is None:
                self._parent.insert_element_prelim(self._work.txn, self._at, "hardBreak")
            elif is_copyable(source, self._work.txn):
                copy_element(self._parent, self._work.txn, self._at, source)
            else:
                return
            self._changed = True
        self._at += 1
