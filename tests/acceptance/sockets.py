"""Bare websockets to a document, for what no editor sends."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from pycrdt import Doc, XmlElement, XmlFragment, XmlText
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from shared.wire.sync_session import Apply, Step1, SyncSession
from shared.wire.y_protocol import EMPTY_UPDATE, step1_message, step2_message, update_message
from tests.acceptance.server import Server

DROPPED: Final = 1006  # no close frame
WAIT_S: Final = 20.0
T = TypeVar("T")


@contextmanager
def bare(server: Server, doc: str) -> Iterator[ClientConnection]:
    """A socket of the owner's that says nothing by itself."""
    with connect(
        f"{server.collab}/{doc}",
        subprotocols=[Subprotocol(f"docactor.{server.token}")],
        max_size=None,
        compression=None,
        close_timeout=1,
    ) as connection:
        yield connection


def next_of(connection: ClientConnection, kind: type[T]) -> T:
    """The server's next message of this kind; others before it are passed over."""
    while True:
        data = connection.recv(WAIT_S)
        assert isinstance(data, bytes)
        for value in SyncSession().receive(data):  # none: a kind that only clients know
            if isinstance(value, kind):
                return value


def closed(connection: ClientConnection) -> int:
    """Reads to the end: the code the server closed with."""
    try:
        while True:
            connection.recv(WAIT_S)
    except ConnectionClosed as error:
        return DROPPED if error.rcvd is None else int(error.rcvd.code)


def reset(connection: ClientConnection) -> None:
    """Ends the connection with an RST, as a machine that crashes does."""
    linger = struct.pack("ii", 1, 0)
    connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    connection.socket.close()


class Typist:
    """Somebody who types into the first block, and decides what of it is sent, and when."""

    def __init__(self, connection: ClientConnection) -> None:
        """Syncs: has what the server has, and owes it nothing."""
        self._connection = connection
        self.doc: Doc[XmlFragment] = Doc()
        self._root = self.doc.get("default", type=XmlFragment)
        next_of(connection, Step1)
        connection.send(step2_message(EMPTY_UPDATE))
        connection.send(step1_message(self.doc.get_state()))
        self.doc.apply_update(next_of(connection, Apply).update)

    def type(self, words: str) -> bytes:
        """The update of it, not sent."""
        before = self.doc.get_state()
        block = self._root.children[0]
        assert isinstance(block, XmlElement)
        text = block.children[0]
        assert isinstance(text, XmlText)
        text.insert(len(text), words)
        return self.doc.get_update(before)

    def send(self, update: bytes) -> None:
        self._connection.send(update_message(update))

    def answer_step1(self) -> None:
        """Waits until the server asks, and sends all it lacks."""
        asked = next_of(self._connection, Step1)
        self._connection.send(step2_message(self.doc.get_update(asked.state_vector)))
