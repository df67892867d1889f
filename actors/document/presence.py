"""Who is present in an active document, told in order with its text.

What somebody says of themselves, or that they left, is told when the batch open now is on disk, or
has failed: a caret never comes before the text it stands in. That somebody is still there is told a
little later, together with others.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial
from typing import Generic, TypeVar

from shared.errors import DocactorError
from shared.limits import RENEWAL_S
from shared.wire.awareness import AwarenessRoom
from shared.wire.renewals import Renewals
from shared.wire.y_protocol import AwarenessEntry, encode_awareness

S = TypeVar("S", bound=Hashable)

Later = Callable[[float, Callable[[], None]], object]
AfterCommit = Callable[[Callable[[DocactorError | None], None]], None]


class Presence(Generic[S]):
    """The states of one document's sessions.

    Args:
        after_commit: Calls back when all that is visible now is on disk, or has failed.
        tell: Sends an awareness update to one session, with None to all.
        later: Calls back after so many seconds.
    """

    def __init__(
        self, after_commit: AfterCommit, tell: Callable[[S | None, bytes], None], later: Later
    ) -> None:
        self._after_commit = after_commit
        self._tell = tell
        self._later = later
        self._renewals = Renewals()
        self._changed: dict[int, AwarenessEntry] | None = None  # waiting for a commit
        self.room: AwarenessRoom[S] = AwarenessRoom()

    def states(self) -> Iterator[tuple[S, bytes]]:
        return self.room.states()

    def said(self, session: S, entries: Iterable[AwarenessEntry]) -> None:
        """A session says who is present there."""
        change = self.room.apply(session, entries)
        self._announce(change.accepted)
        if self._renewals.add(change.renewed):
            self._later(RENEWAL_S, self.tell_renewed)
        if change.corrections:
            self._tell(session, encode_awareness(change.corrections))

    def ended(self, sessions: Iterable[S]) -> None:
        """Sessions are over, and what they announced is gone."""
        gone: list[AwarenessEntry] = []
        for session in sessions:
            gone += self.room.leave(session)
        self._announce(gone)

    def applied(self) -> None:
        """An update was applied: presence from now on may point into it."""
        self._changed = None

    def tell_others(self, session: S, *, returns: bool = False) -> None:
        """Tells a session who else is there; one that `returns` also who is not any more.

        It was at another actor, or on a connection that broke, and was not told meanwhile.
        """
        others = self.room.others(session)
        if returns:
            others += self.room.departed()
        if others:
            update = encode_awareness(others)
            self._after_commit(lambda _error: self._tell(session, update))

    def tell_renewed(self) -> None:
        """Tells who has said that they are still there, before it is due."""
        self._announce(self._renewals.take())

    def _announce(self, entries: Iterable[AwarenessEntry]) -> None:
        """Changes between two updates go out together; of one client only the last."""
        changed = {entry.client: entry for entry in entries}
        if not changed:
            return
        self._renewals.drop(changed)
        if self._changed is not None:
            self._changed |= changed
            return
        self._changed = changed
        self._after_commit(partial(self._send, changed))

    def _send(self, changed: dict[int, AwarenessEntry], _error: DocactorError | None) -> None:
        if self._changed is changed:
            self._changed = None
        self._tell(None, encode_awareness(tuple(changed.values())))
