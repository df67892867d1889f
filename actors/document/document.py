"""A document as an actor serves it: every verb, with nothing told before it is on disk.

The plain class: no Ray, no socket. Each decision is one synchronous call into `LiveDocument`, so
verbs that interleave at their awaits never see half of one another.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import msgspec
from pycrdt import merge_updates

from actors.document.discussion_verbs import DiscussionVerbs
from actors.document.event_verbs import EventVerbs
from actors.document.events import Events
from actors.document.history import History
from actors.document.history_verbs import HistoryVerbs
from actors.document.keeper import SERVER, Clock, Keeper
from actors.document.planning import Planner, Prepared
from actors.document.readers import Readers
from actors.document.roster import Roster
from actors.document.suggestion_verbs import SuggestionVerbs
from actors.document.versions import Versions
from actors.document.what_changed import WhatChanged
from actors.storage.committer import Committed, Release
from actors.storage.idempotency import Once, Slot
from actors.storage.openers import Opener, SqliteOpener
from actors.storage.stored import DocumentStore
from actors.upkeep.requests import Upkeep
from shared.document import applying, reading
from shared.document.live_document import Applied, Author, DocumentBrokenError, LiveDocument
from shared.document.schema_guard import SchemaGuard
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
    WriteResult,
)
from shared.protocol_changes import FoundChanges, GetChangesRequest
from shared.protocol_history import RestoreRequest
from shared.protocol_suggestions import AnyWrite
from shared.stored import StoredAnswer
from shared.tree import Block

T = TypeVar("T")


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Document(Upkeep, DiscussionVerbs, EventVerbs, HistoryVerbs, SuggestionVerbs):
    """One open document. Made by `open` or `start`; `close` leaves its file free.

    After a failed commit it drops what is in memory and loads again from its store; verbs that
    come meanwhile wait. From then until the store takes a write it is *degraded*: reads answer,
    writes are refused. `failed` is set when it cannot be loaded, or somebody else has it now:
    whoever holds it gives it up.
    """

    def __init__(self, keeper: Keeper, clock: Clock) -> None:
        self._keeper = keeper
        self._guard = SchemaGuard()
        self._clock = clock
        self._planner = Planner(keeper, clock)
        self.history = History(keeper)
        self.versions = Versions(keeper, clock, self.history)
        self._changed = WhatChanged(keeper, clock, self.history)
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
        expires_at: int | None = None,
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
        return await cls.start(
            opener, seed=seed, caller=caller, expires_at=expires_at, clock=clock, choose=choose
        )

    @classmethod
    async def start(
        cls,
        opener: Opener,
        *,
        seed: tuple[Block, ...] | None = None,
        caller: Caller | None = None,
        expires_at: int | None = None,
        clock: Clock = now_ms,
        choose: Choose = secrets.choice,
    ) -> Document:
        """Like `open`, in any store; `expires_at`: when it goes by itself, in milliseconds."""
        by = caller or SERVER
        return cls(await Keeper.open(opener, clock, choose, seed, by, expires_at), clock)

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
    def all_left(self) -> dict[str, int]:
        """When each person last left, in milliseconds since 1970, as far as that is on disk."""
        return self._keeper.readers.stored_left()

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
        merged = self._keeper.retention.merged
        return msgspec.structs.replace(self._keeper.tally.totals(), merged=merged)

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
        live = await self._keeper.when_rendered()
        self._spend_read(live, "read_document", caller)
        async with self._on_disk():
            return reading.read_document(live, caller, request, self._clock())

    async def read_changes(self, caller: Caller, request: ReadChangesRequest) -> ReadChangesResult:
        live = await self._keeper.when_ready()
        if not request.look:
            self._spend_read(live, "read_changes", caller)
        async with self._on_disk():
            return reading.read_changes(live, caller, request, self._clock())

    async def get_changes(self, caller: Caller, request: GetChangesRequest) -> FoundChanges:
        self._spend_read(await self._keeper.when_ready(), "get_changes", caller)
        async with self._on_disk():
            return await self._changed.found(caller, request)

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
    def readers(self) -> Readers:
        """Who has it open, and when they last left."""
        return self._keeper.readers

    @property
    def roster(self) -> Roster:
        """Which agents have joined it."""
        return self._keeper.events.roster

    @property
    def event_seq(self) -> int:
        """The last event that is on disk."""
        return self._keeper.committer.event_seq

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

    def apply(self, update: bytes, caller: Caller, *, guarded: bool = False) -> Applied:
        """An editor's update; `guarded`: its session has brought nothing yet (`SchemaGuard`).

        Raises StorageUnavailable while the store takes no writes.
        """
        live = self._keeper.writable
        author = Author(caller.principal, caller.name, "editor")
        try:
            lost = self._guard.lost(live, update) if guarded else None
        except ValueError as error:
            return Applied("refused", reason=str(error))
        if lost is not None:
            return Applied("refused", reason=f"this editor cannot hold {lost}")
        try:
            applied = live.apply(update, author, self._clock())
        except DocumentBrokenError as error:
            self._keeper.drop()
            return Applied("refused", reason=str(error))
        for effects in applied.effects:
            self._keeper.gather(live, effects)
        if applied.effects:
            self._keeper.gather_person(caller)
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
        updates = await self._ask_store(lambda store: store.updates_after(seq))
        if updates is None:
            return None
        return merge_updates(*(update.data for update in updates)) if updates else b""

    # --- inside ----------------------------------------------------------------------------------

    async def _write(self, verb: str, caller: Caller, request: AnyWrite) -> WriteResult:
        return await self._prepared(
            verb, caller, request, lambda: self._planner.prepare(caller, request)
        )

    async def _prepared(
        self,
        verb: str,
        caller: Caller,
        request: AnyWrite | RestoreRequest,
        prepare: Callable[[], Awaitable[Prepared]],
    ) -> WriteResult:
        """A write's plan carried out, once under its key, and told when it is on disk."""

        async def do(slot: Slot | None) -> WriteResult:
            async with self._on_disk():
                return self._apply(await prepare(), slot)

        if request.options.dry_run:
            self._spend_read(await self._keeper.when_ready(), verb, caller)
            return await do(None)
        slot = self._once.slot(verb, caller, request)
        if slot is None:
            return await do(None)
        return await self._once.run(slot, self._stored_answer, lambda: do(slot))

    def _apply(self, prepared: Prepared, slot: Slot | None) -> WriteResult:
        live, draft, now = prepared.live, prepared.draft, self._clock()
        who, allowance = draft.caller.principal, draft.caller.allowance
        self.events.roster.heard(who)
        plan = prepared.plan()
        if plan.does_something and not draft.options.dry_run:
            live.budgets.check_write(who, allowance, plan.charged, now)
            self.versions.before_write(prepared, plan)
        try:
            written = applying.apply(live, draft, plan, now)
        except DocumentBrokenError as error:
            self._keeper.drop()
            raise StorageUnavailable("The write failed and nothing of it is kept.") from error
        if written.changed:
            live.budgets.spend_write(who, plan.charged, now)
        left = Remaining(*live.budgets.left(who, allowance, now))
        result = msgspec.structs.replace(written.result, remaining=left)
        if written.changed:
            self._gather(live, written, draft.caller)
            result = self.versions.after_write(prepared, result)
            self._keeper.committer.add_budgets(live.budgets.save(who, now))
            if slot is not None:
                self._keeper.committer.add_answer(slot.answer(result, now))
        return result

    def _gather(self, live: LiveDocument, written: applying.Written, caller: Caller) -> None:
        """Puts what a write did into the batch that gathers, and who did it."""
        if written.effects is not None:
            self._keeper.gather(live, written.effects, written.beside)
        elif written.beside is not None:
            self._keeper.annotate(written.beside)
            if live.names.get(caller.principal) != caller.name:
                live.names[caller.principal] = caller.name
                self._keeper.committer.add_name(caller.principal, caller.name)
        self._keeper.gather_person(caller)

    async def _read_spent(self, verb: str, caller: Caller) -> None:
        self._spend_read(await self._keeper.when_ready(), verb, caller)

    def _spend_read(self, live: LiveDocument, tool: str, caller: Caller) -> None:
        live.budgets.spend_read(caller.principal, tool, caller.allowance, self._clock())
        self.events.roster.heard(caller.principal)

    @property
    def events(self) -> Events:
        return self._keeper.events

    async def _loaded(self) -> None:
        await self._keeper.when_ready()

    async def _writable(self) -> LiveDocument:
        await self._keeper.when_ready()
        return self._keeper.writable

    def _name(self, live: LiveDocument, caller: Caller) -> None:
        if live.names.get(caller.principal) != caller.name:
            live.names[caller.principal] = caller.name
            self._keeper.committer.add_name(caller.principal, caller.name)

    @asynccontextmanager
    async def _on_disk(self) -> AsyncIterator[None]:
        """What is computed or refused inside is told once all that it saw is on disk."""
        try:
            yield
        except Refused:
            await self._keeper.committer.settled()
            raise
        await self._keeper.committer.settled()

    async def _stored_answer(self, slot: Slot) -> StoredAnswer | None:
        return await self._ask_store(
            lambda store: store.answer(slot.principal, slot.verb, slot.key)
        )

    async def _ask_store(self, ask: Callable[[DocumentStore], Awaitable[T]]) -> T:
        return await self._keeper.ask_store(ask)
