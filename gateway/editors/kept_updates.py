"""What sessions sent, and perhaps no actor has stored: the next one is given it.

An actor that comes after another asks every editor for what it lacks, so what was typed meanwhile
is there as long as its editor is. One that typed and left at once is asked in vain: what it sent is
only here. Yjs updates may be applied twice, so nobody minds what had arrived after all.
"""

from __future__ import annotations

from collections import deque

from shared.limits import KEPT_BYTES, KEPT_SENT, KEPT_SENT_BYTES
from shared.wire.frames import Left


class KeptUpdates:
    """Of one link."""

    def __init__(self) -> None:
        self._sent: deque[tuple[int, Left]] = deque(maxlen=KEPT_SENT)
        self._unsent: list[Left] = []
        self._bytes = 0

    @property
    def waiting(self) -> bool:
        """Whether something is here that no actor was sent: one has to come for it."""
        return bool(self._unsent)

    def sent(self, end: int, left: Left) -> None:
        """Notes the last updates sent; `end`: where it ended in the connection's stream."""
        if len(left.update) <= KEPT_SENT_BYTES:
            self._sent.append((end, left))

    def keep(self, left: Left) -> bool:
        """Keeps an update that cannot be sent now; False: there is no room."""
        if self._bytes + len(left.update) > KEPT_BYTES:
            return False
        self._unsent.append(left)
        self._bytes += len(left.update)
        return True

    def heard(self, taken: int) -> None:
        """The actor has gone in order: what it took is on disk, the rest it was not sent."""
        crossed = [left for end, left in self._sent if end > taken]
        self._sent.clear()
        self._unsent = crossed + self._unsent

    def take(self) -> list[Left]:
        """All of it, the oldest first; nothing is left here."""
        taken = [*(left for _, left in self._sent), *self._unsent]
        self._sent.clear()
        self._unsent, self._bytes = [], 0
        return taken
