"""Gateways that have sessions of sleeping documents, and are told first when one is opened.

A gateway keeps a question open (`wait`), as for notices. What it is told waits in a mailbox until
it asks beyond it, so an answer lost on the way is given again. A mailbox has an id of its own: a
gateway that finds another one than before, because the Directory was restarted or took it for
gone, may have missed something and looks at everything that sleeps there.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable

import anyio

from actors.ports import Catalog
from shared.directory_protocol import Wake, WakeNews
from shared.limits import GATEWAY_BACK_S, NOTICE_WAIT_S, WAKE_S
from shared.protocol import Route


class _Mailbox:
    def __init__(self, now: float) -> None:
        self.id = secrets.token_hex(8)
        self.wakes: deque[tuple[int, Wake]] = deque()
        self.number = 0
        self.risen = anyio.Event()
        self.heard_at = now
        self.deaf = False  # it let a wake go unanswered, and has said nothing since

    def post(self, wake: Wake) -> None:
        self.number += 1
        self.wakes.append((self.number, wake))
        self.risen.set()
        self.risen = anyio.Event()


class Wakes:
    """Everything runs on the Directory's loop.

    Args:
        catalog: Says what sleeps where.
        now: Seconds, monotonic.
    """

    def __init__(self, catalog: Catalog, now: Callable[[], float]) -> None:
        self._catalog = catalog
        self._now = now
        self._born = now()
        self._boxes: dict[str, _Mailbox] = {}
        self._awaited: dict[tuple[str, str], tuple[int, anyio.Event]] = {}

    async def tell(self, gateway: str, route: Route) -> bool:
        """Tells a gateway where its sleeping document is now, and waits until it is attached.

        Not for one that is gone, nor longer than WAKE_S: then it is dead, and so are its sockets,
        or it finds out for itself and syncs again. False: it is not attached.
        """
        box = self._living(gateway)
        if box is None:
            return False
        box.post(Wake(route.key.doc_id, route))
        if box.deaf:
            return False
        attached = anyio.Event()
        place = (gateway, route.key.doc_id)
        self._awaited[place] = (route.key.epoch, attached)
        try:
            with anyio.move_on_after(max(WAKE_S, self._born + GATEWAY_BACK_S - self._now())):
                await attached.wait()
        finally:
            del self._awaited[place]
        box.deaf = not attached.is_set()
        return attached.is_set()

    def gone(self, gateway: str, doc_id: str) -> None:
        """Tells a gateway to look for itself what became of a document: it has been deleted."""
        box = self._living(gateway)
        if box is not None:
            box.post(Wake(doc_id, None))

    def attached(self, gateway: str, doc_id: str, epoch: int) -> None:
        """A gateway has brought its sessions to this activation, or has none."""
        if box := self._boxes.get(gateway):
            self._heard(box)
        awaited = self._awaited.get((gateway, doc_id))
        if awaited is not None and awaited[0] <= epoch:
            awaited[1].set()

    async def wait(self, gateway: str, mailbox: str, seen: int, seconds: float) -> WakeNews:
        """What a gateway has to be told beyond number `seen` of its mailbox; at once when there is
        something, and when `mailbox` is not the one it has.
        """
        box = self._boxes.get(gateway)
        if box is None:
            box = self._boxes[gateway] = _Mailbox(self._now())
        self._heard(box)
        if mailbox == box.id:
            while box.wakes and box.wakes[0][0] <= seen:
                box.wakes.popleft()
            if not box.wakes:
                with anyio.move_on_after(seconds):
                    await box.risen.wait()
        return WakeNews(box.id, box.number, tuple(wake for _, wake in box.wakes))

    async def awake(self, gateway: str, asleep: dict[str, int]) -> tuple[str, ...]:
        """Those of these documents, by the epoch they fell asleep under, that do not sleep at this
        gateway any more.
        """
        awake = []
        for doc_id, epoch in asleep.items():
            now = await self._catalog.assignment(doc_id)
            if now is None or (now.epoch, now.holder, now.sleeping_at) != (epoch, None, gateway):
                awake.append(doc_id)
        return tuple(awake)

    def _living(self, gateway: str) -> _Mailbox | None:
        """None: it was not heard of for longer than one that lives is silent."""
        now, box = self._now(), self._boxes.get(gateway)
        if box is None and now - self._born < GATEWAY_BACK_S:
            box = self._boxes[gateway] = _Mailbox(now)
        elif box is not None and now - box.heard_at > NOTICE_WAIT_S + GATEWAY_BACK_S:
            del self._boxes[gateway]
            box = None
        return box

    def _heard(self, box: _Mailbox) -> None:
        box.heard_at = self._now()
        box.deaf = False
