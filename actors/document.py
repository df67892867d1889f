"""A document as an actor serves it: every verb, with nothing told before it is on disk.

The plain class: no Ray, no socket. Each decision is one synchronous call into `LiveDocument`, so
verbs that interleave at their awaits never see half of one another.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pycrdt import merge_updates

from actors.committer import Committed, Release
from actors.idempotency import Once, Slot
from actors.keeper import SERVER, Clock, Keeper
from actors.openers import Opener, SqliteOpener
from actors.stored import DocumentStore
from actors.upkeep import Upkeep
from shared import reading, writing
from shared.errors import DocactorError, Refused, StorageUnavailable
from shared.ids import Choose
from shared.live_document import Applied, Author, DocumentBrokenError, LiveDocument
from shared.past import blocks_at
from shared.protocol import (
    AnchorOnly,
    Caller,
    CommitTotals,
    DeleteRequest,
    InsertRequest,
    PatchRequest,
    ReadChangesRequest,
    ReadChangesResult,
    ReadDocumentRequest,
    ReadDocumentResult,
    ReplaceRequest,
    RouteKey,
    WriteResult,
)
from shared.tree import Block

Request = TypeVar("Request", PatchRequest, InsertRequest, ReplaceRequest, DeleteRequest)
Work = Callable[[LiveDocument, Caller, Request, int, writing.Past], writing.Written]
Result = TypeVar("Result")


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
        return await self._told(lambda: reading.read_document(live, caller, request, self._clock()))

    async def read_changes(self, caller: Caller, request: ReadChangesRequest) -> ReadChangesResult:
        live = await self._keeper.when_ready()
        return await self._told(lambda: reading.read_changes(live, caller, request, self._clock()))

    async def patch(self, caller: Caller, request: PatchRequest) -> WriteResult:
        return await self._write("patch", writing.patch, caller, request)

    async def insert(self, caller: Caller, request: InsertRequest) -> WriteResult:
        return await self._write("insert", writing.insert, caller, request)

    async def replace(self, caller: Caller, request: ReplaceRequest) -> WriteResult:
        return await self._write("replace", writing.replace, caller, request)

    async def delete(self, caller: Caller, request: DeleteRequest) -> WriteResult:
        return await self._write("delete", writing.delete, caller, request)

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

    async def updates_since(self, seq: int) -> bytes | None:
        """The stored updates after `seq` as one; None when part of them is no longer kept."""
        updates = await (await self._kept_in()).updates_after(seq)
        if updates is None:
            return None
        return merge_updates(*(update.data for update in updates)) if updates else b""

    # --- inside ----------------------------------------------------------------------------------

    async def _write(
        self, verb: str, work: Work[Request], caller: Caller, request: Request
    ) -> WriteResult:
        slot = None if request.options.dry_run else self._once.slot(verb, caller, request)

        async def write() -> WriteResult:
            try:
                return await self._do(work, caller, request, slot)
            except writing.NeedsPastError as needs:
                past = await self._past(needs.args[0])
            return await self._do(work, caller, request, slot, past)

        if slot is None:
            return await write()
        return await self._once.run(slot, await self._kept_in(), write)

    async def _do(
        self,
        work: Work[Request],
        caller: Caller,
        request: Request,
        slot: Slot | None,
        past: writing.Past = None,
    ) -> WriteResult:
        await self._keeper.when_ready()

        def do() -> WriteResult:
            live, now = self._keeper.writable, self._clock()
            try:
                written = work(live, caller, request, now, past)
            except DocumentBrokenError as error:
                self._keeper.drop()
                raise StorageUnavailable("The write failed and nothing of it is kept.") from error
            if written.effects is not None:
                self._keeper.gather(live, written.effects)
                if slot is not None:
                    self._keeper.committer.add_answer(slot.answer(written.result, now))
            return written.result

        return await self._told(do)

    async def _told(self, compute: Callable[[], Result]) -> Result:
        """What `compute` returns or refuses, once all that it saw is on disk."""
        try:
            result = compute()
        except Refused:
            await self._keeper.committer.settled()
            raise
        await self._keeper.committer.settled()
        return result

    async def _past(self, change_seq: int) -> writing.Past:
        """The blocks when the change feed's head was there; (): no longer kept."""
        state = await (await self._kept_in()).state_at(change_seq)
        if state is None:
            return ()
        return await asyncio.to_thread(blocks_at, state.checkpoint, state.updates) or ()

    async def _kept_in(self) -> DocumentStore:
        await self._keeper.when_ready()
        return self._keeper.store
