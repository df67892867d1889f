"""What of the new text stands already where it would be put.

A call sent twice meets its own insertions as blocks nobody showed its author. A long text among
them is known again wherever it is; a rule or an empty paragraph only by where it stands: the
document, read from its start or from a block that stays, goes on as the new text does.
"""

from __future__ import annotations

from collections.abc import Sequence

from shared.patch.known import Match
from shared.patch.types import Seen


def pair_standing(found: Match, seen: Seen) -> None:
    """Pairs new blocks with unseen ones that stand where they would be inserted."""
    base = found.base
    order = sorted(
        (u for u, known in enumerate(base) if known.now and known.inside and not known.trailing),
        key=lambda u: base[u].place,
    )
    position = {u: n for n, u in enumerate(order)}
    stable = {u for u, _ in found.stable}
    here: int | None = 0  # what comes next in the document, as far as it reads like the new text
    for j, new in enumerate(found.new):
        u = found.old_of.get(j)
        if u is None:
            at = None if here is None else _next(found, seen, order, here, new.digest)
            if at is not None and _is_spare(found, order[at], new.digest):
                found.link(order[at], j)
                here = at + 1
        elif u in stable and u in position:
            here = position[u] + 1
        elif base[u].now:
            at = None if here is None else _next(found, seen, order, here, None)
            here = at + 1 if at is not None and order[at] == u else None


def _next(
    found: Match, seen: Seen, order: Sequence[int], here: int, digest: str | None
) -> int | None:
    """The first block from `here` on that is not one which came since and goes first anyway."""
    for at in range(here, len(order)):
        u = order[at]
        came = seen.whole and found.base[u].seen is None and u not in found.new_of
        if not came or (digest is not None and _is_spare(found, u, digest)):
            return at
    return None


def _is_spare(found: Match, u: int, digest: str) -> bool:
    known = found.base[u]
    unseen = known.seen is None and u not in found.new_of
    return unseen and known.now is not None and known.now.digest == digest
