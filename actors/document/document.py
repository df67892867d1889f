"""A document as an actor serves it: every verb, with nothing told before it is on disk.

The plain class: no Ray, no socket. Each decision is one synchronous call into `LiveDocument`, so
verbs that interleave at their awaits never see half of one another.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from pycrdt import merge_updates

from actors.document.keeper import SERVER, Clock, Keeper
from actors.document.planning import Planner, Prepared
from actors.storage.committer import Committed, Release
from actors.storage.idempotency import Once, Slot
from actors.storage.openers import Opener, SqliteOpener
from actors.storage.stored import DocumentStore
from actors.upkeep.requests import Upkeep
from shared.document import applying, reading
from shared.document.live_document import Applied, Author, DocumentBrokenError, LiveDocument
from shared.errors import DocactorError, Refused, StorageUnavailable
from shared.ids import Choose
from shared.protocol import (
    AnchorOnly,
    Caller,
    CommitTotals,
    DeleteRequest,
    InsertRequest,
    MoveRequest,
    PatchRequest,
    ReadChangesRequest,
    ReadChangesResult,
    ReadDocumentRequest,
    ReadDocumentResult,
    Remaining,
    ReplaceRequest,
    ReplaceTextRequest,
    RouteKey,
    WriteRequest,
    WriteResult,
)
from shared.tree import Block


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Document(Upkeep):
    """One open document. Made by `open` or `start`; `close` leaves its file free.

    After a failed commit it drops what is in memory and loads again from its store; verbs that
    come meanwhile wait. From then until the store takes a write it is *degraded*: reads answer,
    writes are refused. `failed` is set when it cannot be loaded, or somebody else has it now:
    whoever holds it gives it up.
    """

    def __init__(self, keeper: Keeper, clock: Clock) -> None:
        self._keeper = keeper
        self._clock = clock
        self._planner = Planner(keeper, clock)
        self._once = Once()

    @classmethod
    async def open(
        cls,
        path: Path,
        key: RouteKey,
        *,
        seed: tuple[Block, ...] | None = None,
        title: str | None = None,
        caller: Caller | None = None,
        clock: Clock = now_ms,
        choose: Choose = secrets.choice,
    ) -> Document:
        """The document in the SQLite file at `path`; with `seed` a new one holding those blocks.

        Raises:
            StorageUnavailable: The file is missing, locked, or cannot be written.
            DocumentCorrupt: It cannot be read; nothing was written.
            StaleEpochError: It was opened under a higher epoch.
        """
        create = secrets.token_bytes(16) if seed is not None else None
        opener = SqliteOpener(path, key, title, create)
        return await cls.start(opener, seed=seed, caller=caller, clock=clock, choose=choose)

    @classmethod
    async def start(
        cls,
        opener: Opener,
        *,
        seed: tuple[Block, ...] | None = None,
        caller: Caller | None = None,
        clock: Clock = now_ms,
        choose: Choose = secrets.choice,
    ) -> Document:
        """Like `open`, in any store."""
        return cls(await Keeper.open(opener, clock, choose, seed, caller or SERVER), clock)

    async def close(self) -> None:
        """Stores what is gathered and a last checkpoint, then frees the file. Idempotent."""
        await self._keeper.close()

    # --- what it says of itself ------------------------------------------------------------------

    @property
    def title(self) -> str:
        return reading.title(self._keeper.live)

    @property
    def last_change_at(self) -> int:
        """Milliseconds since 1970 of the last transaction."""
        return self._keeper.live.at

    @property
    def block_count(self) -> int:
        return len(self._keeper.live.index)

    @property
    def degraded(self) -> bool:
        """Loaded and readable, while the store takes no writes."""
        return self._keeper.degraded

    @property
    def failed(self) -> DocactorError | None:
        """Why it can no longer be served; None while it can."""
        return self._keeper.failed

    @property
    def commits(self) -> CommitTotals:
        """What it has committed since it was opened."""
        return self._keeper.tally.totals()

    def cursor(self) -> int:
        """A cursor at the head: what a creator that knows the whole document goes on from."""
        return reading.head_cursor(self._keeper.live)

    def anchors(self) -> tuple[AnchorOnly, ...]:
        live = self._keeper.live
        return tuple(AnchorOnly(live.anchor(block_id)) for block_id in live.index.ids)

    # --- verbs -----------------------------------------------------------------------------------

    async def read_document(
        self, caller: Caller, request: ReadDocumentRequest
    ) -> ReadDocumentResult:
        live = await self._keeper.when_ready()
        self._spend_read(live, "read_document", caller)
        async with self._on_disk():
            return reading.read_document(live, caller, request, self._clock())

    async def read_changes(self, caller: Caller, request: ReadChangesRequest) -> ReadChangesResult:
        live = await self._keeper.when_ready()
        if not request.look:
            self._spend_read(live, "read_changes", caller)
        async with self._on_disk():
            return reading.read_changes(live, caller, request, self._clock())

    async def patch(self, caller: Caller, request: PatchRequest) -> WriteResult:
        return await self._write("patch", caller, request)

    async def insert(self, caller: Caller, request: InsertRequest) -> WriteResult:
        return await self._write("insert", caller, request)

    async def replace(self, caller: Caller, request: ReplaceRequest) -> WriteResult:
        return await self._write("replace", caller, request)

    async def delete(self, caller: Caller, request: DeleteRequest) -> WriteResult:
        return await self._write("delete", caller, request)

    async def move(self, caller: Caller, request: MoveRequest) -> WriteResult:
        return await self._write("move", caller, request)

    async def replace_text(self, caller: Caller, request: ReplaceTextRequest) -> WriteResult:
        return await self._write("replace_text", caller, request)

    # --- what the editors' hub uses; synchronous, on the loop -------------------------------------

    @property
    def backlogged(self) -> bool:
        """Whether so many batches wait that links should stop reading."""
        return self._keeper.committer.backlogged

    @property
    def seq(self) -> int:
        """The last update that is on disk."""
        return self._keeper.committer.seq

    @property
    def change_seq(self) -> int:
        """Head of the change feed that is on disk."""
        return self._keeper.committer.change_seq

    def state_vector(self) -> bytes:
        return self._keeper.live.state_vector()

    def diff(self, state_vector: bytes) -> bytes:
        """What a peer with this state vector lacks, as of now. Raises ValueError."""
        return self._keeper.live.diff(state_vector)

    def apply(self, update: bytes, caller: Caller) -> Applied:
        """An editor's update. Raises StorageUnavailable while the store takes no writes."""
        live = self._keeper.writable
        author = Author(caller.principal, caller.name, "editor")
        try:
            applied = live.apply(update, author, self._clock())
        except DocumentBrokenError as error:
            self._keeper.drop()
            return Applied("refused", reason=str(error))
        for effects in applied.effects:
            self._keeper.gather(live, effects)
        return applied

    def after_commit(self, release: Release) -> None:
        """See `Committer.after_commit`."""
        self._keeper.committer.after_commit(release)

    def subscribe(self, listener: Callable[[Committed], None]) -> None:
        """`listener` gets each batch that is on disk, before that batch's releases."""
        self._keeper.subscribe(listener)

    def on_reload(self, listener: Callable[[], None]) -> None:
        """`listener` is called when the document was loaded again: sessions sync afresh."""
        self._keeper.on_reload(listener)

    def on_presence(self, presence: Callable[[], Iterable[tuple[str, bytes]]]) -> None:
        """`presence` says who is there: principals and their awareness states, carets in them."""
        self._planner.presence = presence

    async def updates_since(self, seq: int) -> bytes | None:
        """The stored updates after `seq` as one; None when part of them is no longer kept."""
        updates = await (await self._kept_in()).updates_after(seq)
        if updates is None:
            return None
        return merge_updates(*(update.data for update in updates)) if updates else b""

    # --- inside ----------------------------------------------------------------------------------

    async def _write(self, verb: str, caller: Caller, request: WriteRequest) -> WriteResult:
        if request.options.dry_run:
            self._spend_read(await self._keeper.when_ready(), verb, caller)
            return await self._do(caller, request, None)
        slot = self._once.slot(verb, caller, request)
        if slot is None:
            return await self._do(caller, request, None)
        store = await self._kept_in()
        return await self._once.run(slot, store, lambda: self._do(caller, request, slot))

    async def _do(self, caller: Caller, request: WriteRequest, slot: Slot | None) -> WriteResult:
        async with self._on_disk():
            prepared = await self._planner.prepare(caller, request)
            return self._apply(prepared, slot)

    def _apply(self, prepared: Prepared, slot: Slot | None) -> WriteResult:
        live, draft, now = prepared.live, prepared.draft, self._clock()
        who, allowance = draft.caller.principal, draft.caller.allowance
        plan = prepared.plan()
        if plan.ops and not draft.options.dry_run:
            live.budgets.check_write(who, allowance, plan.charged, now)
        try:
            written = applying.apply(live, draft, plan, now)
        except DocumentBrokenError as error:
            self._keeper.drop()
            raise StorageUnavailable("The write failed and nothing of it is kept.") from error
        if written.effects is not None:
            live.budgets.spend_write(who, plan.charged, now)
        left = Remaining(*live.budgets.left(who, allowance, now))
        result = msgspec.structs.replace(written.result, remaining=left)
        if written.effects is not None:
            self._keeper.gather(live, written.effects)
            self._keeper.committer.add_budgets(live.budgets.save(who, now))
            if slot is not None:
                self._keeper.committer.add_answer(slot.answer(result, now))
        return result

    def _spend_read(self, live: LiveDocument, tool: str, caller: Caller) -> None:
        live.budgets.spend_read(caller.principal, tool, caller.allowance, self._clock())

    @asynccontextmanager
    async def _on_disk(self) -> AsyncIterator[None]:
        """What is computed or refused inside is told once all that it saw is on disk."""
        try:
            yield
        except Refused:
            await self._keeper.committer.settled()
            raise
        await self._keeper.committer.settled()

    async def _kept_in(self) -> DocumentStore:
        await self._keeper.when_ready()
        return self._keeper.store
