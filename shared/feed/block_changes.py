"""The change feed: rows, what of them is kept, and what a reader at a cursor is told.

Rows are append-only to readers and compacted by the writer: a `changed` or `moved` row supersedes
the previous row of the same kind, block and principal unless the block came or went in between. So
a document typed in a hundred thousand times has a handful of rows, and an old cursor is still
answered exactly. Past the cap the floor rises, to the end of a transaction; a cursor under the
floor is `too_old`.

The mirror rule, which everything here serves: delete `removed`; take out every listed block; put
each listed block, in the order listed, right after its `after` (or first). After each answer that
is not cut the mirror holds the document's blocks in the document's order.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from shared.feed.cursor import Cursor
from shared.limits import CHANGE_ROWS_PER_BLOCK, MIN_CHANGE_ROWS

Kind = Literal["added", "removed", "moved", "changed"]
Change = Literal["added", "changed", "moved"]

_REPEATABLE = ("changed", "moved")  # kinds of which the newest row says all


class Draft(msgspec.Struct, frozen=True):
    """A row before it has a number: what happened to a block in one transaction."""

    block_id: str
    kind: Kind


class Row(msgspec.Struct, frozen=True):
    """What happened to a block, as stored. `at` is in milliseconds since the epoch."""

    seq: int
    block_id: str
    kind: Kind
    principal: str
    at: int


class Appended(msgspec.Struct, frozen=True):
    """What one transaction did to the table.

    Attributes:
        rows: To be inserted.
        superseded: Numbers of rows to be deleted.
        floor: Rows up to this number are to be deleted; cursors under it are too old.
    """

    rows: tuple[Row, ...]
    superseded: tuple[int, ...]
    floor: int


class PageEntry(msgspec.Struct, frozen=True):
    """A block of a page. `after` is the id of the block to put it behind, None for first.

    `principals` are those who changed it since the cursor, the latest last.
    """

    block_id: str
    change: Change
    after: str | None
    principals: tuple[str, ...]


class Page(msgspec.Struct, frozen=True):
    """What a reader is told: `entries` in document order; go on from `seq` with the bit `cut`."""

    entries: tuple[PageEntry, ...]
    removed: tuple[str, ...]
    seq: int
    cut: bool
    more: bool
    too_old: bool = False


class ChangeLog:
    """The rows of one document.

    Args:
        rows: As stored, by ascending number.
        head: The last number given out. Of a compacted table this is not the last row's.
        floor: Cursors under it are too old.
    """

    def __init__(self, rows: Iterable[Row] = (), head: int = 0, floor: int = 0) -> None:
        self.head = head
        self.floor = floor
        self._rows: OrderedDict[int, Row] = OrderedDict()
        self._of_block: OrderedDict[str, list[Row]] = OrderedDict()  # by each block's last row
        for row in rows:
            self._add(row)

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, block_id: object) -> bool:
        """Whether a kept row tells of the block, also of one that is gone."""
        return block_id in self._of_block

    def append(self, drafts: Iterable[Draft], principal: str, at: int, blocks: int) -> Appended:
        """Number the rows of one transaction and drop what they make superfluous.

        `at` is the commit's time in milliseconds, `blocks` the number of blocks the document has
        now: the cap goes by it.
        """
        first = self.head + 1
        rows: list[Row] = []
        superseded: list[int] = []
        for draft in drafts:
            self.head += 1
            row = Row(self.head, draft.block_id, draft.kind, principal, at)
            old = self._superseded_by(row)
            if old is not None:
                superseded.append(old.seq)
                self._drop(old)
            self._add(row)
            rows.append(row)
        self._trim(max(MIN_CHANGE_ROWS, CHANGE_ROWS_PER_BLOCK * blocks), first)
        return Appended(tuple(rows), tuple(superseded), self.floor)

    def take(self) -> int:
        """The next number, for a change of something that is no block."""
        self.head += 1
        return self.head

    def rows_since(self, seq: int) -> Iterator[Row]:
        """The kept rows past `seq`, newest first."""
        for row in reversed(self._rows.values()):
            if row.seq <= seq:
                return
            yield row

    def touched_since(self, seq: int) -> dict[str, tuple[Row, ...]]:
        """Each block with rows past `seq`, and those rows, oldest first."""
        return {block_id: tuple(rows) for block_id, rows in self._since(seq)}

    def others_since(self, seq: int, principal: str) -> bool:
        """Whether anybody but `principal` has rows past `seq`."""
        return any(row.principal != principal for row in self.rows_since(seq))

    def page(
        self,
        cursor: Cursor,
        order: Sequence[str],
        size: Callable[[str], int],
        max_chars: int,
        exclude: str | None = None,
        reader: str | None = None,
        until: int | None = None,
    ) -> Page:
        """What a reader at `cursor` is told next.

        Blocks go by their *last* row, smallest first, until `max_chars` is full (one at least); the
        page's cursor is the last row of the last block given. Any simpler cut tells a reader to
        put a block behind one it has not been given, or never tells a block at all.

        `order` is the ids of the document now. `size` says how many characters a block's text has
        and is asked only for blocks that may be given. Blocks that nobody but `exclude` touched
        since the cursor are left out; the mirror holds only for None. `reader` is who asks: a write
        whose author is behind tells of a block that came after the author's cursor, so one that the
        reader touched since is named when it is gone. `until`: there is no room for what else is
        numbered beyond that: the page ends there at the latest.
        """
        if cursor.seq < self.floor:
            return Page((), (), self.head, cut=False, more=False, too_old=True)
        since = [
            (block_id, rows)
            for block_id, rows in self._since(cursor.seq)
            if exclude is None or any(row.principal != exclude for row in rows)
        ]
        since.reverse()
        if not since and until is None:
            return Page((), (), self.head, cut=False, more=False)
        place = {block_id: n for n, block_id in enumerate(order)}
        given, end = self._fill(since, place, size, max_chars, until)
        more = end is not None
        seq = self.head if end is None else end
        told = [(block_id, rows) for block_id, rows in since if rows[-1].seq <= seq]
        removed = tuple(
            block_id
            for block_id, rows in told
            if block_id not in place
            and (
                cursor.cut
                or _existed(rows, present=False)
                or any(row.principal == reader for row in rows)
            )
        )
        still_to_come = {block_id for block_id, rows in since if rows[-1].seq > seq}
        entries = _entries(given, order, place, still_to_come)
        return Page(entries, removed, seq, cut=more, more=more)

    def _fill(
        self,
        since: list[tuple[str, list[Row]]],
        place: dict[str, int],
        size: Callable[[str], int],
        max_chars: int,
        until: int | None,
    ) -> tuple[dict[str, list[Row]], int | None]:
        """The blocks that fit, and the last row of the last one when not all did."""
        given: dict[str, list[Row]] = {}
        room = max_chars
        end = 0
        for block_id, rows in since:
            if until is not None and rows[-1].seq > until:
                break
            if block_id not in place:
                continue
            room -= size(block_id)
            if room < 0 and given:
                return given, end
            given[block_id] = rows
            end = rows[-1].seq
        return given, until

    def _since(self, seq: int) -> Iterator[tuple[str, list[Row]]]:
        """Blocks with rows past `seq` and those rows; the block touched last comes first."""
        for block_id, rows in reversed(self._of_block.items()):
            if rows[-1].seq <= seq:
                return
            yield block_id, [row for row in rows if row.seq > seq]

    def _superseded_by(self, row: Row) -> Row | None:
        if row.kind not in _REPEATABLE:
            return None
        for old in reversed(self._of_block.get(row.block_id, ())):
            if old.kind not in _REPEATABLE:
                return None
            if old.kind == row.kind and old.principal == row.principal:
                return old
        return None

    def _add(self, row: Row) -> None:
        self._rows[row.seq] = row
        self._of_block.setdefault(row.block_id, []).append(row)
        self._of_block.move_to_end(row.block_id)

    def _drop(self, row: Row) -> None:
        del self._rows[row.seq]
        rows = self._of_block[row.block_id]
        rows.remove(row)
        if not rows:
            del self._of_block[row.block_id]

    def _trim(self, cap: int, newest: int) -> None:
        """Drop whole transactions from the old end down to `cap`, but none of `newest` and on.

        A transaction is told by equal principal and time. Two that share both are one to us, which
        only puts the floor at the end of the second.
        """
        while len(self._rows) > cap:
            old = next(iter(self._rows.values()))
            together = 0
            for row in self._rows.values():
                if (row.principal, row.at) != (old.principal, old.at) or row.seq >= newest:
                    break
                together += 1
            if not together:
                return
            for _ in range(together):
                oldest = next(iter(self._rows.values()))
                self.floor = oldest.seq
                self._drop(oldest)


def _existed(rows: list[Row], present: bool) -> bool:
    """Whether a block was there before `rows`: its first coming or going tells."""
    for row in rows:
        if row.kind == "added":
            return False
        if row.kind == "removed":
            return True
    return present


def _change(rows: list[Row]) -> Change:
    if not _existed(rows, present=True):
        return "added"
    elsewhere = any(row.kind in ("moved", "added") for row in rows)
    return "moved" if elsewhere else "changed"


def _entries(
    given: dict[str, list[Row]],
    order: Sequence[str],
    place: dict[str, int],
    still_to_come: set[str],
) -> tuple[PageEntry, ...]:
    """The blocks of a page in document order.

    `after` names the nearest block before it that the reader has or is given by this page.
    """
    entries = []
    for block_id in sorted(given, key=place.__getitem__):
        before = place[block_id] - 1
        while before >= 0 and order[before] in still_to_come:
            before -= 1
        rows = given[block_id]
        principals = dict.fromkeys(row.principal for row in reversed(rows))
        entries.append(
            PageEntry(
                block_id,
                _change(rows),
                order[before] if before >= 0 else None,
                tuple(reversed(principals)),
            )
        )
    return tuple(entries)
