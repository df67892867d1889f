"""Edits as events: at most one per principal in `DIGEST_MS`, and none is left out.

The first edit is told at once and opens a window. What the same principal touches until its end is
told when it ends, whether or not another edit follows, and opens the next one.

    edits    x  x x                      x
    told     !            (x x) !        !          window: |----------|

What waits is stored with the edit itself, so that neither a crash nor a document that is put away
loses it: it is told when the document is opened next.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from shared.limits import DIGEST_BLOCKS, DIGEST_MS
from shared.stored_annotations import StoredDigest


class Waiting(msgspec.Struct, frozen=True, array_like=True):
    """What a window holds.

    Attributes:
        blocks: Touched since the last event, the first `DIGEST_BLOCKS` of them; `more`: others.
        scan: Blocks to be looked through for mentions when the window ends.
        everywhere: There are so many that the whole document is.
    """

    blocks: tuple[str, ...] = ()
    more: int = 0
    scan: tuple[str, ...] = ()
    everywhere: bool = False

    @property
    def empty(self) -> bool:
        return not (self.blocks or self.scan or self.everywhere)


NOTHING: Final = Waiting()
_WAITING: Final = msgspec.msgpack.Decoder(Waiting)


class Ended(msgspec.Struct, frozen=True):
    """A window that is over, with what it held."""

    principal: str
    waiting: Waiting


def touched(before: Waiting, blocks: Iterable[str], scan: Iterable[str]) -> Waiting:
    """With more blocks in it. Of those beyond `DIGEST_BLOCKS` one may be counted twice."""
    known = dict.fromkeys(before.blocks)
    more = before.more
    for one in blocks:
        if one not in known and len(known) >= DIGEST_BLOCKS:
            more += 1
        else:
            known[one] = None
    looked = dict.fromkeys((*before.scan, *scan))
    too_many = len(looked) > DIGEST_BLOCKS
    return Waiting(
        tuple(known),
        more,
        () if too_many else tuple(looked),
        before.everywhere or too_many,
    )


class Digests:
    """The windows of one document.

    Args:
        stored: By principal.
        told: When the last event of each principal was, in milliseconds since 1970.
    """

    def __init__(self, stored: Mapping[str, StoredDigest], told: Mapping[str, int]) -> None:
        self._rows = dict(stored)
        self._until = {who: at + DIGEST_MS for who, at in told.items()}
        self._waiting: dict[str, Waiting] = {}
        for who, row in stored.items():
            self._until[who] = max(self._until.get(who, 0), row.until)
            if row.data:
                self._waiting[who] = _WAITING.decode(row.data)

    def mentioned(self, principal: str) -> bool:
        """Whether the text has mentioned them."""
        row = self._rows.get(principal)
        return row is not None and row.mentioned

    def mention(self, principal: str) -> StoredDigest:
        """It does now: the row to store."""
        row = self._rows.get(principal) or StoredDigest(principal)
        return self._keep(msgspec.structs.replace(row, mentioned=True))

    def holds(self, principal: str, at: int, blocks: Iterable[str]) -> bool:
        """Whether their open window has all these blocks already: nothing is to be done then."""
        waiting = self._waiting.get(principal)
        if waiting is None or at >= self._until.get(principal, 0):
            return False
        return all(one in waiting.blocks for one in blocks)

    def edited(
        self, principal: str, at: int, blocks: tuple[str, ...], scan: tuple[str, ...]
    ) -> tuple[Waiting, StoredDigest | None]:
        """Somebody touched blocks: what is to be told at once, and the row to store if it changed.

        `scan`: those of them that may mention somebody.
        """
        until = self._end_of(principal, at)
        before = self._waiting.get(principal, NOTHING)
        if at < until:
            return NOTHING, self._wait(principal, before, touched(before, blocks, scan))
        now = touched(before, blocks, ())
        self._until[principal] = at + DIGEST_MS
        later = touched(NOTHING, (), scan)
        return now, self._wait(principal, before, later)

    def ended(self, now: int) -> list[tuple[Ended, StoredDigest]]:
        """The windows that are over and hold something, each with the row to store instead."""
        over = []
        for who, waiting in tuple(self._waiting.items()):
            if self._end_of(who, now) <= now:
                if waiting.blocks:
                    self._until[who] = now + DIGEST_MS
                row = self._wait(who, waiting, NOTHING)
                assert row is not None, "it held something"
                over.append((Ended(who, waiting), row))
        if not self._waiting:
            self._until = {who: until for who, until in self._until.items() if until > now}
        return over

    def next_end(self) -> int | None:
        """When the next window that holds something ends, in milliseconds; None: there is none."""
        return min((self._until.get(who, 0) for who in self._waiting), default=None)

    def _end_of(self, principal: str, now: int) -> int:
        """A clock that was set back does not make a window longer."""
        until = min(self._until.get(principal, 0), now + DIGEST_MS)
        if principal in self._until:
            self._until[principal] = until
        return until

    def _wait(self, principal: str, before: Waiting, after: Waiting) -> StoredDigest | None:
        if after == before:
            return None
        if after.empty:
            self._waiting.pop(principal, None)
        else:
            self._waiting[principal] = after
        row = self._rows.get(principal) or StoredDigest(principal)
        data = b"" if after.empty else msgspec.msgpack.encode(after)
        until = self._until.get(principal, 0)
        return self._keep(msgspec.structs.replace(row, until=until, data=data))

    def _keep(self, row: StoredDigest) -> StoredDigest:
        self._rows[row.principal] = row
        return row
