"""Old updates merged into fewer, with who made what kept beside them.

Only updates that follow each other become one, from their bytes: a document built from them would
have dropped the text that was deleted since. Nothing that a reader may still name is lost: no span
reaches across a version, a checkpoint or an instant that is to be kept.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from typing import Final

import msgspec
from pycrdt import merge_updates

from shared.index.record import Entry, SavedIndex, SpliceWriter
from shared.limits import SPAN_BYTES, SPAN_MS
from shared.patch.block_diff import between, common
from shared.stored import Authored, AuthoredKind, StoredUpdate
from shared.yjs.update import deletions, insertions, same_items

_ALONE: Final = frozenset({"seed", "repair"})


class MisfitError(Exception):
    """Updates, of which the first and the last are in `args`, that do not merge."""


class Boundaries(msgspec.Struct, frozen=True):
    """What no span may reach across.

    Attributes:
        seqs: Updates after which the document is to be had.
        instants: Times (ms) at which it is, ascending.
    """

    seqs: Collection[int] = ()
    instants: Sequence[int] = ()

    def part(self, one: StoredUpdate, other: StoredUpdate) -> bool:
        """Whether `one` and `other`, which follows it, must stay apart."""
        if one.seq in self.seqs:
            return True
        at = bisect_left(self.instants, one.at)
        return at < len(self.instants) and self.instants[at] < other.at


class Span(msgspec.Struct, frozen=True):
    """Several updates as one, and who made them."""

    update: StoredUpdate
    authors: tuple[Authored, ...]


def groups(
    updates: Sequence[StoredUpdate], keep: Boundaries, before: int = -1
) -> list[list[StoredUpdate]]:
    """The updates in runs that may become one each, in order; many are runs of one.

    `before` is when the update before the first of them was made (ms).

    A repair stays by itself: what it deletes must be gone before what follows is applied. So does
    what a document was created with: an instant within a span is answered with what was before it.
    Where updates of one instant are parted, the rest of them makes a run: an instant is answered
    with all that was made then, never with a half of it.
    """
    found: list[list[StoredUpdate]] = []
    size = 0
    halves = False  # the run begins within an instant
    for update in updates:
        last = found[-1] if found else None
        size += len(update.data)
        if (
            last is None
            or (halves and update.at != last[-1].at)
            or {last[-1].via, update.via} & _ALONE
            or update.at - last[0].at > SPAN_MS
            or size > SPAN_BYTES
            or keep.part(last[-1], update)
            or max(last[-1].merged, update.merged) > 1
        ):
            halves = update.at == (last[-1].at if last else before)
            found.append([update])
            size = len(update.data)
        else:
            last.append(update)
    return found


def merge(index: SavedIndex, group: Sequence[StoredUpdate]) -> Span | None:
    """The updates of a run as one; `index` is that of before, and carried on to that of after.

    None: it is one update, which stays as it is.

    Raises:
        DocumentCorrupt
        MisfitError: What they became does not hold what they did: they must stay. The index is
            carried on all the same.
    """
    before = list(index.entries)
    for update in group:
        if update.splice:
            index.apply(update.splice)
    if len(group) == 1:
        return None
    last = group[-1]
    data = merge_updates(*(one.data for one in group))
    if not same_items(data, (one.data for one in group)):
        raise MisfitError(group[0].first, last.seq)
    update = StoredUpdate(
        seq=last.seq,
        at=last.at,
        principal=last.principal,
        via=last.via,
        data=data,
        splice=splice_between(before, index.entries, last.at),
        change_seq=last.change_seq,
        merged=last.seq - group[0].first + 1,
    )
    return Span(update, authors_of(group))


def splice_between(before: Sequence[Entry], after: Sequence[Entry], at: int) -> bytes:
    """What makes the one list of entries the other, as the log keeps it."""
    pairs = common(before, after)
    writer = SpliceWriter()
    for number, (olds, news) in enumerate(between(pairs, len(before), len(after))):
        for place in range(max(len(olds), len(news))):
            writer.replace(
                before[olds[place]] if place < len(olds) else None,
                after[news[place]] if place < len(news) else None,
            )
        if number < len(pairs):
            writer.keep(1)
    return writer.done(at)


def authors_of(group: Sequence[StoredUpdate]) -> tuple[Authored, ...]:
    """Who made what in these updates, ranges that follow each other as one."""
    found: list[Authored] = []
    last: dict[tuple[str, str, AuthoredKind, int], int] = {}  # where in `found` the last one is

    def add(update: StoredUpdate, kind: AuthoredKind, client: int, start: int, end: int) -> None:
        key = (update.principal, update.via, kind, client)
        place = last.get(key)
        if place is not None:
            one = found[place]
            if kind == "other" or one.clock_to == start or one.clock_from == end:
                found[place] = msgspec.structs.replace(
                    one,
                    clock_from=min(one.clock_from, start),
                    clock_to=max(one.clock_to, end),
                    at=update.at,
                )
                return
        last[key] = len(found)
        found.append(Authored(update.principal, update.via, kind, client, start, end, update.at))

    for update in group:
        ranges: list[tuple[AuthoredKind, int, int, int]] = []
        ranges += [("inserted", *one) for one in insertions(update.data)]
        ranges += [("deleted", *one) for one in deletions(update.data)]
        for kind, client, start, end in ranges or [("other", 0, 0, 0)]:
            add(update, kind, client, start, end)
    return tuple(found)
