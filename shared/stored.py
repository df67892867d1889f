"""What a document stores and is loaded from, as values."""

from __future__ import annotations

from typing import Literal

import msgspec

from shared.feed.block_changes import Row

Via = Literal["editor", "agent", "seed", "repair"]


class StoredUpdate(msgspec.Struct, frozen=True):
    """One transaction of the document.

    Attributes:
        seq: Position in the log, from 1, without gaps within a file.
        at: Milliseconds since 1970; never before the update it follows.
        data: The Yjs update as the document emitted it.
        splice: What it did to the block index (`shared.index.block_index`); empty: nothing.
        change_seq: Head of the change feed after it.
    """

    seq: int
    at: int
    principal: str
    via: Via
    data: bytes
    splice: bytes
    change_seq: int


class Checkpoint(msgspec.Struct, frozen=True):
    """The whole state after update `seq`, with the whole block index of that instant."""

    seq: int
    at: int
    data: bytes
    block_index: bytes


class StoredAnswer(msgspec.Struct, frozen=True):
    """The answer of a write that carried an idempotency key."""

    principal: str
    verb: str
    key: str
    arguments: bytes
    answer: bytes
    at: int


class StoredBudget(msgspec.Struct, frozen=True):
    """What a principal has spent of its budgets (`shared.budget`), as of `at` (ms)."""

    principal: str
    data: bytes
    at: int


class Effects(msgspec.Struct, frozen=True):
    """What one transaction adds to the batch that is gathering.

    Attributes:
        name: The principal's name, for `by`; None: as it is stored.
        superseded: Change rows that `rows` make redundant.
        floor: The change feed's new floor, when it rose.
        depth: The deepest nesting any block has had, when it rose.
    """

    update: StoredUpdate
    name: str | None = None
    rows: tuple[Row, ...] = ()
    superseded: tuple[int, ...] = ()
    floor: int | None = None
    depth: int | None = None


class Loaded(msgspec.Struct, frozen=True):
    """Everything needed to bring a document back, read in one transaction.

    Attributes:
        secret: Keys the cursors' tags; renewed by whatever can take the sequence back.
        update_seq, change_head, at: High-water marks; `seq` and time go on from them.
        depth: The deepest nesting any block has had: a bound for what an update may reach.
        title: The title given at creation; None: the document's first heading is its title.
        updates: The log after the checkpoint, in order.
        views: What was shown to each principal (`shared.views.views`), as it last was stored.
        budgets: What each principal has spent of its budgets (`shared.budget`).
    """

    secret: bytes
    update_seq: int
    change_head: int
    change_floor: int
    at: int
    depth: int
    title: str | None
    checkpoint: Checkpoint | None
    updates: tuple[StoredUpdate, ...]
    rows: tuple[Row, ...]
    principals: dict[str, str]
    views: dict[str, bytes]
    budgets: dict[str, bytes]
