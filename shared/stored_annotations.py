"""What a document stores beside its text: threads, suggestions, events and who has joined.

None of it is part of the Yjs document, of a block's text or of its anchor. Threads, messages and
suggestions carry the number of their last change in the change feed (`change_seq`), so that one
cursor tells of them and of blocks. Times are milliseconds since 1970.
"""

from __future__ import annotations

from typing import Literal

import msgspec

SuggestionStatus = Literal["open", "accepted", "rejected"]


class TextRange(msgspec.Struct, frozen=True, array_like=True):
    """A stretch of one textblock's text, `start` up to, not including, `end`, in code points.

    Attributes:
        path: From the block's element down to the textblock's, by position among the children.
    """

    block_id: str
    path: tuple[int, ...]
    start: int
    end: int


class StoredThread(msgspec.Struct, frozen=True):
    """A conversation about a heading's section, or about a quoted sentence in it.

    Attributes:
        section_id: Block id of the heading; None: the one chat of a document without headings.
        quote: As it was given; None: the chat of the whole section.
        place: Where the quote stands now; None with a quote: it is orphaned.
        changed_by: Whose doing the change was that `change_seq` numbers.
    """

    thread_id: str
    change_seq: int
    section_id: str | None
    principal: str
    at: int
    quote: str | None = None
    place: TextRange | None = None
    resolved: bool = False
    changed_by: str = ""


class StoredMessage(msgspec.Struct, frozen=True):
    """One message. `seq` orders the messages of a document, and is never given twice.

    Attributes:
        agent: It was posted through a connected app, on behalf of `person` when there is one.
        text: "" once it is deleted.
    """

    message_id: str
    thread_id: str
    change_seq: int
    seq: int
    principal: str
    at: int
    text: str
    person: str | None = None
    agent: bool = False
    edited_at: int | None = None
    deleted: bool = False


class StoredSuggestion(msgspec.Struct, frozen=True):
    """A proposed edit. `data`: the edit itself, as `shared.suggestions` encodes it."""

    suggestion_id: str
    group_id: str
    change_seq: int
    principal: str
    at: int
    status: SuggestionStatus
    data: bytes


class StoredEvent(msgspec.Struct, frozen=True):
    """Something that happened. Numbers rise without ever being given twice.

    Attributes:
        type: As `read_events` tells it, such as `thread.reply`.
        to: The principal or person it is meant for; None: everybody.
        data: What else is told of it, msgpack.
    """

    seq: int
    at: int
    type: str
    principal: str
    to: str | None
    data: bytes


class StoredAgent(msgspec.Struct, frozen=True):
    """An agent that has joined the document. `present_until`: editors show it until then."""

    principal: str
    name: str
    status: str
    joined_at: int
    present_until: int


class StoredDigest(msgspec.Struct, frozen=True):
    """What is known of a principal for events that wait, and for those told once.

    Attributes:
        until: No second `document.changed` of theirs before this instant.
        data: What they touched since the last one (`shared.events.digests`), encoded.
        mentioned: The document's text has mentioned them, and they were told.
    """

    principal: str
    until: int = 0
    data: bytes = b""
    mentioned: bool = False


class Annotations(msgspec.Struct):
    """What of all that is stored, or is to be: rows by what they are known by.

    Attributes:
        head: The change feed's head, when one of the rows raised it.
        events_floor: Events up to this number are to be dropped.
        roster: None in the place of an agent: it has left.
        digests: By principal.
        authors: Who made the rows; not stored.
    """

    threads: dict[str, StoredThread] = {}
    messages: dict[str, StoredMessage] = {}
    suggestions: dict[str, StoredSuggestion] = {}
    events: dict[int, StoredEvent] = {}
    roster: dict[str, StoredAgent | None] = {}
    digests: dict[str, StoredDigest] = {}
    head: int | None = None
    events_floor: int = 0
    authors: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        held = (self.threads, self.messages, self.suggestions, self.events, self.roster)
        return any(held) or bool(self.digests) or bool(self.events_floor)

    def add(self, later: Annotations) -> None:
        """Takes over rows that are newer than those here."""
        self.threads |= later.threads
        self.messages |= later.messages
        self.suggestions |= later.suggestions
        self.events_floor = max(self.events_floor, later.events_floor)
        events = self.events | later.events
        self.events = {seq: one for seq, one in events.items() if seq > self.events_floor}
        self.roster |= later.roster
        self.digests |= later.digests
        self.head = self.head if later.head is None else later.head
        self.authors |= later.authors

    @property
    def highest(self) -> int:
        """The highest number of the change feed that one of the rows has; 0: none has any."""
        numbers = [one.change_seq for one in self.threads.values()]
        numbers += [one.change_seq for one in self.messages.values()]
        numbers += [one.change_seq for one in self.suggestions.values()]
        return max(numbers, default=0)

    def stored(self) -> Annotations:
        """As a store keeps them: without what was dropped, and who made what."""
        roster = {principal: one for principal, one in self.roster.items() if one is not None}
        return Annotations(
            dict(self.threads),
            dict(self.messages),
            dict(self.suggestions),
            dict(self.events),
            dict(roster),
            dict(self.digests),
            events_floor=self.events_floor,
        )
