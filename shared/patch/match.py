"""Which block of the new text is which block of the document.

Rounds, from certain to likely, each over what the rounds before left open: named by an anchor; the
text its author was shown; the text as it is now; a text shown earlier; what stands where it would
be put; likeness between neighbours that stayed; place between neighbours that stayed. A block that
was not seen takes part in the rounds of its present text only.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable, Container, Sequence
from typing import Final

from shared.ids import parse_ref
from shared.patch.block_diff import (
    common,
    heaviest_chain,
    unique_on_both,
)
from shared.patch.known import Known, Match, is_distinct, may_move, name
from shared.patch.likeness import pair_rewritten
from shared.patch.standing import pair_standing
from shared.patch.types import NewBlock, Seen, SeenBlock, same

_HEAVY: Final = 1_000_000.0  # what had better not move outweighs everything else


def match(
    base: list[Known], new: Sequence[NewBlock], seen: Seen, pinned: Container[str] = ()
) -> Match:
    """See the module. `pinned` are ids of blocks that had better not move."""
    found = Match(base, new)
    _by_anchor(found)
    _by_text(found, seen, _told_digest(found, seen))
    _by_text(found, seen, lambda known: known.now.digest if known.now else None)
    _by_older_text(found, seen)
    _settle_order(found, pinned)
    pair_standing(found, seen)
    pair_rewritten(found, seen)
    return found


def _told_digest(found: Match, seen: Seen) -> Callable[[Known], str | None]:
    """Of the text its author knows a block by: the one shown, or of a block not known to have been
    shown the present one, but for the twin of one that was in a whole view. When the present text
    of a block was sent, its author knows that.
    """
    shown = {known.seen.digest for known in found.base if known.seen and known.now and seen.whole}
    sent = {new.digest for new in found.new}
    bearers = Counter(d for known in found.base for d in _digests(known))

    def digest(known: Known) -> str | None:
        now = known.now.digest if known.now else None
        if known.seen is None:
            return now if may_move(known, seen) and now not in shown else None
        if now is None or now not in sent:
            return known.seen.digest
        knows_newer = bearers[now] == 1 and not _is_certain(known.seen, seen)
        return now if knows_newer or known.seen.digest not in sent else known.seen.digest

    return digest


def _is_certain(block: SeenBlock, seen: Seen) -> bool:
    """Whether its author knows it by the text shown, and by that alone."""
    return seen.based and seen.views <= 1 and not block.unread


def _digests(known: Known) -> set[str]:
    shown = {known.seen.digest} if known.seen else set()
    return shown | ({known.now.digest} if known.now else set())


def _by_anchor(found: Match) -> None:
    """Lines `[anchor]`. Of two that name one block the unchanged one has it, else the first."""
    place = {known.block_id: u for u, known in enumerate(found.base)}
    claims: dict[int, list[tuple[bool, int, str]]] = {}
    for j, new in enumerate(found.new):
        ref = parse_ref(new.block.anchor) if new.block.anchor else None
        if ref and ref.hash and ref.block_id in place:
            unchanged = same(new.digest, ref.hash)
            claims.setdefault(place[ref.block_id], []).append((not unchanged, j, ref.hash))
    for u, claim in claims.items():
        _, j, hash_ = min(claim)
        name(found.base[u], hash_, (new.digest for new in found.new))
        found.link(u, j)


def _by_text(found: Match, seen: Seen, digest: Callable[[Known], str | None]) -> None:
    """Equal texts in order, then those that occur once on either side: they have moved."""
    if len(found.old_of) == len(found.new):
        return
    olds: list[object] = []
    for u, known in enumerate(found.base):
        j = found.new_of.get(u)
        olds.append(("is", j) if j is not None else digest(known) or ("none", u))
    news: list[object] = [
        ("is", j) if j in found.old_of else new.digest for j, new in enumerate(found.new)
    ]
    chain = _likeliest_of_equals(found, olds, common(olds, news))
    fresh = [pair for pair in chain if pair[0] not in found.new_of]
    for u, j in _believable(found, fresh) if seen.views or seen.based else fresh:
        found.link(u, j)
    # A text that says much is the same block even where it may not be moved: a call sent twice.
    left = [
        (u, token)
        for u, known in enumerate(found.base)
        if u not in found.new_of and (token := digest(known)) and (known.seen or is_distinct(known))
    ]
    _leave_gone(found, left)
    left = [(u, token) for u, token in left if u not in found.new_of]
    for u, j in unique_on_both(left, [(j, found.new[j].digest) for j in found.unmatched()]):
        found.link(u, j)


def _leave_gone(found: Match, left: Sequence[tuple[int, str]]) -> None:
    """Blocks that are gone, sent elsewhere: each is one that its author left alone, however many
    say the same. As many as are still there are not among them.
    """
    gone: dict[str, list[int]] = {}
    for u, token in left:
        if found.base[u].now is None:
            gone.setdefault(token, []).append(u)
    more = Counter(found.new[j].digest for j in found.unmatched())
    more -= Counter(token for u, token in left if found.base[u].now)
    for j in found.unmatched():
        token = found.new[j].digest
        if more[token] > 0 and gone.get(token):
            found.link(gone[token].pop(0), j)
            more[token] -= 1


def _likeliest_of_equals(
    found: Match, olds: Sequence[object], chain: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Of equal blocks at one place those seen and still there are kept, so that none is left over
    and taken for deleted; then those all views show alike; then the one as far from the next pair,
    or the last one, as the new block is.
    """
    spare: dict[object, list[int]] = {}
    matched = {u for u, _ in chain}
    for u, known in enumerate(found.base):
        if known.seen and known.now and u not in matched:
            spare.setdefault(olds[u], []).append(u)
    if not spare:
        return list(chain)
    pairs = [(-1, -1), *chain, (len(olds), len(found.new))]
    inner = range(1, len(pairs) - 1)
    for steps, side in ((reversed(inner), 1), (inner, -1)):
        for n in steps:
            u, j = pairs[n]
            equal = spare.get(olds[u])
            if not equal:
                continue
            beside = pairs[n + side][0] - pairs[n + side][1]
            low, high = bisect_right(equal, pairs[n - 1][0]), bisect_left(equal, pairs[n + 1][0])
            worth = {
                v: (_surety(found.base[v]), -abs(v - j - beside)) for v in (u, *equal[low:high])
            }
            best = max(worth, key=worth.__getitem__)
            if best != u:
                equal.remove(best)
                insort(equal, u)
                pairs[n] = (best, j)
    return pairs[1:-1]


def _surety(known: Known) -> int:
    """How certain it is that its author knows the block, and as what."""
    if known.seen is None or known.now is None:
        return 0
    return 1 if known.seen.others else 2


def _believable(found: Match, pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Without the pairs of unseen blocks whose short text is all that speaks for them.

    A rule written after the part that was read is not the rule somewhere in the rest; beside a
    block that was seen, or a neighbour that matches as well, it is.
    """
    base = found.base
    if all(base[u].seen for u, _ in pairs):
        return list(pairs)
    end = sum(not known.trailing for known in base)
    agreed = {*found.new_of.items(), (-1, -1), (end, len(found.new))}
    for u, j in pairs:
        near = base[max(u - 1, 0) : u + 2]
        if is_distinct(base[u]) or any(known.seen for known in near):
            agreed.add((u, j))
    for step, order in ((-1, pairs), (1, pairs[::-1])):
        for u, j in order:
            if (u + step, j + step) in agreed:
                agreed.add((u, j))
    return [pair for pair in pairs if pair in agreed]


def _by_older_text(found: Match, seen: Seen) -> None:
    """Texts shown earlier: still that block, whatever its author means by sending it."""
    digests: dict[str, set[int]] = {}
    for u, known in enumerate(found.base):
        if u in found.new_of or (known.seen is None and not is_distinct(known)):
            continue
        others = known.seen.others if known.seen else seen.known.get(known.block_id, ())
        unread = (known.seen.unread,) if known.seen and known.seen.unread else ()
        for digest in {*others, *unread, *seen.older.get(known.block_id, ())}:
            digests.setdefault(digest, set()).add(u)
    for j in found.unmatched():
        owners = digests.get(found.new[j].digest, set()) - found.new_of.keys()
        if len(owners) == 1:
            found.link(owners.pop(), j)


def _settle_order(found: Match, pinned: Container[str]) -> None:
    """Which pairs keep their order: as many as can, and those first that had better not move."""
    pairs = [(u, j) for u, j in found.new_of.items() if not found.base[u].foreign]
    found.stable = heaviest_chain(
        (u, j, _HEAVY if found.base[u].block_id in pinned else 1.0) for u, j in pairs
    )
