"""A waiting read_changes: held here, woken by the document's commit notices over the link.

It costs the document nothing until there is something to read, and is read once when what changed
has been quiet for a while: an agent that follows somebody typing gets one answer a pause. What is
read before, to know how things stand, is no answer: the document does not count it as shown.

A document that sleeps is not woken to say that nothing has changed: what was read before is true
as long as it sleeps, for this call and for the next one that asks the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from gateway.mcp.held import Held
from gateway.mcp.held_call import HeldCall
from gateway.ports import RouterPort
from shared.feed.cursor import FLAG_BITS, TAG_BITS
from shared.limits import MAX_WAKES
from shared.protocol import Caller, ReadChangesRequest, ReadChangesResult


class ChangesWait(HeldCall):
    """One call of read_changes that may wait. `request`: what is asked."""

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
        super().__init__(router, held, "read_changes", ref, caller, now=now)
        self._request = request
        self._ignored = caller.principal if request.exclude_self else None

    async def answer(self, wait_s: float, settle_s: float) -> ReadChangesResult:
        """The changes, at once when `wait_s` is 0.

        Otherwise: wait until there are some, then until nothing has come for `settle_s` seconds,
        `wait_s` seconds in all at most. An answer that is truncated or cut does not wait.

        Raises:
            RateLimited: As many calls of the caller wait here as may.
            DocactorError: as reading does.
        """
        if wait_s <= 0:
            return await self._read()
        with self._held.of_one.one_more(self._caller.principal):
            slept = await self._until_settled(settle_s, self._now() + wait_s)
            return slept if slept is not None else await self.ask_in_turn(self._request)

    async def _until_settled(self, settle_s: float, deadline: float) -> ReadChangesResult | None:
        """Returns when it is time to read; the answer, when the document has slept till then."""
        look = msgspec.structs.replace(self._request, look=True)
        found = await self.known(self._request)
        if found is None:
            found = await self.ask_in_turn(look)
        if _has_changes(found) and not _is_final(found):
            await self._settle(_seq(found), settle_s, deadline)
            return None
        for _ in range(MAX_WAKES):
            if _has_changes(found) or _is_final(found):
                return None
            if not await self.wait_beyond(_seq(found), deadline - self._now(), self._ignored):
                return await self._slept_through(found)
            await self._settle(_seq(found), settle_s, deadline)
            found = await self.ask_in_turn(look)
        return None

    async def _slept_through(self, nothing: ReadChangesResult) -> ReadChangesResult | None:
        """The answer that nothing has changed, of a document that sleeps; None: it does not.

        Had the cursor moved, the document would have to be told that its caller has the new one.
        """
        if nothing.cursor != self._request.cursor:
            return None
        sleeping = await self.asleep()
        if sleeping is None:
            return None
        admission, epoch = sleeping
        self._held.remember(admission, self._request, epoch, nothing)
        return nothing

    async def _read(self) -> ReadChangesResult:
        result: ReadChangesResult = await self.ask(self._request)
        return result

    async def _settle(self, seq: int, settle_s: float, deadline: float) -> None:
        """Wait for `settle_s` seconds of quiet, counted from the last change beyond `seq`."""
        admission = await self.admitted()
        with self._held.hold(admission.caller, admission.doc_id):
            link = await self._router.link(admission.doc_id)
            head = max(seq, link.change_seq)
            while (left := min(settle_s, deadline - self._now())) > 0:
                if not await link.wait_beyond(head, left):
                    break
                head = max(head + 1, link.change_seq)


def _is_final(result: ReadChangesResult) -> bool:
    return result.truncated or result.more


def _has_changes(result: ReadChangesResult) -> bool:
    told = (result.blocks, result.removed, result.suggestions or (), result.threads or ())
    return any(told)


def _seq(result: ReadChangesResult) -> int:
    """The number of the last change the answer tells of: notices count by it."""
    return result.cursor >> (FLAG_BITS + TAG_BITS)
