"""Those who are still present and have nothing else to say, to be told of together."""

from __future__ import annotations

from collections.abc import Iterable

from shared.wire.y_protocol import AwarenessEntry


class Renewals:
    """Collects them: every client says so each 15 s, and each of them would be told so of each at a
    time of its own. Of 300 idle ones that is 6,000 frames a second.
    """

    def __init__(self) -> None:
        self._entries: dict[int, AwarenessEntry] = {}

    def add(self, entries: Iterable[AwarenessEntry]) -> bool:
        """Whether these are the first: `take` is due RENEWAL_S from now."""
        before = bool(self._entries)
        self._entries |= {entry.client: entry for entry in entries}
        return bool(self._entries) and not before

    def drop(self, clients: Iterable[int]) -> None:
        """There is news of these, which goes at once."""
        for client in clients:
            self._entries.pop(client, None)

    def take(self) -> tuple[AwarenessEntry, ...]:
        """All of them; they are told now."""
        taken = tuple(self._entries.values())
        self._entries.clear()
        return taken
