"""By which of several views a text was written, when it is not known whose it is.

Its author has one of them and sends what that one shows, edited: the view with most of the sent
blocks in their order tells best which block is which. It tells no more than that; what the others
show differently stays in doubt, and is neither replaced nor deleted.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from shared.patch.block_diff import common
from shared.patch.scope import Scope
from shared.patch.types import NewBlock, Seen, SeenBlock, Sight


def as_its_author_saw(scope: Scope, seen: Seen, new: Sequence[NewBlock]) -> Scope:
    """The seen blocks of `scope` in the order and with the texts of the likeliest view.

    Of equally likely ones it is the first: the one used last.
    """
    if all(sight.is_as(seen.sights[0]) for sight in seen.sights[1:]):
        return scope
    shown = {block.block_id: block for block in scope.seen}
    sent = [block.digest for block in new]

    def has(sight: Sight) -> int:
        there = [digest for block_id, digest in sight.blocks.items() if block_id in shown]
        return len(common(there, sent))

    likeliest = max(seen.sights, key=has)
    known = [_by(likeliest, shown[block_id]) for block_id in likeliest.blocks if block_id in shown]
    return msgspec.structs.replace(scope, seen=tuple(known))


def _by(sight: Sight, block: SeenBlock) -> SeenBlock:
    digest = sight.blocks[block.block_id]
    others = tuple(sorted({block.digest, *block.others} - {digest}))
    level = sight.levels.get(block.block_id, 0)
    return SeenBlock(block.block_id, digest, level, others, block.unread)
