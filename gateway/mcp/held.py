"""The calls that wait at a gateway, whatever they wait for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakValueDictionary

import anyio
import msgspec

from gateway.live_tokens import LiveTokens
from gateway.ports import Admission
from shared.concurrency import Concurrency
from shared.errors import DocactorError, Unauthenticated
from shared.limits import MAX_SLEPT_ANSWERS, WAITS_OF_ONE, WOKEN_READS
from shared.protocol import Caller


class Held:
    """The waits a gateway holds; a stop ends them, and they answer with what they have."""

    def __init__(self) -> None:
        self.live = LiveTokens()  # the gateway puts the one there that is told
        self.of_one = Concurrency(WAITS_OF_ONE, "waiting calls at this gateway")
        self._scopes: set[anyio.CancelScope] = set()
        self._released = False
        self._turns: WeakValueDictionary[str, anyio.CapacityLimiter] = WeakValueDictionary()
        self.total = 0  # waits that began
        self._slept: dict[tuple[str, str, msgspec.Struct], tuple[int, Any]] = {}

    @property
    def released(self) -> bool:
        """Whether the gateway stops."""
        return self._released

    @property
    def waiting(self) -> int:
        """Waits going on."""
        return len(self._scopes)

    def turns(self, ref: str) -> anyio.CapacityLimiter:
        """Whose turn it is to read a document: one commit may wake hundreds who follow it, and
        all at once they would leave no room for anybody else.
        """
        turns = self._turns.get(ref)
        if turns is None:
            turns = self._turns[ref] = anyio.CapacityLimiter(WOKEN_READS)
        return turns

    def remember(
        self,
        admission: Admission,
        request: msgspec.Struct,
        epoch: int,
        nothing: msgspec.Struct,
    ) -> None:
        """What a sleeping document has said to a request: that nothing has changed."""
        if len(self._slept) >= MAX_SLEPT_ANSWERS:
            self._slept.clear()
        self._slept[admission.doc_id, admission.caller.principal, request] = (epoch, nothing)

    def recall(self, admission: Admission, request: msgspec.Struct, epoch: int) -> Any:
        """The same, while it sleeps under this epoch; None: it has said nothing."""
        place = (admission.doc_id, admission.caller.principal, request)
        slept_at, nothing = self._slept.get(place, (0, None))
        return nothing if slept_at == epoch else None

    @contextmanager
    def hold(self, caller: Caller, doc_id: str) -> Iterator[anyio.CancelScope]:
        """A scope to wait in; `cancelled_caught` says afterwards that it was released.

        Raises:
            Unauthenticated: The caller's token has ended meanwhile.
            DocumentNotFound: The caller may not read the document any more.
        """
        over: DocactorError | None = None

        def end(error: DocactorError) -> None:
            nonlocal over
            over = error
            scope.cancel()

        with anyio.CancelScope() as scope:
            leave = self.live.add(caller, end, doc_id)
            if self.live.is_over(caller):
                end(Unauthenticated("Authorization: the token ended while this call waited."))
            if self._released:
                scope.cancel()
            self._scopes.add(scope)
            self.total += 1
            try:
                yield scope
            finally:
                leave()
                self._scopes.discard(scope)
        if over is not None:
            raise over

    def release(self) -> None:
        """End every wait, and those to come."""
        self._released = True
        for scope in self._scopes:
            scope.cancel()
