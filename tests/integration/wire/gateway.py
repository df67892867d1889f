"""A gateway with one document behind it, for tests of what editors' sockets do."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final

import anyio
import uvicorn
from pycrdt import Doc, Text
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from gateway.editors.link import DocumentLink
from gateway.ports import Admission
from shared.errors import CapabilityDenied, DocumentNotFound, Overloaded, Unauthenticated
from shared.limits import SOCKET_MESSAGE_BYTES
from shared.protocol import Caller
from tests.integration.wire.actor import Stage, staged, until
from tests.unit.wire.fakes import ANNA, BEN

READER: Final = Caller("person:rea", "Rea", scopes=frozenset({"read"}), role="viewer")
NOBODY: Final = Caller("person:non", "Non", scopes=frozenset())
DROPPED: Final = (1006, "")  # no close frame
GOOD: Final = "good"
TOKENS: Final = {GOOD: ANNA, "ben": BEN, "reader": READER, "nothing": NOBODY}

Endpoint = Callable[[WebSocket], Awaitable[None]]


class Gateway:
    """What endpoints need of the rest of a gateway.

    Attributes:
        url: Where it listens, without a path.
        full: References that no slot is free for.
    """

    def __init__(self, stage: Stage, link: DocumentLink) -> None:
        self.stage = stage
        self.document = stage.document
        self.url = ""
        self.full = {"full"}
        self.the_link = link

    async def admit(self, ref: str, caller: Caller) -> Admission:
        return Admission(ref, caller)

    async def link(self, ref: str) -> DocumentLink:
        if ref in self.full:
            raise Overloaded("no slot")
        if ref == "private":
            raise CapabilityDenied("no")
        if ref not in {"doc", "full"}:
            raise DocumentNotFound.for_document(ref)
        return self.the_link

    async def authenticate(self, token: str | None) -> Caller:
        caller = TOKENS.get(token or "")
        if caller is None:
            raise Unauthenticated("no such token")
        return caller


@asynccontextmanager
async def serving(
    path: str, make: Callable[[Gateway], Endpoint], ws: Any
) -> AsyncIterator[Gateway]:
    """The endpoint under uvicorn, on a port of its own. `ws`: uvicorn's websocket protocol."""
    async with AsyncExitStack() as stack:
        stage = await stack.enter_async_context(staged())
        gateway = Gateway(stage, await stage.link())
        config = uvicorn.Config(
            Starlette(routes=[WebSocketRoute(path, make(gateway))]),
            ws=ws,
            lifespan="off",
            log_level="error",
            ws_max_size=SOCKET_MESSAGE_BYTES,
            ws_per_message_deflate=False,
        )
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        server = uvicorn.Server(config)
        gateway.url = f"ws://127.0.0.1:{listener.getsockname()[1]}"
        running = asyncio.create_task(server.serve(sockets=[listener]))
        await until(lambda: server.started)
        yield gateway
        server.should_exit = True
        await running


async def closed(client: ClientConnection) -> tuple[int, str]:
    """Reads to the end: the code and reason the server closed with."""
    try:
        with anyio.fail_after(10):
            while True:
                await client.recv()
    except ConnectionClosed as error:
        return (error.rcvd.code, error.rcvd.reason) if error.rcvd is not None else DROPPED


def typed(text: str) -> bytes:
    """An update that types into an empty document."""
    doc: Doc[Text] = Doc()
    doc["text"] = Text(text)
    return doc.get_update()
