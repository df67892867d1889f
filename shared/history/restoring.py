"""Putting a document back to what it was: by blocks and in place, so that ids and carets stay.

Nothing is rewound. What differs is edited, what is gone comes back under its old id, what came
since goes; the result is one write like any other, and can be taken back the same way.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from shared.feed.change_rows import longest_run
from shared.history.states import PastBlock
from shared.patch.types import Delete, Insert, Move, NewBlock, Op, Plan, Replace, digest_of


def plan_restore(present: Sequence[PastBlock], wanted: Sequence[PastBlock]) -> Plan:
    """The operations that make `present` read, and be, as `wanted`. Ids are unique in each.

    It costs no characters, and its author need not have seen what it takes out.
    """
    now = {one.block_id: one for one in present}
    places = {one.block_id: at for at, one in enumerate(present)}
    there = {one.block_id for one in wanted}
    common = [one for one in wanted if one.block_id in now]
    run = longest_run([places[one.block_id] for one in common])
    stays = {one.block_id for at, one in enumerate(common) if at in run}
    ops: list[Op] = [Delete(one.block_id) for one in present if one.block_id not in there]
    after: str | None = None
    for one in wanted:
        block_id = one.block_id
        if block_id not in now:
            ops.append(Insert(after, _new(one), block_id))
        else:
            if block_id not in stays:
                ops.append(Move(block_id, after))
            if not same(now[block_id], one):
                ops.append(Replace(block_id, _new(one, now[block_id])))
        after = block_id
    return Plan(tuple(ops), quoted=True)


def same(one: PastBlock, other: PastBlock) -> bool:
    """Whether two states of a block are alike in everything."""
    if one.block.hints != other.block.hints:
        return False
    if one.exact is None or other.exact is None:
        return one.block.node == other.block.node
    return one.exact == other.exact


def _new(wanted: PastBlock, present: PastBlock | None = None) -> NewBlock:
    """The block to be written; what it has now and had not then is named, so that it goes."""
    block = wanted.block
    if present is not None and present.block.node.type == block.node.type:
        gone = dict.fromkeys(present.block.node.attrs.keys() - block.node.attrs.keys())
        node = msgspec.structs.replace(block.node, attrs=gone | block.node.attrs)
        block = msgspec.structs.replace(block, node=node)
    return NewBlock(block, wanted.text, digest_of(wanted.text), 0, exact=wanted.exact)
