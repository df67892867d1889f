"""Checkpoints, updates and past states read from a document's file.

Every function runs on the thread of the file's connection, for `actors.storage.store`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any, Final

from actors.storage.queries import Q
from actors.storage.stored import checksum
from shared.errors import DocumentCorrupt
from shared.stored import (
    Checkpoint,
    StoredState,
    StoredUpdate,
    StoredVersion,
    StoredWindow,
)

MAX_NUMBER: Final = 2**63 - 1  # SQLite's largest integer


def seq_of(checkpoint: Checkpoint | None) -> int:
    return checkpoint.seq if checkpoint else 0


def checkpoint_of(row: tuple[Any, ...] | None) -> Checkpoint | None:
    if row is None:
        return None
    *fields, stored = row
    checkpoint = Checkpoint(*fields)
    if stored != checksum(checkpoint.seq, checkpoint.data, checkpoint.block_index):
        raise DocumentCorrupt(f"Checkpoint {checkpoint.seq} is damaged.")
    return checkpoint


def update_of(row: tuple[Any, ...]) -> StoredUpdate:
    *fields, stored = row
    update = StoredUpdate(*fields)  # columns are STRICT, in this order
    if stored != checksum(update.seq, update.data, update.splice):
        raise DocumentCorrupt(f"Update {update.seq} is damaged.")
    return update


def version_of(row: tuple[Any, ...] | None) -> StoredVersion | None:
    return None if row is None else StoredVersion(*row)


def gapless(updates: list[StoredUpdate], after: int, last: int) -> tuple[StoredUpdate, ...]:
    if not follow(updates, after, last):
        raise DocumentCorrupt("The document's log has a gap.")
    return tuple(updates)


def follow(updates: Sequence[StoredUpdate], after: int, last: int) -> bool:
    """Whether the updates lead from `after` to `last`, each beginning where the one before ends."""
    for update in updates:
        if update.first != after + 1:
            return False
        after = update.seq
    return after == last


def state_at(db: sqlite3.Connection, change_seq: int) -> StoredState | None:
    last = db.execute(Q["update_at_change"], (change_seq,)).fetchone()
    if last is None:
        return None
    seq, reached = last
    following = db.execute(Q["update_after"], (seq,)).fetchone()
    if following is not None and reached < change_seq:
        _, then, merged = following
        if merged > 1 and change_seq < then:
            return None  # inside of what was merged
    return state_after(db, seq)


def state_at_time(db: sqlite3.Connection, at: int) -> StoredState | None:
    checkpoint = db.execute(Q["checkpoint_at_time"], (at,)).fetchone()[0] or 0
    last = max(checkpoint, _update_at_time(db, at))
    if last:
        return state_after(db, last)
    return StoredState(None, ()) if db.execute(Q["first_update"]).fetchone()[0] == 1 else None


def _update_at_time(db: sqlite3.Connection, at: int) -> int:
    """The last update made until then; 0: none that is kept. Times rise with the numbers."""
    low, high = db.execute(Q["update_range"]).fetchone()
    found = 0
    while low is not None and low <= high:
        middle = (low + high) // 2
        seq, made = db.execute(Q["update_from"], (middle,)).fetchone()
        if made <= at:
            found, low = seq, seq + 1
        else:
            high = middle - 1
    return found


def state_after(db: sqlite3.Connection, last: int) -> StoredState | None:
    checkpoint = checkpoint_of(db.execute(Q["checkpoint_before"], (last,)).fetchone())
    rows = db.execute(Q["updates_between"], (seq_of(checkpoint), last))
    updates = tuple(update_of(row) for row in rows)
    return StoredState(checkpoint, updates) if follow(updates, seq_of(checkpoint), last) else None


def updates_after(db: sqlite3.Connection, seq: int) -> tuple[StoredUpdate, ...] | None:
    updates = tuple(update_of(row) for row in db.execute(Q["updates_after"], (seq,)))
    # What was merged with some of it is no loss: whoever has a part of that takes the rest.
    whole = not updates or updates[0].first <= seq + 1
    return updates if whole else None


def versions(db: sqlite3.Connection, before: int | None, limit: int) -> tuple[StoredVersion, ...]:
    end = MAX_NUMBER if before is None else before
    rows = db.execute(Q["versions_before"], (end, limit))
    return tuple(StoredVersion(*row) for row in rows)


def version(db: sqlite3.Connection, ref: int | str) -> StoredVersion | None:
    query = Q["version_by_number" if isinstance(ref, int) else "version_by_name"]
    return version_of(db.execute(query, (ref,)).fetchone())


def window(db: sqlite3.Connection, since: int) -> StoredWindow:
    found = db.execute(Q["who_changed_since"], {"since": since}).fetchall()
    (saved,) = db.execute(Q["versions_since"], (since,)).fetchone()
    return StoredWindow(tuple(principal for (principal,) in found), saved)
