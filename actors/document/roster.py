"""The agents that have joined a document: on disk, and for editors to see.

An agent is there from `join` on, for as long as it calls; each of its calls counts. It is gone when
it leaves, when nothing was heard of it for `AGENT_TTL_MS`, or when its token ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from shared.errors import Overloaded
from shared.limits import AGENT_TTL_MS, MAX_AGENTS, MAX_NAME_CHARS, MAX_STATUS_CHARS
from shared.protocol import Caller
from shared.slugs import single_line
from shared.stored_annotations import Annotations, StoredAgent

_STORE_EVERY_MS: Final = AGENT_TTL_MS // 2  # being there on and on is no write with every call


class Roster:
    """One document's.

    Args:
        clock: Milliseconds since 1970.
        store: Puts rows into the batch that gathers; False: nothing can be stored now.
    """

    def __init__(self, clock: Callable[[], int], store: Callable[[Annotations], bool]) -> None:
        self._clock = clock
        self._store = store
        self._rows: dict[str, StoredAgent] = {}
        self._stored: dict[str, int] = {}  # until when they are there, as far as it is stored
        self._ends: dict[str, int] = {}  # of tokens, where they have one
        self._listeners: list[Callable[[], None]] = []

    def load(self, rows: Mapping[str, StoredAgent | None]) -> None:
        """What is stored, in the place of all that was known."""
        self._rows = {who: row for who, row in rows.items() if row is not None}
        self._stored = {who: row.present_until for who, row in self._rows.items()}
        self._changed()

    def listen(self, listener: Callable[[], None]) -> None:
        """`listener` is called when somebody came, went, or said something else."""
        self._listeners.append(listener)

    def now(self) -> int:
        """Milliseconds since 1970."""
        return self._clock()

    @property
    def rows(self) -> tuple[StoredAgent, ...]:
        """Who has joined, in the order they did."""
        return tuple(self._rows.values())

    @property
    def names(self) -> dict[str, str]:
        return {who: row.name for who, row in self._rows.items()}

    def join(self, caller: Caller, status: str) -> bool:
        """Puts the caller on the roster, or says what else it is doing; whether it is new there.

        Raises Overloaded: as many agents have joined as may.
        """
        old = self._rows.get(caller.principal)
        if old is None and len(self._rows) >= MAX_AGENTS:
            raise Overloaded(f"{MAX_AGENTS} agents have joined this document.", retry_after_s=60)
        now = self._clock()
        if caller.expires is not None:
            self._ends[caller.principal] = caller.expires
        row = StoredAgent(
            caller.principal,
            single_line(caller.name)[:MAX_NAME_CHARS],
            single_line(status)[:MAX_STATUS_CHARS],
            now if old is None else old.joined_at,
            self._until(caller.principal, now),
        )
        self._keep(row)
        self._changed()
        return old is None

    def leave(self, principal: str) -> bool:
        """Takes it off; whether it was there."""
        if self._rows.pop(principal, None) is None:
            return False
        self._stored.pop(principal, None)
        self._ends.pop(principal, None)
        self._store(Annotations(roster={principal: None}))
        self._changed()
        return True

    def heard(self, principal: str) -> None:
        """It called: it is still there."""
        row = self._rows.get(principal)
        if row is None:
            return
        row = msgspec.structs.replace(row, present_until=self._until(principal, self._clock()))
        if row.present_until - self._stored.get(principal, 0) >= _STORE_EVERY_MS:
            self._keep(row)
        self._rows[principal] = row

    def over(self, now: int) -> list[str]:
        """Those of whom nothing was heard for too long."""
        return [who for who, row in self._rows.items() if row.present_until <= now]

    def next_end(self) -> int | None:
        """When the first of them is over, in milliseconds; None: nobody has joined."""
        return min((row.present_until for row in self._rows.values()), default=None)

    def _until(self, principal: str, now: int) -> int:
        return min(now + AGENT_TTL_MS, self._ends.get(principal, now + AGENT_TTL_MS))

    def _keep(self, row: StoredAgent) -> None:
        self._rows[row.principal] = row
        if self._store(Annotations(roster={row.principal: row})):
            self._stored[row.principal] = row.present_until

    def _changed(self) -> None:
        for listener in self._listeners:
            listener()
