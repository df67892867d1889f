"""The link's frames: what a gateway and a document actor say to each other.

    length, 4 bytes big endian, of all that follows | kind, 1 byte | payload

Control frames carry a msgpack struct. Data frames carry a var uint (the session's number, or the
`seq` of a batch) and then raw bytes. Sessions are numbered by the gateway from 1 on; as a recipient
0 means every session of the link.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from shared.calls import Verb
from shared.errors import WireError
from shared.protocol import Caller, RouteKey
from shared.wire.lib0 import Decoder, MalformedMessage, var_uint
from shared.wire.reading import Reading

EVERYBODY: Final = 0


class Kind(IntEnum):
    """Kinds of frames; what a kind's payload is stands beside it."""

    # gateway to actor
    HELLO = 1  # Hello
    OPEN = 2  # session, Open
    SHUT = 3  # session, Shut or nothing
    STEP1 = 4  # session, state vector; in both directions
    UPDATE = 5  # session, one byte UpdateKind, update
    AWARENESS = 6  # session or EVERYBODY, awareness update; in both directions
    QUERY_AWARENESS = 7  # session
    PING = 8
    WAITING = 9  # one byte: whether calls wait for a change at this gateway
    RECAST = 10  # session, Open: the caller's roles have changed
    LEFT = 11  # Left
    CALL = 12  # Call
    READ = 13  # Read
    # actor to gateway
    WELCOME = 16  # Welcome
    REFUSED = 17  # WireError
    BROADCAST = 18  # seq, update
    STEP2 = 20  # session, update
    ACK = 21  # session, one byte Ack, reason in UTF-8
    NOTICE = 23  # Notice
    KICK = 24  # session, Kick
    PONG = 25
    SLEEP = 26  # Sleep
    ANSWER = 27  # the call's number, what `shared.calls.encode_answer` made of it
    GOODBYE = 28  # Goodbye


class UpdateKind(IntEnum):
    STEP_2 = 1
    UPDATE = 2


class Ack(IntEnum):
    """What became of an UPDATE frame."""

    REFUSED = 0
    SAVED = 1
    ASKED_AGAIN = 2  # not applied; a step 1 asks for it again


class Hello(msgspec.Struct, frozen=True):
    """Who connects, and to what.

    Attributes:
        key: What the actor must hold; anything else is refused with `moved`.
        gateway: The gateway process, for logs.
        last_seq: The last batch this gateway's sessions were sent; None when it has no session.
    """

    key: RouteKey
    gateway: str
    last_seq: int | None = None


class Welcome(msgspec.Struct, frozen=True):
    """Where the document is: last committed batch, head of its change log, last event."""

    seq: int
    change_seq: int
    event_seq: int = 0


class Open(msgspec.Struct, frozen=True):
    """A session begins.

    Attributes:
        acks: Every UPDATE is answered with an ACK; without it only those refused are.
        inserted: It has brought something before, at another actor.
        reading: What was read of it at another actor; None: it begins.
    """

    caller: Caller
    read_only: bool = False
    acks: bool = False
    inserted: bool = False
    reading: Reading | None = None


class Shut(msgspec.Struct, frozen=True):
    """A session ends.

    Attributes:
        read_at: Its last reading instant, in milliseconds since 1970; see shared.wire.reading.
    """

    read_at: int | None = None


class Read(msgspec.Struct, frozen=True):
    """The last reading instant (ms) of a person whose session ended while there was no actor."""

    person: str
    read_at: int


class Left(msgspec.Struct, frozen=True):
    """An update that came while there was no actor; its sender may be gone since.

    Attributes:
        opened: The session it came over.
    """

    opened: Open
    update: bytes


class Call(msgspec.Struct, frozen=True, array_like=True):
    """One call of a verb.

    Attributes:
        number: Which answer is its own.
        call: What `shared.calls.encode_call` made of it.
    """

    number: int
    verb: Verb
    call: bytes


class Goodbye(msgspec.Struct, frozen=True):
    """The actor gives its document back and closes the link.

    Attributes:
        heard: Bytes of this link's frames that it has taken, the hello's included. Calls among them
            are answered before the end; of what came behind nothing was done.
    """

    heard: int


class Notice(msgspec.Struct, frozen=True):
    """The change log has grown to `change_seq`, by these principals, or events to `event_seq`."""

    change_seq: int
    principals: frozenset[str]
    event_seq: int = 0


class Kick(msgspec.Struct, frozen=True):
    code: int
    reason: str


class Sleep(msgspec.Struct, frozen=True):
    """The actor goes and the sessions of this link stay: from here on they are its gateway's.

    Attributes:
        heard: Bytes of this link's frames that the document has taken, the hello's included. Where
            more were sent, something was on its way: the gateway wakes the document at once.
        present: Owner, client id, clock and state of everybody who is present.
        left: Client ids of those who are not any more, and the clocks they left with.
    """

    heard: int
    present: tuple[tuple[int, int, int, bytes], ...]
    left: tuple[tuple[int, int], ...]


class Frame(NamedTuple):
    kind: int
    payload: bytes


_HEADER: Final = struct.Struct(">IB")
_LENGTH: Final = struct.Struct(">I")
_T = TypeVar("_T")

PING_FRAME: Final = _HEADER.pack(1, Kind.PING)
PONG_FRAME: Final = _HEADER.pack(1, Kind.PONG)


def encode_frame(kind: Kind, *parts: bytes) -> bytes:
    """A frame whose payload is `parts` one after the other."""
    return b"".join((_HEADER.pack(1 + sum(map(len, parts)), kind), *parts))


def pack(value: msgspec.Struct) -> bytes:
    """A struct as the payload of a frame."""
    return msgspec.msgpack.encode(value)


def encode_control(kind: Kind, value: msgspec.Struct) -> bytes:
    return encode_frame(kind, pack(value))


def encode_session(kind: Kind, session: int, *parts: bytes) -> bytes:
    """A frame about one session: its number, then `parts`."""
    return encode_frame(kind, var_uint(session), *parts)


def encode_ack(session: int, ack: Ack, reason: str) -> bytes:
    return encode_session(Kind.ACK, session, bytes((ack,)), reason.encode())


def encode_refusal(error: WireError) -> bytes:
    return encode_control(Kind.REFUSED, error)


def split_session(payload: bytes) -> tuple[int, bytes]:
    """The number in front of a data frame's payload, and the rest.

    Raises:
        MalformedMessage: There is no number.
    """
    decoder = Decoder(payload)
    return decoder.var_uint(), decoder.rest()


def decode_control(payload: bytes, kind: type[_T]) -> _T:
    """A control frame's struct.

    Raises:
        MalformedMessage: The payload is something else.
    """
    try:
        return msgspec.msgpack.decode(payload, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedMessage(f"not a {kind.__name__}") from error


class FrameReader:
    """Cuts a byte stream into frames.

    `limit` is the longest frame in bytes and may be raised between frames. A frame that arrives
    whole in one piece is cut out without a second copy.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._data: bytes | bytearray = b""
        self._at = 0
        self._fed = 0

    @property
    def buffered(self) -> int:
        """Bytes fed and not yet returned."""
        return len(self._data) - self._at

    def feed(self, data: bytes) -> None:
        self._fed += len(data)
        if self._at >= len(self._data):
            self._data = data
        elif isinstance(self._data, bytearray):
            del self._data[: self._at]
            self._data += data
        else:
            rest = bytearray(self._data[self._at :])
            rest += data
            self._data = rest
        self._at = 0

    @property
    def taken(self) -> int:
        """Bytes fed and returned, so far."""
        return self._fed - self.buffered

    def next(self) -> Frame | None:
        """The next whole frame, None until more is fed.

        Raises:
            MalformedMessage: The length in front is 0 or above the limit.
        """
        data: Any = self._data
        body = self._at + _LENGTH.size
        if body > len(data):
            return None
        (length,) = _LENGTH.unpack_from(data, self._at)
        if not 0 < length <= self.limit:
            raise MalformedMessage(f"a frame of {length} bytes")
        end = body + length
        if end > len(data):
            return None
        self._at = end
        payload = data[body + 1 : end]
        return Frame(data[body], payload if isinstance(payload, bytes) else bytes(payload))
