"""What a transaction did to blocks, from their ids before and after.

Only what was touched is looked at. A block that no row names keeps its place among the others no
row names: that is what lets a mirror follow.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

import msgspec

from shared.feed.block_changes import Draft


class Step(msgspec.Struct, frozen=True):
    """A touched element, in the order of before and after as one.

    Attributes:
        before: The id it had, None for a new element.
        after: The id it has, None for a removed one.
        untouched: How many untouched blocks stand before it.
    """

    before: str | None
    after: str | None
    untouched: int


def change_rows(
    steps: Sequence[Step], looked: Mapping[str, str], looks: Mapping[str, str]
) -> tuple[Draft, ...]:
    """The rows of one transaction: removed ones first, then in document order.

    An id that is there before and after is *moved* when it left its gap between blocks that kept
    their element, or lies outside a longest run in old order among those of its gap that sit on
    another element now; else *changed* when its fingerprint differs.

    Args:
        steps: All touched elements; ids are unique before and after.
        looked: Fingerprints before, by id.
        looks: Fingerprints now, by id.
    """
    removed = [
        Draft(step.before, "removed")
        for step in steps
        if step.before is not None and step.before not in looks
    ]
    moved = _moved(steps)
    there: list[Draft] = []
    for step in steps:
        block_id = step.after
        if block_id is None:
            continue
        if block_id not in looked:
            there.append(Draft(block_id, "added"))
        elif block_id in moved:
            there.append(Draft(block_id, "moved"))
        elif looked[block_id] != looks[block_id]:
            there.append(Draft(block_id, "changed"))
    return (*removed, *there)


def _moved(steps: Sequence[Step]) -> set[str]:
    """Ids that must be told as moved so that all others keep their order."""
    stayed = 0
    was_in: dict[str, tuple[int, int]] = {}  # id -> gap, place
    is_in: dict[int, list[str]] = {}  # gap -> ids on another element than before
    for place, step in enumerate(steps):
        if step.before is not None and step.before == step.after:
            stayed += 1
            continue
        gap = step.untouched + stayed
        if step.before is not None:
            was_in[step.before] = (gap, place)
        if step.after is not None:
            is_in.setdefault(gap, []).append(step.after)
    moved: set[str] = set()
    for gap, ids in is_in.items():
        here: list[str] = []
        for block_id in ids:
            old_gap, _ = was_in.get(block_id, (None, 0))
            if old_gap == gap:
                here.append(block_id)
            elif old_gap is not None:
                moved.add(block_id)
        run = longest_run([was_in[block_id][1] for block_id in here])
        moved.update(block_id for at, block_id in enumerate(here) if at not in run)
    return moved


def longest_run(numbers: Sequence[int]) -> set[int]:
    """Positions of a longest ascending subsequence of different `numbers`."""
    ends: list[int] = []  # the smallest number a run of length n + 1 can end with
    at_end: list[int] = []  # where that number is
    previous: list[int | None] = []
    for at, number in enumerate(numbers):
        length = bisect_left(ends, number)
        previous.append(at_end[length - 1] if length else None)
        if length == len(ends):
            ends.append(number)
            at_end.append(at)
        else:
            ends[length] = number
            at_end[length] = at
    run: set[int] = set()
    step = at_end[-1] if at_end else None
    while step is not None:
        run.add(step)
        step = previous[step]
    return run
