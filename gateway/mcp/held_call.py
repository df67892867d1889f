"""What every waiting call of a document has in common: where it is held, and how it asks."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec

from gateway.mcp.held import Held
from gateway.ports import Admission, RouterPort
from shared.access import check
from shared.calls import Verb
from shared.protocol import Caller


class HeldCall:
    """One call that may wait.

    Args:
        router: The road to the document.
        held: Where the wait is held.
        verb: What is asked of the document.
        ref: The document's id or slug.
        caller: Who asks.
        now: Seconds, monotonic.
    """

    def __init__(
        self,
        router: RouterPort,
        held: Held,
        verb: Verb,
        ref: str,
        caller: Caller,
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._router = router
        self._held = held
        self._verb = verb
        self._ref = ref
        self._caller = caller
        self._now = now
        self._turns = held.turns(ref)

    async def ask(self, request: msgspec.Struct) -> Any:
        """What the document says now."""
        return await self._router.call(self._ref, self._verb, self._caller, request)

    async def ask_in_turn(self, request: msgspec.Struct) -> Any:
        """The same. One commit may wake hundreds: they take turns."""
        async with self._turns:
            return await self.ask(request)

    async def admitted(self) -> Admission:
        """The caller as the document is to see it now. Raises what refuses it."""
        return await self._router.admit(self._ref, self._caller)

    async def asleep(self) -> tuple[Admission, int] | None:
        """Who asks, and the epoch under which the document sleeps; None: it does not."""
        admission = await self.admitted()
        epoch = await self._router.sleeps(admission.doc_id)
        return (admission, epoch) if epoch else None

    async def known(self, request: msgspec.Struct) -> Any:
        """What was remembered of the same question, while the document sleeps; None: nothing."""
        sleeping = await self.asleep()
        if sleeping is None:
            return None
        admission, epoch = sleeping
        check(admission.caller, admission.doc_id, self._verb)
        return self._held.recall(admission, request, epoch)

    async def wait_beyond(
        self, seq: int, seconds: float, ignored: str | None = None, *, of_events: bool = False
    ) -> bool:
        """Whether something beyond `seq` came within `seconds`; False too when a stop ends it."""
        if seconds <= 0:
            return False
        admission = await self.admitted()
        with self._held.hold(admission.caller, admission.doc_id):
            link = await self._router.link(admission.doc_id)
            if await link.wait_beyond(seq, seconds, ignored, of_events=of_events):
                return True
        return False
