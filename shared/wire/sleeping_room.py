"""Who is present in a document that has no actor: its gateway answers for it, by the same rules.

A document sleeps when all its sessions are at one gateway and nobody edits. What they say of
themselves then goes round among that gateway's sockets: nobody nulls or plays another's client id,
whether the document is awake or not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from shared.limits import RENEWAL_S
from shared.wire.awareness import AwarenessRoom
from shared.wire.frames import EVERYBODY, Sleep
from shared.wire.renewals import Renewals
from shared.wire.y_protocol import AwarenessEntry, check_states


class Tell(NamedTuple):
    """Entries for a session, or for EVERYBODY."""

    to: int
    entries: tuple[AwarenessEntry, ...]


class Later(NamedTuple):
    """`SleepingRoom.renewed` is due so many seconds from now."""

    seconds: float


class SleepingRoom:
    """The presence of a sleeping document. Sessions are their numbers on the link.

    Args:
        sleep: How things stood when its actor left.
    """

    def __init__(self, sleep: Sleep) -> None:
        present = (
            (session, AwarenessEntry(client, clock, state))
            for session, client, clock, state in sleep.present
        )
        self._room: AwarenessRoom[int] = AwarenessRoom.taken_over(present, sleep.left)
        self._renewals = Renewals()

    def said(self, session: int, entries: Iterable[AwarenessEntry]) -> list[Tell | Later]:
        """What a session says of itself, and whom to tell.

        Raises:
            MalformedMessage: A state is not a JSON object.
        """
        entries = tuple(entries)
        check_states(entries)
        change = self._room.apply(session, entries)
        told = self._news(change.accepted)
        if self._renewals.add(change.renewed):
            told.append(Later(RENEWAL_S))
        if change.corrections:
            told.append(Tell(session, change.corrections))
        return told

    def left(self, session: int) -> list[Tell | Later]:
        """A session ended; what it announced is gone for everybody."""
        return self._news(self._room.leave(session))

    def asked(self, session: int) -> list[Tell | Later]:
        """A session asks who else is present."""
        others = self._room.others(session)
        return [Tell(session, others)] if others else []

    def renewed(self) -> list[Tell | Later]:
        """Those who said that they are still there, now that it is due."""
        return self._news(self._renewals.take())

    def _news(self, entries: tuple[AwarenessEntry, ...]) -> list[Tell | Later]:
        self._renewals.drop(entry.client for entry in entries)
        return [Tell(EVERYBODY, entries)] if entries else []
