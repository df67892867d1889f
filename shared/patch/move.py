"""Moving a block, or a section, to another place."""

from __future__ import annotations

from collections.abc import Container, Sequence

from shared.errors import InvalidArgument
from shared.ids import BlockRef
from shared.patch.patch import DEFAULTS
from shared.patch.refusals import (
    check_known,
    check_movable,
    locate,
    resolve,
    section_range,
)
from shared.patch.types import Move, Plan, Present, Seen, heading_level
from shared.patch.verbs import first_place, last_place, rejects
from shared.protocol import Place, WriteOptions


def plan_move(
    present: Sequence[Present],
    block: BlockRef,
    after: Place,
    seen: Seen,
    *,
    section: bool = False,
    options: WriteOptions = DEFAULTS,
    pinned: Container[str] = (),
) -> Plan:
    """`block`, with `section` and everything under that heading, goes right behind `after`.

    A section is not put between a heading and its text, where it would take that text over: it
    goes behind that heading's section.

    Args:
        present: The whole document, in order.
        block: Counts as seen when its hash is given, else when one of the caller's views shows it.
            A section need not have been seen: an outline names it, and nothing of it is lost.
        after: Its hash, when given, is checked; it need not have been seen.
        seen: From `Views.choose`.
        section: `block` is a heading.
        options: `on_conflict`: a block that has changed is moved as it is now, unless this is
            `reject`, the default when its hash is given.
        pinned: Ids of blocks touched by others in the last seconds: they do not move.

    Raises:
        Busy: Blocks that would move are being edited.
        StaleAnchor: `block` or `after` is no block, or with `section` no heading.
        StaleBlock: The block is not as the caller knows it, or `after` not at its hash.
        BaseRequired: `block` is named by its bare id, was not seen and is no section.
        InvalidArgument: `after` is part of what would be moved.
    """
    reject = rejects(options, [block])
    field = "section_id" if section else "block"
    start = (resolve if reject else locate)(present, block, field)
    if not section or block.block_id in seen.known:
        check_known(present[start], block, seen, reject=reject)
    end = start + 1
    if section:
        under = section_range(present, BlockRef(block.block_id))[1]
        end = max(end, min(under, last_place(present)))
    place = _place(present, after, start, end, section=section)
    return _moves(present, start, end, place, pinned)


def _place(present: Sequence[Present], after: Place, start: int, end: int, *, section: bool) -> int:
    """The position to go to, in front of the block that stands there now."""
    if after == "start":
        return first_place(present)
    if after == "end":
        return last_place(present)
    position = resolve(present, after, "after")
    if start <= position < end - 1:
        raise InvalidArgument(f"after: block {after.block_id} is part of what would be moved.")
    place = position + 1
    follower = heading_level(present[place].text) if place < len(present) else 1
    taken_over = not 0 < follower <= heading_level(present[start].text)
    if section and taken_over and heading_level(present[position].text):
        behind = section_range(present, BlockRef(after.block_id))[1]
        return max(place, min(behind, last_place(present)))
    return place


def _moves(
    present: Sequence[Present], start: int, end: int, place: int, pinned: Container[str]
) -> Plan:
    """Of two runs of blocks that could change places the other one moves, when it is no longer
    than this one and somebody writes here.
    """
    ids = [block.block_id for block in present]
    run = ids[start:end]
    crossed = ids[place:start] if place < start else ids[end:place]
    if not crossed:
        return Plan()
    held = [block_id for block_id in run if block_id in pinned]
    if held and len(crossed) <= len(run) and not any(i in pinned for i in crossed):
        before = end if place < start else start
        return _behind(crossed, ids[before - 1] if before else None)
    check_movable(held, present)
    return _behind(run, ids[place - 1] if place else None)


def _behind(run: Sequence[str], after: str | None) -> Plan:
    ops = []
    for block_id in run:
        ops.append(Move(block_id, after))
        after = block_id
    return Plan(tuple(ops))
