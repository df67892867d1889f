"""Keeping one document: in memory and on disk, together, through whatever the disk does.

The keeper loads, commits, takes checkpoints and, after a commit that failed, drops what is in
memory and loads again. `actors.document.document` puts the verbs on top.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, TypeVar

from actors.document import collected
from actors.document.events import Events
from actors.document.readers import Readers
from actors.document.retention import Retention
from actors.storage.checkpointing import holds_its_document
from actors.storage.commit_tally import CommitTally
from actors.storage.committer import Committed, Committer, Failure
from actors.storage.openers import Opener
from actors.storage.stored import (
    CommitUnknownError,
    DocumentStore,
    FencedError,
    NotCommittedError,
    StaleEpochError,
    StoreClosedError,
)
from shared.document.live_document import Author, DocumentBrokenError, LiveDocument
from shared.errors import (
    DocactorError,
    DocumentCorrupt,
    Moved,
    OutcomeUnknown,
    ShuttingDown,
    StorageUnavailable,
)
from shared.history.versions import Moment, VersionLog
from shared.ids import Choose, mint_block_id
from shared.limits import (
    CHECKPOINT_VERIFY_EVERY,
    KEPT_BLOCKS,
    PROBE_S,
    RENDER_BLOCKS,
    VIEWS_STORE_MS,
    WARM_AFTER_S,
    WARM_BLOCKS,
)
from shared.protocol import Caller
from shared.stored import Checkpoint, Effects, Loaded, StoredReader, StoredVersion
from shared.stored_annotations import Annotations
from shared.tree import Block

log = logging.getLogger(__name__)

SERVER: Final = Caller("server", "docactor")
Clock = Callable[[], int]
T = TypeVar("T")


class Keeper:
    """One document between its store and its verbs. Made by `open`; `close` frees the store.

    Attributes:
        committer, store, versions: Those of now; all are new after a reload.
        retention: Makes old history smaller.
        tally: Of all committers it has had.
        readers: Who has opened it in an editor, and when they last left.
        events: What happened, and which agents have joined.
        failed: Why it can no longer be served: it cannot be loaded, or somebody else has it.
    """

    def __init__(
        self, opener: Opener, clock: Clock, choose: Choose, expires_at: int | None = None
    ) -> None:
        self.store: DocumentStore
        self.committer: Committer
        self.versions: VersionLog
        self.failed: DocactorError | None = None
        self.tally = CommitTally()
        self.readers = Readers(clock, self._store_readers)
        self.retention = Retention(self, clock, lambda: self.readers.all_left().values())
        self.events = Events(
            clock,
            self._gather_events,
            lambda: self._live is not None and not self._degraded and not self._closing,
            lambda principal: principal in self._people,
            expires_at,
        )
        self._people: dict[str, str] = {}
        self._opener = opener
        self._clock = clock
        self._choose = choose
        self._live: LiveDocument | None = None
        self._loop: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        self._commit_listeners: list[Callable[[Committed], None]] = []
        self._reload_listeners: list[Callable[[], None]] = []
        self._views_due = 0  # ms
        self._checkpoints = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._degraded = False
        self._closing = False

    @classmethod
    async def open(
        cls,
        opener: Opener,
        clock: Clock,
        choose: Choose,
        seed: tuple[Block, ...] | None,
        caller: Caller,
        expires_at: int | None = None,
    ) -> Keeper:
        """Loads the document, or with `seed` makes a new one. Raises as `Document.open`."""
        keeper = cls(opener, clock, choose, expires_at)
        effects = await keeper._load(seed, caller)
        keeper._loop = asyncio.create_task(keeper._commit_loop())
        for one in effects:
            keeper.committer.add(one)
        if seed is not None:
            keeper.gather_person(caller)
        await keeper.committer.settled()
        keeper._spawn(keeper.retention.run())
        return keeper

    # --- the document ----------------------------------------------------------------------------

    @property
    def live(self) -> LiveDocument:
        """The document as it is now. Raises why there is none."""
        if self._live is None:
            raise self._unavailable()
        return self._live

    @property
    def writable(self) -> LiveDocument:
        """The same to write to. Raises StorageUnavailable while the store takes no writes."""
        live = self.live
        if self._degraded:
            raise StorageUnavailable("The storage takes no writes at the moment.")
        return live

    @property
    def degraded(self) -> bool:
        """Loaded and readable, while the store takes no writes."""
        return self._degraded and self._live is not None

    def is_live(self, live: LiveDocument) -> bool:
        """Whether it is still the document of now."""
        return self._live is live

    async def when_ready(self) -> LiveDocument:
        """The document once it is loaded. Raises why it cannot be."""
        await self._ready.wait()
        return self.live

    async def when_rendered(self) -> LiveDocument:
        """Likewise, with what every block says at hand: it is rendered in slices.

        In one go the first read of 10,000 blocks would hold the loop for 150 ms.
        """
        live, rendered = await self.when_ready(), False
        while live.render_some(RENDER_BLOCKS):
            rendered = len(live.index) >= KEPT_BLOCKS
            await asyncio.sleep(0)  # others get their turn
            live = await self.when_ready()
        if rendered:
            collected.keep()
        return live

    async def ask_store(self, ask: Callable[[DocumentStore], Awaitable[T]]) -> T:
        """What `ask` reads from the store, from the next one when that is closed under it.

        Raises what reading raises, and why the document is not there any more.
        """
        while True:
            await self.when_ready()
            try:
                return await ask(self.store)
            except StoreClosedError:
                log.info("the store was closed under a reader: it asks again")

    def gather(
        self, live: LiveDocument, effects: Effects, beside: Annotations | None = None
    ) -> None:
        """Puts what a transaction did into the batch that gathers, with what goes beside it."""
        due = self.versions.follow(effects.update)
        if due is not None:
            self.committer.add_version(due)
        self.committer.add(effects)
        self.events.gathered(effects)
        if beside is not None:
            self.annotate(beside)  # its numbers come before those of threads that follow the text
        moved = live.discussion.follow(effects.update.principal, live.textblocks)
        if moved is not None:
            self.annotate(moved)
        if live.at >= self._views_due or live.views.urgent:
            self.committer.add_views(live.views.save())
            self.committer.add_budgets(*live.budgets.unsaved(live.at))
            self._views_due = live.at + VIEWS_STORE_MS
        self._add_readers(self.readers.due(self._clock()))
        if live.checkpoint_due():
            self._checkpoint(live)

    def annotate(self, new: Annotations) -> None:
        """Puts what stands beside the text into the batch that gathers, with the last effects."""
        self.committer.add_annotations(new)
        self.events.annotated(new)

    def _gather_events(self, new: Annotations) -> None:
        self.committer.add_annotations(new)

    def add_version(self, version: StoredVersion) -> None:
        """Puts a version that somebody made, or named, into the batch that gathers."""
        self.committer.add_version(version)
        self.events.versioned(version)

    def person_behind(self, principal: str) -> str | None:
        """The person an agent belongs to, as of its last change here."""
        return self._people.get(principal)

    def gather_person(self, caller: Caller) -> None:
        """Notes who is behind an agent, in the transaction of what it has just changed."""
        person = caller.person
        if person is not None and self._people.get(caller.principal, caller.principal) != person:
            self._people[caller.principal] = person
            self.committer.add_person(caller.principal, person)

    def drop(self) -> None:
        """Memory is not to be trusted: nothing more is read from it. What it gathered is good."""
        if self._live is not None:
            self._live.close()
            self._live = None
        self._ready.clear()
        self.committer.finish()

    def subscribe(self, listener: Callable[[Committed], None]) -> None:
        """`listener` gets each batch that is on disk, before that batch's releases."""
        self._commit_listeners.append(listener)
        self.committer.subscribe(listener)

    def on_reload(self, listener: Callable[[], None]) -> None:
        """`listener` is called when the document was loaded again: sessions sync afresh."""
        self._reload_listeners.append(listener)

    async def close(self) -> None:
        """Stores what is gathered and a last checkpoint, then frees the store. Idempotent."""
        if self._closing:
            return
        self.events.settle()
        self.events.close()
        self._closing = True
        await self._store_the_rest()
        if self._live is not None:
            self._live.close()
        self._live = None
        self._ready.set()
        for task in (self._loop, *self._tasks):
            if task is not None:
                task.cancel()
        self.committer.abandon()
        await self.store.close()

    # --- inside ----------------------------------------------------------------------------------

    async def _store_the_rest(self) -> None:
        if self._live is not None and not self._degraded:
            await self.committer.drained()
        if self._live is not None and not self._degraded:
            checkpoint = self._live.checkpoint()
            if checkpoint is not None:
                self.committer.add_checkpoint(checkpoint)
            due = self.versions.due(self._clock())
            if due is not None:
                self.committer.add_version(due)
            self.committer.add_views(self._live.views.save())
            self.committer.add_budgets(*self._live.budgets.unsaved(self._clock()))
            self._add_readers(self.readers.take())
            await self.committer.drained()

    def _store_readers(self) -> None:
        """Now, where it can be; else with what is stored next."""
        if self._live is not None and not self._closing:
            self._add_readers(self.readers.take())

    def _add_readers(self, rows: tuple[StoredReader, ...]) -> None:
        if not rows:
            return
        self.committer.add_readers(*rows)

        def release(error: DocactorError | None) -> None:
            if error is None:
                self.readers.stored(rows)
            else:
                self.readers.again(rows)

        self.committer.after_commit(release)

    def _checkpoint(self, live: LiveDocument) -> None:
        """Takes one; some are read back first, and one that does not fit is not stored."""
        checkpoint = live.checkpoint()
        if checkpoint is None:
            return
        self._checkpoints += 1
        if self._checkpoints % CHECKPOINT_VERIFY_EVERY == 0:
            self._spawn(self._store_verified(live, checkpoint))
        else:
            self.committer.add_checkpoint(checkpoint)

    async def _store_verified(self, live: LiveDocument, checkpoint: Checkpoint) -> None:
        if not await asyncio.to_thread(holds_its_document, checkpoint):
            log.error("checkpoint %d does not hold its document: not stored", checkpoint.seq)
        elif self._live is live:  # after a failed commit its label may mean something else
            self.committer.add_checkpoint(checkpoint)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _unavailable(self) -> DocactorError:
        if self.failed is not None:
            return self.failed
        if self._closing:
            return ShuttingDown("The document is being closed.")
        return StorageUnavailable("The document is being loaded again.")

    async def _load(self, seed: tuple[Block, ...] | None, caller: Caller) -> tuple[Effects, ...]:
        self.store = await self._opener()
        try:
            loaded = await self.store.load()
            live, effects = self._build(loaded, seed, caller)
        except BaseException:
            await self.store.close()
            raise
        self.events.load(loaded, live)
        self.committer = Committer(
            self.store,
            loaded.update_seq,
            loaded.change_head,
            self.tally,
            event_seq=self.events.log.head,
        )
        for listener in self._commit_listeners:
            self.committer.subscribe(listener)
        head = Moment(live.update_seq, live.at, live.log.head)
        self.versions = VersionLog(loaded.version, head)
        self.readers.load(loaded.readers)
        self.events.roster.load(loaded.annotations.roster)
        self._people = dict(loaded.people)
        self._live = live
        self._ready.set()
        self._spawn(self._warm(live))
        return effects

    async def _warm(self, live: LiveDocument) -> None:
        """Reads the blocks' words in slices, behind the first answers; ids settle on them.

        An edit that comes before has them read at once.
        """
        await asyncio.sleep(WARM_AFTER_S)
        for _ in range(0, len(live.index) + WARM_BLOCKS, WARM_BLOCKS):
            if self._live is not live or live.index.warm(WARM_BLOCKS):
                break
            await asyncio.sleep(0)  # others get their turn
        if len(live.index) >= KEPT_BLOCKS:
            collected.keep()

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

    async def _commit_loop(self) -> None:
        """Commits; loads again after each failure. Ends when the document must be given up."""
        failure: Failure | None = None
        try:
            while True:
                failure = await self.committer.run()
                self.drop()
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
        await self.store.close()
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
            self.committer.add(one)
        self._store_readers()

    async def _until_writable(self) -> None:
        while True:
            try:
                await self.store.probe()
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
        if failure.last_seq is not None:
            stored = failure.last_seq <= self.live.update_seq
        else:
            stored = failure.head is not None and failure.head <= self.live.log.head
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
