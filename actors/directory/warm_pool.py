"""Blank slots kept started on one node, so that opening a document does not wait for a process."""

from __future__ import annotations

import asyncio
import logging
from collections import deque

from actors.background import Background
from actors.ports import Holder, SlotLostError, Slots, SlotSilentError
from shared.limits import REFILL_PAUSE_S, SURPLUS_BEATS, SURPLUS_SHARE

log = logging.getLogger(__name__)


class WarmPool:
    """The blanks of one node.

    Refilled at once when less than half is left: a pool that waits for quiet runs empty ten times
    as often. Before that after a moment, so that a document that opens does not share the processor
    with the start of the slot that replaces its own. Who finds the pool empty waits in line, first
    come first served.

    Args:
        target: Blanks kept beyond what is asked for.
        starts_at_once: Slots started at the same time.
        room: Active documents the node takes; blanks kept for the next come on top.
        most: Slots that fit into the node's memory: Ray starts no more than those.
    """

    def __init__(
        self,
        node_id: str,
        slots: Slots,
        background: Background,
        *,
        target: int,
        starts_at_once: int,
        room: int,
        most: int = 10**6,
    ) -> None:
        self.node_id = node_id
        self._target = target
        self.refused = ""
        self._slots = slots
        self._background = background
        self._starts_at_once = starts_at_once
        self._room = room
        self._most = most
        self._blanks: deque[Holder] = deque()
        self._least = 0  # blanks at the lowest since the last heartbeat
        self._unused: deque[int] = deque(maxlen=SURPLUS_BEATS)  # the same of some heartbeats
        self._waiting: deque[asyncio.Future[Holder]] = deque()
        self._starting = 0
        self._taken = 0
        self._extra = 0
        self._closed = False
        self._refill_due = False

    @property
    def blanks(self) -> tuple[Holder, ...]:
        return tuple(self._blanks)

    @property
    def starting(self) -> int:
        return self._starting

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def taken(self) -> int:
        """Slots handed out and not come back."""
        return self._taken

    async def take(self) -> Holder:
        """A blank slot, when it is this caller's turn. Give it back, or say that it is gone."""
        if self._blanks and not self._waiting:
            holder = self._blanks.popleft()
            self._least = min(self._least, len(self._blanks))
        else:
            self._least = 0
            holder = await self._wait_in_line()
        self._taken += 1
        self._extra = max(0, self._extra - 1)
        if 2 * len(self._blanks) < self._target:
            self.refill()
        elif not self._refill_due:
            self._refill_due = True
            self._background.spawn(self._refill_soon, f"refill the pool of {self.node_id}")
        return holder

    def adopt(self, holder: Holder, *, blank: bool) -> None:
        """A slot that was there before this pool."""
        if blank:
            self._offer(holder)
        else:
            self._taken += 1

    def give_back(self, holder: Holder) -> None:
        """A slot that was taken is blank again."""
        self._taken -= 1
        self._offer(holder)

    def gone(self, holder: Holder) -> None:
        """A slot of this pool died or was killed, blank or taken."""
        if holder in self._blanks:
            self._blanks.remove(holder)
        else:
            self._taken -= 1
        self.refill()

    def warm_up(self, extra: int) -> None:
        """Keeps so many blanks more until they are taken: documents are expected back."""
        self._extra = extra

    def let_go(self) -> tuple[Holder, ...]:
        """Takes out some of the blanks that are more than are kept; end their processes.

        Call it at every heartbeat. Only blanks count that nobody needed for some heartbeats, and
        a share of them goes at a time: where documents come and go, the slot one leaves is the
        next one's.
        """
        self._unused.append(self._least)
        self._least = len(self._blanks)
        more = min(*self._unused, len(self._blanks)) - self._target - self._extra
        if len(self._unused) < SURPLUS_BEATS or more <= 0:
            return ()
        share = -(-more // SURPLUS_SHARE)
        self._unused.extend([unused - share for unused in self._unused])
        self._least -= share
        return tuple(self._blanks.popleft() for _ in range(share))

    def pause(self) -> None:
        """Starts nothing until `resume`; who waits is told the slot is lost."""
        self._closed = True
        self._send_away()

    def resume(self) -> None:
        self._closed = False
        self.refill()

    def refill(self) -> None:
        """Starts what is missing, within the limits."""
        while not self._closed and not self.refused and self._missing() > 0:
            self._starting += 1
            self._background.spawn(self._start, f"start a slot on {self.node_id}")

    async def _refill_soon(self) -> None:
        await asyncio.sleep(REFILL_PAUSE_S)
        self._refill_due = False
        self.refill()

    def close(self) -> tuple[Holder, ...]:
        """Starts nothing more; who waits is told the slot is lost. Returns the blanks."""
        self.pause()
        blanks = tuple(self._blanks)
        self._blanks.clear()
        return blanks

    def _send_away(self) -> None:
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_exception(SlotLostError(f"node {self.node_id} takes no more documents"))

    def _missing(self) -> int:
        if self._starting >= self._starts_at_once:
            return 0
        there = len(self._blanks) + self._starting
        wanted = len(self._waiting) + self._target + self._extra - there
        room = min(self._room + self._target, self._most) - self._taken - there
        return min(wanted, room)

    async def _start(self) -> None:
        try:
            holder = await self._slots.start(self.node_id)
        except (SlotLostError, SlotSilentError) as error:
            log.warning("a slot did not start on %s: %s", self.node_id, error)
            await asyncio.sleep(1.0)  # a node that cannot start slots is not asked in a tight loop
            holder = None
        finally:
            self._starting -= 1
        if holder is not None:
            self._offer(holder)
        self.refill()

    async def _wait_in_line(self) -> Holder:
        future: asyncio.Future[Holder] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        self.refill()
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                self._offer(future.result())  # it came in the instant the caller gave up
            elif future in self._waiting:
                self._waiting.remove(future)
            raise

    def _offer(self, holder: Holder) -> None:
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(holder)
                return
        self._blanks.append(holder)
