"""Which section, or block, of now is which of then.

By id first, whatever was written into it; what has no partner left pairs with what reads exactly
like it, in order. Likeness is never guessed at: a section that was rewritten under a new id is one
that went and one that came.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import msgspec

from shared.feed.change_rows import longest_run
from shared.patch.block_diff import common


class Item(msgspec.Struct, frozen=True):
    """Something that may have been changed or moved.

    Attributes:
        id: None: it is what comes before the first of its kind, and pairs with the other such.
        content: Equal exactly when both read alike.
    """

    id: str | None
    content: Hashable


class Paired(msgspec.Struct, frozen=True):
    """Positions in the two lists; None: it is not there. `moved`: read alike, and not in order."""

    before: int | None
    after: int | None
    moved: bool = False


def pair(before: Sequence[Item], after: Sequence[Item]) -> tuple[Paired, ...]:
    """Every item of either list once: in the order of `after`, each that went behind the one it
    stood behind.
    """
    partner = _partners(before, after)
    moved = _moved(before, after, partner)
    gone = _gone_behind(len(before), partner)
    found = [Paired(old, None) for old in gone.get(None, ())]
    for new in range(len(after)):
        found.append(Paired(partner.get(new), new, new in moved))
        found += (Paired(old, None) for old in gone.get(new, ()))
    return tuple(found)


def _partners(before: Sequence[Item], after: Sequence[Item]) -> dict[int, int]:
    """Positions in `before` by those in `after`."""
    free: dict[str | None, int] = {}
    for old, item in enumerate(before):
        free.setdefault(item.id, old)
    partner = {}
    for new, item in enumerate(after):
        if item.id in free:
            partner[new] = free.pop(item.id)
    taken = set(partner.values())
    olds = [old for old in range(len(before)) if old not in taken and before[old].id is not None]
    news = [new for new, item in enumerate(after) if new not in partner and item.id is not None]
    alike = common([before[old].content for old in olds], [after[new].content for new in news])
    return partner | {news[new]: olds[old] for old, new in alike}


def _moved(before: Sequence[Item], after: Sequence[Item], partner: dict[int, int]) -> set[int]:
    """Of the items that read alike those outside a longest run that kept its order.

    Of two that changed places the one that stood first is told as moved.
    """
    same = [
        new
        for new in sorted(partner)
        if after[new].id is not None and after[new].content == before[partner[new]].content
    ]
    backwards = [-partner[new] for new in reversed(same)]
    stayed = {len(same) - 1 - at for at in longest_run(backwards)}
    return {new for at, new in enumerate(same) if at not in stayed}


def _gone_behind(count: int, partner: dict[int, int]) -> dict[int | None, list[int]]:
    """What went, by the position of now it is told behind; None: before everything."""
    now = {old: new for new, old in partner.items()}
    gone: dict[int | None, list[int]] = {}
    behind: int | None = None
    for old in range(count):
        if old in now:
            behind = now[old]
        else:
            gone.setdefault(behind, []).append(old)
    return gone
