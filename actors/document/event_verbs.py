"""The verbs of events, and of agents that join."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractAsyncContextManager
from typing import cast

import msgspec
from msgspec import UNSET

from actors.document.events import Events
from shared.document.live_document import LiveDocument
from shared.events.cursor import Position
from shared.events.kinds import EventType, decode_about, wanted
from shared.events.log import passed
from shared.protocol import Caller
from shared.protocol_events import (
    Event,
    JoinRequest,
    LeaveRequest,
    ReadEventsRequest,
    ReadEventsResult,
    RosterEntry,
    RosterResult,
)
from shared.stored_annotations import StoredEvent
from shared.times import iso

_FROM_NOW = "Call again with this cursor for what happens from now on."
_TOO_OLD = (
    "Some events are no longer kept. Call again with this cursor for those that are; get_changes or"
    " read_changes say what changed meanwhile."
)
_MORE = "Call read_events again with this cursor: there is more."


class EventVerbs(ABC):
    """Who may is decided where the document is called from (`shared.access`)."""

    @property
    @abstractmethod
    def events(self) -> Events:
        """The document's."""

    @abstractmethod
    async def _read_spent(self, verb: str, caller: Caller) -> None:
        """Waits until the document is there and takes a read off the caller's budget."""

    @abstractmethod
    async def _writable(self) -> LiveDocument:
        """The document to write to. Raises StorageUnavailable while the store takes no writes."""

    @abstractmethod
    def _name(self, live: LiveDocument, caller: Caller) -> None:
        """Notes what a caller is called who makes no change of the document itself."""

    @abstractmethod
    def _on_disk(self) -> AbstractAsyncContextManager[None]:
        """What is computed or refused inside is told once all that it saw is on disk."""

    async def read_events(self, caller: Caller, request: ReadEventsRequest) -> ReadEventsResult:
        """Raises InvalidCursor, InvalidArgument."""
        types = wanted(request.types)
        if not request.look:
            await self._read_spent("read_events", caller)
        async with self._on_disk():
            await self._loaded()
            events = self.events
            events.follows(caller)
            events.settle()
            if request.cursor is None:
                return self._nothing(events.start(), "no_cursor", _FROM_NOW)
            at = events.cursors.decode(request.cursor, events.log.head)
            found = events.log.read(at, types, caller)
            if found.too_old:
                return self._nothing(found.position, "too_old", _TOO_OLD)
            return ReadEventsResult(
                tuple(
                    self._told(event, passed(at, types, event.seq) if request.each else None)
                    for event in found.events
                ),
                events.cursors.encode(found.position),
                truncated=False,
                more=found.more,
                next_step=_MORE if found.more else UNSET,
            )

    async def join(self, caller: Caller, request: JoinRequest) -> RosterResult:
        """Puts the caller on the roster. Raises Overloaded: it is full."""
        await self._read_spent("join", caller)
        async with self._on_disk():
            live = await self._writable()
            self.events.settle()
            self.events.join(caller, request.status)
            self._name(live, caller)
            return self._roster(caller)

    async def leave(self, caller: Caller, _request: LeaveRequest) -> RosterResult:
        """Takes the caller off the roster; whoever is not there is told the same."""
        await self._read_spent("leave", caller)
        async with self._on_disk():
            await self._writable()
            self.events.leave(caller.principal)
            return self._roster(caller)

    @abstractmethod
    async def _loaded(self) -> None:
        """Waits until the document is there."""

    def _nothing(self, at: Position, reason: str, next_step: str) -> ReadEventsResult:
        cursor = self.events.cursors.encode(at)
        return ReadEventsResult((), cursor, True, False, reason, next_step)

    def _told(self, event: StoredEvent, then: Position | None) -> Event:
        """`then`: where a reader is who was told of it."""
        events = self.events
        return Event(
            **msgspec.structs.asdict(decode_about(event.data)),
            seq=event.seq,
            type=cast("EventType", event.type),
            at=iso(event.at),
            by=events.name_of(event.principal),
            cursor=UNSET if then is None else events.cursors.encode(then),
        )

    def _roster(self, caller: Caller) -> RosterResult:
        events = self.events
        agents = tuple(
            RosterEntry(
                row.name,
                row.status,
                iso(row.joined_at),
                iso(row.present_until),
                row.principal == caller.principal,
            )
            for row in events.roster.rows
        )
        return RosterResult(agents, events.cursors.encode(events.start()))
