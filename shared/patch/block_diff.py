"""Differences of two lists of blocks: what stayed, what moved, what became what.

Equality is of tokens (hashes of texts), likeness of texts. All results are pairs of positions
`(old, new)`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from typing import Final

from rapidfuzz import fuzz
from rapidfuzz.distance import LCSseq

from shared.limits import MAX_PAIRINGS, MAX_WORDS_CHARS

Pair = tuple[int, int]

SIMILAR: Final = 45.0  # of 100: from here on likeness says more about identity than place does


def common(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Pair]:
    """A longest common subsequence, in order.

    Equal ends are taken first; what occurs on one side only cannot match and is left out, so the
    quadratic part sees only what may have moved.
    """
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    middle = _common_middle(old, new, head, tail)
    ends = ((len(old) - n, len(new) - n) for n in range(tail, 0, -1))
    return [*((n, n) for n in range(head)), *middle, *ends]


def _common_middle(
    old: Sequence[Hashable], new: Sequence[Hashable], head: int, tail: int
) -> list[Pair]:
    olds, news = range(head, len(old) - tail), range(head, len(new) - tail)
    both = {old[i] for i in olds} & {new[j] for j in news}
    kept_old = [i for i in olds if old[i] in both]
    kept_new = [j for j in news if new[j] in both]
    number = {token: n for n, token in enumerate(both)}
    opcodes = LCSseq.opcodes([number[old[i]] for i in kept_old], [number[new[j]] for j in kept_new])
    pairs: list[Pair] = []
    for code in opcodes:
        if code.tag == "equal":
            before = kept_old[code.src_start : code.src_end]
            after = kept_new[code.dest_start : code.dest_end]
            pairs += zip(before, after, strict=True)
    return pairs


def unique_on_both(
    old: Iterable[tuple[int, Hashable]], new: Iterable[tuple[int, Hashable]]
) -> list[Pair]:
    """Pairs of equal tokens that occur exactly once on either side: what can only have moved."""
    olds, news = list(old), list(new)
    count_old = Counter(token for _, token in olds)
    count_new = Counter(token for _, token in news)
    place = {token: i for i, token in olds}
    return [
        (place[token], j) for j, token in news if count_new[token] == 1 and count_old[token] == 1
    ]


def heaviest_chain(weighted: Iterable[tuple[int, int, float]]) -> list[Pair]:
    """Of pairs `(old, new, weight)` the heaviest set that rises strictly on both sides, in order.

    Among chains of one weight any may come back. Weights are positive.
    """
    pairs = sorted(weighted, key=lambda pair: (pair[0], -pair[1]))
    if all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(pairs)):
        return [pair[:2] for pair in pairs]
    places = {new: n + 1 for n, new in enumerate(sorted({new for _, new, _ in pairs}))}
    # A Fenwick tree of prefix maxima over the new side: (weight of the best chain, its last pair).
    best: list[tuple[float, int]] = [(0.0, -1)] * (len(places) + 1)
    previous: list[int] = []
    for number, (_, new, weight) in enumerate(pairs):
        at = places[new] - 1
        top = (0.0, -1)
        while at:
            top = max(top, best[at])
            at -= at & -at
        previous.append(top[1])
        at = places[new]
        reached = (top[0] + weight, number)
        while at < len(best):
            best[at] = max(best[at], reached)
            at += at & -at
    chain: list[Pair] = []
    last = max(best)[1]
    while last >= 0:
        chain.append(pairs[last][:2])
        last = previous[last]
    return chain[::-1]


def likeness(one: str, other: str) -> float:
    """0 to 100, over the first 2,000 characters."""
    return fuzz.ratio(one[:MAX_WORDS_CHARS], other[:MAX_WORDS_CHARS])


def similar(
    old: Sequence[str | None], new: Sequence[str | None], threshold: float = SIMILAR
) -> list[Pair]:
    """Which text became which, in order: the pairing of greatest likeness.

    None stands for a text nobody knows; it pairs with nothing. In runs too long to compare all
    with all, a text is compared with those near its own place.
    """
    if not old or not new:
        return []
    reach = max(MAX_PAIRINGS // len(old), 3) // 2
    scored: list[tuple[int, int, float]] = []
    for i, before in enumerate(old):
        centre = i * len(new) // len(old)
        for j in range(max(0, centre - reach), min(len(new), centre + reach + 1)):
            after = new[j]
            if before is None or after is None:
                continue
            score = likeness(before, after)
            if score >= threshold:
                scored.append((i, j, score))
    return heaviest_chain(scored)


def between(pairs: Iterable[Pair], old: int, new: int) -> list[tuple[range, range]]:
    """The gaps a rising list of pairs leaves in lists of `old` and `new` items."""
    gaps: list[tuple[range, range]] = []
    at_old = at_new = 0
    for i, j in [*pairs, (old, new)]:
        gaps.append((range(at_old, i), range(at_new, j)))
        at_old, at_new = i + 1, j + 1
    return gaps


def by_place(pairs: Sequence[Pair], old: int, new: int) -> list[Pair]:
    """`pairs`, and in each gap they leave first with first, second with second, and so on."""
    found = list(pairs)
    for olds, news in between(pairs, old, new):
        found += zip(olds, news, strict=False)
    return sorted(found)
