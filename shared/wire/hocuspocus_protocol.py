"""The messages of the Hocuspocus wire: one socket, many documents.

Every message is addressed, then as on the y-websocket wire a type and its payload, one in a frame:

    address, a string | type | payload

The address is the document's name; a provider with `sessionAwareness` adds NUL and an id of its own
so that two of them may hold one document. It comes back to them exactly as they wrote it.

    0 sync, 1 awareness, 3 query    as in `y_protocol`
    2 auth        from clients 0 token: token, and from 4.x their version
                  to clients 0 send your token again | 1 denied: reason | 2 authenticated: scope
    5 stateless   a string
    6             from one reference server to another; no client sends it
    7 close       from clients nothing: the provider was detached; to clients a reason
    8 sync status to clients 1 an update was saved | 0 it was refused
    9, 10         ping and pong, alone in their frame: one byte, no address
"""

from __future__ import annotations

from typing import Final

import msgspec

from shared.limits import MAX_ADDRESS_BYTES
from shared.wire.lib0 import Decoder, MalformedMessage, var_string
from shared.wire.sync_session import Value, read_message
from shared.wire.y_protocol import AUTH

STATELESS: Final = 5
CLOSE: Final = 7
SYNC_STATUS: Final = 8

PING: Final = b"\x09"
PONG: Final = b"\x0a"
# An awareness update without entries, for nobody: every version takes it as a sign of life and as
# nothing else. A ping would end the process of a 3.x provider, which looks for an address in it.
KEEP_ALIVE: Final = b"\x00\x01\x01\x00"
SYNC_SAVED: Final = b"\x08\x01"
SYNC_REFUSED: Final = b"\x08\x00"
TOKEN_REQUEST: Final = b"\x02\x00"

_TOKEN: Final = 0
_SEPARATOR: Final = "\x00"


class Token(msgspec.Struct, frozen=True, gc=False):
    """A client shows who it is; empty when its application gave it no token."""

    token: str

    def __repr__(self) -> str:
        return "Token(…)"  # it opens documents: not for logs


class Stateless(msgspec.Struct, frozen=True, gc=False):
    """A message of the client's application to the server's."""

    payload: str


class Detached(msgspec.Struct, frozen=True, gc=False):
    """The client needs this document no more."""


Message = Value | Token | Stateless | Detached


def read_frame(data: bytes) -> tuple[str, Message | None]:
    """Address and message of a frame; the message None for a type that means nothing here.

    What follows the message is left unread, as the reference server does: later versions add to
    messages at their end.

    Raises:
        MalformedMessage: It is no frame of this wire, or its address is too long.
    """
    decoder = Decoder(data)
    address = decoder.var_string()
    if len(address) > MAX_ADDRESS_BYTES:
        raise MalformedMessage("a document's name is too long")
    kind = decoder.var_uint()
    if kind == AUTH:
        if decoder.var_uint() != _TOKEN:
            raise MalformedMessage("clients send tokens")
        return address, Token(decoder.var_string())
    if kind == STATELESS:
        return address, Stateless(decoder.var_string())
    if kind == CLOSE:
        return address, Detached()
    return address, read_message(kind, decoder)


def document_of(address: str) -> str:
    """The document's name in an address."""
    return address.partition(_SEPARATOR)[0]


def addressed(address: str, message: bytes) -> bytes:
    """`message` as the frame for who is at `address`."""
    return var_string(address) + message


def authenticated_message(*, read_only: bool) -> bytes:
    return b"\x02\x02" + var_string("readonly" if read_only else "read-write")


def permission_denied_message(reason: str) -> bytes:
    """Refuses a document; unlike a closed socket, providers take it as final."""
    return b"\x02\x01" + var_string(reason)


def stateless_message(payload: str) -> bytes:
    return b"\x05" + var_string(payload)


def close_message(reason: str) -> bytes:
    """Ends one document's session; the provider stays on its socket and does not come back."""
    return b"\x07" + var_string(reason)
