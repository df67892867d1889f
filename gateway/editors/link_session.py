"""One editor's session on a link: what it sends, and what it is told through its sink."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from shared.limits import MAX_AWARENESS_BYTES
from shared.wire.frames import Ack, Kind, Open, UpdateKind, encode_session, pack
from shared.wire.sync_session import Awareness
from shared.wire.y_protocol import encode_awareness

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
        self._open = pack(opened)
        self._unanswered: bytes | None = None  # the client's step 1 while it has no step 2

    def opening(self) -> bytes:
        """The frames that begin this session at an actor, at the first as at every later one."""
        opening = encode_session(Kind.OPEN, self.number, self._open)
        if self._unanswered is None:
            return opening
        return opening + encode_session(Kind.STEP1, self.number, self._unanswered)

    def step1(self, state_vector: bytes) -> None:
        """The client wants what it lacks. Kept until answered, by whichever actor."""
        self._unanswered = state_vector
        self.link.send(encode_session(Kind.STEP1, self.number, state_vector))

    def answered(self) -> None:
        self._unanswered = None

    def update(self, kind: UpdateKind, update: bytes) -> bool:
        """Whether there was an actor to send it to; else it comes with the next step 2."""
        self.link.send(encode_session(Kind.UPDATE, self.number, bytes((kind,)), update))
        return self.link.attached

    def awareness(self, said: Awareness) -> bool:
        """Passes on what is this session's own to say; whether it was more than others' echoes."""
        if not self.link.attached:
            return True  # asked for again by the next actor
        own = self.link.guard.admit(self.number, said.entries)
        if not own:
            return False
        update = said.update if len(own) == len(said.entries) else encode_awareness(own)
        if len(update) <= MAX_AWARENESS_BYTES:
            self.link.send(encode_session(Kind.AWARENESS, self.number, update))
        return True

    def query_awareness(self) -> None:
        self.link.send(encode_session(Kind.QUERY_AWARENESS, self.number))

    def close(self) -> None:
        """Ends the session; what it announced is gone for everybody."""
        if self.link.forget(self):
            self.link.send(encode_session(Kind.SHUT, self.number))
