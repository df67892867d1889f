"""All that is in a document's file, read as far as it can be: for checks and repairs.

Works on a private copy in memory, so that neither looking nor trying changes the file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from actors.storage.annotating import digest_of, message_of, thread_of
from actors.storage.sql import load_queries
from actors.storage.stored import checksum
from shared.feed.block_changes import Row
from shared.stored import (
    Authored,
    Checkpoint,
    StoredAnswer,
    StoredBudget,
    StoredReader,
    StoredUpdate,
    StoredVersion,
)
from shared.stored_annotations import Annotations, StoredAgent, StoredEvent, StoredSuggestion

Q: Final = load_queries("queries_repair.sql")
T = TypeVar("T")


class FileContent(msgspec.Struct):
    """The rows of a document's file.

    Attributes:
        meta: By key; see schema.sql.
        authors: Each with the number of the merged update it belongs to.
        damaged_updates, damaged_checkpoints: Numbers of rows whose checksum does not fit.
        unreadable: Tables of which a part could not be read.
    """

    meta: dict[str, Any]
    updates: tuple[StoredUpdate, ...] = ()
    damaged_updates: frozenset[int] = frozenset()
    checkpoints: tuple[Checkpoint, ...] = ()
    damaged_checkpoints: frozenset[int] = frozenset()
    rows: tuple[Row, ...] = ()
    principals: dict[str, str] = {}
    views: dict[str, bytes] = {}
    answers: tuple[StoredAnswer, ...] = ()
    budgets: tuple[StoredBudget, ...] = ()
    versions: tuple[StoredVersion, ...] = ()
    authors: tuple[tuple[int, Authored], ...] = ()
    readers: tuple[StoredReader, ...] = ()
    people: dict[str, str] = {}
    annotations: Annotations = msgspec.field(default_factory=Annotations)
    unreadable: tuple[str, ...] = ()

    @property
    def sound_updates(self) -> dict[int, StoredUpdate]:
        return {u.seq: u for u in self.updates if u.seq not in self.damaged_updates}

    @property
    def sound_checkpoints(self) -> dict[int, Checkpoint]:
        return {c.seq: c for c in self.checkpoints if c.seq not in self.damaged_checkpoints}


def copy_in_memory(db: sqlite3.Connection) -> sqlite3.Connection:
    """A private copy, usable from any one thread at a time. Raises sqlite3.DatabaseError."""
    copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    try:
        db.backup(copy)
    except BaseException:
        copy.close()
        raise
    return copy


def read_content(copy: sqlite3.Connection) -> FileContent:
    """Everything that can be read; never raises for what cannot."""
    reader = _Reader(copy)
    updates = reader.read("updates", lambda row: (StoredUpdate(*row[:-1]), row[-1]))
    checkpoints = reader.read("checkpoints", lambda row: (Checkpoint(*row[:-1]), row[-1]))
    return FileContent(
        meta=dict(reader.read("meta", lambda row: (str(row[0]), row[1]))),
        updates=tuple(update for update, _ in updates),
        damaged_updates=frozenset(
            u.seq for u, stored in updates if stored != checksum(u.seq, u.data, u.splice)
        ),
        checkpoints=tuple(checkpoint for checkpoint, _ in checkpoints),
        damaged_checkpoints=frozenset(
            c.seq for c, stored in checkpoints if stored != checksum(c.seq, c.data, c.block_index)
        ),
        rows=tuple(reader.read("block_changes", lambda row: Row(*row))),
        principals=dict(reader.read("principals", lambda row: (str(row[0]), str(row[1])))),
        views=dict(reader.read("views", lambda row: (str(row[0]), bytes(row[1])))),
        answers=tuple(reader.read("answers", lambda row: StoredAnswer(*row))),
        budgets=tuple(reader.read("budgets", lambda row: StoredBudget(*row))),
        versions=tuple(reader.read("versions", lambda row: StoredVersion(*row))),
        authors=tuple(reader.read("authors", lambda row: (row[0], Authored(*row[1:])))),
        readers=tuple(reader.read("readers", lambda row: StoredReader(*row))),
        people=dict(reader.read("people", lambda row: (str(row[0]), str(row[1])))),
        annotations=_annotations(reader),
        unreadable=tuple(reader.unreadable),
    )


def _annotations(reader: _Reader) -> Annotations:
    threads = reader.read("threads", thread_of)
    messages = reader.read("messages", message_of)
    suggestions = reader.read("suggestions", lambda row: StoredSuggestion(*row))
    events = reader.read("events", lambda row: StoredEvent(*row))
    roster = reader.read("roster", lambda row: StoredAgent(*row))
    digests = reader.read("digests", digest_of)
    there = {one.thread_id for one in threads}
    return Annotations(
        {one.thread_id: one for one in threads},
        {one.message_id: one for one in messages if one.thread_id in there},
        {one.suggestion_id: one for one in suggestions},
        {one.seq: one for one in events},
        {one.principal: one for one in roster},
        {one.principal: one for one in digests},
    )


class _Reader:
    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.unreadable: list[str] = []

    def read(self, table: str, make: Callable[[tuple[Any, ...]], T]) -> list[T]:
        """Rows from the front up to the damage, and from the back up to it."""
        rows, whole = self._until_damage(Q[f"{table}_forwards"])
        if not whole:
            self.unreadable.append(table)
            behind, _ = self._until_damage(Q[f"{table}_backwards"])
            rows = list(dict.fromkeys(rows + behind[::-1]))
        return [make(row) for row in rows]

    def _until_damage(self, query: str) -> tuple[list[tuple[Any, ...]], bool]:
        rows: list[tuple[Any, ...]] = []
        try:
            rows.extend(self._db.execute(query))
        except (sqlite3.DatabaseError, OverflowError):
            return rows, False
        return rows, True
