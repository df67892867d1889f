"""One conversation's mirror of a document, as digests."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from shared.feed.cursor import Cursor
from shared.patch.types import Seen, SeenBlock, Sight, digest_of, heading_level

NOWHERE: Final = Cursor(-1)  # the cursor of a view that no base may name
_FEW: Final = 16  # blocks for each of which looking up its place costs less than a new order


class Shown(msgspec.Struct, frozen=True):
    """A block whose whole text was in an answer.

    Attributes:
        after: The block before it now, None for the first: as in the mirror rule.
        knew: Not in the answer, but known to whoever knew the block at this digest: of a block
            that was moved, or in which quoted text was replaced.
    """

    block_id: str
    text: str
    after: str | None = None
    knew: str | None = None


class Told(msgspec.Struct, frozen=True):
    """What an answer added to a view. `order` are the document's ids at that instant."""

    shown: Sequence[Shown]
    removed: Iterable[str]
    order: Sequence[str]


class View(msgspec.Struct, array_like=True):
    """What one conversation was shown.

    Attributes:
        cursor: To which it has been carried.
        oldest: The same, but of joined views the oldest of them.
        used_at: Milliseconds; it lives for 24 h from then on.
        blocks: Block id to digest, in the order of the reader's mirror.
        levels: Of the blocks that are headings: 1 to 6.
        unread: Digests of blocks after a write of its own that moved them, or replaced quoted text
            in them, when they said something else than shown: its reader may know them so, too.
    """

    cursor: Cursor
    oldest: Cursor
    used_at: int
    blocks: dict[str, str]
    levels: dict[str, int]
    unread: dict[str, str] = {}

    @property
    def whole(self) -> bool:
        return not self.oldest.part

    def show(self, block_id: str, text: str) -> None:
        """The reader has been told this block's text; a new block goes to the end."""
        self.blocks[block_id] = digest_of(text)
        self.unread.pop(block_id, None)
        self.levels.pop(block_id, None)
        if level := heading_level(text):
            self.levels[block_id] = level

    def forget(self, block_id: str) -> None:
        self.blocks.pop(block_id, None)
        self.unread.pop(block_id, None)
        self.levels.pop(block_id, None)

    def carry(self, told: Told) -> list[tuple[str, str]]:
        """The mirror rule. The digests that were shown until now and are not any more."""
        before = dict(self.blocks)
        for block_id in told.removed:
            self.forget(block_id)
        known = [b for b in told.shown if b.knew is None or b.block_id in self.blocks]
        order = list(self.blocks)
        moved = len(known) > _FEW or not all(_stays(order, block) for block in known)
        if moved:
            order = mirrored(order, msgspec.structs.replace(told, shown=known))
        for block in known:
            if block.knew in (None, self.blocks.get(block.block_id)):
                self.show(block.block_id, block.text)
            elif (digest := digest_of(block.text)) != self.blocks[block.block_id]:
                self.unread[block.block_id] = digest
            else:
                self.unread.pop(block.block_id, None)
        if moved:
            self.blocks = {block_id: self.blocks[block_id] for block_id in order}
        return [(i, digest) for i, digest in before.items() if self.blocks.get(i) != digest]

    def is_as(self, other: View) -> bool:
        """Whether the other one shows the same texts in the same order."""
        return list(self.blocks.items()) == list(other.blocks.items())

    def sight(self) -> Sight:
        """What it shows now."""
        return Sight(dict(self.blocks), dict(self.levels))

    def copy(self) -> View:
        blocks, levels, unread = dict(self.blocks), dict(self.levels), dict(self.unread)
        return View(self.cursor, self.oldest, self.used_at, blocks, levels, unread)


def mirrored(order: Sequence[str], told: Told) -> list[str]:
    """Take the listed blocks out, then put each right behind its `after`.

    A part of the document lacks some of those: then behind the nearest block before it that is
    there.
    """
    listed = {block.block_id for block in told.shown}
    left = [block_id for block_id in order if block_id not in listed]
    follows: dict[str | None, str | None] = dict(pairwise((None, *left, None)))
    before = _nearest_before({*left, *listed}, told)
    for block in told.shown:
        after = block.after
        if after is not None and after not in follows:
            after = before.get(block.block_id)
        while after is not None and after not in follows:  # listed too, and not put yet
            after = before.get(after)
        follows[block.block_id] = follows[after]
        follows[after] = block.block_id
    result, one = [], follows[None]
    while one is not None:
        result.append(one)
        one = follows[one]
    return result


def _stays(order: Sequence[str], block: Shown) -> bool:
    """Whether the block stands behind its `after` already."""
    try:
        place = order.index(block.block_id)
    except ValueError:
        return False
    return block.after == (order[place - 1] if place else None)


def _nearest_before(there: Container[str | None], told: Told) -> dict[str, str | None]:
    """For each block of the document the nearest one before it that is `there`."""
    nearest: dict[str, str | None] = {}
    last: str | None = None
    for block_id in told.order:
        nearest[block_id] = last
        if block_id in there:
            last = block_id
    return nearest


def joined(views: Sequence[View]) -> View:
    """A view no base can name: what all of them show, with the same text."""
    rest = max(views, key=lambda view: view.used_at).copy()
    rest.cursor = NOWHERE
    oldest = min((view.oldest for view in views), key=lambda cursor: cursor.seq)
    rest.oldest = Cursor(oldest.seq, oldest.cut, part=not all(view.whole for view in views))
    for view in views:
        rest.unread = {**view.unread, **rest.unread}
    for view in views:
        for block_id, _digest in _unlike(rest, view):
            rest.forget(block_id)
    return rest


def _unlike(one: View, other: View) -> list[tuple[str, str]]:
    """The blocks that `one` shows and `other` lacks or shows with another text; mostly few."""
    there = other.blocks.get
    return [shown for shown in one.blocks.items() if there(shown[0]) != shown[1]]


def known_in(views: Sequence[View]) -> dict[str, tuple[str, ...]]:
    """By block id the digests under which any of these views shows it, the first view's first."""
    if not views:
        return {}
    first, *others = views
    known: dict[str, tuple[str, ...]] = {i: (digest,) for i, digest in first.blocks.items()}
    for view in others:
        for block_id, digest in _unlike(view, first):
            digests = known.get(block_id, ())
            if digest not in digests:
                known[block_id] = (*digests, digest)
    return known


def _seen_by_all(views: Sequence[View]) -> Iterator[SeenBlock]:
    """The blocks all of them showed, as the first one does."""
    if not views:
        return
    first, *others = views
    levels = first.levels.get
    unread: dict[str, str] = {}
    for view in (*reversed(others), first):
        unread |= view.unread
    noted = unread.get
    unlike = {block_id for view in others for block_id, _digest in _unlike(first, view)}
    for block_id, digest in first.blocks.items():
        told: tuple[str, ...] = ()
        if block_id in unlike:
            digests = {view.blocks.get(block_id) for view in others}
            if None in digests:
                continue
            told = tuple(sorted(d for d in digests if d and d != digest))
        yield SeenBlock(block_id, digest, levels(block_id, 0), told, noted(block_id))


def seen_in(
    views: Sequence[View],
    known: Mapping[str, tuple[str, ...]],
    older: Mapping[str, frozenset[str]],
    based: bool,
    text_of: Callable[[str, str], str | None],
) -> Seen:
    """What every one of the views showed, as the one used last shows it."""
    return Seen(
        tuple(_seen_by_all(views)),
        known,
        whole=bool(views) and all(view.whole for view in views),
        based=based,
        views=len(views),
        sights=tuple(view.sight() for view in views) if len(views) > 1 else (),
        older=older,
        text_of=text_of,
    )
