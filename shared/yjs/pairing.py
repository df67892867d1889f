"""Which old child becomes which new one: equal ones first, then like ones, then by place."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Sequence
from typing import Final

import msgspec
from rapidfuzz import fuzz
from rapidfuzz.distance import LCSseq, Opcodes

MAX_COMPARISONS: Final = 10_000  # of texts within one stretch; a larger one pairs by place
MAX_TEXT: Final = 500  # characters of a text that are compared
ALIKE: Final = 50.0  # of 100: below it, two texts are no more alike than any two

Pair = tuple[int | None, int | None]  # positions; None: removed, or inserted


class Layout(msgspec.Struct, frozen=True):
    """How the new children come from the old ones.

    Attributes:
        pairs: See `pair`.
        sources: For the position of a new child that was moved, that of the old one.
    """

    pairs: list[Pair]
    sources: dict[int, int]


class Child(msgspec.Struct, frozen=True):
    """One side of a pair.

    Attributes:
        key: Equal for two children that mean the same.
        kind: Only children of one kind are paired.
        text: What likeness is judged by.
        family: Only children of one family can be the same child at two places.
    """

    key: Hashable
    kind: Hashable
    text: str
    family: Hashable


def lay_out(old: Sequence[Child], new: Sequence[Child]) -> Layout:
    """What stays, comes, goes and moves."""
    pairs = pair(old, new)
    return Layout(pairs, moved(pairs, old, new))


def pair(old: Sequence[Child], new: Sequence[Child]) -> list[Pair]:
    """All children of both sides, each once, in an order that keeps both sides' orders.

    One that is at another place now has no partner: see `moved`.
    """
    pairs: list[Pair] = []
    codes = LCSseq.opcodes([child.key for child in old], [child.key for child in new])
    old, new = _apart(old, new, codes)
    gone: list[int] = []
    come: list[int] = []
    for code in codes:
        if code.tag != "equal":
            gone += range(code.src_start, code.src_end)
            come += range(code.dest_start, code.dest_end)
            continue
        pairs += _stretch(old, new, gone, come)
        gone, come = [], []
        same = range(code.src_start, code.src_end), range(code.dest_start, code.dest_end)
        pairs += zip(*same, strict=True)
    return pairs + _stretch(old, new, gone, come)


def _apart(
    old: Sequence[Child], new: Sequence[Child], codes: Opcodes
) -> tuple[Sequence[Child], Sequence[Child]]:
    """Both sides with what was moved, which is equal but in no common order, of no other's kind."""
    changed = [code for code in codes if code.tag != "equal"]
    gone = [at for code in changed for at in range(code.src_start, code.src_end)]
    come = [at for code in changed for at in range(code.dest_start, code.dest_end)]
    if {old[at].key for at in gone}.isdisjoint(new[at].key for at in come):
        return old, new
    moves = Counter(old[at].key for at in gone) & Counter(new[at].key for at in come)
    return _set_apart(old, gone, Counter(moves)), _set_apart(new, come, moves)


def _set_apart(
    children: Sequence[Child], changed: Sequence[int], moves: Counter[Hashable]
) -> list[Child]:
    marked = list(children)
    for at in changed:
        if moves[marked[at].key] > 0:
            moves[marked[at].key] -= 1
            marked[at] = msgspec.structs.replace(marked[at], kind=object())
    return marked


def moved(pairs: Sequence[Pair], old: Sequence[Child], new: Sequence[Child]) -> dict[int, int]:
    """The new children without a partner that are removed ones at another place.

    Equal ones first, then the most alike.

    Returns:
        For the position of each such new child, that of the old one.
    """
    gone: dict[Hashable, deque[int]] = defaultdict(deque)
    for i, j in pairs:
        if i is not None and j is None:
            gone[old[i].key].append(i)
    come = [j for i, j in pairs if i is None and j is not None]
    found = {j: gone[key].popleft() for j in come if gone.get(key := new[j].key)}
    left = sorted(i for places in gone.values() for i in places)
    rest = [j for j in come if j not in found]
    if len(left) * len(rest) > MAX_COMPARISONS:
        return found
    likenesses = [
        (_ratio(old[i], new[j]), i, j) for i in left for j in rest if old[i].family == new[j].family
    ]
    for likeness, i, j in sorted(likenesses, key=lambda it: (-it[0], it[1:])):
        if likeness and i in left and j not in found:
            found[j] = i
            left.remove(i)
    return found


def _stretch(
    old: Sequence[Child], new: Sequence[Child], gone: list[int], come: list[int]
) -> list[Pair]:
    """The children between two equal ones: the most alike in order, the rest by place."""
    if not gone or not come:
        return [*((at, None) for at in gone), *((None, at) for at in come)]
    pairs: list[Pair] = []
    low = high = 0
    for i, j in [*_alike(old, new, gone, come), (len(gone), len(come))]:
        pairs += _by_place(old, new, gone[low:i], come[high:j])
        if i < len(gone):
            pairs.append((gone[i], come[j]))
        low, high = i + 1, j + 1
    return pairs


def _alike(
    old: Sequence[Child], new: Sequence[Child], gone: list[int], come: list[int]
) -> list[tuple[int, int]]:
    """Pairs that keep the order and whose likenesses have the greatest sum."""
    if len(gone) * len(come) > MAX_COMPARISONS or len(gone) == len(come) == 1:
        return []
    # best[i][j]: the greatest sum for gone[i:] and come[j:]
    best = [[0.0] * (len(come) + 1) for _ in range(len(gone) + 1)]
    scores: dict[tuple[int, int], float] = {}
    for i in reversed(range(len(gone))):
        for j in reversed(range(len(come))):
            best[i][j] = max(best[i + 1][j], best[i][j + 1])
            score = _likeness(old[gone[i]], new[come[j]])
            if score:
                scores[i, j] = score
                best[i][j] = max(best[i][j], score + best[i + 1][j + 1])
    found: list[tuple[int, int]] = []
    i = j = 0
    while i < len(gone) and j < len(come):
        if (gain := scores.get((i, j))) and best[i][j] == gain + best[i + 1][j + 1]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return found


def _likeness(one: Child, other: Child) -> float:
    return _ratio(one, other) if one.kind == other.kind else 0.0


def _ratio(one: Child, other: Child) -> float:
    return fuzz.ratio(one.text[:MAX_TEXT], other.text[:MAX_TEXT], score_cutoff=ALIKE) or 0.0


def _by_place(
    old: Sequence[Child], new: Sequence[Child], gone: list[int], come: list[int]
) -> list[Pair]:
    """Children of one kind paired in order; what has no partner goes or comes."""
    pairs: list[Pair] = []
    kinds = [old[at].kind for at in gone], [new[at].kind for at in come]
    for code in LCSseq.opcodes(*kinds):
        olds, news = gone[code.src_start : code.src_end], come[code.dest_start : code.dest_end]
        if code.tag == "equal":
            pairs += zip(olds, news, strict=True)
        else:
            pairs += [*((at, None) for at in olds), *((None, at) for at in news)]
    return pairs
