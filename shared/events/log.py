"""The events of one document: numbered, kept for a while, read from a cursor on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from shared.events.cursor import Position
from shared.events.kinds import Draft, EventType, encode_about
from shared.limits import DAY_MS, EVENTS_SLACK, EVENTS_TOLD, MAX_EVENTS, RETENTION_DAYS
from shared.protocol import Caller
from shared.stored_annotations import StoredEvent


class Found(msgspec.Struct, frozen=True):
    """What a reader is told, and where they are then. `too_old`: some are no longer kept."""

    events: tuple[StoredEvent, ...]
    position: Position
    more: bool = False
    too_old: bool = False


class EventLog:
    """Numbers rise by one and are never given twice.

    Args:
        events: As stored.
        floor: Those up to this number were dropped.

    Attributes:
        head: The last number given; `floor` the last that was dropped.
    """

    def __init__(self, events: Mapping[int, StoredEvent], floor: int) -> None:
        self._events = dict(sorted(events.items()))
        self.head = max(self._events, default=floor)
        self.floor = max(floor, min(self._events, default=floor + 1) - 1)

    def __iter__(self) -> Iterator[StoredEvent]:
        return iter(self._events.values())

    def add(self, drafts: Iterable[Draft], at: int) -> dict[int, StoredEvent]:
        """Numbers new events; what is too old or too much is dropped (see `floor`)."""
        rows = {}
        for draft in drafts:
            self.head += 1
            about = encode_about(draft.about)
            row = StoredEvent(self.head, at, draft.type, draft.principal, draft.to, about)
            rows[row.seq] = self._events[row.seq] = row
        self._drop(at - RETENTION_DAYS * DAY_MS)
        return rows

    def read(self, at: Position, types: frozenset[EventType], caller: Caller) -> Found:
        """What `caller` is told of these types next: not their own doing, nor what is another's."""
        since = min(at.of(one) for one in types)
        if since < self.floor:
            floor = {one: max(self.floor, at.of(one)) for one in types}
            position = at
            for one, number in floor.items():
                position = position.moved({one}, number)
            return Found((), position, too_old=True)
        told: list[StoredEvent] = []
        for seq in range(since + 1, self.head + 1):
            event = self._events.get(seq)
            if event is None or not _is_for(event, at, types, caller):
                continue
            if len(told) == EVENTS_TOLD:
                return Found(tuple(told), passed(at, types, told[-1].seq), more=True)
            told.append(event)
        return Found(tuple(told), passed(at, types, self.head))

    def _drop(self, before: int) -> None:
        too_many = len(self._events) > MAX_EVENTS + EVENTS_SLACK
        for seq in tuple(self._events):
            old = self._events[seq].at < before
            if not old and not (too_many and len(self._events) > MAX_EVENTS):
                return
            del self._events[seq]
            self.floor = seq


def _is_for(event: StoredEvent, at: Position, types: frozenset[EventType], caller: Caller) -> bool:
    return (
        event.type in types
        and event.seq > at.of(event.type)
        and event.principal != caller.principal
        and (event.to is None or event.to in (caller.principal, caller.person))
    )


def passed(at: Position, types: frozenset[EventType], seq: int) -> Position:
    """Each of the types at `seq`, but for those that were further already: where a reader is who
    began `at` and was told up to `seq`.
    """
    position = at
    for one in types:
        position = position.moved({one}, max(seq, at.of(one)))
    return position
