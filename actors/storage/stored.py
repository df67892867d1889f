"""The port every document store implements, and what it commits.

`actors.storage.store.SqliteStore` is the real one, `actors.storage.store_memory.MemoryStore` its
double; one contract test runs on both.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Protocol

import msgspec

from shared.checkup import Checkup, Copied
from shared.feed.block_changes import Row
from shared.limits import DAY_MS, MAX_BATCH_BYTES, MAX_BATCH_UPDATES
from shared.stored import Checkpoint, Effects, Loaded, StoredAnswer, StoredBudget, StoredUpdate


class Batch(msgspec.Struct):
    """What one transaction of the store holds. Gathered while the batch before it commits."""

    updates: list[StoredUpdate] = []
    rows: dict[int, Row] = {}
    superseded: list[int] = []
    floor: int | None = None
    principals: dict[str, str] = {}
    views: dict[str, bytes] = {}
    answers: list[StoredAnswer] = []
    budgets: dict[str, StoredBudget] = {}
    checkpoint: Checkpoint | None = None
    depth: int | None = None
    size: int = 0

    def __bool__(self) -> bool:
        held = (self.updates, self.views, self.answers, self.budgets, self.checkpoint)
        return any(held)

    @property
    def full(self) -> bool:
        return self.size >= MAX_BATCH_BYTES or len(self.updates) >= MAX_BATCH_UPDATES

    def add(self, effects: Effects) -> None:
        self.updates.append(effects.update)
        self.size += len(effects.update.data) + len(effects.update.splice)
        if effects.name is not None:
            self.principals[effects.update.principal] = effects.name
        for seq in effects.superseded:
            # A row of this very batch was never stored: it just goes.
            if self.rows.pop(seq, None) is None:
                self.superseded.append(seq)
        self.rows |= {row.seq: row for row in effects.rows}
        if effects.floor is not None:
            self.floor = effects.floor
        if effects.depth is not None:
            self.depth = effects.depth


class StoredState(msgspec.Struct, frozen=True):
    """A moment of the document: a checkpoint and the updates from there to it, in order."""

    checkpoint: Checkpoint | None
    updates: tuple[StoredUpdate, ...]


class CommitUnknownError(Exception):
    """COMMIT itself failed: the batch may count at the next open."""


class NotCommittedError(Exception):
    """The batch was certainly not applied."""


class FencedError(Exception):
    """Somebody else has the document now, or this process's node is gone: nothing was written."""


class StaleEpochError(Exception):
    """The document was opened under a higher epoch; it is in `args[0]`."""


class DocumentStore(Protocol):
    """Where one document is kept. One owner, one batch at a time.

    What reads raises DocumentCorrupt when something is damaged, StorageUnavailable when it cannot
    be read now, and nothing else.
    """

    async def load(self) -> Loaded:
        """All that is needed to bring the document back.

        Raises:
            DocumentCorrupt: A checksum does not fit, the log has a gap, or the file is damaged.
            StorageUnavailable: It cannot be read now.
        """

    async def commit(self, batch: Batch) -> None:
        """All of it in one transaction, on disk when this returns.

        Raises:
            NotCommittedError: Nothing of it is stored.
            CommitUnknownError: It may be stored; only opening the file again tells.
            FencedError: Nothing of it is stored, and nothing ever will be from here.
        """

    async def probe(self) -> None:
        """Whether the store takes writes. Raises as `commit`."""

    async def trim(self, before: int) -> None:
        """Drops what no state after `before` (ms) needs: updates, and all but one checkpoint a day.

        Always kept: the newest checkpoint, and one at or before the oldest update. Raises as
        `commit`.
        """

    async def answer(self, principal: str, verb: str, key: str) -> StoredAnswer | None:
        """The stored answer under this key."""

    async def updates_after(self, seq: int) -> tuple[StoredUpdate, ...] | None:
        """The log after `seq`; None when part of that is no longer kept."""

    async def back_up(self, target: Path) -> Copied:
        """A copy of what is stored, of one instant, in a file of its own.

        Raises:
            DocumentCorrupt: It cannot be read whole.
            StorageUnavailable: The copy cannot be written.
        """

    async def check(self, doc_id: str) -> Checkup:
        """Whether everything stored is sound; `doc_id` is whose it must be.

        Raises DocumentCorrupt: It is so broken that it cannot be checked.
        """

    async def state_at(self, change_seq: int) -> StoredState | None:
        """What the document was when the change feed's head was `change_seq`.

        None when that is no longer kept. Raises DocumentCorrupt.
        """

    async def close(self) -> None:
        """Frees the file. Idempotent."""


def checksum(seq: int, *parts: bytes) -> bytes:
    """BLAKE2b-64 over a row's number and its parts, each with its length before it."""
    digest = blake2b(seq.to_bytes(8, "big"), digest_size=8)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()


def update_row(u: StoredUpdate) -> tuple[object, ...]:
    """The parameters of `add_update`."""
    sum_ = checksum(u.seq, u.data, u.splice)
    return (u.seq, u.at, u.principal, u.via, u.data, u.splice, u.change_seq, sum_)


def checkpoint_row(c: Checkpoint) -> tuple[object, ...]:
    """The parameters of `add_checkpoint`."""
    return (c.seq, c.at, c.data, c.block_index, checksum(c.seq, c.data, c.block_index))


def checkpoints_to_keep(checkpoints: Sequence[tuple[int, int]], before: int) -> frozenset[int]:
    """Which of (seq, ms), by seq, to keep: the newest, one a day, and one at or before `before`.

    What lies before the first one kept is no longer needed by any state after `before`.
    """
    if not checkpoints:
        return frozenset()
    older = [seq for seq, at in checkpoints if at <= before]
    newest_of_day = {at // DAY_MS: seq for seq, at in checkpoints if at > before}
    return frozenset({checkpoints[-1][0], *older[-1:], *newest_of_day.values()})
