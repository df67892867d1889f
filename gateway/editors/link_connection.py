"""One connection of a gateway's link to a document actor: its hello, its pings, its end."""

from __future__ import annotations

import asyncio
import logging
from typing import Final, Protocol

import anyio

from actors.document.frame_protocol import FrameProtocol
from gateway.editors.pending_calls import PendingCalls
from gateway.roads import LostCallError, UnreachableError
from shared.calls import Verb
from shared.errors import Moved, WireError, from_wire
from shared.limits import CALL_DEADLINE_S, LINK_DEAD_S, LINK_FRAME_BYTES, LINK_PING_S
from shared.protocol import Route
from shared.wire.frames import (
    PING_FRAME,
    Call,
    Frame,
    Goodbye,
    Kind,
    Welcome,
    decode_control,
    encode_control,
    split_session,
)
from shared.wire.lib0 import MalformedMessage

logger = logging.getLogger(__name__)

NOT_THERE: Final = "The document is not where the route says."


class LinkEnd(Protocol):
    """Whose connection it is."""

    def welcomed(self, connection: LinkConnection, welcome: Welcome, /) -> None: ...
    def received(self, frame: Frame, /) -> None: ...
    def lost(self, connection: LinkConnection, /) -> None: ...


class LinkConnection(FrameProtocol):
    """One connection of a link, from hello to its end, with its own pings."""

    def __init__(self, link: LinkEnd, route: Route) -> None:
        super().__init__(LINK_FRAME_BYTES)
        self.route = route
        self.welcomed: asyncio.Future[None] = self._loop.create_future()
        self.drained = anyio.Event()
        self._link = link
        self._heard = self._loop.time()
        self._ping: asyncio.TimerHandle | None = None
        self._calls = PendingCalls()
        self._left = False

    @property
    def takes_calls(self) -> bool:
        """False before it is welcomed, and from the actor's goodbye on."""
        return self.connected and self.welcomed.done() and not self._left

    async def call(self, verb: Verb, call: bytes) -> bytes:
        """Sends a call and waits for its answer, both as `shared.calls` writes them.

        Raises:
            LostCallError: The connection ended first, or the answer does not come.
            UnreachableError: The actor left without taking the call.
        """
        while not self.writable:
            await self.drained.wait()
        if not self.takes_calls:
            raise UnreachableError("it has left")
        number = self._calls.number()
        self.send(encode_control(Kind.CALL, Call(number, verb, call)))
        try:
            async with asyncio.timeout(CALL_DEADLINE_S):
                return await self._calls.answer(number, self.sent)
        except TimeoutError as error:
            raise LostCallError(verb) from error

    async def open(self, *, same_node: bool) -> None:
        """Connects; raises OSError."""
        address = self.route.link if same_node else self.route.link_tcp
        scheme, _, rest = address.partition(":")
        if scheme == "unix":
            await self._loop.create_unix_connection(lambda: self, rest)
        else:
            host, _, port = rest.rpartition(":")
            await self._loop.create_connection(lambda: self, host.strip("[]"), int(port))

    def frame_received(self, frame: Frame) -> None:
        if self.welcomed.done():
            self._received(frame)
        elif frame.kind == Kind.WELCOME:
            self.welcomed.set_result(None)
            self._ping = self._loop.call_later(LINK_PING_S, self._beat, self._loop.time())
            self._link.welcomed(self, decode_control(frame.payload, Welcome))
        elif frame.kind == Kind.REFUSED:
            self.welcomed.set_exception(from_wire(decode_control(frame.payload, WireError)))
        else:
            raise MalformedMessage("a link is welcomed first")

    def _received(self, frame: Frame) -> None:
        if frame.kind == Kind.ANSWER:
            self._calls.answered(*split_session(frame.payload))
        elif frame.kind == Kind.GOODBYE:
            self.leaves(decode_control(frame.payload, Goodbye).heard)
        elif frame.kind != Kind.PONG:
            self._link.received(frame)

    def leaves(self, heard: int) -> None:
        """The actor takes nothing behind these bytes: calls sent there may go elsewhere."""
        self._left = True
        self._calls.untaken(heard)

    def closed(self) -> None:
        if self._ping is not None:
            self._ping.cancel()
        if not self.welcomed.done():
            self.welcomed.set_exception(Moved(NOT_THERE))
        if not self.welcomed.cancelled():
            self.welcomed.exception()  # looked at, for asyncio's sake: `attach` may have given up
        self.drained.set()
        self._calls.lost()
        self._link.lost(self)

    def data_received(self, data: bytes) -> None:
        self._heard = self._loop.time()
        super().data_received(data)

    def pause_writing(self) -> None:
        super().pause_writing()
        self.drained = anyio.Event()

    def resume_writing(self) -> None:
        super().resume_writing()
        self.drained.set()

    def _beat(self, before: float) -> None:
        now = self._loop.time()
        if now - before > 2 * LINK_PING_S:
            self._heard = now  # this process stood still, which says nothing of the actor
        if now - self._heard > LINK_DEAD_S:
            logger.warning("link closed: the actor answers no ping")
            self.abort()
            return
        self.send(PING_FRAME)
        self._ping = self._loop.call_later(LINK_PING_S, self._beat, now)
