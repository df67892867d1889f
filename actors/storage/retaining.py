"""Merging and thinning out a document's file, on the thread of its connection.

For `actors.storage.store`; what is merged how is decided in `shared.history.merging`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from actors.storage.past import state_after, update_of
from actors.storage.queries import Q
from actors.storage.stored import (
    Mergeable,
    author_row,
    checkpoint_row,
    thinned,
    update_row,
)
from shared.history.merging import Span
from shared.limits import MERGE_STEP, TRIM_CHECKPOINTS
from shared.stored import Checkpoint, StoredVersion


def mergeable(db: sqlite3.Connection, before: int, limit: int) -> Mergeable | None:
    """See `DocumentStore.mergeable`."""
    merged_to = dict(db.execute(Q["get_meta"]).fetchall()).get("merged_to", 0)
    rows = db.execute(Q["updates_to_merge"], (merged_to, before, limit)).fetchall()
    updates = tuple(update_of(row) for row in rows)
    state = state_after(db, updates[0].first - 1) if updates else None
    if state is None:
        return None
    ends = frozenset(seq for (seq,) in db.execute(Q["seqs_to_keep"], (merged_to,)))
    return Mergeable(state, updates, ends, len(updates) == limit)


def merge(db: sqlite3.Connection, spans: Sequence[Span], merged_to: int) -> None:
    """See `DocumentStore.merge`."""
    for span in spans:
        update = span.update
        db.execute(Q["drop_merged"], (update.first, update.seq))
        db.execute(Q["add_update"], update_row(update))
        db.executemany(Q["add_author"], (author_row(update.seq, one) for one in span.authors))
    db.execute(Q["set_meta"], ("merged_to", merged_to))


def unpinned(db: sqlite3.Connection, before: int) -> int | None:
    """See `DocumentStore.unpinned`."""
    kept = thinned(_checkpoints(db), _versions(db), before)
    return min(kept.unpinned, default=None)


def pin(db: sqlite3.Connection, checkpoint: Checkpoint) -> None:
    db.execute(Q["add_checkpoint"], checkpoint_row(checkpoint))


def trim(db: sqlite3.Connection, before: int) -> bool:
    """See `DocumentStore.trim`."""
    checkpoints = _checkpoints(db)
    kept = thinned(checkpoints, _versions(db), before)
    dropped = [(seq,) for seq, _ in checkpoints if seq not in kept.checkpoints]
    db.executemany(Q["drop_checkpoint"], dropped[:TRIM_CHECKPOINTS])
    db.executemany(Q["drop_version"], ((number,) for number in kept.dropped_versions))
    first = db.execute(Q["update_range"]).fetchone()[0] or 0
    until = min(kept.log_from, first + MERGE_STEP)
    db.execute(Q["drop_updates"], (until,))
    return len(dropped) > TRIM_CHECKPOINTS or until < kept.log_from


def _checkpoints(db: sqlite3.Connection) -> list[tuple[int, int]]:
    return db.execute(Q["checkpoints"]).fetchall()


def _versions(db: sqlite3.Connection) -> list[StoredVersion]:
    return [StoredVersion(*row) for row in db.execute(Q["all_versions"])]
