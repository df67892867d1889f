"""One editor's session on a link: what it sends, and what it is told through its sink."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol

from msgspec import structs

from shared.access import person_of
from shared.limits import MAX_AWARENESS_BYTES
from shared.wire import close_codes
from shared.wire.frames import (
    Ack,
    Kind,
    Left,
    Open,
    Read,
    Shut,
    UpdateKind,
    encode_session,
    pack,
)
from shared.wire.reading import Reading, visibility
from shared.wire.sync_session import Awareness
from shared.wire.y_protocol import EMPTY_UPDATE, AwarenessEntry, encode_awareness
from shared.yjs.update import brings_something

if TYPE_CHECKING:
    from gateway.editors.link import DocumentLink


class Shared:
    """Bytes on their way to many sessions, encoded once for each wire."""

    __slots__ = ("_encoded", "body")

    def __init__(self, body: bytes) -> None:
        self.body = body
        self._encoded: dict[str, bytes] = {}

    def encoded(self, wire: str, encode: Callable[[bytes], bytes]) -> bytes:
        """`encode(body)`; of one `wire` every session gets the same bytes."""
        made = self._encoded.get(wire)
        if made is None:
            made = self._encoded[wire] = encode(self.body)
        return made


class SessionSink(Protocol):
    """Where a session's news go: a socket's outbox. None of these waits or raises."""

    def update(self, shared: Shared) -> None: ...
    def awareness(self, shared: Shared) -> None: ...
    def step1(self, state_vector: bytes) -> None: ...
    def step2(self, update: bytes) -> None: ...
    def moved(self) -> None:
        """Another actor has the document now.

        What was not answered will not be; who is present has to be said again.
        """

    def acknowledged(self, ack: Ack, reason: str) -> None: ...
    def kicked(self, code: int, reason: str) -> None:
        """The session is over; its number means nothing any more."""


class LinkSession:
    """What an editor's socket says to the document. Made by `DocumentLink.open_session`."""

    def __init__(self, link: DocumentLink, number: int, sink: SessionSink, opened: Open) -> None:
        self.link = link
        self.number = number
        self.sink = sink
        self._opened = opened
        self._begun = False  # an actor has heard of it
        self._reading = Reading(_now_ms())
        self._unanswered: bytes | None = None  # the client's step 1 while it has no step 2

    def opening(self) -> bytes:
        """The frames that begin this session at an actor, at the first as at every later one."""
        opened = self._opened
        if self._begun:
            opened = structs.replace(opened, reading=self._reading)
        self._begun = self._begun or self.link.attached
        opening = encode_session(Kind.OPEN, self.number, pack(opened))
        if self._unanswered is None:
            return opening
        return opening + encode_session(Kind.STEP1, self.number, self._unanswered)

    @property
    def reader(self) -> str | None:
        """The person whose reading this is; None: it is nobody's."""
        caller = self._opened.caller
        return None if caller.agent else person_of(caller)

    def step1(self, state_vector: bytes) -> None:
        """The client wants what it lacks. Kept until answered, by whichever actor."""
        self._heard()
        self._unanswered = state_vector
        self.link.wake()
        self.link.send(encode_session(Kind.STEP1, self.number, state_vector))

    def answered(self) -> None:
        self._unanswered = None

    def update(self, kind: UpdateKind, update: bytes) -> bool:
        """Whether there was an actor to send it to; else it is kept for the next one."""
        self._heard()
        left = Left(self._opened, update)
        if not self._opened.inserted and brings_something(update):
            self._opened = structs.replace(self._opened, inserted=True)
        says_something = update != EMPTY_UPDATE and not left.opened.read_only
        if self.link.attached:
            self.link.send(encode_session(Kind.UPDATE, self.number, bytes((kind,)), update))
            if says_something:
                self.link.sent_update(left)
            return True
        if update != EMPTY_UPDATE:
            self.link.wake()
            if says_something and not self.link.keep_update(left):
                self.link.forget(self)
                self.sink.kicked(close_codes.TRY_AGAIN, "too much while the document is opened")
        return False

    def awareness(self, said: Awareness) -> bool:
        """Passes on what is this session's own to say; whether it was more than others' echoes."""
        self._heard(said.entries)
        if not self.link.attached and not self.link.asleep:
            return True  # asked for again by the next actor
        own = self.link.guard.admit(self.number, said.entries)
        if not own:
            return False
        update = said.update if len(own) == len(said.entries) else encode_awareness(own)
        if len(update) > MAX_AWARENESS_BYTES:
            return True
        if self.link.asleep:
            self.link.said_asleep(self, own)
        else:
            self.link.send(encode_session(Kind.AWARENESS, self.number, update))
        return True

    def query_awareness(self) -> None:
        self.link.asked_asleep(self)
        self.link.send(encode_session(Kind.QUERY_AWARENESS, self.number))

    def recast(self, opened: Open) -> None:
        """The caller's roles are others now: here, and at every later actor."""
        self._opened = structs.replace(opened, inserted=self._opened.inserted)
        self.link.wake()  # who may write now is asked for what was refused before
        self.link.send(encode_session(Kind.RECAST, self.number, pack(self._opened)))

    def parted(self) -> None:
        """The client closes its socket, and was there until then."""
        self._heard()

    def close(self) -> None:
        """Ends the session; what it announced is gone for everybody.

        Without an actor the link keeps what was read of it for the next one.
        """
        read_at = self._reading.read_at
        if self.link.attached or self.reader is None or read_at is None:
            known = self.link.forget(self)
        else:
            known = self.link.forget_read(self, Read(self.reader, read_at))
        if known:
            self.link.send(encode_session(Kind.SHUT, self.number, pack(Shut(read_at))))

    def _heard(self, entries: Iterable[AwarenessEntry] = ()) -> None:
        self._reading = self._reading.heard(_now_ms(), visibility(entries))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
