"""The messages of y-websocket, and the awareness update that every Yjs wire carries.

A message is its type and then its payload, all of it lib0:

    0 sync        0 step 1: state vector | 1 step 2: update | 2 update: update
    1 awareness   an awareness update as a byte array
    2 auth        0 permission denied: reason (clients only log it)
    3 query       no payload; who gets it answers with the awareness states it knows

An awareness update is a count and then that many of: client id, clock, state as a JSON string
(y-protocols `awareness.js`). "null" says that the client is gone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from shared.wire.lib0 import Decoder, MalformedMessage, var_bytes, var_string, var_uint

SYNC: Final = 0
AWARENESS: Final = 1
AUTH: Final = 2
QUERY_AWARENESS: Final = 3

STEP_1: Final = 0
STEP_2: Final = 1
UPDATE: Final = 2

EMPTY_UPDATE: Final = b"\x00\x00"  # no structs, nothing deleted
EMPTY_STATE_VECTOR: Final = b"\x00"

_NULL: Final = b"null"


def step1_message(state_vector: bytes) -> bytes:
    """Asks the peer for what `state_vector` lacks."""
    return b"".join((b"\x00\x00", var_uint(len(state_vector)), state_vector))


def step2_message(update: bytes) -> bytes:
    """Answers a step 1; clients count as synced only when it came, so it is sent when empty too."""
    return b"".join((b"\x00\x01", var_uint(len(update)), update))


def update_message(update: bytes) -> bytes:
    return b"".join((b"\x00\x02", var_uint(len(update)), update))


def awareness_message(update: bytes) -> bytes:
    return b"".join((b"\x01", var_uint(len(update)), update))


def permission_denied_message(reason: str) -> bytes:
    return b"\x02\x00" + var_string(reason)


def query_awareness_message() -> bytes:
    return b"\x03"


class AwarenessEntry(msgspec.Struct, frozen=True, gc=False):
    """One client's presence.

    Attributes:
        client: The Yjs client id.
        clock: Grows by one with every change its client makes.
        state: The JSON text as it came, in UTF-8; None for "gone".
    """

    client: int
    clock: int
    state: bytes | None


def decode_awareness(update: bytes, max_entries: int) -> list[AwarenessEntry]:
    """The entries of an awareness update, in order.

    Raises:
        MalformedMessage: It ends early, has more than `max_entries` entries, or bytes after them.
    """
    decoder = Decoder(update)
    count = decoder.var_uint()
    if count > max_entries:
        raise MalformedMessage("too many awareness entries")
    entries = [
        AwarenessEntry(decoder.var_uint(), decoder.var_uint(), _state(decoder.var_bytes()))
        for _ in range(count)
    ]
    if not decoder.done:
        raise MalformedMessage("bytes after the last awareness entry")
    return entries


def encode_awareness(entries: Sequence[AwarenessEntry]) -> bytes:
    """`entries` as one awareness update."""
    parts = [var_uint(len(entries))]
    for entry in entries:
        parts += (
            var_uint(entry.client),
            var_uint(entry.clock),
            var_bytes(_NULL if entry.state is None else entry.state),
        )
    return b"".join(parts)


def check_states(entries: Iterable[AwarenessEntry]) -> None:
    """Refuses states that clients would stumble over in turn.

    Raises:
        MalformedMessage: A state is not a JSON object.
    """
    for entry in entries:
        if entry.state is not None and not isinstance(_json(entry.state), dict):
            raise MalformedMessage("an awareness state is not an object")


def _state(text: bytes) -> bytes | None:
    return None if text.strip() == _NULL else text


def _json(text: bytes) -> Any:
    """What `JSON.parse` would make of `text`.

    msgspec is the fast reader and stricter than JavaScript: it refuses numbers beyond a double, and
    half a surrogate pair, which a name cut inside an emoji has. The second reader decides.
    """
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return json.loads(text.decode(), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise MalformedMessage("an awareness state is not JSON") from error


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
