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
from shared.history.merging import Span
from shared.limits import DAY_MS, MAX_BATCH_BYTES, MAX_BATCH_UPDATES
from shared.stored import (
    Authored,
    Checkpoint,
    Effects,
    Loaded,
    StoredAnswer,
    StoredBudget,
    StoredReader,
    StoredState,
    StoredUpdate,
    StoredVersion,
    StoredWindow,
)
from shared.stored_annotations import Annotations


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
    versions: list[StoredVersion] = []
    readers: dict[str, StoredReader] = {}
    people: dict[str, str] = {}
    annotations: Annotations = msgspec.field(default_factory=Annotations)
    checkpoint: Checkpoint | None = None
    depth: int | None = None
    size: int = 0

    def __bool__(self) -> bool:
        held = (
            self.updates,
            self.views,
            self.answers,
            self.budgets,
            self.versions,
            self.readers,
            self.people,
            self.annotations,
            self.checkpoint,
        )
        return any(held)

    @property
    def head(self) -> int | None:
        """The change feed's head after it; None: it stays where it was."""
        heads = [self.updates[-1].change_seq] if self.updates else []
        if self.annotations.head is not None:
            heads.append(self.annotations.head)
        return max(heads, default=None)

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


class Mergeable(msgspec.Struct, frozen=True):
    """Updates to be looked at for merging.

    Attributes:
        state: The document before the first of them.
        ends: Numbers of updates that no span may reach across.
        more: There may be others behind them.
    """

    state: StoredState
    updates: tuple[StoredUpdate, ...]
    ends: frozenset[int]
    more: bool


class CommitUnknownError(Exception):
    """COMMIT itself failed: the batch may count at the next open."""


class NotCommittedError(Exception):
    """The batch was certainly not applied."""


class FencedError(Exception):
    """Somebody else has the document now, or this process's node is gone: nothing was written."""


class StoreClosedError(Exception):
    """Whoever has the store closed it, before or while this was asked of it: nothing was done."""


class StaleEpochError(Exception):
    """The document was opened under a higher epoch; it is in `args[0]`."""


class DocumentStore(Protocol):
    """Where one document is kept. One owner, one batch at a time.

    What reads raises DocumentCorrupt when something is damaged, StorageUnavailable when it cannot
    be read now, StoreClosedError when it was closed meanwhile, and nothing else.
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

    async def mergeable(self, before: int, limit: int) -> Mergeable | None:
        """The first updates made before `before` (ms) that were not looked at for merging yet.

        None of those after the newest checkpoint. None: there are none now.
        """

    async def merge(self, spans: Sequence[Span], merged_to: int) -> None:
        """Puts spans in the place of what they were merged from; up to `merged_to` it is done.

        Raises as `commit`.
        """

    async def unpinned(self, before: int) -> int | None:
        """The first update after which a version that outlives `trim(before)` has no checkpoint."""

    async def pin(self, checkpoint: Checkpoint) -> None:
        """Keeps a state that the log holds. Raises as `commit`."""

    async def trim(self, before: int) -> bool:
        """Drops some of what no state after `before` (ms) needs.

        That is updates, all but one checkpoint a day, and versions without a name but the last of
        each day.

        Always kept: the newest checkpoint, one at or before the oldest update, and those that hold
        a version. While a version that stays is `unpinned`, nothing goes. True: there is more to
        drop. Raises as `commit`.
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

    async def state_after(self, seq: int) -> StoredState | None:
        """What the document was after exactly this update; None when that is no longer kept.

        Raises DocumentCorrupt.
        """

    async def versions(self, before: int | None, limit: int) -> tuple[StoredVersion, ...]:
        """Versions with a number below `before`, the newest first."""

    async def version(self, ref: int | str) -> StoredVersion | None:
        """The version with this number or name."""

    async def window(self, since: int) -> StoredWindow:
        """What was done after this instant (ms)."""

    async def state_at_time(self, at: int) -> StoredState | None:
        """What the document was at this instant (ms): after the last update made until then.

        Before the first update it is empty. None when that is no longer kept. Raises
        DocumentCorrupt.
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
    return (u.seq, u.at, u.principal, u.via, u.data, u.splice, u.change_seq, sum_, u.merged)


def checkpoint_row(c: Checkpoint) -> tuple[object, ...]:
    """The parameters of `add_checkpoint`."""
    return (c.seq, c.at, c.data, c.block_index, checksum(c.seq, c.data, c.block_index))


class Thinned(msgspec.Struct, frozen=True):
    """What stays of a document's history.

    Attributes:
        checkpoints: Numbers of those that stay.
        log_from: The updates up to this number go.
        dropped_versions: Numbers of those that go.
        unpinned: Updates after which a version that stays has its state in the log alone. Until
            they have a checkpoint the log stays, too.
    """

    checkpoints: frozenset[int]
    log_from: int
    dropped_versions: frozenset[int]
    unpinned: frozenset[int]


def thinned(
    checkpoints: Sequence[tuple[int, int]], versions: Sequence[StoredVersion], before: int
) -> Thinned:
    """Of checkpoints (seq, ms), by seq: the newest, one a day, and one at or before `before`.

    Of versions up to `before` (ms) stay those with a name, and the last of each day.
    """
    old = [version for version in versions if version.at <= before]
    last_of_day = {version.at // DAY_MS: version.number for version in old}
    gone = {v.number for v in old if v.name is None} - set(last_of_day.values())
    wanted = {version.seq for version in old if version.number not in gone and version.seq}
    have = {seq for seq, _ in checkpoints}
    older = [seq for seq, at in checkpoints if at <= before]
    base = max(older, default=0)
    unpinned = frozenset(seq for seq in wanted - have if seq <= base)
    newest_of_day = {at // DAY_MS: seq for seq, at in checkpoints if at > before}
    kept = {*[seq for seq, _ in checkpoints][-1:], *older[-1:], *newest_of_day.values()}
    if unpinned:
        return Thinned(frozenset(have), 0, frozenset(), unpinned)
    return Thinned(frozenset(kept | (wanted & have)), base, frozenset(gone), unpinned)


def version_row(v: StoredVersion) -> tuple[object, ...]:
    """The parameters of `add_version`."""
    return (v.number, v.seq, v.at, v.change_seq, v.kind, v.principal, v.name, v.source)


def reader_row(r: StoredReader) -> tuple[object, ...]:
    """The parameters of `set_reader`."""
    return (r.person, r.last_left, r.seen_until)


def author_row(seq: int, a: Authored) -> tuple[object, ...]:
    """The parameters of `add_author`; `seq` is the merged update's."""
    return (seq, a.principal, a.via, a.kind, a.client, a.clock_from, a.clock_to, a.at)
