"""Where what is written and moved goes, as operations that are applied one after the other."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from shared.patch.known import Match
from shared.patch.rebase import Edits
from shared.patch.types import Delete, Insert, Move, Op, Replace

Place = str | int | None  # a block id, the number of the Insert that made a block, the very start


class _Chain:
    """Blocks in order as a linked list: the place of any of them at once."""

    def __init__(self, blocks: Iterable[str]) -> None:
        self._after: dict[Place, Place] = {}
        self._before: dict[Place, Place] = {}
        last: Place = None
        for block in blocks:
            self._join(last, block)
            last = block
        self._join(last, None)

    def after(self, place: Place) -> Place:
        """The next block; None at the end."""
        return self._after[place]

    def before(self, place: Place) -> Place:
        return self._before[place]

    def insert(self, after: Place, block: Place) -> None:
        follower = self._after[after]
        self._join(after, block)
        self._join(block, follower)

    def remove(self, block: Place) -> None:
        self._join(self._before[block], self._after[block])

    def _join(self, one: Place, other: Place) -> None:
        self._after[one] = other
        self._before[other] = one


def operations(
    present: Iterable[str], start: str | None, found: Match, edits: Edits, came: Container[Place]
) -> list[Op]:
    """Deletions, replacements, then insertions and moves from the first to the last.

    `present` are the ids in the document now, `start` the block before the part the new text is
    about (None at the document's start). `came` are blocks others put in since: at one place those
    already there come first.
    """
    gone = {found.base[u].block_id for u in edits.delete}
    ops: list[Op] = [Delete(found.base[u].block_id) for u in edits.delete]
    for u, (new, merged) in sorted(edits.replace.items()):
        ops.append(Replace(found.base[u].block_id, new, merged))
    if not edits.move and not edits.insert:
        return ops
    chain = _Chain(block_id for block_id in present if block_id not in gone)
    moving = {found.base[u].block_id for u in edits.move}
    at: Place = start
    while at in moving:
        at = chain.before(at)
    for j, block in enumerate(found.new):
        known = found.base[found.old_of[j]] if j in found.old_of else None
        if known is not None and known.block_id in moving:
            moving.discard(known.block_id)
            before = chain.before(known.block_id)
            chain.remove(known.block_id)
            gap = _gap(chain, at, moving, came)
            place = before if before in gap else gap[-1]
            chain.insert(place, known.block_id)
            if place != before:
                ops.append(Move(known.block_id, place))
            at = known.block_id
        elif known is not None and known.now and known.inside:
            at = known.block_id
        elif j in edits.insert:
            place = _gap(chain, at, moving, came)[-1]
            ops.append(Insert(place, block))
            at = len(ops) - 1
            chain.insert(place, at)
    return ops


def _gap(chain: _Chain, at: Place, moving: Container[Place], came: Container[Place]) -> list[Place]:
    """`at` and what others put behind it; blocks about to leave do not stand in between.

    What is new goes behind the last of them; a block that stands behind any stays.
    """
    places, ahead = [at], chain.after(at)
    while ahead is not None and (ahead in came or ahead in moving):
        if ahead in came:
            places.append(ahead)
        ahead = chain.after(ahead)
    return places


def moved(ops: Sequence[Op]) -> list[str]:
    """Ids of the blocks that move."""
    return [op.block_id for op in ops if isinstance(op, Move)]
