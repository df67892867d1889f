"""One editor's session as values: bytes come in, what is to be done comes out.

Nothing here waits, sends or knows the document. `SyncSession` is the y-websocket wire; the values
are those of every wire, and `read_message` reads what all of them have in common.
"""

from __future__ import annotations

from typing import Final

import msgspec

from shared.limits import (
    MAX_AWARENESS_ENTRIES,
    MAX_AWARENESS_FRAME_BYTES,
    MAX_FRAME_BYTES,
    MAX_STEP2_BYTES,
)
from shared.wire import close_codes
from shared.wire.frames import Ack, UpdateKind
from shared.wire.lib0 import Decoder, MalformedMessage
from shared.wire.y_protocol import (
    AWARENESS,
    QUERY_AWARENESS,
    STEP_1,
    STEP_2,
    SYNC,
    UPDATE,
    AwarenessEntry,
    awareness_message,
    decode_awareness,
    permission_denied_message,
    query_awareness_message,
    step1_message,
    step2_message,
    update_message,
)


class Step1(msgspec.Struct, frozen=True, gc=False):
    """The client asks for what `state_vector` lacks."""

    state_vector: bytes


class Apply(msgspec.Struct, frozen=True, gc=False):
    """The client sends an edit, or all it has that we lack."""

    kind: UpdateKind
    update: bytes


class Awareness(msgspec.Struct, frozen=True):
    """The client says who is present. `update` is what `entries` were decoded from."""

    entries: tuple[AwarenessEntry, ...]
    update: bytes


class QueryAwareness(msgspec.Struct, frozen=True, gc=False):
    """The client asks who is present."""


class Close(msgspec.Struct, frozen=True, gc=False):
    """The session is over; nothing after this in the frame counts."""

    code: int
    reason: str


Value = Step1 | Apply | Awareness | QueryAwareness | Close

READ_ONLY: Final = "you may read this document only"
_QUERY: Final = QueryAwareness()


class SyncSession:
    """A y-websocket session.

    `receive` reads the client's frames. The other methods say how what the document sends looks to
    this client; each result is one frame, because clients up to 3.x read one message per frame.
    """

    wire: Final = "y-websocket"
    acks: Final = False

    def receive(self, data: bytes) -> list[Value]:
        """What a client's frame asks for, in order.

        A frame may hold several messages. Types this server does not know are ignored, with
        whatever follows them in the frame: their length is unknown too. The last value is a `Close`
        when the client broke the protocol or a limit.
        """
        decoder = Decoder(data)
        values: list[Value] = []
        try:
            while True:
                value = read_message(decoder.var_uint(), decoder)
                if value is None:
                    return values
                values.append(value)
                if decoder.done or isinstance(value, Close):
                    return values
        except MalformedMessage as error:
            values.append(Close(close_codes.MALFORMED, str(error)))
            return values

    def text(self) -> Close:
        """What a text frame means: nothing on this wire."""
        return Close(close_codes.NOT_ACCEPTABLE, "frames are binary")

    def step1(self, state_vector: bytes) -> bytes:
        return step1_message(state_vector)

    def step2(self, update: bytes) -> bytes:
        return step2_message(update)

    def update(self, update: bytes) -> bytes:
        return update_message(update)

    def awareness(self, update: bytes) -> bytes:
        return awareness_message(update)

    def query_awareness(self) -> bytes:
        return query_awareness_message()

    def acknowledge(self, ack: Ack, reason: str) -> list[bytes]:
        """Frames that tell what became of an update: this wire only has words for a refusal."""
        return [permission_denied_message(reason)] if ack is Ack.REFUSED else []

    def began(self) -> None:
        """The client sent a step 1: nothing to remember on this wire."""

    def passed_on(self, kind: UpdateKind, *, sent: bool) -> None:
        """The client sent an update: nothing to remember on this wire."""

    def moved(self) -> None:
        """Another actor has the document now: nothing to remember on this wire."""

    def recast(self, *, read_only: bool) -> list[bytes]:
        """Frames that tell whether the client may write from now on: a word for that it may not."""
        return [permission_denied_message(READ_ONLY)] if read_only else []


def read_message(kind: int, decoder: Decoder) -> Value | None:
    """A message of this type, whose payload comes next in `decoder`; None for an unknown type.

    A `Close` when it is over a limit.

    Raises:
        MalformedMessage: The payload is none of that type.
    """
    if kind == SYNC:
        return _sync(decoder)
    if kind == AWARENESS:
        return _awareness(decoder.var_bytes())
    if kind == QUERY_AWARENESS:
        return _QUERY
    return None


def _sync(decoder: Decoder) -> Value:
    step = decoder.var_uint()
    body = decoder.var_bytes()
    size = len(body)
    if step == UPDATE:
        if size > MAX_FRAME_BYTES:
            return Close(close_codes.TOO_BIG, f"an update is at most {MAX_FRAME_BYTES} bytes")
        return Apply(UpdateKind.UPDATE, body)
    if step == STEP_2:
        if size > MAX_STEP2_BYTES:
            return Close(close_codes.TOO_BIG, f"a step 2 is at most {MAX_STEP2_BYTES} bytes")
        return Apply(UpdateKind.STEP_2, body)
    if step == STEP_1:
        if size > MAX_FRAME_BYTES:
            return Close(close_codes.TOO_BIG, f"a step 1 is at most {MAX_FRAME_BYTES} bytes")
        return Step1(body)
    raise MalformedMessage("unknown step of the sync protocol")


def _awareness(update: bytes) -> Value:
    if len(update) > MAX_AWARENESS_FRAME_BYTES:
        return Close(
            close_codes.TOO_BIG, f"an awareness update is at most {MAX_AWARENESS_FRAME_BYTES}"
        )
    return Awareness(tuple(decode_awareness(update, MAX_AWARENESS_ENTRIES)), update)
