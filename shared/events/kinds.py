"""The kinds of events, and what is told with each."""

from __future__ import annotations

from typing import Final, Literal, get_args

import msgspec
from msgspec import UNSET, UnsetType

from shared.errors import InvalidArgument

EventType = Literal[
    "document.changed",
    "document.expiring",
    "thread.created",
    "thread.reply",
    "thread.resolved",
    "thread.reopened",
    "mention",
    "suggestion.created",
    "suggestion.decided",
    "version.saved",
    "version.restored",
    "agent.joined",
    "agent.left",
]
TYPES: Final[tuple[EventType, ...]] = get_args(EventType)
NAMES: Final[tuple[str, ...]] = (
    *TYPES,
    *dict.fromkeys(f"{one.partition('.')[0]}.*" for one in TYPES if "." in one),
)
"""What a filter may name: types, and groups of them."""


class About(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an event is about: ids, never a text that somebody wrote.

    Attributes:
        blocks: Ids of blocks that were touched; `more_blocks` others were too.
        block_id: Where the text mentions somebody.
        expires_at: When the document goes, ISO 8601.
    """

    blocks: tuple[str, ...] | UnsetType = UNSET
    more_blocks: int | UnsetType = UNSET
    block_id: str | UnsetType = UNSET
    thread_id: str | UnsetType = UNSET
    section_id: str | UnsetType = UNSET
    message_id: str | UnsetType = UNSET
    group_id: str | UnsetType = UNSET
    suggestions: tuple[str, ...] | UnsetType = UNSET
    status: str | UnsetType = UNSET
    version: str | UnsetType = UNSET
    expires_at: str | UnsetType = UNSET


class Draft(msgspec.Struct, frozen=True):
    """An event that has no number yet. `to`: the only one it is told to; None: everybody."""

    type: EventType
    principal: str
    about: About = About()
    to: str | None = None


def encode_about(about: About) -> bytes:
    return msgspec.msgpack.encode(about)


_ABOUT: Final = msgspec.msgpack.Decoder(About)


def decode_about(data: bytes) -> About:
    """What `encode_about` was given."""
    return _ABOUT.decode(data)


def wanted(names: tuple[str, ...]) -> frozenset[EventType]:
    """The types that a caller named, by name or by group (`thread.*`); none named: all.

    Raises InvalidArgument for a name that is none.
    """
    if not names:
        return frozenset(TYPES)
    found: set[EventType] = set()
    for name in names:
        if name not in NAMES:
            raise InvalidArgument(
                f"types: {name[:64]!r} is none; there are {', '.join(NAMES)}.", field="types"
            )
        group = name.removesuffix("*")
        found.update(one for one in TYPES if one == name or (name != group and group in one))
    return frozenset(found)
