"""A gateway's connection to one active document, for all of its sessions and waiting calls.

The object outlives its connection. When the actor dies, `on_loss` tells the router, which finds the
document's new place and calls `attach`; sessions and waiting calls notice nothing but a pause. What
an editor typed meanwhile is not queued here: the new actor's step 1 makes each client send all that
is missing, once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final, Protocol, Self

import anyio

from actors.document.frame_protocol import FrameProtocol
from gateway.editors.link_session import LinkSession, SessionSink, Shared
from shared.errors import Moved, WireError, from_wire
from shared.limits import (
    LINK_CONNECT_S,
    LINK_DEAD_S,
    LINK_FRAME_BYTES,
    LINK_PING_S,
    MAX_AWARENESS_ENTRIES,
)
from shared.protocol import Route, RouteKey
from shared.wire import close_codes
from shared.wire.awareness import AwarenessGuard
from shared.wire.frames import (
    EVERYBODY,
    PING_FRAME,
    Ack,
    Frame,
    Hello,
    Kick,
    Kind,
    Notice,
    Open,
    Welcome,
    decode_control,
    encode_control,
    encode_frame,
    split_session,
)
from shared.wire.lib0 import MalformedMessage
from shared.wire.y_protocol import decode_awareness

logger = logging.getLogger(__name__)

_NOT_THERE: Final = "The document is not where the route says."


class OnLoss(Protocol):
    """Told when the connection of a link is gone; `key` is the route that broke."""

    def __call__(self, link: DocumentLink, key: RouteKey, /) -> None: ...


class _Waiter:
    __slots__ = ("beyond", "ignored", "woken")

    def __init__(self, beyond: int, ignored: str | None) -> None:
        self.beyond = beyond
        self.ignored = ignored
        self.woken = anyio.Event()


class DocumentLink:
    """One per gateway and active document. Use `connect`; everything runs on one loop."""

    def __init__(self, gateway_id: str, node_id: str, on_loss: OnLoss) -> None:
        self.change_seq = 0
        self.large = anyio.Lock()  # held while a large step 2 crosses: one at a time
        self._gateway_id = gateway_id
        self._node_id = node_id
        self._on_loss = on_loss
        self._connection: _Connection | None = None
        self._attaching = anyio.Lock()
        self._closed = False
        self._route: Route | None = None
        self._sessions: dict[int, LinkSession] = {}
        self._next_session = EVERYBODY + 1
        self._guard = AwarenessGuard()
        self._waiters: set[_Waiter] = set()
        self._told_waiting = False
        self._last_seq: int | None = None  # the last batch the sessions were sent
        self._handlers: dict[int, Callable[[bytes], None]] = {
            Kind.BROADCAST: self._broadcast,
            Kind.AWARENESS: self._awareness,
            Kind.NOTICE: self._notice,
            Kind.STEP1: self._step1,
            Kind.STEP2: self._step2,
            Kind.ACK: self._ack,
            Kind.KICK: self._kick,
        }

    @classmethod
    async def connect(cls, route: Route, gateway_id: str, *, node_id: str, on_loss: OnLoss) -> Self:
        """A link to the document at `route`.

        Args:
            route: What the Directory said.
            gateway_id: This process, for the actor's logs.
            node_id: This process's node: an actor on the same one is reached by Unix socket.
            on_loss: Called, on the loop, when a connection once made is gone.

        Raises:
            DocactorError: as `attach` does.
        """
        link = cls(gateway_id, node_id, on_loss)
        await link.attach(route)
        return link

    async def attach(self, route: Route) -> None:
        """Connects to `route` and brings every session there.

        Does nothing while connected, or once closed.

        Raises:
            Moved: Nobody listens there, or somebody else does: ask the Directory again.
            DocactorError: The actor refused for another reason.
        """
        async with self._attaching:
            if self._connection is None and not self._closed:
                await self._attach(route)

    async def _attach(self, route: Route) -> None:
        connection = _Connection(self, route)
        try:
            async with asyncio.timeout(LINK_CONNECT_S):
                await connection.open(same_node=route.node_id == self._node_id)
                last_seq = self._last_seq if self._sessions else None
                hello = Hello(route.key, self._gateway_id, last_seq)
                connection.send(encode_control(Kind.HELLO, hello))
                await connection.welcomed
        except (OSError, TimeoutError) as error:
            raise Moved(_NOT_THERE) from error
        finally:
            if self._connection is not connection:
                connection.abort()

    # --- for the router ----------------------------------------------

    @property
    def doc_id(self) -> str:
        """The document. Raises RuntimeError before the first `attach`."""
        if self._route is None:
            raise RuntimeError("this link was never attached")
        return self._route.key.doc_id

    @property
    def route(self) -> Route | None:
        """Where the document is, None while it is nowhere."""
        return self._route if self._connection is not None else None

    @property
    def in_use(self) -> bool:
        """Whether a session or a waiting call needs this link."""
        return bool(self._sessions or self._waiters)

    @property
    def sessions(self) -> int:
        return len(self._sessions)

    def close(self, code: int = close_codes.TRY_AGAIN, reason: str = "link closed") -> None:
        """Ends the link for good; its sessions are closed with `code`.

        Waiting calls are woken: what they do next tells them what happened to the document.
        """
        self._closed = True
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        for session in tuple(self._sessions.values()):
            self.forget(session)
            session.sink.kicked(code, reason)
        for waiter in self._waiters:
            waiter.woken.set()

    # --- for sessions ------------------------------------------------

    def open_session(self, sink: SessionSink, opened: Open) -> LinkSession:
        """Begins a session: `sink` gets all that is broadcast from this moment on."""
        session = LinkSession(self, self._next_session, sink, opened)
        self._next_session += 1
        self._sessions[session.number] = session
        self.send(session.opening())
        return session

    def send(self, frame: bytes) -> None:
        """Sends to the actor; dropped while there is none."""
        if self._connection is not None:
            self._connection.send(frame)

    @property
    def attached(self) -> bool:
        return self._connection is not None

    @property
    def guard(self) -> AwarenessGuard:
        return self._guard

    def forget(self, session: LinkSession) -> bool:
        """Takes a session out of the fan-out; whether it was still there."""
        self._guard.leave(session.number)
        return self._sessions.pop(session.number, None) is not None

    async def wait_writable(self) -> None:
        """Waits while the actor does not take what it was sent: its editors must wait too."""
        while self._connection is not None and not self._connection.writable:
            await self._connection.drained.wait()

    # --- for waiting calls -------------------------------------------

    async def wait_beyond(
        self, change_seq: int, seconds: float, ignore_principal: str | None = None, /
    ) -> bool:
        """Waits until the document has a change numbered above `change_seq`.

        Args:
            change_seq: What the caller has seen.
            seconds: The longest wait.
            ignore_principal: Changes made by nobody else do not count.

        Returns:
            Whether there is one.
        """
        if self.change_seq > change_seq:
            return True
        waiter = _Waiter(change_seq, ignore_principal)
        self._waiters.add(waiter)
        self._tell_waiting()
        try:
            with anyio.move_on_after(seconds):
                await waiter.woken.wait()
            return waiter.woken.is_set()
        finally:
            self._waiters.discard(waiter)
            self._tell_waiting()

    def _tell_waiting(self) -> None:
        """Only whether anybody waits: of hundreds who are woken at once the last one tells."""
        waits = bool(self._waiters)
        if waits is self._told_waiting:
            return
        self._told_waiting = waits
        self.send(encode_frame(Kind.WAITING, b"\x01" if waits else b"\x00"))

    def _wake(self, principals: frozenset[str] | None) -> None:
        for waiter in tuple(self._waiters):
            ignored = waiter.ignored
            other = ignored is None or principals is None or bool(principals - {ignored})
            if self.change_seq > waiter.beyond and other:
                waiter.woken.set()
                self._waiters.discard(waiter)

    # --- what comes over the connection ------------------------------

    def welcomed(self, connection: _Connection, welcome: Welcome) -> None:
        """The actor took the hello: every session begins again there."""
        if self._closed:
            return
        self._connection = connection
        self._route = connection.route
        if self._last_seq is None or not self._sessions:
            self._last_seq = welcome.seq
        if welcome.change_seq > self.change_seq:
            self.change_seq = welcome.change_seq
            self._wake(None)
        self._told_waiting = False
        self._tell_waiting()
        for session in self._sessions.values():
            self.send(session.opening())
            session.sink.moved()

    def lost(self, connection: _Connection) -> None:
        """The connection is gone."""
        if connection is self._connection:
            self._connection = None
            self._on_loss(self, connection.route.key)

    def received(self, frame: Frame) -> None:
        """Hands a frame on. One of an unknown kind is from a newer actor and means nothing here."""
        handler = self._handlers.get(frame.kind)
        if handler is not None:
            handler(frame.payload)

    def _broadcast(self, payload: bytes) -> None:
        seq, update = split_session(payload)
        shared = Shared(update)
        for session in tuple(self._sessions.values()):
            session.sink.update(shared)
        if self._last_seq is None or seq > self._last_seq:
            self._last_seq = seq

    def _awareness(self, payload: bytes) -> None:
        number, update = split_session(payload)
        entries = decode_awareness(update, MAX_AWARENESS_ENTRIES)
        shared = Shared(update)
        if number == EVERYBODY:
            self._guard.told_everybody(entries)
            for session in tuple(self._sessions.values()):
                session.sink.awareness(shared)
        elif (one := self._sessions.get(number)) is not None:
            self._guard.told(number, entries)
            one.sink.awareness(shared)

    def _notice(self, payload: bytes) -> None:
        notice = decode_control(payload, Notice)
        if notice.change_seq > self.change_seq:
            self.change_seq = notice.change_seq
            self._wake(notice.principals)

    def _step1(self, payload: bytes) -> None:
        number, vector = split_session(payload)
        if (session := self._sessions.get(number)) is not None:
            session.sink.step1(vector)

    def _step2(self, payload: bytes) -> None:
        number, update = split_session(payload)
        if (session := self._sessions.get(number)) is not None:
            session.answered()
            session.sink.step2(update)

    def _ack(self, payload: bytes) -> None:
        number, body = split_session(payload)
        if not body or body[0] not in _ACKS:
            raise MalformedMessage("not an acknowledgement")
        if (session := self._sessions.get(number)) is not None:
            session.sink.acknowledged(Ack(body[0]), body[1:].decode(errors="replace"))

    def _kick(self, payload: bytes) -> None:
        number, body = split_session(payload)
        kick = decode_control(body, Kick)
        if (session := self._sessions.get(number)) is not None:
            self.forget(session)
            session.sink.kicked(kick.code, kick.reason)


_ACKS: Final = frozenset(Ack)


class _Connection(FrameProtocol):
    """One connection of a link, from hello to its end, with its own pings."""

    def __init__(self, link: DocumentLink, route: Route) -> None:
        super().__init__(LINK_FRAME_BYTES)
        self.route = route
        self.welcomed: asyncio.Future[None] = self._loop.create_future()
        self.drained = anyio.Event()
        self._link = link
        self._heard = self._loop.time()
        self._ping: asyncio.TimerHandle | None = None

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
            if frame.kind != Kind.PONG:
                self._link.received(frame)
        elif frame.kind == Kind.WELCOME:
            self.welcomed.set_result(None)
            self._ping = self._loop.call_later(LINK_PING_S, self._beat, self._loop.time())
            self._link.welcomed(self, decode_control(frame.payload, Welcome))
        elif frame.kind == Kind.REFUSED:
            self.welcomed.set_exception(from_wire(decode_control(frame.payload, WireError)))
        else:
            raise MalformedMessage("a link is welcomed first")

    def closed(self) -> None:
        if self._ping is not None:
            self._ping.cancel()
        if not self.welcomed.done():
            self.welcomed.set_exception(Moved(_NOT_THERE))
        if not self.welcomed.cancelled():
            self.welcomed.exception()  # looked at, for asyncio's sake: `attach` may have given up
        self.drained.set()
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
