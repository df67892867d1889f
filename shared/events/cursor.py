"""The cursor of events: how far its holder has been told, for each type.

    cursor = <number> ( "." <type's letter> <number> )* "-" <tag>

Every event up to the first number has been told, or was not for the holder; but of the types whose
letters follow only those up to the number behind the letter. So whoever filters by type moves on
in those types alone, and with another filter gets the others from where they were left. `tag` is
32 bits of keyed BLAKE2b over the rest: a cursor of another document, of an earlier life of this
one, or of the change feed is refused, never answered wrongly.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from hashlib import blake2b
from typing import Final

import msgspec

from shared.errors import InvalidCursor
from shared.events.kinds import TYPES, EventType

_LETTERS: Final[dict[EventType, str]] = dict(zip(TYPES, "cetrxomsdvwjl", strict=True))
_TYPES: Final = {letter: one for one, letter in _LETTERS.items()}
_FORM: Final = re.compile(r"(\d{1,16})((?:\.[a-z]\d{1,16})*)-([0-9a-f]{8})\Z", re.ASCII)
_BEHIND: Final = re.compile(r"\.([a-z])(\d+)", re.ASCII)
MAX_CURSOR_CHARS: Final = 320


class Position(msgspec.Struct, frozen=True):
    """How far somebody has been told. `behind`: types that are not at `seq` yet."""

    seq: int
    behind: Mapping[EventType, int] = {}

    def of(self, one: EventType) -> int:
        """The number of the last event of this type that was passed."""
        return self.behind.get(one, self.seq)

    def moved(self, types: Collection[EventType], seq: int) -> Position:
        """With these types at `seq`, and the others where they were."""
        at = {one: seq if one in types else self.of(one) for one in TYPES}
        top = max(at.values())
        return Position(top, {one: number for one, number in at.items() if number < top})


class EventCursors:
    """Cursors of one document as text and back.

    Args:
        secret: The file's secret, as of the change feed's cursors.
    """

    def __init__(self, secret: bytes) -> None:
        self._key = secret

    def encode(self, position: Position) -> str:
        behind = "".join(
            f".{_LETTERS[one]}{position.behind[one]}" for one in TYPES if one in position.behind
        )
        body = f"{position.seq}{behind}"
        return f"{body}-{self._tag(body)}"

    def decode(self, text: str, head: int) -> Position:
        """What a caller's cursor stands for; `head`: nothing past it was told to anyone.

        Raises InvalidCursor: it is none of this document's events.
        """
        found = _FORM.match(text)
        body = text.rpartition("-")[0]
        if found is None or found[3] != self._tag(body):
            raise InvalidCursor(f"cursor: {text[:32]!r} is not a cursor of this document's events.")
        behind = {_TYPES[letter]: int(number) for letter, number in _BEHIND.findall(found[2])}
        position = Position(int(found[1]), behind)
        if position.seq > head:
            raise InvalidCursor(f"cursor: {text[:32]!r} is ahead of this document's events.")
        return position

    def _tag(self, body: str) -> str:
        digest = blake2b(body.encode(), digest_size=4, key=self._key, person=b"events")
        return digest.hexdigest()


def is_cursor_of_events(text: str) -> bool:
    """Whether it looks like one, of whatever document."""
    return _FORM.match(text) is not None


def top_of(cursor: str) -> int:
    """The number a cursor we made begins with: notices count by it."""
    return int(cursor.partition("-")[0].partition(".")[0])
