"""A fake document behind a real link server, and what a gateway needs to reach it."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

import anyio

from actors.document.editor_hub import EditorHub
from actors.document.link_server import LinkServer
from gateway.editors.link import DocumentLink
from gateway.editors.link_session import Shared
from shared.calls import Verb
from shared.protocol import Route, RouteKey
from shared.wire.frames import Ack
from tests.unit.wire.fakes import FakeDocument

NODE = "node-1"


async def until(condition: Callable[[], object], seconds: float = 10) -> None:
    """Returns when the condition holds."""
    with anyio.fail_after(seconds):
        while not condition():  # noqa: ASYNC110 - what is waited for sets no event
            await anyio.sleep(0.002)


class Actor:
    """One activation: a document, its hub and its link server.

    Attributes:
        served: The calls that came, as verb and bytes.
        serve: What answers them; at first with "done" in front of what was asked.
    """

    def __init__(self, document: FakeDocument, folder: Path, epoch: int) -> None:
        self.document = document
        self.hub = EditorHub(document, "abcdefghijkl")
        self.key = RouteKey("abcdefghijkl", epoch, f"secret-{epoch}")
        self.server = LinkServer(self.hub, self.key, folder, self._serve)
        self.served: list[tuple[Verb, bytes]] = []
        self.serve: Callable[[bytes], Awaitable[bytes]] = _done
        self.route = Route(self.key, "doc-slot-1", NODE, "", "")

    async def _serve(self, verb: Verb, call: bytes) -> bytes:
        self.served.append((verb, call))
        return await self.serve(call)

    async def start(self) -> Self:
        unix, tcp = await self.server.start()
        self.route = Route(self.key, "doc-slot-1", NODE, unix, tcp)
        return self


async def _done(call: bytes) -> bytes:
    return b"done " + call


class Stage:
    """Actors that follow each other, and links that follow them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._links: list[DocumentLink] = []
        self.actors: list[Actor] = []
        self.lost: list[RouteKey] = []

    @property
    def actor(self) -> Actor:
        return self.actors[-1]

    @property
    def document(self) -> FakeDocument:
        return self.actor.document

    async def activate(self) -> Actor:
        """The document in a new actor: what was committed, under a new route."""
        document = FakeDocument()
        if self.actors:
            document.restore(self.document)
        actor = Actor(document, self._folder, len(self.actors) + 1)
        self.actors.append(await actor.start())
        return actor

    async def link(self, node_id: str = NODE) -> DocumentLink:
        link = await DocumentLink.connect(
            self.actor.route, "gateway-1", node_id=node_id, on_loss=self._lost
        )
        self._links.append(link)
        return link

    def _lost(self, link: DocumentLink, key: RouteKey) -> None:
        self.lost.append(key)

    async def stop(self) -> None:
        for link in self._links:
            link.close()
        for actor in self.actors:
            await actor.server.stop()


@asynccontextmanager
async def staged() -> AsyncIterator[Stage]:
    folder = Path(tempfile.mkdtemp(prefix="da"))
    stage = Stage(folder)
    try:
        await stage.activate()
        yield stage
    finally:
        await stage.stop()
        await anyio.Path(folder).rmdir()  # fails when a server that stopped left its socket behind


class Sink:
    """A session's news, kept."""

    def __init__(self) -> None:
        self.updates: list[bytes] = []
        self.presence: list[bytes] = []
        self.asked: list[bytes] = []
        self.answers: list[bytes] = []
        self.acks: list[tuple[Ack, str]] = []
        self.kicks: list[tuple[int, str]] = []
        self.moves = 0

    def update(self, shared: Shared) -> None:
        self.updates.append(shared.body)

    def awareness(self, shared: Shared) -> None:
        self.presence.append(shared.body)

    def step1(self, state_vector: bytes) -> None:
        self.asked.append(state_vector)

    def step2(self, update: bytes) -> None:
        self.answers.append(update)

    def moved(self) -> None:
        self.moves += 1

    def acknowledged(self, ack: Ack, reason: str) -> None:
        self.acks.append((ack, reason))

    def kicked(self, code: int, reason: str) -> None:
        self.kicks.append((code, reason))


async def opened(address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A bare connection to a link server, by either of its addresses."""
    scheme, _, rest = address.partition(":")
    if scheme == "unix":
        return await asyncio.open_unix_connection(rest)
    host, _, port = rest.rpartition(":")
    return await asyncio.open_connection(host, int(port))
