"""Who is present in a document, and who may say so.

The awareness protocol trusts everybody: any client may send any client's state, and one message
with a huge clock silences its victim for good. Here a client id belongs to the session that first
announced it, until that session ends or takes its state back.

`AwarenessRoom` is the document's side and decides. `AwarenessGuard` is a gateway's: unmodified
clients send every state they receive back to the server, and the guard drops those echoes before
they cross the link. It also remembers which ids are whose while the document moves to another
actor, whose room starts empty.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, NamedTuple, Self, TypeVar

from shared.limits import (
    AWARENESS_TOMBSTONES,
    MAX_AWARENESS_BYTES,
    MAX_AWARENESS_CLIENTS,
    MAX_AWARENESS_CLOCK,
    MAX_AWARENESS_ROOM_BYTES,
    MAX_CLIENT_ID,
)
from shared.wire.frames import EVERYBODY
from shared.wire.y_protocol import AwarenessEntry

S = TypeVar("S", bound=Hashable)


class AwarenessChange(NamedTuple):
    """What came of a session's awareness update.

    Attributes:
        accepted: To be sent to everybody, the sender included (clients take silence for a dead
            connection).
        corrections: To be sent to the sender alone. Another session's id: how it really stands.
            A clock not above the one the client left with: that it is gone. Peers ignore such a
            clock until the next renewal; told that it is gone, a client raises its clock and
            announces itself again at once (y-protocols `applyAwarenessUpdate`).
        renewed: The same state at a higher clock: it is still there. To be sent to everybody, but
            there is time: clients give a state up when it was not renewed for 30 s, and renew their
            own each 15 s.
    """

    accepted: tuple[AwarenessEntry, ...] = ()
    corrections: tuple[AwarenessEntry, ...] = ()
    renewed: tuple[AwarenessEntry, ...] = ()


NO_CHANGE = AwarenessChange()


class AwarenessRoom(Generic[S]):
    """The states of one document, each owned by a session `S`."""

    def __init__(self) -> None:
        self._states: dict[int, AwarenessEntry] = {}
        self._owners: dict[int, S] = {}
        self._owned: dict[S, dict[int, int]] = {}  # sizes of states, by session and client
        self._left: dict[int, int] = {}  # clocks of clients that left, oldest first
        self._bytes = 0

    def apply(self, session: S, entries: Iterable[AwarenessEntry]) -> AwarenessChange:
        """Takes what `session` says; entries it may not set, or that are not newer, do nothing.

        Newer means a higher clock, or "gone" at the same clock.
        """
        accepted: list[AwarenessEntry] = []
        corrections: list[AwarenessEntry] = []
        renewed: list[AwarenessEntry] = []
        for entry in entries:
            if entry.clock > MAX_AWARENESS_CLOCK or entry.client > MAX_CLIENT_ID:
                continue
            known = self._states.get(entry.client)
            if known is not None:
                same = entry.state == known.state
                self._renew(session, known, entry, renewed if same else accepted, corrections)
            elif entry.state is not None:
                self._claim(session, entry, accepted, corrections)
        if not accepted and not corrections and not renewed:
            return NO_CHANGE
        return AwarenessChange(tuple(accepted), tuple(corrections), tuple(renewed))

    def leave(self, session: S) -> tuple[AwarenessEntry, ...]:
        """Ends a session: everything it announced is gone, at the clock it had."""
        ids = self._owned.get(session, ())
        return tuple(self._drop(client, self._states[client].clock) for client in tuple(ids))

    @classmethod
    def taken_over(
        cls, present: Iterable[tuple[S, AwarenessEntry]], left: Iterable[tuple[int, int]]
    ) -> Self:
        """A room that goes on where another one's `present` and `left` say that it was."""
        room = cls()
        room._left.update(left)
        for session, entry in present:
            room._owners[entry.client] = session
            room._keep(session, entry)
        return room

    def present(self) -> Iterator[tuple[S, AwarenessEntry]]:
        """Every entry, with the session that owns it."""
        for client, entry in self._states.items():
            yield self._owners[client], entry

    @property
    def left(self) -> tuple[tuple[int, int], ...]:
        """Clients that left, and their clocks then; the oldest first."""
        return tuple(self._left.items())

    def departed(self) -> tuple[AwarenessEntry, ...]:
        """Those who left, as what is sent to somebody who may still see them."""
        return tuple(AwarenessEntry(client, clock, None) for client, clock in self._left.items())

    def states(self) -> Iterator[tuple[S, bytes]]:
        """Every state, with the session that owns it."""
        for client, entry in self._states.items():
            if entry.state is not None:
                yield self._owners[client], entry.state

    def others(self, session: S) -> tuple[AwarenessEntry, ...]:
        """All states but the session's own: what a newcomer is sent."""
        return tuple(
            state for client, state in self._states.items() if self._owners[client] != session
        )

    def _renew(
        self,
        session: S,
        known: AwarenessEntry,
        entry: AwarenessEntry,
        accepted: list[AwarenessEntry],
        corrections: list[AwarenessEntry],
    ) -> None:
        if self._owners[entry.client] != session:
            corrections.append(known)
            return
        if entry.state is None:
            if entry.clock >= known.clock:
                accepted.append(self._drop(entry.client, entry.clock))
        elif entry.clock > known.clock and self._fits(session, entry):
            self._keep(session, entry)
            accepted.append(entry)

    def _claim(
        self,
        session: S,
        entry: AwarenessEntry,
        accepted: list[AwarenessEntry],
        corrections: list[AwarenessEntry],
    ) -> None:
        left_at = self._left.get(entry.client)
        if left_at is not None and entry.clock <= left_at:
            corrections.append(AwarenessEntry(entry.client, left_at, None))
            return
        if len(self._owned.get(session, ())) < MAX_AWARENESS_CLIENTS and self._fits(session, entry):
            self._left.pop(entry.client, None)
            self._owners[entry.client] = session
            self._keep(session, entry)
            accepted.append(entry)

    def _fits(self, session: S, entry: AwarenessEntry) -> bool:
        owned = self._owned.get(session, {})
        grown = _size(entry) - owned.get(entry.client, 0)
        return (
            sum(owned.values()) + grown <= MAX_AWARENESS_BYTES
            and self._bytes + grown <= MAX_AWARENESS_ROOM_BYTES
        )

    def _keep(self, session: S, entry: AwarenessEntry) -> None:
        owned = self._owned.setdefault(session, {})
        self._bytes += _size(entry) - owned.get(entry.client, 0)
        owned[entry.client] = _size(entry)
        self._states[entry.client] = entry

    def _drop(self, client: int, clock: int) -> AwarenessEntry:
        del self._states[client]
        session = self._owners.pop(client)
        owned = self._owned[session]
        self._bytes -= owned.pop(client)
        if not owned:
            del self._owned[session]
        self._left[client] = clock
        if len(self._left) > AWARENESS_TOMBSTONES:
            del self._left[next(iter(self._left))]
        return AwarenessEntry(client, clock, None)


class AwarenessGuard:
    """What one gateway lets its sessions say; sessions are their numbers on the link.

    It believes a session that announces an id nobody has, until the document says otherwise.
    """

    def __init__(self) -> None:
        self._owners: dict[int, int] = {}
        self._owned: dict[int, dict[int, int]] = {}  # last clocks, by session and client

    def admit(self, session: int, entries: Iterable[AwarenessEntry]) -> list[AwarenessEntry]:
        """The entries that are the session's own to send: its ids, and ids nobody has."""
        admitted = []
        for entry in entries:
            owner = self._owners.get(entry.client)
            if owner is None:
                if entry.state is None or not self._claim(session, entry.client):
                    continue
            elif owner != session:
                continue
            if entry.state is None:
                self._release(session, entry.client)
            else:
                self._owned[session][entry.client] = entry.clock
            admitted.append(entry)
        return admitted

    def told_everybody(self, entries: Iterable[AwarenessEntry]) -> None:
        """The document told every session: others' ids are not to be played by ours."""
        for entry in entries:
            if entry.state is not None:
                self._owners.setdefault(entry.client, EVERYBODY)
            elif self._owners.get(entry.client) == EVERYBODY:
                del self._owners[entry.client]

    def told(self, session: int, entries: Iterable[AwarenessEntry]) -> None:
        """The document told one session: what it says there is not that session's own.

        But "gone" for a clock below one that is under way from there: that one counts.
        """
        for entry in entries:
            if self._owners.get(entry.client) != session:
                continue
            if entry.state is not None or self._owned[session][entry.client] <= entry.clock:
                self._release(session, entry.client)
        self.told_everybody(entries)

    def leave(self, session: int) -> None:
        """Frees the ids of a session that ended."""
        for client in self._owned.pop(session, ()):
            del self._owners[client]

    def _claim(self, session: int, client: int) -> bool:
        owned = self._owned.setdefault(session, {})
        if len(owned) >= MAX_AWARENESS_CLIENTS:
            return False
        owned[client] = 0
        self._owners[client] = session
        return True

    def _release(self, session: int, client: int) -> None:
        del self._owners[client]
        del self._owned[session][client]


def _size(entry: AwarenessEntry) -> int:
    return len(entry.state or b"")
