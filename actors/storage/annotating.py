"""Threads, suggestions, events and the roster in a document's file.

Every function runs on the thread of the file's connection, for `actors.storage.store`.
"""

from __future__ import annotations

import sqlite3
from typing import Any, Final

import msgspec

from actors.storage.queries import Q, put
from shared.stored_annotations import (
    Annotations,
    StoredAgent,
    StoredDigest,
    StoredEvent,
    StoredMessage,
    StoredSuggestion,
    StoredThread,
    TextRange,
)

_PLACE: Final = msgspec.msgpack.Decoder(TextRange)


def load_annotations(db: sqlite3.Connection, meta: dict[str, Any]) -> Annotations:
    """All that is kept. Raises sqlite3.Error, msgspec.DecodeError."""
    threads = (thread_of(row) for row in db.execute(Q["threads"]))
    messages = (message_of(row) for row in db.execute(Q["messages"]))
    suggestions = (StoredSuggestion(*row) for row in db.execute(Q["suggestions"]))
    events = (StoredEvent(*row) for row in db.execute(Q["events"]))
    roster = (StoredAgent(*row) for row in db.execute(Q["roster"]))
    digests = (digest_of(row) for row in db.execute(Q["digests"]))
    return Annotations(
        {one.thread_id: one for one in threads},
        {one.message_id: one for one in messages},
        {one.suggestion_id: one for one in suggestions},
        {one.seq: one for one in events},
        {one.principal: one for one in roster},
        {one.principal: one for one in digests},
        events_floor=meta.get("events_floor", 0),
    )


def write_annotations(db: sqlite3.Connection, new: Annotations) -> None:
    """Puts the rows in the place of those they replace."""
    put(db, "set_thread", new.threads.values(), thread_row)
    put(db, "set_message", new.messages.values(), message_row)
    put(db, "set_suggestion", new.suggestions.values(), suggestion_row)
    put(db, "add_event", new.events.values(), event_row)
    if new.events_floor:
        db.execute(Q["drop_events"], (new.events_floor,))
        db.execute(Q["set_meta"], ("events_floor", new.events_floor))
    put(db, "set_digest", new.digests.values(), digest_row)
    put(db, "set_agent", [one for one in new.roster.values() if one is not None], agent_row)
    gone = [principal for principal, one in new.roster.items() if one is None]
    put(db, "drop_agent", gone, lambda principal: (principal,))


def thread_of(row: tuple[Any, ...]) -> StoredThread:
    began, (place, resolved, changed_by) = StoredThread(*row[:6]), row[6:]
    return msgspec.structs.replace(
        began,
        place=None if place is None else _PLACE.decode(place),
        resolved=bool(resolved),
        changed_by=changed_by,
    )


def thread_row(t: StoredThread) -> tuple[object, ...]:
    """The parameters of `set_thread`."""
    place = None if t.place is None else msgspec.msgpack.encode(t.place)
    ids = (t.thread_id, t.change_seq, t.section_id)
    return (*ids, t.principal, t.at, t.quote, place, int(t.resolved), t.changed_by)


def message_of(row: tuple[Any, ...]) -> StoredMessage:
    said, (agent, edited_at, deleted) = row[:8], row[8:]
    return msgspec.structs.replace(
        StoredMessage(*said), agent=bool(agent), edited_at=edited_at, deleted=bool(deleted)
    )


def message_row(m: StoredMessage) -> tuple[object, ...]:
    """The parameters of `set_message`."""
    ids = (m.message_id, m.thread_id, m.change_seq, m.seq)
    said = (m.principal, m.at, m.text, m.person)
    return (*ids, *said, int(m.agent), m.edited_at, int(m.deleted))


def suggestion_row(s: StoredSuggestion) -> tuple[object, ...]:
    """The parameters of `set_suggestion`."""
    ids = (s.suggestion_id, s.group_id, s.change_seq)
    return (*ids, s.principal, s.at, s.status, s.data)


def event_row(e: StoredEvent) -> tuple[object, ...]:
    """The parameters of `add_event`."""
    return (e.seq, e.at, e.type, e.principal, e.to, e.data)


def digest_of(row: tuple[Any, ...]) -> StoredDigest:
    principal, until, data, mentioned = row
    return StoredDigest(principal, until, data, bool(mentioned))


def digest_row(d: StoredDigest) -> tuple[object, ...]:
    """The parameters of `set_digest`."""
    return (d.principal, d.until, d.data, int(d.mentioned))


def agent_row(a: StoredAgent) -> tuple[object, ...]:
    """The parameters of `set_agent`."""
    return (a.principal, a.name, a.status, a.joined_at, a.present_until)
