"""An editor in Python: the y-websocket protocol over a blocking socket, one paragraph at a time."""

from __future__ import annotations

import contextlib
import time
from typing import Final, Self

from pycrdt import (
    Doc,
    XmlElement,
    XmlFragment,
    XmlText,
    YMessageType,
    YSyncMessageType,
    create_sync_message,
    create_update_message,
    handle_sync_message,
)
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from bench.servers import Server

SYNC_DEADLINE_S: Final = 30.0


class Typist:
    """Connected and synced as long as the block lasts."""

    def __init__(self, server: Server, doc: str) -> None:
        self._doc: Doc[XmlFragment] = Doc()
        self._fragment = self._doc.get("default", type=XmlFragment)
        self._url = f"{server.url}/{doc}"
        self._protocols = [Subprotocol(f"docactor.{server.token}")] if server.token else None
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Self:
        connecting = connect(self._url, subprotocols=self._protocols, max_size=None)
        self._socket = self._open.enter_context(connecting)
        self._socket.send(create_sync_message(self._doc))
        deadline = time.monotonic() + SYNC_DEADLINE_S
        while self._receive(deadline) != YSyncMessageType.SYNC_STEP2:
            pass
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def type(self, block: int, text: str) -> None:
        """Adds `text` to the end of a paragraph and sends it; waits for nothing."""
        before = self._doc.get_state()
        paragraph = self._paragraph(block)
        paragraph += text
        self._socket.send(create_update_message(self._doc.get_update(before)))

    def wait_for(self, block: int, text: str, seconds: float) -> None:
        """Until the paragraph ends with `text`. Raises TimeoutError."""
        deadline = time.monotonic() + seconds
        while not str(self._paragraph(block)).endswith(text):
            self._receive(deadline)

    def wait_echo(self, seconds: float) -> None:
        """Until an edit comes from the server, as its own does once it is on disk."""
        deadline = time.monotonic() + seconds
        while self._receive(deadline) != YSyncMessageType.SYNC_UPDATE:
            pass

    def _paragraph(self, block: int) -> XmlText:
        element = self._fragment.children[block]
        assert isinstance(element, XmlElement)
        text = element.children[0]
        assert isinstance(text, XmlText)
        return text

    def _receive(self, deadline: float) -> int | None:
        """Takes in one message; which kind of sync message it was, None for any other."""
        message = self._socket.recv(timeout=max(0.0, deadline - time.monotonic()))
        assert isinstance(message, bytes)
        if message[0] != YMessageType.SYNC:
            return None
        reply = handle_sync_message(message[1:], self._doc)
        if reply is not None:
            self._socket.send(reply)
        return message[1]
