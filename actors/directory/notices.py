"""What gateways are told at once: tokens that ended, documents whose roles or names changed.

Each gateway keeps a question open and is answered with what is new since the notice it saw last. A
Directory that was restarted begins at a number of its own, so whatever a gateway has seen of the
one before, it is told to look at everything again.
"""

from __future__ import annotations

from collections import deque

import anyio

from shared.directory_protocol import News
from shared.limits import NOTICES_KEPT


class Notices:
    """Numbered from `start` on, which no earlier Directory may have reached."""

    def __init__(self, start: int) -> None:
        self._number = start
        self._recent: deque[tuple[int, str]] = deque(maxlen=NOTICES_KEPT)
        self._risen = anyio.Event()

    def of_tokens(self) -> None:
        """A token was revoked."""
        self._rise("")

    def of_document(self, doc_id: str) -> None:
        """Who may do what with it changed, or what it is called."""
        self._rise(doc_id)

    async def wait(self, seen: int, seconds: float) -> News:
        """What is new since notice `seen`; at once when something is."""
        if self._number == seen:
            with anyio.move_on_after(seconds):
                await self._risen.wait()
        return self._since(seen)

    def _since(self, seen: int) -> News:
        if seen == self._number:
            return News(seen, frozenset(), tokens=False)
        first = self._recent[0][0] if self._recent else self._number + 1
        if not first - 1 <= seen < self._number:
            return News(self._number, None, tokens=True)
        new = {doc_id for number, doc_id in self._recent if number > seen}
        return News(self._number, frozenset(new - {""}), tokens="" in new)

    def _rise(self, what: str) -> None:
        self._number += 1
        self._recent.append((self._number, what))
        self._risen.set()
        self._risen = anyio.Event()
