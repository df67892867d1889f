"""When each person last left a document: the last instant they were reading it in an editor.

Only live editor sessions of people count, read-only ones too; agents and whoever has no name do
not. It is stamped when the person's last session ends, and never goes back. Until then what has
been read is kept beside it, so that a server that is killed meanwhile stamps at the next opening:
whoever is not there then has left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping

import msgspec

from shared.access import person_of
from shared.limits import READING_MS
from shared.protocol import Caller
from shared.stored import StoredReader
from shared.wire.reading import Reading


class Readers:
    """The people who have opened one document.

    Args:
        clock: Milliseconds since 1970.
        stamped: Called when somebody has left: what `take` gives is to be stored now.
    """

    def __init__(self, clock: Callable[[], int], stamped: Callable[[], None]) -> None:
        self._clock = clock
        self._stamped = stamped
        self._rows: dict[str, StoredReader] = {}
        self._stored: dict[str, StoredReader] = {}
        self._open: Counter[str] = Counter()
        self._sessions: dict[Hashable, tuple[str, Reading]] = {}
        self._unsaved: set[str] = set()
        self._saved_at = 0
        self._parted = False

    def load(self, rows: Mapping[str, StoredReader]) -> None:
        """What is stored. What is known of somebody stays: it is never older."""
        self._stored = dict(rows)
        self._rows = {**rows, **self._rows}
        self._unsaved = {person for person, row in self._rows.items() if rows.get(person) != row}

    def last_left(self, person: str) -> int | None:
        """When the person last left; None: they never read it for long enough."""
        return self._left_by(self._rows.get(person))

    def all_left(self) -> dict[str, int]:
        """The same of everybody."""
        return self._all_by(self._rows)

    def stored_left(self) -> dict[str, int]:
        """The same, as far as it is on disk: what may be told elsewhere."""
        return self._all_by(self._stored)

    def _left_by(self, row: StoredReader | None) -> int | None:
        if row is None:
            return None
        return row.last_left if self._open[row.person] else _later(row.last_left, row.seen_until)

    def _all_by(self, rows: Mapping[str, StoredReader]) -> dict[str, int]:
        left = {person: self._left_by(row) for person, row in rows.items()}
        return {person: at for person, at in left.items() if at is not None}

    # --- what the editors' hub tells -------------------------------------------------------------

    def opened(self, session: Hashable, caller: Caller, reading: Reading | None) -> None:
        """A session begins; `reading`: it goes on, and what has been read of it so far."""
        person = None if caller.agent else person_of(caller)
        if person is None:
            return
        if not self._open[person]:
            row = self._rows.get(person)
            if row is None:
                self._keep(StoredReader(person))
            elif reading is None and row.seen_until is not None:
                self._leave(person)  # what was read before was read to its end
        self._open[person] += 1
        self._sessions[session] = (person, reading or Reading(self._clock()))
        if reading is not None and reading.read_at is not None:
            self.read(person, reading.read_at)

    def heard(self, session: Hashable, visible: bool | None = None) -> None:
        """A session's client said something; `visible`: also that it is, or is not."""
        known = self._sessions.get(session)
        if known is not None:
            person, before = known
            now = before.heard(self._clock(), visible)
            self._sessions[session] = (person, now)
            if now.read_at is not None and now.read_at != before.read_at:
                self.read(person, now.read_at)

    def ended(self, session: Hashable, read_at: int | None = None) -> None:
        """A session is over; `read_at`: what its gateway knows of it."""
        person, _ = self._sessions.pop(session, (None, None))
        if person is None:
            return
        if read_at is not None:
            self.read(person, read_at)
        self._open[person] -= 1
        if not self._open[person] and not self._parted:
            self.left(person)

    def left(self, person: str) -> None:
        """Stamps, if no session of the person is open."""
        row = self._rows.get(person)
        if row is not None and row.seen_until is not None and not self._open[person]:
            self._leave(person)
            self._stamped()

    def part(self) -> None:
        """The actor goes, and not the sessions: they go on elsewhere, and nobody has left."""
        self._parted = True

    def read(self, person: str, at: int) -> None:
        """A person was reading at an instant; not later than now, whatever a clock says."""
        row = self._rows.get(person) or StoredReader(person)
        at = min(at, self._clock())
        if at > max(row.seen_until or 0, row.last_left or 0):
            self._keep(msgspec.structs.replace(row, seen_until=at))

    # --- storing ---------------------------------------------------------------------------------

    def due(self, now: int) -> tuple[StoredReader, ...]:
        """What to put into the next commit; reading on makes none, and is told at most so often."""
        return self.take() if now - self._saved_at >= READING_MS else ()

    def take(self) -> tuple[StoredReader, ...]:
        """What is not stored yet."""
        rows = tuple(self._rows[person] for person in sorted(self._unsaved))
        self._unsaved.clear()
        self._saved_at = self._clock()
        return rows

    def stored(self, rows: Iterable[StoredReader]) -> None:
        """These are on disk."""
        self._stored |= {row.person: row for row in rows}

    def again(self, rows: Iterable[StoredReader]) -> None:
        """These were not stored after all."""
        self._unsaved |= {row.person for row in rows}

    def _leave(self, person: str) -> None:
        row = self._rows[person]
        self._keep(StoredReader(person, _later(row.last_left, row.seen_until)))

    def _keep(self, row: StoredReader) -> None:
        self._rows[row.person] = row
        self._unsaved.add(row.person)


def _later(one: int | None, other: int | None) -> int | None:
    given = [at for at in (one, other) if at is not None]
    return max(given, default=None)
