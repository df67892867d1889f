"""The store's double: a document kept in a dictionary, with fault switches."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from actors.storage.file_content import FileContent
from actors.storage.stored import Batch, NotCommittedError, StoredState, checkpoints_to_keep
from actors.upkeep.examine import examine_content
from shared.checkup import Checkup, Copied
from shared.errors import StorageUnavailable
from shared.feed.block_changes import Row
from shared.limits import BUDGET_TTL_MS, IDEMPOTENCY_TTL_MS
from shared.stored import Checkpoint, Loaded, StoredAnswer, StoredBudget, StoredUpdate


class MemoryStore:
    """Keeps what a file would keep; opening it again is `reopened()`.

    Attributes:
        copies: What `back_up` was asked for, by path.
        full: Every commit fails as on a full disk, until it is switched off.
        unreadable: Everything that reads fails, until it is switched off.
        fail: Raised by the next commit instead of storing; then cleared.
        fail_after: Raised by the next commit after storing (an fsync error); then cleared.
        before_commit: Awaited by each commit first: a slow disk, or a gate of a test.
    """

    def __init__(self, secret: bytes = b"0123456789abcdef", title: str | None = None) -> None:
        self.secret = secret
        self.title = title
        self.updates: dict[int, StoredUpdate] = {}
        self.rows: dict[int, Row] = {}
        self.floor = 0
        self.depth = 0
        self.principals: dict[str, str] = {}
        self.views: dict[str, bytes] = {}
        self.answers: dict[tuple[str, str, str], StoredAnswer] = {}
        self.budgets: dict[str, StoredBudget] = {}
        self.checkpoints: dict[int, Checkpoint] = {}
        self.copies: dict[Path, MemoryStore] = {}
        self.commits = 0
        self.closed = False
        self.full = False
        self.unreadable = False
        self.fail: Exception | None = None
        self.fail_after: Exception | None = None
        self.before_commit: Callable[[], Awaitable[None]] | None = None

    def reopened(self) -> MemoryStore:
        """The same content under a new owner."""
        again = MemoryStore(self.secret, self.title)
        for name in (
            "updates",
            "rows",
            "principals",
            "views",
            "answers",
            "budgets",
            "checkpoints",
        ):
            setattr(again, name, dict(getattr(self, name)))
        again.floor, again.depth, again.full = self.floor, self.depth, self.full
        return again

    def _may_be_read(self) -> None:
        if self.unreadable:
            raise StorageUnavailable("The store cannot be read.")

    async def load(self) -> Loaded:
        self._may_be_read()
        checkpoint = self.checkpoints[max(self.checkpoints)] if self.checkpoints else None
        after = checkpoint.seq if checkpoint else 0
        last = self.updates[max(self.updates)] if self.updates else None
        return Loaded(
            secret=self.secret,
            update_seq=last.seq if last else after,
            change_head=last.change_seq if last else 0,
            change_floor=self.floor,
            at=last.at if last else 0,
            depth=self.depth,
            title=self.title,
            checkpoint=checkpoint,
            updates=tuple(u for seq, u in sorted(self.updates.items()) if seq > after),
            rows=tuple(row for _, row in sorted(self.rows.items())),
            principals=dict(self.principals),
            views=dict(self.views),
            budgets={principal: one.data for principal, one in self.budgets.items()},
        )

    async def commit(self, batch: Batch) -> None:
        await self.probe()
        self._write(batch)
        self.commits += 1
        if self.fail_after is not None:
            error, self.fail_after = self.fail_after, None
            raise error

    async def probe(self) -> None:
        if self.before_commit is not None:
            await self.before_commit()
        if self.closed:
            raise StorageUnavailable("The store is closed.")
        if self.full:
            raise NotCommittedError("database or disk is full")
        if self.fail is not None:
            error, self.fail = self.fail, None
            raise error

    async def trim(self, before: int) -> None:
        await self.probe()
        keep = checkpoints_to_keep(sorted((c.seq, c.at) for c in self.checkpoints.values()), before)
        self.checkpoints = {seq: c for seq, c in self.checkpoints.items() if seq in keep}
        if keep:
            self.updates = {seq: u for seq, u in self.updates.items() if seq > min(keep)}

    def _write(self, batch: Batch) -> None:
        self.updates |= {update.seq: update for update in batch.updates}
        for seq in batch.superseded:
            self.rows.pop(seq, None)
        self.rows |= batch.rows
        if batch.floor is not None:
            self.floor = batch.floor
            self.rows = {seq: row for seq, row in self.rows.items() if seq > batch.floor}
        self.principals |= batch.principals
        self.views |= batch.views
        if batch.depth is not None:
            self.depth = batch.depth
        if batch.answers:
            oldest = batch.answers[-1].at - IDEMPOTENCY_TTL_MS
            self.answers = {k: a for k, a in self.answers.items() if a.at >= oldest}
        self.answers |= {(a.principal, a.verb, a.key): a for a in batch.answers}
        if batch.budgets:
            over = [*batch.budgets.values()][-1].at - BUDGET_TTL_MS
            kept = {one: spent for one, spent in self.budgets.items() if spent.at >= over}
            self.budgets = kept | batch.budgets
        if batch.checkpoint is not None:
            self.checkpoints[batch.checkpoint.seq] = batch.checkpoint

    async def answer(self, principal: str, verb: str, key: str) -> StoredAnswer | None:
        self._may_be_read()
        return self.answers.get((principal, verb, key))

    async def updates_after(self, seq: int) -> tuple[StoredUpdate, ...] | None:
        self._may_be_read()
        updates = tuple(u for number, u in sorted(self.updates.items()) if number > seq)
        return updates if not updates or updates[0].seq == seq + 1 else None

    async def back_up(self, target: Path) -> Copied:
        if self.closed:
            raise StorageUnavailable("The store is closed.")
        self.copies[target] = self.reopened()
        return Copied(0, "")

    async def check(self, doc_id: str) -> Checkup:
        loaded = await self.load()
        content = FileContent(
            meta={
                "doc_id": doc_id,
                "epoch": 1,
                "secret": self.secret,
                "update_seq": loaded.update_seq,
                "head": loaded.change_head,
                "floor": loaded.change_floor,
                "at": loaded.at,
                "depth": loaded.depth,
            },
            updates=tuple(update for _, update in sorted(self.updates.items())),
            checkpoints=tuple(checkpoint for _, checkpoint in sorted(self.checkpoints.items())),
            rows=loaded.rows,
        )
        return examine_content(content, doc_id)

    async def state_at(self, change_seq: int) -> StoredState | None:
        self._may_be_read()
        reached = [seq for seq, u in self.updates.items() if u.change_seq <= change_seq]
        if not reached:
            return None
        last = max(reached)
        before = [seq for seq in self.checkpoints if seq <= last]
        checkpoint = self.checkpoints[max(before)] if before else None
        first = checkpoint.seq + 1 if checkpoint else 1
        wanted = range(first, last + 1)
        if any(seq not in self.updates for seq in wanted):
            return None
        return StoredState(checkpoint, tuple(self.updates[seq] for seq in wanted))

    async def close(self) -> None:
        self.closed = True
