"""Which id each touched block has after a transaction: seven rules over values.

Editors rewrite text and leave elements where they are, slide ids from element to element, or strip
them from every block. So words come before attributes, and attributes before places; the result is
what a person would say happened to the words.

An id is *open* when its element was removed, or is touched and its words changed, and no rule has
given it away yet. In this order, each over all touched elements in document order:

1. Same words: an element whose words did not change keeps its id; an element with the words of an
   open id takes it; a new element, failing that, the id of a block with these words removed lately.
2. Attribute set here: a new element, or one whose attribute `id` was set in this transaction, takes
   the open or lately removed id of the block that carried the value last.
3. No words: a new element, or one whose id went elsewhere, takes an open id that looked the same.
4. Place: an element that stayed keeps its id when its words went on from the old ones.
5. Alike: what is left pairs by likeness, best first.
6. Place after all: an element that stayed keeps its own; one new element for one removed inherits.
7. Everything else gets a fresh id.

Cost is linear in what was touched; nothing here looks at the rest of the document.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Final, Protocol

import msgspec
from rapidfuzz.fuzz import ratio

from shared.limits import MAX_WORDS_CHARS

ALIKE: Final = 60.0  # per cent; unrelated paragraphs reach 47 in 1 of 100, edited ones 78 in 99
NEAREST: Final = 64  # comparisons an element may cost
NEAREST_WHEN_MANY: Final = 16  # once a transaction has made MANY_COMPARISONS
MANY_COMPARISONS: Final = 4_096


class Words(msgspec.Struct, frozen=True):
    """A block's plain text, trimmed: its digest, and its beginning if it has been read."""

    digest: bytes
    head: str | None = None

    @classmethod
    def of(cls, text: str) -> Words:
        return cls(
            blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(),
            text[:MAX_WORDS_CHARS],
        )


BLANK: Final = Words.of("").digest


class Known(msgspec.Struct, frozen=True):
    """What the index holds of an id. `look` is the fingerprint without style hints."""

    id: str
    attribute: str | None
    look: str
    words: Words


class Seen(msgspec.Struct, frozen=True):
    """What an element is after the transaction."""

    attribute: str | None
    look: str
    words: Words


class Touched(msgspec.Struct, frozen=True):
    """An element the transaction touched, in the order of before and after as one.

    Attributes:
        before: None for a new element.
        after: None for a removed one.
        attribute_set: The attribute `id` was set or taken off in this transaction.
        joined: No untouched block stands between this one and the one listed before it.
    """

    before: Known | None
    after: Seen | None
    attribute_set: bool = False
    joined: bool = False

    @property
    def stayed(self) -> bool:
        return self.before is not None and self.after is not None


class LatelyRemoved(Protocol):
    """Ids removed in the last minutes and not present, the latest first."""

    def with_words(self, digest: bytes) -> Sequence[Known]: ...
    def with_attribute(self, value: str) -> Sequence[Known]: ...
    def __contains__(self, block_id: object) -> bool: ...


def settle_ids(
    touched: Sequence[Touched],
    lately: LatelyRemoved,
    carried_elsewhere: Callable[[str], bool],
    mint: Callable[[], str],
) -> list[str | None]:
    """The id of each touched element, None for those that were removed.

    Args:
        touched: All that was touched, in order; ids before are unique.
        lately: Ids that may come back.
        carried_elsewhere: Whether an untouched block carries this value of the attribute `id`.
        mint: A fresh id, unlike any other in the document.
    """
    settlement = _Settlement(touched, lately, carried_elsewhere)
    if len(touched) > 1 or not touched or not touched[0].stayed or touched[0].attribute_set:
        settlement.by_words()
        settlement.by_attribute()
        settlement.blank_by_look()
        settlement.by_place()
        settlement.by_likeness()
    settlement.by_place_after_all()
    given = settlement.given
    return [
        None if one.after is None else given.get(at) or mint() for at, one in enumerate(touched)
    ]


class _Settlement:
    """The state the rules share: which ids are open, and what has been given to whom."""

    def __init__(
        self,
        touched: Sequence[Touched],
        lately: LatelyRemoved,
        carried_elsewhere: Callable[[str], bool],
    ) -> None:
        self.touched = touched
        self.lately = lately
        self.carried_elsewhere = carried_elsewhere
        self.given: dict[int, str] = {}
        self.open: dict[str, int] = {}  # id -> its element before
        self.back: set[str] = set()  # lately removed ids given in this transaction
        self.comparisons = 0
        for at, one in enumerate(touched):
            if one.before is not None:
                self.open[one.before.id] = at

    def give(self, at: int, block_id: str) -> None:
        self.given[at] = block_id
        if self.open.pop(block_id, None) is None:
            self.back.add(block_id)

    def waiting(self) -> Iterator[tuple[int, Touched, Seen]]:
        """Elements without an id so far, in document order."""
        for at, one in enumerate(self.touched):
            if one.after is not None and at not in self.given:
                yield at, one, one.after

    def owner(self, block_id: str) -> Known:
        known = self.touched[self.open[block_id]].before
        assert known is not None
        return known

    def keeps_own(self, at: int) -> str | None:
        """The id the element had, if it stayed and the id is still open."""
        before = self.touched[at].before
        return before.id if before is not None and before.id in self.open else None

    # --- rule 1 ----------------------------------------------------------------------------------

    def by_words(self) -> None:
        for at, one, after in self.waiting():
            if one.before is not None and one.before.words.digest == after.words.digest:
                self.give(at, one.before.id)
        self._take(list(self.waiting()), self._open_words(), self.open.__contains__)
        new = [(at, one, after) for at, one, after in self.waiting() if one.before is None]
        digests = dict.fromkeys(after.words.digest for _, _, after in new)
        pools = {digest: _Pool(self.lately.with_words(digest)) for digest in digests}
        self._take(new, pools, self._may_come_back)

    def _open_words(self) -> dict[bytes, _Pool]:
        with_words: dict[bytes, list[Known]] = {}
        for block_id in self.open:
            known = self.owner(block_id)
            with_words.setdefault(known.words.digest, []).append(known)
        return {digest: _Pool(known) for digest, known in with_words.items()}

    def _take(
        self,
        elements: Sequence[tuple[int, Touched, Seen]],
        pools: Mapping[bytes, _Pool],
        free: Callable[[str], bool],
    ) -> None:
        """Each element takes a free id of its words: one whose attribute agrees, else the next."""
        for agreeing in (True, False):
            for at, _, after in elements:
                pool = pools.get(after.words.digest)
                if pool is None or at in self.given or after.words.digest == BLANK:
                    continue
                block_id = pool.agreeing(after.attribute, free) if agreeing else pool.next(free)
                if block_id is not None:
                    self.give(at, block_id)

    def _may_come_back(self, block_id: str) -> bool:
        return block_id not in self.back

    # --- rule 2 ----------------------------------------------------------------------------------

    def by_attribute(self) -> None:
        before: dict[str, list[int]] = {}
        for at, one in enumerate(self.touched):
            if one.before is not None and one.before.attribute is not None:
                before.setdefault(one.before.attribute, []).append(at)
        claims: dict[str, list[int]] = {}
        for at, one, after in self.waiting():
            if after.attribute is not None and (one.before is None or one.attribute_set):
                claims.setdefault(after.attribute, []).append(at)
        targets: dict[str, list[int]] = {}
        for value, claimants in claims.items():
            block_id = self._carrier(value, before.get(value, ()))
            if block_id is not None:
                targets.setdefault(block_id, []).extend(claimants)
        for block_id, claimants in targets.items():
            self.give(self._rightful(block_id, sorted(claimants)), block_id)

    def _carrier(self, value: str, carriers: Sequence[int]) -> str | None:
        """The id of the block that carried the value last, if it may be taken."""
        gone = [at for at in carriers if self.touched[at].after is None]
        for at in gone:
            block_id = self.keeps_own(at)
            if block_id is not None:
                return block_id
        if self.carried_elsewhere(value) or any(self._still_carries(at, value) for at in carriers):
            return None  # this one is a copy
        for at in carriers:
            block_id = self.keeps_own(at)
            if block_id is not None:
                return block_id
        if carriers:
            return None
        for known in self.lately.with_attribute(value):
            if self._may_come_back(known.id):
                return known.id
        if value in self.open or (value in self.lately and self._may_come_back(value)):
            return value
        return None

    def _still_carries(self, at: int, value: str) -> bool:
        after = self.touched[at].after
        return after is not None and after.attribute == value

    def _rightful(self, block_id: str, claimants: Sequence[int]) -> int:
        if len(claimants) == 1:
            return claimants[0]
        own = self.open.get(block_id)
        if own is not None and own in claimants:
            return own
        look = None if own is None else self.owner(block_id).look
        for at in claimants:
            after = self.touched[at].after
            if after is not None and after.look == look:
                return at
        return claimants[0]

    # --- rule 3 ----------------------------------------------------------------------------------

    def blank_by_look(self) -> None:
        blank: dict[str, list[str]] = {}
        for block_id in self.open:
            known = self.owner(block_id)
            if known.words.digest == BLANK:
                blank.setdefault(known.look, []).append(block_id)
        for ids in blank.values():
            ids.reverse()
        for at, _, after in self.waiting():
            if after.words.digest == BLANK and self.keeps_own(at) is None:
                same = blank.get(after.look)
                if same:
                    self.give(at, same.pop())

    # --- rule 4 ----------------------------------------------------------------------------------

    def by_place(self) -> None:
        homeless = [at for at in self.open.values() if self._left(at)]
        homeless.sort()
        for at, one, after in list(self.waiting()):
            own = self.keeps_own(at)
            if own is None or one.before is None:
                continue
            old, new = one.before.words.head, after.words.head
            if (
                old is None
                or new is None
                or _goes_on(old, new)
                or self._most_alike(old, new, at, homeless)
            ):
                self.give(at, own)

    def _left(self, at: int) -> bool:
        """Whether the element of an open id is gone or has another id by now."""
        return self.touched[at].after is None or at in self.given

    def _most_alike(self, old: str, new: str, at: int, homeless: list[int]) -> bool:
        likeness = self.compare(old, new, ALIKE)
        if likeness < ALIKE:
            return False
        for other in self.nearest(at, homeless):
            before = self.touched[other].before
            head = None if before is None else before.words.head
            if head is not None and self.compare(head, new, likeness) > likeness:
                return False
        return True

    # --- rule 5 ----------------------------------------------------------------------------------

    def by_likeness(self) -> None:
        free = sorted(at for block_id, at in self.open.items() if self.owner(block_id).words.head)
        pairs: list[tuple[float, bool, int, int, int]] = []
        for at, _, after in self.waiting():
            if not after.words.head:
                continue
            for other in self.nearest(at, free):
                before = self.touched[other].before
                assert before is not None
                likeness = self.compare(before.words.head or "", after.words.head, ALIKE)
                if likeness >= ALIKE:
                    pairs.append((-likeness, other != at, abs(other - at), at, other))
        for _, _, _, at, other in sorted(pairs):
            block_id = self.keeps_own(other)
            if at not in self.given and block_id is not None:
                self.give(at, block_id)

    def nearest(self, at: int, places: list[int]) -> Iterator[int]:
        """Of the ascending `places`, those nearest to `at` first, as many as may be compared."""
        right = bisect_left(places, at)
        left = right - 1
        for _ in range(NEAREST if self.comparisons < MANY_COMPARISONS else NEAREST_WHEN_MANY):
            if right < len(places) and (left < 0 or places[right] - at <= at - places[left]):
                yield places[right]
                right += 1
            elif left >= 0:
                yield places[left]
                left -= 1
            else:
                return

    def compare(self, one: str, other: str, at_least: float) -> float:
        """How alike two texts are, per cent; 0 when less than `at_least`."""
        self.comparisons += 1
        return ratio(one, other, score_cutoff=at_least)

    # --- rule 6 ----------------------------------------------------------------------------------

    def by_place_after_all(self) -> None:
        for at, _, _ in list(self.waiting()):
            own = self.keeps_own(at)
            if own is not None:
                self.give(at, own)
        run: list[int] = []
        for at, one in enumerate(self.touched):
            if not one.joined or one.stayed:
                self._inherit(run)
                run = []
            if not one.stayed:
                run.append(at)
        self._inherit(run)

    def _inherit(self, run: list[int]) -> None:
        """One new element for one removed between the same neighbours."""
        new = [at for at in run if self.touched[at].before is None]
        removed = [at for at in run if self.touched[at].after is None]
        if len(new) == len(removed) == 1 and new[0] not in self.given:
            block_id = self.keeps_own(removed[0])
            if block_id is not None:
                self.give(new[0], block_id)


class _Pool:
    """Ids that had the same words, in the order they are given out."""

    def __init__(self, known: Iterable[Known]) -> None:
        self._ids: deque[str] = deque()
        self._by_attribute: dict[str, deque[str]] = {}
        for one in known:
            self._ids.append(one.id)
            for value in {one.attribute, one.id}:
                if value is not None:
                    self._by_attribute.setdefault(value, deque()).append(one.id)

    def agreeing(self, attribute: str | None, free: Callable[[str], bool]) -> str | None:
        """A free id that is, or whose block carried, this value of the attribute `id`."""
        if attribute is None:
            return None
        return _first(self._by_attribute.get(attribute), free)

    def next(self, free: Callable[[str], bool]) -> str | None:
        return _first(self._ids, free)


def _first(ids: deque[str] | None, free: Callable[[str], bool]) -> str | None:
    while ids:
        if free(ids[0]):
            return ids[0]
        ids.popleft()
    return None


def _goes_on(old: str, new: str) -> bool:
    """Typing at the end, Enter (the first half), Backspace (the first block), text cut off."""
    if not old or not new:
        return False
    return new.startswith(old) or old.startswith(new) or old.endswith(new)
