"""Agents that have joined, shown to editors like anybody who is present.

Each has an awareness state under a client id of its own, the same at every actor, so that after a
failover editors see one agent and not its ghost beside it. The clock goes by the time, for the same
reason: editors believe no lower clock than the last one they know, not even that somebody is gone.
Renewed like a client's: editors give up a state they hear nothing of for 30 s.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Final

import msgspec

from actors.document.hub_sessions import Link, Session
from actors.document.presence import Later, Presence
from actors.document.roster import Roster
from shared.limits import AGENT_RENEW_S
from shared.protocol import Caller
from shared.stored_annotations import StoredAgent
from shared.wire.y_protocol import AwarenessEntry

_EPOCH_MS: Final = 1_767_225_600_000  # 2026-01-01; clocks have 32 bits, enough for 34 years
_TICK_MS: Final = 250  # of a clock; what is said faster counts one up

_COLOURS: Final = (  # apart from each other, and dark enough for a white name on them
    *("#b4236a", "#7a3db8", "#3b4cca", "#0b6fa4", "#00736b", "#2b7a2b", "#7a6a00", "#a04a00"),
    *("#a32020", "#5b5b66", "#6b4f3a", "#8a2be2"),
)


class _Nobody:
    """Where an agent's corrections go."""

    def send(self, _frame: bytes) -> None: ...


_NOWHERE: Final = Link(_Nobody())


class AgentSeats:
    """The agents of one document, among those who are present.

    Args:
        roster: Who has joined.
        presence: Where they are shown.
        doc_id: Tells one document's client ids from another's.
        later: Calls back after so many seconds.
    """

    def __init__(
        self, roster: Roster, presence: Presence[Session], doc_id: str, later: Later
    ) -> None:
        self._roster = roster
        self._presence = presence
        self._doc_id = doc_id
        self._later = later
        self._seats: dict[str, Session] = {}
        self._told: dict[str, bytes] = {}  # of each that is shown
        self._clock = 0
        self._renewing = False
        roster.listen(self.show)
        self.show()

    def show(self) -> None:
        """Shows who came, who says something else, and who is gone."""
        states = {row.principal: state_of(row) for row in self._roster.rows}
        told = self._told
        self._say(
            dict.fromkeys(who for who in told if who not in states)
            | {who: state for who, state in states.items() if told.get(who) != state}
        )
        if self._seats and not self._renewing:
            self._renewing = True
            self._later(AGENT_RENEW_S, self._renew)

    def withdraw(self) -> None:
        """The actor goes and the editors stay: who renews them is gone, so they are too."""
        self._say(dict.fromkeys(self._told))

    def _renew(self) -> None:
        self._renewing = False
        self._say(dict(self._told))
        self.show()

    def _say(self, states: Mapping[str, bytes | None]) -> None:
        """None: gone. At a clock of now: of a killed actor, editors may know a later one."""
        if not states:
            return
        self._clock = max(self._clock + 1, (self._roster.now() - _EPOCH_MS) // _TICK_MS)
        for who, state in states.items():
            seat = self._seats.setdefault(who, _seat(who))
            entry = AwarenessEntry(client_of(self._doc_id, who), self._clock, state)
            self._presence.said(seat, [entry])
            if state is None:
                del self._seats[who], self._told[who]
            else:
                self._told[who] = state


def _seat(principal: str) -> Session:
    return Session(
        _NOWHERE, 0, Caller(principal, principal, agent=True), read_only=True, open=False
    )


def client_of(doc_id: str, principal: str) -> int:
    """The Yjs client id an agent is shown under: 32 bits, as clients choose theirs."""
    digest = blake2b(f"{doc_id}\n{principal}".encode(), digest_size=4, person=b"agent").digest()
    return int.from_bytes(digest, "big") | 1  # never 0


def colour_of(principal: str) -> str:
    """Always the same for the same agent."""
    digest = blake2b(principal.encode(), digest_size=4, person=b"colour").digest()
    return _COLOURS[int.from_bytes(digest, "big") % len(_COLOURS)]


def state_of(row: StoredAgent) -> bytes:
    """An agent's awareness state: what Yjs editors read a name and a colour from, and more."""
    user = {
        "name": row.name,
        "color": colour_of(row.principal),
        "agent": True,
        "status": row.status,
    }
    return msgspec.json.encode({"user": user})
