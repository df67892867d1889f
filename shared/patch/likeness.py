"""Pairs by likeness, and by place: which block was rewritten into which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shared.patch.block_diff import between, by_place, likeness, similar
from shared.patch.known import Match, is_distinct, old_text
from shared.patch.types import Seen

GONE_SIMILAR: Final = 60.0  # likeness to a block that is gone, before a new one counts as its edit
DOUBLED: Final = 75.0  # likeness to an unseen block, before a new one is taken for its edit


def pair_rewritten(found: Match, seen: Seen) -> None:
    """Between neighbours that stayed: the removed and the added blocks that are one, rewritten."""
    gaps = between(found.stable, len(found.base), len(found.new))
    for olds, news in gaps:
        added = [j for j in news if j not in found.old_of]
        removed = [u for u in olds if u not in found.new_of]
        if not added or not removed:
            continue
        for u, j in _rewritten(found, [u for u in removed if found.base[u].seen], added, seen):
            found.link(u, j)
            found.stable.append((u, j))
        if not sight_is_certain(seen):
            _doubt(found, removed, [j for j in added if j not in found.old_of])
    found.stable.sort()


def _rewritten(
    found: Match, removed: Sequence[int], added: Sequence[int], seen: Seen
) -> list[tuple[int, int]]:
    """Which removed block became which added one: by likeness, between those by place."""
    texts = [old_text(found.base[u], seen) for u in removed]
    pairs: list[tuple[int, int]] = []
    for i, k in similar(texts, [found.new[j].text for j in added]):
        gone = found.base[removed[i]].now is None
        if not gone or likeness(texts[i] or "", found.new[added[k]].text) >= GONE_SIMILAR:
            pairs.append((i, k))
    # A block that is gone has no place.
    there = [
        i for i, u in enumerate(removed) if found.base[u].now or any(i == pair[0] for pair in pairs)
    ]
    placed = by_place([(there.index(i), k) for i, k in pairs], len(there), len(added))
    return [(removed[there[i]], added[k]) for i, k in placed]


def sight_is_certain(seen: Seen) -> bool:
    """Whether what was not shown was certainly not seen: then it cannot have been edited either.

    Of several views only one is its author's, and may show more than all of them do.
    """
    return seen.based and (seen.whole or seen.views == 1)


def _doubt(found: Match, removed: Sequence[int], added: Sequence[int]) -> None:
    """An edit of a block that, as far as is known, its author never saw: not to be doubled."""
    unseen = [u for u in removed if found.base[u].seen is None and is_distinct(found.base[u])]
    texts = [now.text if (now := found.base[u].now) else None for u in unseen]
    for i, k in similar(texts, [found.new[j].text for j in added], DOUBLED):
        found.doubtful[added[k]] = unseen[i]
