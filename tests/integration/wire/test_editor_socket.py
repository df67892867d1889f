"""The editor's websocket under uvicorn, with a bare websocket client and a fake document."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from typing import Final

import anyio
import pytest
import uvicorn
from pycrdt import Doc, Text
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from gateway.editor_socket import editor_socket
from gateway.link import DocumentLink
from gateway.socket_protocol import EditorSocketProtocol
from shared import close_codes
from shared.errors import CapabilityDenied, DocumentNotFound, Overloaded, Unauthenticated
from shared.frames import UpdateKind
from shared.limits import MAX_FRAME_BYTES, SOCKET_MESSAGE_BYTES
from shared.protocol import Caller
from shared.sync_session import Apply, Awareness, Step1, SyncSession, Value
from shared.y_protocol import (
    EMPTY_STATE_VECTOR,
    EMPTY_UPDATE,
    AwarenessEntry,
    awareness_message,
    encode_awareness,
    query_awareness_message,
    step1_message,
    step2_message,
    update_message,
)
from tests.integration.wire.actor import Stage, staged, until
from tests.unit.wire.fakes import ANNA

pytestmark = pytest.mark.anyio

READER: Final = Caller("person:rea", "Rea", scopes=frozenset({"read"}))
NOBODY: Final = Caller("person:non", "Non", scopes=frozenset())
DROPPED: Final = (1006, "")  # no close frame
GOOD: Final = "good"
TOKENS: Final = {GOOD: ANNA, "reader": READER, "nothing": NOBODY}


class Gateway:
    """A gateway with one document behind it, listening on a port of its own."""

    def __init__(self, stage: Stage, link: DocumentLink) -> None:
        self.stage = stage
        self.document = stage.document
        self.url = ""
        self._link = link

    async def link(self, ref: str) -> DocumentLink:
        if ref == "full":
            raise Overloaded("no slot")
        if ref == "private":
            raise CapabilityDenied("no")
        if ref != "doc":
            raise DocumentNotFound.for_document(ref)
        return self._link

    async def authenticate(self, token: str | None) -> Caller:
        caller = TOKENS.get(token or "")
        if caller is None:
            raise Unauthenticated("no such token")
        return caller

    def connect(self, ref: str = "doc", token: str = GOOD) -> connect:
        protocols = [Subprotocol(f"docactor.{token}")]
        return connect(f"{self.url}/{ref}", subprotocols=protocols, max_size=None)


@pytest.fixture(params=[EditorSocketProtocol, "websockets-sansio"], ids=["framed", "asgi"])
async def gateway(request: pytest.FixtureRequest) -> AsyncIterator[Gateway]:
    async with AsyncExitStack() as stack:
        stage = await stack.enter_async_context(staged())
        gateway = Gateway(stage, await stage.link())
        endpoint = editor_socket(gateway, gateway.authenticate)
        config = uvicorn.Config(
            Starlette(routes=[WebSocketRoute("/collab/{ref}", endpoint)]),
            ws=request.param,
            lifespan="off",
            log_level="error",
            ws_max_size=SOCKET_MESSAGE_BYTES,
            ws_per_message_deflate=False,
        )
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        server = uvicorn.Server(config)
        gateway.url = f"ws://127.0.0.1:{listener.getsockname()[1]}/collab"
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        await until(lambda: server.started)
        yield gateway
        server.should_exit = True
        await serving


async def values(client: ClientConnection, count: int) -> list[Value]:
    """The next `count` messages; one message per frame is asserted."""
    found = []
    with anyio.fail_after(10):
        for _ in range(count):
            data = await client.recv()
            assert isinstance(data, bytes)
            (value,) = SyncSession().receive(data)
            found.append(value)
    return found


async def closed(client: ClientConnection) -> tuple[int, str]:
    """Reads to the end: the code and reason the server closed with."""
    try:
        with anyio.fail_after(10):
            while True:
                await client.recv()
    except ConnectionClosed as error:
        return (error.rcvd.code, error.rcvd.reason) if error.rcvd is not None else DROPPED


def typed(text: str) -> bytes:
    doc: Doc[Text] = Doc()
    doc["text"] = Text(text)
    return doc.get_update()


@pytest.mark.parametrize(
    "ref,token,code",
    [
        ("unknown", "good", close_codes.NOT_FOUND),
        ("doc", "bad", close_codes.UNAUTHENTICATED),
        ("unknown", "bad", close_codes.UNAUTHENTICATED),
        ("doc", "nothing", close_codes.FORBIDDEN),
        ("private", "good", close_codes.FORBIDDEN),
        ("full", "good", close_codes.TRY_AGAIN),
    ],
)
async def test_a_refusal_is_a_close_code(gateway: Gateway, ref: str, token: str, code: int) -> None:
    async with gateway.connect(ref, token) as client:
        assert (await closed(client))[0] == code
    assert gateway.stage.actor.hub.sessions == 0


async def test_a_gateway_takes_so_many_editors(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.editor_socket.MAX_SESSIONS_PER_GATEWAY", 1)
    async with gateway.connect() as first:
        await values(first, 1)
        async with gateway.connect() as second:
            assert (await closed(second))[0] == close_codes.TRY_AGAIN
    await until(lambda: gateway.stage.actor.hub.sessions == 0)
    async with gateway.connect() as third:
        await values(third, 1)


async def test_codes_that_are_final_for_clients_are_those_a_retry_cannot_mend() -> None:
    final = {code for code in vars(close_codes).values() if code in range(4400, 4500)}
    assert final == {
        close_codes.UNAUTHENTICATED,
        close_codes.FORBIDDEN,
        close_codes.NOT_FOUND,
    }


async def test_the_subprotocol_with_the_token_is_selected(gateway: Gateway) -> None:
    async with gateway.connect() as client:
        assert client.subprotocol == "docactor.good"


async def test_a_token_may_come_as_a_header(gateway: Gateway) -> None:
    headers = {"Authorization": "Bearer good"}
    offered = [Subprotocol("other"), Subprotocol("another")]
    url = f"{gateway.url}/doc"
    async with connect(url, additional_headers=headers, subprotocols=offered) as client:
        assert client.subprotocol == "other"
        assert isinstance((await values(client, 1))[0], Step1)
    async with connect(url, additional_headers=headers) as client:
        assert client.subprotocol is None
        assert isinstance((await values(client, 1))[0], Step1)
    async with connect(url) as client:
        assert (await closed(client))[0] == close_codes.UNAUTHENTICATED


async def test_a_client_is_asked_and_answered(gateway: Gateway) -> None:
    gateway.document.write("hello")
    gateway.document.commit()
    async with gateway.connect() as client:
        await client.send(step1_message(EMPTY_STATE_VECTOR))
        asked, answered = await values(client, 2)
        assert asked == Step1(gateway.document.state_vector())
        assert isinstance(answered, Apply)
        assert answered.kind is UpdateKind.STEP_2
        fresh: Doc[Text] = Doc()
        fresh.apply_update(answered.update)
        assert str(fresh.get("text", type=Text)) == "hello"


async def test_an_answer_comes_even_when_there_is_nothing(gateway: Gateway) -> None:
    async with gateway.connect() as client:
        await client.send(step1_message(EMPTY_STATE_VECTOR))
        assert (await values(client, 2))[1] == Apply(UpdateKind.STEP_2, EMPTY_UPDATE)


async def test_an_edit_goes_to_everybody_its_sender_included(gateway: Gateway) -> None:
    gateway.document.commit_soon = True
    async with gateway.connect() as anna, gateway.connect() as ben:
        await values(anna, 1)
        await values(ben, 1)
        update = typed("hello 😀")
        await anna.send(update_message(update))
        assert await values(anna, 1) == await values(ben, 1) == [Apply(UpdateKind.UPDATE, update)]


async def test_several_messages_in_one_frame_are_all_heard(gateway: Gateway) -> None:
    gateway.document.commit_soon = True
    async with gateway.connect() as client:
        await values(client, 1)
        first, second = typed("one"), typed("two")
        await client.send(update_message(first) + update_message(second))
        await until(lambda: gateway.document.applied == [first, second])


async def test_presence_comes_back_to_its_sender_and_ends_with_the_socket(
    gateway: Gateway,
) -> None:
    async with gateway.connect() as ben:
        await values(ben, 1)
        async with gateway.connect() as anna:
            await values(anna, 1)
            entry = AwarenessEntry(77, 1, b'{"name":"Anna"}')
            said = encode_awareness([entry])
            await anna.send(awareness_message(said))
            assert await values(anna, 1) == await values(ben, 1) == [Awareness((entry,), said)]
            await ben.send(query_awareness_message())
            assert await values(ben, 1) == [Awareness((entry,), said)]
        (gone,) = await values(ben, 1)
        assert isinstance(gone, Awareness)
        assert gone.entries == (AwarenessEntry(77, 1, None),)


@pytest.mark.parametrize(
    "frame,code",
    [
        (b"", close_codes.MALFORMED),
        (b"\x00", close_codes.MALFORMED),
        (b"\x00\x02\xff\xff\xff\xff\x0f", close_codes.MALFORMED),
        (b"\x01\x03\x01\x01\x01", close_codes.MALFORMED),
        (awareness_message(b"\x01\x01\x01\x05oops!"), close_codes.MALFORMED),
        (step1_message(b"\xff\xff"), close_codes.MALFORMED),
        ("hello", close_codes.NOT_ACCEPTABLE),
        ("", close_codes.NOT_ACCEPTABLE),
        (update_message(bytes(MAX_FRAME_BYTES + 1)), close_codes.TOO_BIG),
        (bytes(SOCKET_MESSAGE_BYTES + 1), close_codes.TOO_BIG),
    ],
    ids=range(10),
)
async def test_a_bad_frame_costs_its_sender_the_socket_and_nobody_else(
    gateway: Gateway, frame: bytes | str, code: int
) -> None:
    gateway.document.commit_soon = True
    async with gateway.connect() as good, gateway.connect() as bad:
        await values(good, 1)
        with suppress(ConnectionClosed):  # before all of it was sent
            await bad.send(frame)
        assert (await closed(bad))[0] == code
        await until(lambda: gateway.stage.actor.hub.sessions == 1)
        update = typed("still here")
        await good.send(update_message(update))
        assert await values(good, 1) == [Apply(UpdateKind.UPDATE, update)]


async def test_unknown_messages_are_ignored(gateway: Gateway) -> None:
    async with gateway.connect() as client:
        await values(client, 1)
        await client.send(b"\x63")
        await client.send(b"\x66\x01\x02")
        await client.send(step1_message(EMPTY_STATE_VECTOR))
        assert isinstance((await values(client, 1))[0], Apply)


async def test_a_reader_is_told_that_it_may_not_edit(gateway: Gateway) -> None:
    async with gateway.connect(token="reader") as client:
        await values(client, 1)
        await client.send(update_message(typed("no")))
        with anyio.fail_after(10):
            denied = await client.recv()
        assert isinstance(denied, bytes)
        assert denied.startswith(b"\x02\x00")
        await client.send(step1_message(EMPTY_STATE_VECTOR))
        assert gateway.document.applied == []


async def test_a_client_back_from_long_offline_may_send_more_than_a_frame(
    gateway: Gateway,
) -> None:
    gateway.document.commit_soon = True
    update = typed("x" * (MAX_FRAME_BYTES + 1))
    async with gateway.connect() as client:
        await values(client, 1)
        await client.send(step2_message(update))
        await until(lambda: gateway.document.applied == [update], 30)


async def test_sockets_stay_open_while_the_document_moves(gateway: Gateway) -> None:
    stage = gateway.stage
    async with gateway.connect() as client:
        await values(client, 1)
        first = stage.actor
        second = await stage.activate()
        await first.server.stop()
        await until(lambda: stage.lost)
        second.document.commit_soon = True
        await client.send(update_message(typed("typed while it was nowhere")))
        await gateway._link.attach(second.route)
        kinds = {type(value) for value in [(await _raw(client)) for _ in range(2)]}
        assert kinds == {Step1, str}
        await client.send(step2_message(typed("all I have")))
        await until(lambda: str(second.document.text) == "all I have")


async def test_a_silent_client_is_sent_something_now_and_then(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.outbox.SOCKET_QUIET_S", 0.02)
    async with gateway.connect() as client:
        await values(client, 1)
        assert await values(client, 2) == [Awareness((), b"\x00")] * 2


async def _raw(client: ClientConnection) -> Value | str:
    with anyio.fail_after(10):
        data = await client.recv()
    assert isinstance(data, bytes)
    return "query" if data == query_awareness_message() else SyncSession().receive(data)[0]


async def test_a_slow_reader_is_closed_and_slows_nobody(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.outbox.OUTBOX_FRAMES", 50)
    monkeypatch.setattr("gateway.outbox.SOCKET_CLOSE_S", 0.1)
    hub = gateway.stage.actor.hub
    async with gateway.connect() as fast, gateway.connect() as slow:
        await values(fast, 1)
        await values(slow, 1)
        slow.transport.pause_reading()
        state = b'{"pad":"%s"}' % (b"x" * 60_000)
        clock = 0
        while hub.sessions == 2 and clock < 2_000:
            clock += 1
            entry = AwarenessEntry(77, clock, state)
            await fast.send(awareness_message(encode_awareness([entry])))
            (echo,) = await values(fast, 1)
            assert isinstance(echo, Awareness)
            assert echo.entries == (entry,)  # in order, none missing
        assert hub.sessions == 1
        slow.transport.resume_reading()
        # dropped when it did not take the close frame in time
        assert await closed(slow) in {DROPPED, (close_codes.TRY_AGAIN, "too slow")}
