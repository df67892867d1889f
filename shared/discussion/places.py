"""Where quotes stand while people edit.

After a transaction the quotes of the blocks it touched are looked for: first where the edit leaves
their place, then in the blocks touched, then in their block, then in the whole document; each time
they must be found exactly once. A quote that is not found is *orphaned*, and found again when a
later transaction brings it back. What nobody touched costs nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Protocol

from rapidfuzz.distance import Postfix, Prefix

from shared.discussion.flat import Flat
from shared.discussion.quotes import hits, needle_of
from shared.stored_annotations import TextRange


class BlockTexts(Protocol):
    """The blocks of a document as they are now."""

    @property
    def ids(self) -> Sequence[str]: ...
    def __contains__(self, block_id: object) -> bool: ...
    def flat(self, block_id: str) -> Flat: ...
    def flats(self) -> Iterator[Flat]:
        """Of all blocks, in order."""


class Places:
    """The places of a document's quotes, by thread."""

    def __init__(self) -> None:
        self._needles: dict[str, str] = {}
        self._ranges: dict[str, TextRange] = {}
        self._of_block: dict[str, set[str]] = {}
        self._before: dict[str, Flat] = {}  # blocks with quotes, as they were last looked at
        # How often each orphaned quote stands where; None: nobody has looked yet.
        self._lost: dict[str, Counter[str] | None] = {}
        self._touched: set[str] = set()

    def add(self, thread_id: str, quote: str, place: TextRange | None, texts: BlockTexts) -> None:
        """A quote as it was stored, or just made."""
        self._needles[thread_id] = needle_of(quote)
        if place is None:
            self._lost[thread_id] = None
            return
        self._put(thread_id, place)
        if place.block_id in texts:
            self._before[place.block_id] = texts.flat(place.block_id)
        if self._standing(thread_id) is None:  # stored with an edit that was not
            self._touched.add(place.block_id)

    def touch(self, block_ids: Iterable[str]) -> None:
        """Notes blocks that came, went, or changed."""
        if self._needles:
            self._touched.update(block_ids)

    def follow(self, texts: BlockTexts) -> dict[str, TextRange | None]:
        """The places that changed since the last call; None: the quote is orphaned."""
        if not self._touched:
            return {}
        touched, self._touched = self._touched, set()
        seen = _Seen(texts)
        moved: dict[str, TextRange | None] = {}
        lost_before = tuple(self._lost)
        for block_id in self._of_block.keys() & touched:
            moved |= self._follow_block(block_id, touched, seen)
        for thread_id in lost_before:
            place = self._found_again(thread_id, touched, seen)
            if place is not None:
                moved[thread_id] = place
        for block_id in self._of_block.keys() & (
            touched | {p.block_id for p in moved.values() if p}
        ):
            self._before[block_id] = seen.flat(block_id)
        return moved

    # --- inside ----------------------------------------------------------------------------------

    def _follow_block(
        self, block_id: str, touched: Collection[str], seen: _Seen
    ) -> dict[str, TextRange | None]:
        old, new = self._before.pop(block_id, Flat("")), seen.flat(block_id)
        edit = _Edit(old.text, new.text)
        moved: dict[str, TextRange | None] = {}
        for thread_id in tuple(self._of_block[block_id]):
            needle, was = self._needles[thread_id], self._ranges[thread_id]
            start = old.start_of(was)
            at = None if start is None else edit.carry(start, start + len(needle))
            if at is not None and new.text.startswith(needle, at):
                place: TextRange | None = new.range(block_id, at, at + len(needle))
            else:
                place = _search(needle, (touched, (block_id,)), seen)
            if place != was:
                self._take(thread_id)
                moved[thread_id] = place
                if place is not None:
                    self._put(thread_id, place)
                else:
                    self._lost[thread_id] = seen.count(needle)
        return moved

    def _found_again(
        self, thread_id: str, touched: Collection[str], seen: _Seen
    ) -> TextRange | None:
        needle, known = self._needles[thread_id], self._lost[thread_id]
        risen: Counter[str] = Counter()
        if known is None:
            known = self._lost[thread_id] = seen.count(needle)
        else:
            for block_id in touched:
                now = len(hits(needle, seen.flat(block_id).text))
                if now > known[block_id]:
                    risen[block_id] = now
                known[block_id] = now
        for counts in (risen, known):
            if counts.total() == 1:
                (block_id,) = (+counts).keys()
                place = _search(needle, ((block_id,),), seen)
                assert place is not None, "it was counted there"
                del self._lost[thread_id]
                self._put(thread_id, place)
                return place
        return None

    def _standing(self, thread_id: str) -> int | None:
        """Where in its flat block the quote stands; None: it does not stand at its place."""
        place, needle = self._ranges[thread_id], self._needles[thread_id]
        flat = self._before.get(place.block_id, Flat(""))
        start = flat.start_of(place)
        stands = start is not None and flat.text.startswith(needle, start)
        return start if stands else None

    def _put(self, thread_id: str, place: TextRange) -> None:
        self._ranges[thread_id] = place
        self._of_block.setdefault(place.block_id, set()).add(thread_id)

    def _take(self, thread_id: str) -> None:
        block_id = self._ranges.pop(thread_id).block_id
        threads = self._of_block[block_id]
        threads.discard(thread_id)
        if not threads:
            del self._of_block[block_id]
            self._before.pop(block_id, None)


class _Edit:
    """What changed between two texts, as one stretch."""

    def __init__(self, old: str, new: str) -> None:
        shorter = min(len(old), len(new))
        self._kept = int(Prefix.similarity(old, new))
        tail = int(Postfix.similarity(old, new))
        self._tail_at = len(old) - min(tail, shorter - self._kept)
        self._grown = len(new) - len(old)

    def carry(self, start: int, end: int) -> int | None:
        """Where a stretch of the old text starts in the new one; None: it was edited."""
        if end <= self._kept:
            return start
        return start + self._grown if start >= self._tail_at else None


class _Seen:
    """The blocks as one call looks at them: each once."""

    def __init__(self, texts: BlockTexts) -> None:
        self.texts = texts
        self._flats: dict[str, Flat] = {}
        self._whole: tuple[str, tuple[int, ...]] | None = None

    def flat(self, block_id: str) -> Flat:
        """Of a block that is gone: nothing."""
        if block_id not in self._flats:
            there = block_id in self.texts
            self._flats[block_id] = self.texts.flat(block_id) if there else Flat("")
        return self._flats[block_id]

    def count(self, needle: str) -> Counter[str]:
        """How often the quote stands in which blocks."""
        if self._whole is None:
            texts = [flat.text for flat in self.texts.flats()]
            starts = tuple(accumulate((len(text) + 1 for text in texts), initial=0))
            self._whole = "\n".join(texts), starts
        text, starts = self._whole
        found = (bisect_right(starts, at) - 1 for at in hits(needle, text, len(text)))
        return Counter(self.texts.ids[number] for number in found)


def _search(needle: str, stages: Iterable[Collection[str]], seen: _Seen) -> TextRange | None:
    """In some blocks, then in others, then everywhere: the first time that finds exactly one."""
    for block_ids in stages:
        found = [
            (block_id, at)
            for block_id in block_ids
            for at in hits(needle, seen.flat(block_id).text)
        ]
        if len(found) == 1:
            block_id, at = found[0]
            return seen.flat(block_id).range(block_id, at, at + len(needle))
    counts = seen.count(needle)
    if counts.total() != 1:
        return None
    (block_id,) = counts
    return _search(needle, ((block_id,),), seen)
