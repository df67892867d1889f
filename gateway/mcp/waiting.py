"""A waiting read_changes: held here, woken by the document's commit notices over the link.

It costs the document nothing until there is something to read, and is read once when what changed
has been quiet for a while: an agent that follows somebody typing gets one answer a pause. What is
read before, to know how things stand, is no answer: the document does not count it as shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from weakref import WeakValueDictionary

import anyio
import msgspec

from gateway.live_tokens import LiveTokens
from gateway.ports import RouterPort
from shared.errors import Unauthenticated
from shared.feed.cursor import FLAG_BITS, TAG_BITS
from shared.limits import MAX_WAKES, WOKEN_READS
from shared.protocol import Caller, ReadChangesRequest, ReadChangesResult


class Held:
    """The waits a gateway holds; a stop ends them, and they answer with what they have."""

    def __init__(self) -> None:
        self.live = LiveTokens()  # the gateway puts the one there that is told
        self._scopes: set[anyio.CancelScope] = set()
        self._released = False
        self._turns: WeakValueDictionary[str, anyio.CapacityLimiter] = WeakValueDictionary()
        self.total = 0  # waits that began

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

    @contextmanager
    def hold(self, caller: Caller) -> Iterator[anyio.CancelScope]:
        """A scope to wait in; `cancelled_caught` says afterwards that it was released.

        Raises Unauthenticated when the caller's token has ended meanwhile.
        """
        over = False

        def end() -> None:
            nonlocal over
            over = True
            scope.cancel()

        with anyio.CancelScope() as scope:
            leave = self.live.add(caller, end)
            if self.live.is_over(caller):
                end()
            if self._released:
                scope.cancel()
            self._scopes.add(scope)
            self.total += 1
            try:
                yield scope
            finally:
                leave()
                self._scopes.discard(scope)
        if over:
            raise Unauthenticated("Authorization: the token ended while this call waited.")

    def release(self) -> None:
        """End every wait, and those to come."""
        self._released = True
        for scope in self._scopes:
            scope.cancel()


class ChangesWait:
    """One call of read_changes that may wait.

    Args:
        router: The road to the document.
        held: Where the wait is held.
        ref: The document's id or slug.
        caller: Who asks.
        request: What is asked.
        now: Seconds, monotonic.
    """

    def __init__(
        self,
        router: RouterPort,
        held: Held,
        ref: str,
        caller: Caller,
        request: ReadChangesRequest,
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._router = router
        self._held = held
        self._ref = ref
        self._caller = caller
        self._request = request
        self._now = now
        self._ignored = caller.principal if request.exclude_self else None
        self._turns = held.turns(ref)

    async def answer(self, wait_s: float, settle_s: float) -> ReadChangesResult:
        """The changes, at once when `wait_s` is 0.

        Otherwise: wait until there are some, then until nothing has come for `settle_s` seconds,
        `wait_s` seconds in all at most. An answer that is truncated or cut does not wait.

        Raises:
            DocactorError: as reading does.
        """
        if wait_s <= 0:
            return await self._read(self._request)
        await self._until_settled(settle_s, self._now() + wait_s)
        return await self._read_in_turn(self._request)

    async def _until_settled(self, settle_s: float, deadline: float) -> None:
        look = msgspec.structs.replace(self._request, look=True)
        found = await self._read_in_turn(look)
        if _has_changes(found) and not _is_final(found):
            await self._settle(_seq(found), settle_s, deadline)
            return
        for _ in range(MAX_WAKES):
            if _has_changes(found) or _is_final(found):
                return
            if not await self._wait(_seq(found), deadline - self._now()):
                return
            await self._settle(_seq(found), settle_s, deadline)
            found = await self._read_in_turn(look)

    async def _read_in_turn(self, request: ReadChangesRequest) -> ReadChangesResult:
        async with self._turns:
            return await self._read(request)

    async def _read(self, request: ReadChangesRequest) -> ReadChangesResult:
        result: ReadChangesResult = await self._router.call(
            self._ref, "read_changes", self._caller, request
        )
        return result

    async def _wait(self, seq: int, seconds: float) -> bool:
        """Whether a change beyond `seq` came within `seconds`; False too when a stop ends it."""
        if seconds <= 0:
            return False
        with self._held.hold(self._caller):
            link = await self._router.link(self._ref)
            if await link.wait_beyond(seq, seconds, self._ignored):
                return True
        return False

    async def _settle(self, seq: int, settle_s: float, deadline: float) -> None:
        """Wait for `settle_s` seconds of quiet, counted from the last change beyond `seq`."""
        with self._held.hold(self._caller):
            link = await self._router.link(self._ref)
            head = max(seq, link.change_seq)
            while (left := min(settle_s, deadline - self._now())) > 0:
                if not await link.wait_beyond(head, left):
                    break
                head = max(head + 1, link.change_seq)


def _is_final(result: ReadChangesResult) -> bool:
    return result.truncated or result.more


def _has_changes(result: ReadChangesResult) -> bool:
    return bool(result.blocks or result.removed)


def _seq(result: ReadChangesResult) -> int:
    """The number of the last change the answer tells of: notices count by it."""
    return result.cursor >> (FLAG_BITS + TAG_BITS)
