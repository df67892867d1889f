"""The notices of one document, as a waiting reader hears them."""

from __future__ import annotations

import anyio

from shared.errors import DocactorError


class FakeLink:
    """Notices of one document. `failure` is raised by the next wait."""

    def __init__(self) -> None:
        self.change_seq = self.event_seq = 0
        self.waiting = 0
        self.failure: DocactorError | None = None
        self._changed = anyio.Event()
        self._authors: list[tuple[int, str]] = []

    def notify(self, seq: int, principal: str) -> None:
        self.change_seq = seq
        self._authors.append((seq, principal))
        self._changed.set()
        self._changed = anyio.Event()

    def happened(self, seq: int) -> None:
        """There is an event of this number."""
        self.event_seq = seq
        self._changed.set()
        self._changed = anyio.Event()

    async def wait_beyond(
        self,
        change_seq: int,
        seconds: float,
        ignore_principal: str | None = None,
        /,
        *,
        of_events: bool = False,
    ) -> bool:
        if self.failure is not None:
            raise self.failure
        self.waiting += 1
        try:
            with anyio.move_on_after(seconds):
                while not self._beyond(change_seq, ignore_principal, of_events=of_events):
                    await self._changed.wait()
                return True
            return False
        finally:
            self.waiting -= 1

    def _beyond(self, seq: int, ignored: str | None, *, of_events: bool) -> bool:
        if of_events:
            return self.event_seq > seq
        return any(at > seq and who != ignored for at, who in self._authors)
