"""A document in memory, as the hub sees one, whose commits happen when the test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
from pycrdt import Doc, Text, TransactionEvent, merge_updates

from actors.document.document_port import Committed, Verdict
from actors.document.readers import Readers
from actors.document.roster import Roster
from shared.errors import DocactorError, StorageUnavailable
from shared.protocol import Caller
from shared.wire.y_protocol import EMPTY_UPDATE
from shared.yjs.update import MalformedUpdateError, decode_state_vector, has_gap

ANNA = Caller("person:anna", "Anna", scopes=frozenset({"read", "write"}), role="editor")
BEN = Caller("person:ben", "Ben", scopes=frozenset({"read", "write"}), role="editor")

Release = Callable[[DocactorError | None], None]


class Outcome(msgspec.Struct, frozen=True):
    verdict: Verdict
    reason: str = ""


class Batch(msgspec.Struct, frozen=True):
    seq: int
    update: bytes
    change_seq: int
    principals: frozenset[str]
    event_seq: int = 0


class FakeDocument:
    """A document whose batch stays open until `commit` or `fail`.

    After `start_commit` what comes goes into a second batch, written by a second `commit`.

    Switches: `refuse` (reason given to every update), `unavailable` (as while loading again),
    `merged_away` (`updates_since` has nothing), `backlogged`, `commit_soon` (commits itself on the
    next turn of the loop).
    """

    def __init__(self) -> None:
        self.doc: Doc[Any]
        self.text: Text
        self.seq = 0
        self.change_seq = self.event_seq = 0
        self.roster = Roster(lambda: self.now, lambda _rows: True)
        self.backlogged = False
        self.refuse: str | None = None
        self.unavailable = False
        self.merged_away = False
        self.commit_soon = False
        self.now = 1_700_000_000_000
        self.stamps = 0  # times somebody left
        self.readers = Readers(lambda: self.now, self._stamped)
        self.applied: list[bytes] = []
        self.guarded: list[bool] = []  # beside each of them
        self._stored: list[bytes] = []
        self._open: list[bytes] = []
        self._writers: set[str] = set()
        self._releases: list[Release] = []
        self._flying: list[tuple[list[bytes], set[str], list[Release]]] = []
        self._listeners: list[Callable[[Committed], None]] = []
        self._reloads: list[Callable[[], None]] = []
        self._load()

    # --- the port ------------------------------------------------------------------------------

    def state_vector(self) -> bytes:
        self._check()
        return self.doc.get_state()

    def diff(self, state_vector: bytes) -> bytes:
        self._check()
        return self.doc.get_update(state_vector)

    def apply(self, update: bytes, caller: Caller, *, guarded: bool = False) -> Outcome:
        self._check()
        self.applied.append(update)
        self.guarded.append(guarded)
        if self.refuse is not None:
            return Outcome("refused", self.refuse)
        try:
            if has_gap(update, decode_state_vector(self.doc.get_state())):
                return Outcome("gap")
            before = len(self._open)
            self.doc.apply_update(update)
        except (ValueError, MalformedUpdateError) as error:
            return Outcome("refused", str(error))
        if len(self._open) == before:
            return Outcome("unchanged")
        self._writers.add(caller.principal)
        return Outcome("applied")

    def after_commit(self, callback: Release) -> None:
        if self._open:
            self._releases.append(callback)
        elif self._flying:
            self._flying[-1][2].append(callback)
        else:
            callback(None)

    def subscribe(self, on_commit: Callable[[Committed], None]) -> None:
        self._listeners.append(on_commit)

    def on_reload(self, listener: Callable[[], None]) -> None:
        self._reloads.append(listener)

    async def updates_since(self, seq: int) -> bytes | None:
        await asyncio.sleep(0)
        if self.merged_away:
            return None
        missed = self._stored[seq:]
        return merge_updates(*missed) if missed else b""

    # --- the test's side -------------------------------------------------------------------------

    def write(self, text: str, principal: str = "agent:a") -> None:
        """An edit by the server itself, into the open batch."""
        self._writers.add(principal)
        self.text += text

    def start_commit(self) -> None:
        """Closes the open batch; it is on its way to the disk."""
        if self._open:
            self._flying.append((self._open, self._writers, self._releases))
            self._open, self._writers, self._releases = [], set(), []

    def commit(self) -> None:
        """Writes the batch that is on its way, or else the open one."""
        if not self._flying:
            self.start_commit()
        if not self._flying:
            return
        updates, writers, releases = self._flying.pop(0)
        self.seq += 1
        self.change_seq += 1
        merged = merge_updates(*updates) if len(updates) > 1 else updates[0]
        self._stored.append(merged)
        batch = Batch(self.seq, merged, self.change_seq, frozenset(writers))
        for listener in self._listeners:
            listener(batch)
        for release in releases:
            release(None)

    def fail(self) -> None:
        """Loses the open batch and loads what is stored again, as after a failed commit."""
        releases, self._releases = self._releases, []
        self._open = []
        self._writers.clear()
        self._load()
        for release in releases:
            release(StorageUnavailable("not stored"))
        self.reloaded()

    def restore(self, other: FakeDocument) -> None:
        """Becomes what `other` has on disk, as the next activation of the same file."""
        self._stored = list(other._stored)
        self.seq, self.change_seq = other.seq, other.change_seq
        self._load()

    def reloaded(self) -> None:
        """The document is back."""
        for listener in self._reloads:
            listener()

    def _load(self) -> None:
        self.doc = Doc()
        self.text = self.doc.get("text", type=Text)
        for update in self._stored:
            self.doc.apply_update(update)
        self.doc.observe(self._emitted)

    def _stamped(self) -> None:
        self.stamps += 1

    def _emitted(self, event: TransactionEvent) -> None:
        if event.update == EMPTY_UPDATE:
            return
        if self.commit_soon and not self._open:
            asyncio.get_running_loop().call_soon(self.commit)
        self._open.append(event.update)

    def _check(self) -> None:
        if self.unavailable:
            raise StorageUnavailable("loading")
