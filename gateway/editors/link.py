"""A gateway's connection to one active document, for all of its sessions and waiting calls.

The object outlives its connection. When the actor dies, `on_loss` tells the router, which finds the
document's new place and calls `attach`; sessions and waiting calls notice nothing but a pause. What
an editor typed meanwhile is not queued here: the new actor's step 1 makes each client send all that
is missing, once.

When nobody edits, the actor leaves and its sessions stay, asleep: who is present is answered from
here, and the first frame for the document takes the same road back
(docs/decisions/0008-hibernation.md).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, Protocol, Self

import anyio

from gateway.editors.kept_updates import KeptUpdates
from gateway.editors.link_connection import NOT_THERE, LinkConnection
from gateway.editors.link_session import LinkSession, SessionSink, Shared
from gateway.roads import UnreachableError
from shared.calls import Verb
from shared.errors import Moved
from shared.limits import (
    LINK_CONNECT_S,
    MAX_AWARENESS_ENTRIES,
)
from shared.protocol import Route, RouteKey
from shared.wire import close_codes
from shared.wire.awareness import AwarenessGuard
from shared.wire.frames import (
    EVERYBODY,
    Ack,
    Frame,
    Hello,
    Kick,
    Kind,
    Left,
    Notice,
    Open,
    Read,
    Sleep,
    Welcome,
    decode_control,
    encode_control,
    encode_frame,
    split_session,
)
from shared.wire.lib0 import MalformedMessage
from shared.wire.sleeping_room import Later, SleepingRoom, Tell
from shared.wire.y_protocol import AwarenessEntry, decode_awareness, encode_awareness


class OnLoss(Protocol):
    """Told of a link and the route it had: that it broke, or that a sleeping link needs another;
    or, as another listener, that it fell asleep.
    """

    def __call__(self, link: DocumentLink, key: RouteKey, /) -> None: ...


class _Waiter:
    __slots__ = ("beyond", "ignored", "of_events", "woken")

    def __init__(self, beyond: int, ignored: str | None, *, of_events: bool) -> None:
        self.beyond = beyond
        self.of_events = of_events
        self.ignored = ignored
        self.woken = anyio.Event()


class DocumentLink:
    """One per gateway and active document. Use `connect`; everything runs on one loop."""

    def __init__(
        self, gateway_id: str, node_id: str, on_loss: OnLoss, on_sleep: OnLoss | None = None
    ) -> None:
        self.change_seq = self.event_seq = 0
        self.large = anyio.Lock()  # held while a large step 2 crosses: one at a time
        self._gateway_id = gateway_id
        self._node_id = node_id
        self._on_loss = on_loss
        self._on_sleep = on_sleep
        self._asleep: SleepingRoom | None = None
        self._waking = False
        self._connection: LinkConnection | None = None
        self._attaching = anyio.Lock()
        self._closed = False
        self._route: Route | None = None
        self._sessions: dict[int, LinkSession] = {}
        self._next_session = EVERYBODY + 1
        self._guard = AwarenessGuard()
        self._waiters: set[_Waiter] = set()
        self._kept = KeptUpdates()
        self._reads: dict[str, Read] = {}  # of sessions that ended while there was no actor
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
            Kind.SLEEP: self._sleep,
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

    async def attach(self, route: Route) -> bool:
        """Connects to `route` and brings every session there; False: that had been done.

        Does nothing while connected to this activation or a later one, or once closed.

        Raises:
            Moved: Nobody listens there, or somebody else does: ask the Directory again.
            DocactorError: The actor refused for another reason.
        """
        async with self._attaching:
            former = self._connection
            if self._closed or (former is not None and former.route.key.epoch >= route.key.epoch):
                return False
            if former is not None:  # its end has not been heard yet
                self._connection = None
                former.abort()
            try:
                await self._attach(route)
            except BaseException:
                if former is not None and self.in_use:
                    self.wake()
                raise
            return True

    async def _attach(self, route: Route) -> None:
        connection = LinkConnection(self, route)
        try:
            async with asyncio.timeout(LINK_CONNECT_S):
                await connection.open(same_node=route.node_id == self._node_id)
                last_seq = self._last_seq if self._sessions else None
                hello = Hello(route.key, self._gateway_id, last_seq)
                connection.send(encode_control(Kind.HELLO, hello))
                await connection.welcomed
        except (OSError, TimeoutError) as error:
            raise Moved(NOT_THERE) from error
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

    def takes_calls(self, key: RouteKey) -> bool:
        """Whether this activation may be called over this link."""
        connection = self._connection
        return connection is not None and connection.route.key == key and connection.takes_calls

    async def call(self, verb: Verb, call: bytes) -> bytes:
        """As LinkConnection.call. Raises LostCallError, UnreachableError."""
        if self._connection is None:
            raise UnreachableError("the link broke")
        return await self._connection.call(verb, call)

    @property
    def in_use(self) -> bool:
        """Whether a session, a waiting call or something that nobody has yet needs this link."""
        return bool(self._sessions or self._waiters or self._kept.waiting or self._reads)

    @property
    def asleep(self) -> bool:
        """Whether the document has no actor, and its sessions are this link's alone."""
        return self._asleep is not None

    @property
    def sleeping_epoch(self) -> int:
        """Of the activation after which it fell asleep; 0 while it does not sleep."""
        return self._route.key.epoch if self._asleep is not None and self._route is not None else 0

    def wake(self) -> None:
        """The document is needed: while it is nowhere `on_loss` is told so, once."""
        nowhere = self._connection is None and not self._closed
        if nowhere and not self._waking and self._route is not None:
            self._waking = True
            self._on_loss(self, self._route.key)

    @property
    def sessions(self) -> int:
        return len(self._sessions)

    def close(self, code: int = close_codes.TRY_AGAIN, reason: str = "link closed") -> None:
        """Ends the link for good; its sessions are closed with `code`.

        Waiting calls are woken: what they do next tells them what happened to the document.
        """
        self._closed = True
        self._asleep = None
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
        self.wake()  # it lacks the document, which only an actor has
        return session

    def send(self, frame: bytes) -> None:
        """Sends to the actor; dropped while there is none."""
        if self._connection is not None:
            self._connection.send(frame)

    def sent_update(self, left: Left) -> None:
        """What was just sent, should its actor die over it."""
        if self._connection is not None:
            self._kept.sent(self._connection.sent, left)

    def keep_update(self, left: Left) -> bool:
        """Keeps an update for the next actor; False: there is no room."""
        return self._kept.keep(left)

    @property
    def attached(self) -> bool:
        return self._connection is not None

    @property
    def guard(self) -> AwarenessGuard:
        return self._guard

    def forget(self, session: LinkSession) -> bool:
        """Takes a session out of the fan-out; whether it was still there."""
        self._guard.leave(session.number)
        known = self._sessions.pop(session.number, None) is not None
        if self._asleep is not None:
            self._tell(self._asleep.left(session.number))
            self._leave_if_unused()
        return known

    def forget_read(self, session: LinkSession, read: Read) -> bool:
        """As `forget`, while there is no actor: the next one is told what was read of it.

        One is called when the person has no other session here: they have left.
        """
        if session.number not in self._sessions:
            return False
        before = self._reads.get(read.person)
        if before is None or before.read_at < read.read_at:
            self._reads[read.person] = read
        self.forget(session)
        if all(other.reader != read.person for other in self._sessions.values()):
            self.wake()
        return True

    def said_asleep(self, session: LinkSession, own: list[AwarenessEntry]) -> None:
        """Presence of a session while the document sleeps: told to the others here."""
        if self._asleep is None:
            return
        try:
            self._tell(self._asleep.said(session.number, own))
        except MalformedMessage as error:
            self.forget(session)
            session.sink.kicked(close_codes.MALFORMED, str(error))

    def asked_asleep(self, session: LinkSession) -> None:
        """A session asks who is present while the document sleeps."""
        if self._asleep is not None:
            self._tell(self._asleep.asked(session.number))

    def _tell(self, told: list[Tell | Later]) -> None:
        for one in told:
            if isinstance(one, Tell):
                self._present(one.to, one.entries, encode_awareness(one.entries))
            else:
                loop = asyncio.get_running_loop()
                loop.call_later(one.seconds, self._tell_renewed, self._asleep)

    def _tell_renewed(self, room: SleepingRoom | None) -> None:
        if room is not None and room is self._asleep:
            self._tell(room.renewed())

    def _leave_if_unused(self) -> None:
        """A sleeping link that nobody needs any more is nobody's to wake."""
        if self._asleep is not None and not self.in_use and self._route is not None:
            self._on_loss(self, self._route.key)

    async def wait_writable(self) -> None:
        """Waits while the actor does not take what it was sent: its editors must wait too."""
        while self._connection is not None and not self._connection.writable:
            await self._connection.drained.wait()

    # --- for waiting calls -------------------------------------------

    async def wait_beyond(
        self,
        change_seq: int,
        seconds: float,
        ignore_principal: str | None = None,
        /,
        *,
        of_events: bool = False,
    ) -> bool:
        """Waits until the document has a change numbered above `change_seq`.

        Args:
            change_seq: What the caller has seen.
            seconds: The longest wait.
            ignore_principal: Changes made by nobody else do not count.
            of_events: It is an event that is waited for, and `change_seq` an event's number.

        Returns:
            Whether there is one.
        """
        if (self.event_seq if of_events else self.change_seq) > change_seq:
            return True
        waiter = _Waiter(change_seq, ignore_principal, of_events=of_events)
        self._waiters.add(waiter)
        self._tell_waiting()
        try:
            with anyio.move_on_after(seconds):
                await waiter.woken.wait()
            return waiter.woken.is_set()
        finally:
            self._waiters.discard(waiter)
            self._tell_waiting()
            self._leave_if_unused()

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
            head = self.event_seq if waiter.of_events else self.change_seq
            if head > waiter.beyond and (other or waiter.of_events):
                waiter.woken.set()
                self._waiters.discard(waiter)

    # --- what comes over the connection ------------------------------

    def welcomed(self, connection: LinkConnection, welcome: Welcome) -> None:
        """The actor took the hello: every session begins again there."""
        if self._closed:
            return
        self._connection = connection
        self._route = connection.route
        self._asleep, self._waking = None, False
        if self._last_seq is None or not self._sessions:
            self._last_seq = welcome.seq
        self._grown(welcome.change_seq, welcome.event_seq, None)
        self._told_waiting = False
        self._tell_waiting()
        for session in self._sessions.values():
            self.send(session.opening())
            session.sink.moved()
        for left in self._kept.take():
            self.send(encode_control(Kind.LEFT, left))
            self._kept.sent(connection.sent, left)
        for read in self._reads.values():
            self.send(encode_control(Kind.READ, read))
        self._reads.clear()

    def lost(self, connection: LinkConnection) -> None:
        """The connection is gone."""
        if connection is self._connection:
            self._connection = None
            self._waking = self.in_use
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

    def _sleep(self, payload: bytes) -> None:
        sleep = decode_control(payload, Sleep)
        connection = self._connection
        if connection is None:
            return
        self._kept.heard(sleep.heard)
        connection.leaves(sleep.heard)
        if connection.sent != sleep.heard:
            return  # something is on its way: the end that follows is a loss like any other
        self._connection = None
        connection.close()
        self._asleep, self._waking = SleepingRoom(sleep), False
        if self._on_sleep is not None:
            self._on_sleep(self, connection.route.key)

    def _awareness(self, payload: bytes) -> None:
        number, update = split_session(payload)
        self._present(number, decode_awareness(update, MAX_AWARENESS_ENTRIES), update)

    def _present(self, number: int, entries: Sequence[AwarenessEntry], update: bytes) -> None:
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
        self._grown(notice.change_seq, notice.event_seq, notice.principals)

    def _grown(self, change_seq: int, event_seq: int, by: frozenset[str] | None) -> None:
        if change_seq > self.change_seq or event_seq > self.event_seq:
            self.change_seq = max(self.change_seq, change_seq)
            self.event_seq = max(self.event_seq, event_seq)
            self._wake(by)

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
