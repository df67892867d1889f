"""An open document with its hub and the link's server end, as a slot holds it."""

from __future__ import annotations

from pathlib import Path

from actors.document.document import Document
from actors.document.editor_hub import EditorHub
from actors.document.link_server import LinkServer, Serve
from actors.document.socket_folder import socket_folder
from shared.protocol import Activation, RouteKey


async def open_document(activation: Activation) -> Document:
    """The document an activation names, from its SQLite file. Errors: `Document.open`."""
    return await Document.open(
        Path(activation.path),
        activation.key,
        seed=activation.seed,
        title=activation.title,
        caller=activation.caller,
        expires_at=activation.expires_at,
    )


class DocumentLinks:
    """All links to one activation of a document.

    Args:
        serve: Answers a call that came over a link.
    """

    def __init__(self, serve: Serve, document: Document, key: RouteKey, host: str) -> None:
        self._readers = document.readers
        self._hub = EditorHub(document, key.doc_id)
        document.on_presence(self._hub.presence)
        self._server = LinkServer(self._hub, key, socket_folder(), serve, host)

    @property
    def session_count(self) -> int:
        return self._hub.sessions

    @property
    def waiting(self) -> bool:
        """Whether a call at some gateway waits for a change."""
        return self._hub.waiting

    @property
    def sole_gateway(self) -> str:
        """The one gateway that all sessions and waiting calls are at; empty: none, or several."""
        return self._server.sole_gateway

    @property
    def stirred_at(self) -> float:
        """The loop's time of the last edit, newcomer or question for the whole, in seconds."""
        return self._server.stirred_at

    def sleep(self) -> bool:
        """Leaves the sessions to that gateway. False: something is under way, nothing was done."""
        return self._server.sleep()

    async def start(self) -> tuple[str, str]:
        return await self._server.start()

    async def stop(self) -> None:
        self._readers.part()
        await self._server.stop()
