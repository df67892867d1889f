"""The store's double: a document kept in a dictionary, with fault switches."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from actors.storage.file_content import FileContent
from actors.storage.past import follow
from actors.storage.stored import (
    Batch,
    Mergeable,
    NotCommittedError,
    StoreClosedError,
    Thinned,
    thinned,
)
from actors.upkeep.examine import examine_content
from shared.checkup import Checkup, Copied
from shared.errors import StorageUnavailable
from shared.feed.block_changes import Row
from shared.history.merging import Span
from shared.limits import BUDGET_TTL_MS, IDEMPOTENCY_TTL_MS
from shared.stored import (
    Authored,
    Checkpoint,
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


class MemoryStore:
    """Keeps what a file would keep; opening it again is `reopened()`.

    Attributes:
        copies: What `back_up` was asked for, by path.
        full: Every commit fails as on a full disk, until it is switched off.
        unreadable: Everything that reads fails, until it is switched off.
        fail: Raised by the next commit instead of storing; then cleared.
        fail_after: Raised by the next commit after storing (an fsync error); then cleared.
        before_commit: Awaited by each commit first: a slow disk, or a gate of a test.
        before_look: Likewise, by each question for an answer, updates or a state.
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
        self.versions_kept: dict[int, StoredVersion] = {}
        self.authors: dict[int, tuple[Authored, ...]] = {}
        self.merged_to = 0
        self.readers: dict[str, StoredReader] = {}
        self.people: dict[str, str] = {}
        self.annotations = Annotations()
        self.head = 0
        self.copies: dict[Path, MemoryStore] = {}
        self.commits = 0
        self.closed = False
        self.full = False
        self.unreadable = False
        self.fail: Exception | None = None
        self.fail_after: Exception | None = None
        self.before_commit: Callable[[], Awaitable[None]] | None = None
        self.before_look: Callable[[], Awaitable[None]] | None = None

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
            "versions_kept",
            "authors",
            "readers",
            "people",
        ):
            setattr(again, name, dict(getattr(self, name)))
        again.floor, again.depth, again.full = self.floor, self.depth, self.full
        again.merged_to, again.head = self.merged_to, self.head
        again.annotations = self.annotations.stored()
        return again

    def _may_be_read(self) -> None:
        if self.closed:
            raise StoreClosedError
        if self.unreadable:
            raise StorageUnavailable("The store cannot be read.")

    async def _look(self) -> None:
        if self.before_look is not None:
            await self.before_look()
        self._may_be_read()

    async def load(self) -> Loaded:
        self._may_be_read()
        checkpoint = self.checkpoints[max(self.checkpoints)] if self.checkpoints else None
        after = checkpoint.seq if checkpoint else 0
        last = self.updates[max(self.updates)] if self.updates else None
        return Loaded(
            secret=self.secret,
            update_seq=last.seq if last else after,
            change_head=self.head,
            change_floor=self.floor,
            at=last.at if last else 0,
            depth=self.depth,
            title=self.title,
            checkpoint=checkpoint,
            updates=tuple(u for seq, u in sorted(self.updates.items()) if seq > after),
            rows=tuple(row for _, row in sorted(self.rows.items())),
            principals=dict(self.principals),
            views=dict(self.views),
            readers=dict(self.readers),
            people=dict(self.people),
            budgets={principal: one.data for principal, one in self.budgets.items()},
            version=self.versions_kept[max(self.versions_kept)] if self.versions_kept else None,
            annotations=self.annotations.stored(),
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
            raise StoreClosedError
        if self.full:
            raise NotCommittedError("database or disk is full")
        if self.fail is not None:
            error, self.fail = self.fail, None
            raise error

    async def trim(self, before: int) -> bool:
        await self.probe()
        kept = self._thinned(before)
        self.checkpoints = {n: c for n, c in self.checkpoints.items() if n in kept.checkpoints}
        self.updates = {seq: u for seq, u in self.updates.items() if seq > kept.log_from}
        self.authors = {seq: a for seq, a in self.authors.items() if seq in self.updates}
        for number in kept.dropped_versions:
            del self.versions_kept[number]
        return False

    def _thinned(self, before: int) -> Thinned:
        checkpoints = sorted((c.seq, c.at) for c in self.checkpoints.values())
        return thinned(checkpoints, [v for _, v in sorted(self.versions_kept.items())], before)

    async def unpinned(self, before: int) -> int | None:
        await self._look()
        return min(self._thinned(before).unpinned, default=None)

    async def pin(self, checkpoint: Checkpoint) -> None:
        await self.probe()
        self.checkpoints[checkpoint.seq] = checkpoint

    async def mergeable(self, before: int, limit: int) -> Mergeable | None:
        await self._look()
        newest = max(self.checkpoints, default=0)
        old = (u for seq, u in sorted(self.updates.items()) if self.merged_to < seq <= newest)
        updates = tuple(u for u in old if u.at < before)[:limit]
        state = self._state_after(updates[0].first - 1) if updates else None
        if state is None:
            return None
        versions = (version.seq for version in self.versions_kept.values())
        ends = frozenset((*versions, *self.checkpoints))
        return Mergeable(state, updates, ends, len(updates) == limit)

    async def merge(self, spans: Sequence[Span], merged_to: int) -> None:
        await self.probe()
        for span in spans:
            for seq in range(span.update.first, span.update.seq + 1):
                self.updates.pop(seq, None)
            self.updates[span.update.seq] = span.update
            self.authors[span.update.seq] = span.authors
        self.merged_to = merged_to

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
        self.readers |= batch.readers
        self.people |= batch.people
        self.versions_kept |= {version.number: version for version in batch.versions}
        self.annotations.add(batch.annotations)
        self.annotations = self.annotations.stored()
        self.head = batch.head if batch.head is not None else self.head
        if batch.checkpoint is not None:
            self.checkpoints[batch.checkpoint.seq] = batch.checkpoint

    async def answer(self, principal: str, verb: str, key: str) -> StoredAnswer | None:
        await self._look()
        return self.answers.get((principal, verb, key))

    async def updates_after(self, seq: int) -> tuple[StoredUpdate, ...] | None:
        await self._look()
        updates = tuple(u for number, u in sorted(self.updates.items()) if number > seq)
        return updates if not updates or updates[0].first <= seq + 1 else None

    async def back_up(self, target: Path) -> Copied:
        self._may_be_read()
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
        await self._look()
        reached = [u for u in self.updates.values() if u.change_seq <= change_seq]
        if not reached:
            return None
        last = max(reached, key=lambda u: u.seq)
        following = min(
            (u for u in self.updates.values() if u.seq > last.seq),
            key=lambda u: u.seq,
            default=None,
        )
        if following is None or following.merged == 1:
            return self._state_after(last.seq)
        inside = last.change_seq < change_seq < following.change_seq
        return None if inside else self._state_after(last.seq)

    async def state_at_time(self, at: int) -> StoredState | None:
        await self._look()
        kept: list[StoredUpdate | Checkpoint] = [*self.updates.values(), *self.checkpoints.values()]
        reached = [one.seq for one in kept if one.at <= at]
        if not reached:
            return (
                StoredState(None, ()) if any(u.first == 1 for u in self.updates.values()) else None
            )
        return self._state_after(max(reached))

    async def state_after(self, seq: int) -> StoredState | None:
        await self._look()
        return self._state_after(seq)

    def _state_after(self, last: int) -> StoredState | None:
        before = [seq for seq in self.checkpoints if seq <= last]
        checkpoint = self.checkpoints[max(before)] if before else None
        after = checkpoint.seq if checkpoint else 0
        updates = tuple(u for seq, u in sorted(self.updates.items()) if after < seq <= last)
        return StoredState(checkpoint, updates) if follow(updates, after, last) else None

    async def window(self, since: int) -> StoredWindow:
        await self._look()
        later = [u for _, u in sorted(self.updates.items()) if u.at > since and u.via != "repair"]
        saved = [v for v in self.versions_kept.values() if v.at > since]
        return StoredWindow(tuple(dict.fromkeys(u.principal for u in later)), len(saved))

    async def versions(self, before: int | None, limit: int) -> tuple[StoredVersion, ...]:
        await self._look()
        numbers = sorted(self.versions_kept, reverse=True)
        below = [n for n in numbers if before is None or n < before]
        return tuple(self.versions_kept[n] for n in below[:limit])

    async def version(self, ref: int | str) -> StoredVersion | None:
        await self._look()
        found = (v for v in self.versions_kept.values() if ref in (v.number, v.name))
        return next(found, None)

    async def close(self) -> None:
        self.closed = True
