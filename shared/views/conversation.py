"""One conversation's mirror of a document, as digests."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from shared.feed.cursor import Cursor
from shared.patch.types import Seen, SeenBlock, digest_of, heading_level

NOWHERE: Final = Cursor(-1)  # the cursor of a view that no base may name


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
        order = mirrored(list(self.blocks), msgspec.structs.replace(told, shown=known))
        for block in known:
            if block.knew in (None, self.blocks.get(block.block_id)):
                self.show(block.block_id, block.text)
            elif (digest := digest_of(block.text)) != self.blocks[block.block_id]:
                self.unread[block.block_id] = digest
            else:
                self.unread.pop(block.block_id, None)
        self.blocks = {block_id: self.blocks[block_id] for block_id in order}
        return [(i, digest) for i, digest in before.items() if self.blocks.get(i) != digest]

    def outline(self) -> tuple[tuple[str, int], ...]:
        """The blocks in order, with the level of those that are headings, else 0."""
        return tuple((block_id, self.levels.get(block_id, 0)) for block_id in self.blocks)

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
    there: set[str | None] = {None, *left}
    behind: dict[str | None, list[str]] = {}  # unlisted block -> the listed ones behind it
    root: dict[str, str | None] = {}
    before = _nearest_before(there | listed, told)
    for block in told.shown:
        after = block.after
        if after not in there and after not in root:
            after = before.get(block.block_id)
        hangs_on = root.get(after, after) if after is not None else None
        run = behind.setdefault(hangs_on, [])
        run.insert(run.index(after) + 1 if after in run else 0, block.block_id)
        root[block.block_id] = hangs_on
    result = list(behind.get(None, ()))
    for block_id in left:
        result += [block_id, *behind.get(block_id, ())]
    return result


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
    for block_id, digest in list(rest.blocks.items()):
        if not all(view.blocks.get(block_id) == digest for view in views):
            rest.forget(block_id)
    return rest


def known_in(views: Sequence[View]) -> dict[str, tuple[str, ...]]:
    known: dict[str, dict[str, None]] = {}
    for view in views:
        for block_id, digest in view.blocks.items():
            known.setdefault(block_id, {})[digest] = None
    return {block_id: tuple(digests) for block_id, digests in known.items()}


def seen_in(
    views: Sequence[View],
    known: Mapping[str, tuple[str, ...]],
    older: Mapping[str, frozenset[str]],
    based: bool,
    text_of: Callable[[str, str], str | None],
) -> Seen:
    """What every one of the views showed, as the one used last shows it."""
    blocks: list[SeenBlock] = []
    for block_id, digest in views[0].blocks.items() if views else ():
        digests = {view.blocks.get(block_id) for view in views[1:]}
        if None not in digests:
            others = tuple(sorted(d for d in digests if d and d != digest))
            level = views[0].levels.get(block_id, 0)
            unread = next((d for view in views if (d := view.unread.get(block_id))), None)
            blocks.append(SeenBlock(block_id, digest, level, others, unread))
    return Seen(
        tuple(blocks),
        known,
        whole=bool(views) and all(view.whole for view in views),
        based=based,
        views=len(views),
        outlines=tuple(view.outline() for view in views) if len(views) > 1 else (),
        older=older,
        text_of=text_of,
    )
