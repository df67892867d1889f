"""The types of events and of agents that have joined: what is asked, and what callers get."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from shared.events.kinds import About, EventType


class ReadEventsRequest(msgspec.Struct, frozen=True):
    """`types`: names, or groups such as `thread.*`; none: all.

    `look`: it is a waiting call's, which was counted already. `each`: every event with a cursor of
    its own, to go on right behind it.
    """

    cursor: str | None = None
    types: tuple[str, ...] = ()
    look: bool = False
    each: bool = False


class JoinRequest(msgspec.Struct, frozen=True):
    """`status`: what the agent is doing, for people to see."""

    status: str = ""


class LeaveRequest(msgspec.Struct, frozen=True):
    """Takes the caller off the roster."""


class Event(About, frozen=True, kw_only=True, omit_defaults=True):
    """Something that happened.

    Attributes:
        seq: Rises with each event of the document; some are for others alone.
        at: When, ISO 8601.
        by: The name of who did it.
        cursor: In a stream, where to go on behind it.
    """

    seq: int
    type: EventType
    at: str
    by: str
    cursor: str | UnsetType = UNSET


class ReadEventsResult(msgspec.Struct, frozen=True):
    """`truncated`: nothing is told; `reason` says why, and `cursor` is where to go on."""

    events: tuple[Event, ...]
    cursor: str
    truncated: bool
    more: bool
    reason: str | UnsetType = UNSET
    next_step: str | UnsetType = UNSET


class RosterEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """An agent that has joined. `you`: the caller. Times are ISO 8601."""

    name: str
    status: str
    joined_at: str
    present_until: str
    you: bool = False


class RosterResult(msgspec.Struct, frozen=True):
    """Who has joined, and a cursor of events as of now."""

    agents: tuple[RosterEntry, ...]
    cursor: str
