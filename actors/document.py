"""A document as an actor serves it: every verb, with nothing told before it is on disk.

The plain class: no Ray, no socket. Each decision is one synchronous call into `LiveDocument`, so
verbs that interleave at their awaits never see half of one another.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final, TypeVar

from pycrdt import merge_updates

from actors.checkpointing import holds_its_document
from actors.committer import Committed, Committer, Failure, Release
from actors.idempotency import Once
from actors.openers import Opener, SqliteOpener
from actors.stored import (
    CommitUnknownError,
    DocumentStore,
    FencedError,
    NotCommittedError,
    StaleEpochError,
)
from actors.upkeep import Upkeep
from shared import reading, writing
from shared.errors import (
    DocactorError,
    DocumentCorrupt,
    Moved,
    OutcomeUnknown,
    ShuttingDown,
    StorageUnavailable,
)
from shared.ids import Choose, mint_block_id
from shared.limits import (
    CHECKPOINT_VERIFY_EVERY,
    DAY_MS,
    PROBE_S,
    RETENTION_DAYS,
    VIEWS_STORE_MS,
    WARM_BLOCKS,
)
from shared.live_document import Applied, Author, DocumentBrokenError, LiveDocument
from shared.protocol import (
    AnchorOnly,
    Caller,
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
from shared.stored import Checkpoint, Effects, Loaded
from shared.tree import Block

Request = TypeVar("Request", PatchRequest, InsertRequest, ReplaceRequest, DeleteRequest)
Clock = Callable[[], int]
log = logging.getLogger(__name__)

SERVER: Final = Caller("server", "docactor")


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

    def __init__(self, opener: Opener, clock: Clock, choose: Choose) -> None:
        self._opener = opener
        self._clock = clock
        self._choose = choose
        self._store: DocumentStore
        self._committer: Committer
        self._live: LiveDocument | None = None
        self._loop: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        self._once = Once()
        self._commit_listeners: list[Callable[[Committed], None]] = []
        self._reload_listeners: list[Callable[[], None]] = []
        self._views_due = 0  # ms
        self._trimmed_at = 0  # ms
        self._checkpoints = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._degraded = False
        self._closing = False
        self.failed: DocactorError | None = None

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
        document = cls(opener, clock, choose)
        effects = await document._load(seed, caller or SERVER)
        document._loop = asyncio.create_task(document._commit_loop())
        for one in effects:
            document._committer.add(one)
        await document._committer.settled()
        return document

    # --- what it says of itself ------------------------------------------------------------------

    @property
    def title(self) -> str:
        return reading.title(self._now_live())

    @property
    def last_change_at(self) -> int:
        """Milliseconds since 1970 of the last transaction."""
        return self._now_live().at

    @property
    def block_count(self) -> int:
        return len(self._now_live().index.ids)

    @property
    def degraded(self) -> bool:
        """Loaded and readable, while the store takes no writes."""
        return self._degraded and self._live is not None

    def cursor(self) -> int:
        """A cursor at the head: what a creator that knows the whole document goes on from."""
        return reading.head_cursor(self._now_live())

    def anchors(self) -> tuple[AnchorOnly, ...]:
        live = self._now_live()
        return tuple(AnchorOnly(live.anchor(block_id)) for block_id in live.index.ids)

    # --- verbs -----------------------------------------------------------------------------------

    async def read_document(
        self, caller: Caller, request: ReadDocumentRequest
    ) -> ReadDocumentResult:
        live = await self._when_ready()
        result = reading.read_document(live, caller, request, self._clock())
        await self._committer.settled()
        return result

    async def read_changes(self, caller: Caller, request: ReadChangesRequest) -> ReadChangesResult:
        live = await self._when_ready()
        result = reading.read_changes(live, caller, request, self._clock())
        await self._committer.settled()
        return result

    async def patch(self, caller: Caller, request: PatchRequest) -> WriteResult:
        return await self._write("patch", writing.patch, caller, request)

    async def insert(self, caller: Caller, request: InsertRequest) -> WriteResult:
        return await self._write("insert", writing.insert, caller, request)

    async def replace(self, caller: Caller, request: ReplaceRequest) -> WriteResult:
        return await self._write("replace", writing.replace, caller, request)

    async def delete(self, caller: Caller, request: DeleteRequest) -> WriteResult:
        return await self._write("delete", writing.delete, caller, request)

    async def close(self) -> None:
        """Stores what is gathered and a last checkpoint, then frees the file. Idempotent."""
        if self._closing:
            return
        self._closing = True
        await self._store_the_rest()
        if self._live is not None:
            self._live.close()
        self._live = None
        self._ready.set()
        for task in (self._loop, *self._tasks):
            if task is not None:
                task.cancel()
        self._committer.abandon()
        await self._store.close()

    async def _store_the_rest(self) -> None:
        if self._live is not None and not self._degraded:
            await self._committer.drained()
        if self._live is not None and not self._degraded:
            checkpoint = self._live.checkpoint()
            if checkpoint is not None:
                self._committer.add_checkpoint(checkpoint)
            self._committer.add_views(self._live.views.save())
            await self._committer.drained()

    # --- what the editors' hub uses; synchronous, on the loop -------------------------------------

    @property
    def backlogged(self) -> bool:
        """Whether so many batches wait that links should stop reading."""
        return self._committer.backlogged

    @property
    def seq(self) -> int:
        """The last update that is on disk."""
        return self._committer.seq

    @property
    def change_seq(self) -> int:
        """Head of the change feed that is on disk."""
        return self._committer.change_seq

    def state_vector(self) -> bytes:
        return self._now_live().state_vector()

    def diff(self, state_vector: bytes) -> bytes:
        """What a peer with this state vector lacks, as of now. Raises ValueError."""
        return self._now_live().diff(state_vector)

    def apply(self, update: bytes, caller: Caller) -> Applied:
        """An editor's update. Raises StorageUnavailable while the store takes no writes."""
        live = self._writable(self._now_live())
        try:
            applied = live.apply(
                update, Author(caller.principal, caller.name, "editor"), self._clock()
            )
        except DocumentBrokenError as error:
            self._drop()
            return Applied("refused", reason=str(error))
        for effects in applied.effects:
            self._gather(live, effects)
        return applied

    def after_commit(self, release: Release) -> None:
        """See `Committer.after_commit`."""
        self._committer.after_commit(release)

    def subscribe(self, listener: Callable[[Committed], None]) -> None:
        """`listener` gets each batch that is on disk, before that batch's releases."""
        self._commit_listeners.append(listener)
        self._committer.subscribe(listener)

    def on_reload(self, listener: Callable[[], None]) -> None:
        """`listener` is called when the document was loaded again: sessions sync afresh."""
        self._reload_listeners.append(listener)

    async def updates_since(self, seq: int) -> bytes | None:
        """The stored updates after `seq` as one; None when part of them is no longer kept."""
        await self._when_ready()
        updates = await self._store.updates_after(seq)
        if updates is None:
            return None
        return merge_updates(*(update.data for update in updates)) if updates else b""

    # --- inside ----------------------------------------------------------------------------------

    async def _write(
        self,
        verb: str,
        work: Callable[[LiveDocument, Caller, Request, int], writing.Written],
        caller: Caller,
        request: Request,
    ) -> WriteResult:
        slot = None if request.options.dry_run else self._once.slot(verb, caller, request)

        async def write() -> WriteResult:
            live = self._writable(await self._when_ready())
            now = self._clock()
            try:
                written = work(live, caller, request, now)
            except DocumentBrokenError as error:
                self._drop()
                raise StorageUnavailable("The write failed and nothing of it is kept.") from error
            if written.effects is not None:
                self._gather(live, written.effects)
            if written.effects is not None and slot is not None:
                self._committer.add_answer(slot.answer(written.result, now))
            await self._committer.settled()
            return written.result

        if slot is None:
            return await write()
        await self._when_ready()
        return await self._once.run(slot, self._store, write)

    def _gather(self, live: LiveDocument, effects: Effects) -> None:
        self._committer.add(effects)
        if live.at >= self._views_due:
            self._committer.add_views(live.views.save())
            self._views_due = live.at + VIEWS_STORE_MS
        if live.checkpoint_due():
            self._checkpoint(live)

    def _checkpoint(self, live: LiveDocument) -> None:
        """Takes one; some are read back first, and one that does not fit is not stored."""
        checkpoint = live.checkpoint()
        if checkpoint is None:
            return
        self._checkpoints += 1
        if self._checkpoints % CHECKPOINT_VERIFY_EVERY == 0:
            self._spawn(self._store_verified(live, checkpoint))
        else:
            self._committer.add_checkpoint(checkpoint)
        if live.at - self._trimmed_at > DAY_MS:
            self._trimmed_at = live.at
            self._spawn(self._trim(live.at - RETENTION_DAYS * DAY_MS))

    async def _store_verified(self, live: LiveDocument, checkpoint: Checkpoint) -> None:
        if not await asyncio.to_thread(holds_its_document, checkpoint):
            log.error("checkpoint %d does not hold its document: not stored", checkpoint.seq)
        elif self._live is live:  # after a failed commit its label may mean something else
            self._committer.add_checkpoint(checkpoint)

    async def _trim(self, before: int) -> None:
        try:
            await self._store.trim(before)
        except (NotCommittedError, CommitUnknownError, FencedError) as error:
            log.warning("the log was not trimmed: %s", error)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _writable(self, live: LiveDocument) -> LiveDocument:
        if self._degraded:
            raise StorageUnavailable("The storage takes no writes at the moment.")
        return live

    def _now_live(self) -> LiveDocument:
        if self._live is None:
            raise self._unavailable()
        return self._live

    async def _kept_in(self) -> DocumentStore:
        await self._when_ready()
        return self._store

    async def _when_ready(self) -> LiveDocument:
        await self._ready.wait()
        return self._now_live()

    def _unavailable(self) -> DocactorError:
        if self.failed is not None:
            return self.failed
        if self._closing:
            return ShuttingDown("The document is being closed.")
        return StorageUnavailable("The document is being loaded again.")

    async def _load(self, seed: tuple[Block, ...] | None, caller: Caller) -> tuple[Effects, ...]:
        self._store = await self._opener()
        try:
            loaded = await self._store.load()
            live, effects = self._build(loaded, seed, caller)
        except BaseException:
            await self._store.close()
            raise
        self._committer = Committer(self._store, loaded.update_seq, loaded.change_head)
        for listener in self._commit_listeners:
            self._committer.subscribe(listener)
        self._live = live
        self._ready.set()
        self._spawn(self._warm(live))
        return effects

    async def _warm(self, live: LiveDocument) -> None:
        """Reads the blocks' words in slices behind the first answers; ids settle on them."""
        for _ in range(0, len(live.index) + WARM_BLOCKS, WARM_BLOCKS):
            if self._live is not live or live.index.warm(WARM_BLOCKS):
                return
            await asyncio.sleep(0)  # others get their turn

    def _build(
        self, loaded: Loaded, seed: tuple[Block, ...] | None, caller: Caller
    ) -> tuple[LiveDocument, tuple[Effects, ...]]:
        def mint() -> str:
            return mint_block_id(self._choose, ())  # whoever takes it makes sure it is new

        now = self._clock()
        if seed is not None:
            author = Author(caller.principal, caller.name, "seed")
            return LiveDocument.seed(loaded, seed, author, now, mint)
        try:
            return LiveDocument.load(loaded, now, mint)
        except (ValueError, DocumentBrokenError) as error:
            raise DocumentCorrupt("The document's log does not apply.") from error

    def _drop(self) -> None:
        """Memory is not to be trusted: nothing more is read from it. What it gathered is good."""
        if self._live is not None:
            self._live.close()
            self._live = None
        self._ready.clear()
        self._committer.finish()

    async def _commit_loop(self) -> None:
        """Commits; loads again after each failure. Ends when the document must be given up."""
        failure: Failure | None = None
        try:
            while True:
                failure = await self._committer.run()
                self._drop()
                await self._load_again(failure)
        except FencedError as error:
            log.warning("fenced: %s", error)
            self._give_up(Moved("The document is held by another process."), failure)
        except DocactorError as error:
            self._give_up(error, failure)
        except Exception:
            # The border of a task: a fault of ours must not leave callers waiting for ever.
            log.exception("the commit loop failed")
            self._give_up(StorageUnavailable("The document's storage failed."), failure)

    async def _load_again(self, failure: Failure | None) -> None:
        """Raises FencedError, DocactorError: it cannot be had any more."""
        await self._store.close()
        if failure is not None and isinstance(failure.cause, FencedError):
            raise failure.cause
        self._degraded = failure is not None
        try:
            effects = await self._load(None, SERVER)
        except StaleEpochError as error:
            raise FencedError(f"opened under epoch {error.args[0]}") from error
        if failure is not None:
            self._tell(failure)
        self._resync()
        if self._degraded:
            await self._until_writable()
            self._degraded = False
            self._resync()  # what was typed meanwhile comes by the editors' own step 2
        for one in effects:
            self._committer.add(one)

    async def _until_writable(self) -> None:
        while True:
            try:
                await self._store.probe()
            except NotCommittedError as error:
                log.warning("storage takes no writes: %s", error)
                await asyncio.sleep(PROBE_S)
            except CommitUnknownError as error:
                raise StorageUnavailable("The document's storage failed.") from error
            else:
                return

    def _resync(self) -> None:
        for listener in self._reload_listeners:
            listener()

    def _tell(self, failure: Failure) -> None:
        """The truth about a failed batch, read from the store."""
        stored = failure.last_seq is not None and failure.last_seq <= self._now_live().update_seq
        lost = StorageUnavailable("The change could not be stored; nothing of it is kept.")
        failure.first(None if stored else lost)
        failure.behind(lost)

    def _give_up(self, error: DocactorError, failure: Failure | None) -> None:
        self.failed = error
        self._ready.set()
        if failure is None:
            return
        unknown = OutcomeUnknown("The storage failed while this was being stored.")
        lost: DocactorError = StorageUnavailable(
            "The change could not be stored; nothing of it is kept."
        )
        if isinstance(error, Moved):
            lost = error  # whoever has the document now can be asked to do it
        failure.first(lost if failure.known else unknown)
        failure.behind(lost)
