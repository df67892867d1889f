"""One socket of the Hocuspocus wire as values: bytes come in, what is to be done comes out.

Providers send token, step 1 and presence back to back. So frames wait here, in order and up to a
bound, from a document's token until somebody has said whether it opens:

    address      token            other frames     admitted        refused        detached
    unknown      asks, waiting    dropped          -               -              -
    waiting      asks again       wait             open, frames    unknown        unknown
    open         asks, waiting    passed on        -               -              unknown

What comes before a token is dropped: the handshake that follows brings it again. An answer that was
overtaken by another question means nothing; `ticket` tells them apart.
"""

from __future__ import annotations

from collections import deque
from typing import Final

import msgspec

from shared.limits import MAX_SOCKET_DOCUMENTS, MAX_WAITING_BYTES, MAX_WAITING_FRAMES
from shared.wire import close_codes
from shared.wire.hocuspocus_protocol import (
    PING,
    PONG,
    Detached,
    Stateless,
    Token,
    addressed,
    document_of,
    permission_denied_message,
    read_frame,
)
from shared.wire.lib0 import MalformedMessage
from shared.wire.sync_session import Close, Value


class Authenticate(msgspec.Struct, frozen=True, gc=False):
    """Somebody wants a document; answer with `admitted` or `refused`, giving the ticket back."""

    address: str
    ref: str
    token: str
    ticket: int

    def __repr__(self) -> str:
        return f"Authenticate({self.ref!r}, ticket {self.ticket})"


class Said(msgspec.Struct, frozen=True):
    """A frame of a document that is open."""

    address: str
    value: Value


class Left(msgspec.Struct, frozen=True, gc=False):
    """The client has no more use for a document."""

    address: str


class Reply(msgspec.Struct, frozen=True, gc=False):
    """To be sent to the client now."""

    frame: bytes


Event = Authenticate | Said | Left | Reply | Close


class _Place:
    """An address: open, or waiting with its frames."""

    __slots__ = ("bytes", "frames", "ticket", "waiting")

    def __init__(self) -> None:
        self.ticket = 0
        self.waiting = True
        self.frames: deque[Value] = deque()
        self.bytes = 0


class HocuspocusSession:
    """All documents of one socket. `receive` never raises; after a `Close` nothing counts."""

    wire: Final = "hocuspocus"

    def __init__(self) -> None:
        self._places: dict[str, _Place] = {}
        self._tickets = 0
        self._waiting_bytes = 0

    @property
    def documents(self) -> int:
        """Addresses that are open or wait to be."""
        return len(self._places)

    def receive(self, data: bytes) -> list[Event]:
        """What a client's frame asks for."""
        if data == PING:
            return [Reply(PONG)]
        if data == PONG:
            return []
        try:
            address, message = read_frame(data)
        except MalformedMessage as error:
            return [Close(close_codes.MALFORMED, str(error))]
        if message is None or isinstance(message, Stateless):
            return []  # there is no stateless message that this server knows
        if isinstance(message, Token):
            return [self._asked(address, message.token)]
        if isinstance(message, Detached):
            return [Left(address)] if self._forget(address) else []
        if isinstance(message, Close):
            return [message]
        return self._said(address, message, len(data))

    def text(self) -> Close:
        """What a text frame means: nothing on this wire."""
        return Close(close_codes.NOT_ACCEPTABLE, "frames are binary")

    def current(self, address: str, ticket: int) -> bool:
        """Whether an answer with this ticket is still waited for."""
        place = self._places.get(address)
        return place is not None and place.waiting and place.ticket == ticket

    def next_waiting(self, address: str) -> Value | None:
        """The first frame that waits at an address; None when there is none left.

        Take them one by one until None and then call `admitted`: what arrives in between waits
        behind them.
        """
        place = self._places.get(address)
        if place is None or not place.frames:
            return None
        return place.frames.popleft()

    def admitted(self, address: str, ticket: int) -> bool:
        """The document is open, and its waiting frames are done; False for an old ticket."""
        if not self.current(address, ticket):
            return False
        place = self._places[address]
        self._waiting_bytes -= place.bytes
        place.bytes = 0
        place.waiting = False
        return True

    def refused(self, address: str, ticket: int) -> bool:
        """The document does not open, and its frames are gone; False for an old ticket."""
        return self.current(address, ticket) and self._forget(address)

    def ended(self, address: str) -> None:
        """A document's session is over, by the server's will."""
        self._forget(address)

    def _asked(self, address: str, token: str) -> Event:
        place = self._places.get(address)
        if place is None:
            ref = document_of(address)
            if not ref.strip():
                return self._denied(address, "doc_not_found")
            if len(self._places) >= MAX_SOCKET_DOCUMENTS:
                return self._denied(address, f"a socket takes {MAX_SOCKET_DOCUMENTS} documents")
            place = self._places[address] = _Place()
        self._tickets += 1
        place.ticket = self._tickets
        place.waiting = True
        return Authenticate(address, document_of(address), token, place.ticket)

    def _denied(self, address: str, reason: str) -> Reply:
        return Reply(addressed(address, permission_denied_message(reason)))

    def _said(self, address: str, value: Value, size: int) -> list[Event]:
        place = self._places.get(address)
        if place is None:
            return []
        if not place.waiting:
            return [Said(address, value)]
        self._waiting_bytes += size
        place.bytes += size
        place.frames.append(value)
        frames = sum(len(place.frames) for place in self._places.values() if place.waiting)
        if self._waiting_bytes > MAX_WAITING_BYTES or frames > MAX_WAITING_FRAMES:
            return [Close(close_codes.TRY_AGAIN, "too much before the document is open")]
        return []

    def _forget(self, address: str) -> bool:
        place = self._places.pop(address, None)
        if place is None:
            return False
        self._waiting_bytes -= place.bytes
        return True
