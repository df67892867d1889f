"""The editor's websocket under uvicorn, with a bare websocket client and a fake document."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress

import anyio
import pytest
from pycrdt import Doc, Text
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from gateway.editors.editor_socket import editor_socket
from gateway.editors.socket_protocol import EditorSocketProtocol
from shared.limits import MAX_FRAME_BYTES, SOCKET_MESSAGE_BYTES
from shared.wire import close_codes
from shared.wire.frames import UpdateKind
from shared.wire.sync_session import Apply, Awareness, Step1, SyncSession, Value
from shared.wire.y_protocol import (
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
from tests.integration.wire.actor import until
from tests.integration.wire.gateway import (
    DROPPED,
    GOOD,
    Endpoint,
    Gateway,
    closed,
    serving,
    typed,
)

pytestmark = pytest.mark.anyio


def joined(gateway: Gateway, ref: str = "doc", token: str = GOOD) -> connect:
    protocols = [Subprotocol(f"docactor.{token}")]
    url = f"{gateway.url}/collab/{ref}"
    return connect(url, subprotocols=protocols, max_size=None, max_queue=None)


@pytest.fixture(params=[EditorSocketProtocol, "websockets-sansio"], ids=["framed", "asgi"])
async def gateway(request: pytest.FixtureRequest) -> AsyncIterator[Gateway]:
    def make(gateway: Gateway) -> Endpoint:
        return editor_socket(gateway, gateway.authenticate)

    async with serving("/collab/{ref}", make, request.param) as running:
        yield running


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
    async with joined(gateway, ref, token) as client:
        assert (await closed(client))[0] == code
    assert gateway.stage.actor.hub.sessions == 0


async def test_a_gateway_takes_so_many_editors(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.counts.MAX_SESSIONS_PER_GATEWAY", 1)
    async with joined(gateway) as first:
        await values(first, 1)
        async with joined(gateway) as second:
            assert (await closed(second))[0] == close_codes.TRY_AGAIN
    await until(lambda: gateway.stage.actor.hub.sessions == 0)
    async with joined(gateway) as third:
        await values(third, 1)


async def test_one_principal_takes_so_many_places_and_leaves_the_others_theirs(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.counts.SESSIONS_OF_ONE", 2)
    async with joined(gateway) as first, joined(gateway) as second:
        await values(first, 1)
        await values(second, 1)
        async with joined(gateway) as third:
            assert await closed(third) == (close_codes.TRY_AGAIN, "rate_limited")
        async with joined(gateway, "doc", "ben") as other:
            await values(other, 1)
    await until(lambda: gateway.stage.actor.hub.sessions == 0)
    async with joined(gateway) as again:
        await values(again, 1)


async def test_codes_that_are_final_for_clients_are_those_a_retry_cannot_mend() -> None:
    final = {code for code in vars(close_codes).values() if code in range(4400, 4500)}
    assert final == {
        close_codes.UNAUTHENTICATED,
        close_codes.FORBIDDEN,
        close_codes.NOT_FOUND,
    }


async def test_the_subprotocol_with_the_token_is_selected(gateway: Gateway) -> None:
    async with joined(gateway) as client:
        assert client.subprotocol == "docactor.good"


async def test_a_token_may_come_as_a_header(gateway: Gateway) -> None:
    headers = {"Authorization": "Bearer good"}
    offered = [Subprotocol("other"), Subprotocol("another")]
    url = f"{gateway.url}/collab/doc"
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
    async with joined(gateway) as client:
        await client.send(step1_message(EMPTY_STATE_VECTOR))
        asked, answered = await values(client, 2)
        assert asked == Step1(gateway.document.state_vector())
        assert isinstance(answered, Apply)
        assert answered.kind is UpdateKind.STEP_2
        fresh: Doc[Text] = Doc()
        fresh.apply_update(answered.update)
        assert str(fresh.get("text", type=Text)) == "hello"


async def test_an_answer_comes_even_when_there_is_nothing(gateway: Gateway) -> None:
    async with joined(gateway) as client:
        await client.send(step1_message(EMPTY_STATE_VECTOR))
        assert (await values(client, 2))[1] == Apply(UpdateKind.STEP_2, EMPTY_UPDATE)


async def test_an_edit_goes_to_everybody_its_sender_included(gateway: Gateway) -> None:
    gateway.document.commit_soon = True
    async with joined(gateway) as anna, joined(gateway) as ben:
        await values(anna, 1)
        await values(ben, 1)
        update = typed("hello 😀")
        await anna.send(update_message(update))
        assert await values(anna, 1) == await values(ben, 1) == [Apply(UpdateKind.UPDATE, update)]


async def test_several_messages_in_one_frame_are_all_heard(gateway: Gateway) -> None:
    gateway.document.commit_soon = True
    async with joined(gateway) as client:
        await values(client, 1)
        first, second = typed("one"), typed("two")
        await client.send(update_message(first) + update_message(second))
        await until(lambda: gateway.document.applied == [first, second])


async def test_presence_comes_back_to_its_sender_and_ends_with_the_socket(
    gateway: Gateway,
) -> None:
    async with joined(gateway) as ben:
        await values(ben, 1)
        async with joined(gateway) as anna:
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
    async with joined(gateway) as good, joined(gateway) as bad:
        await values(good, 1)
        with suppress(ConnectionClosed):  # before all of it was sent
            await bad.send(frame)
        assert (await closed(bad))[0] == code
        await until(lambda: gateway.stage.actor.hub.sessions == 1)
        update = typed("still here")
        await good.send(update_message(update))
        assert await values(good, 1) == [Apply(UpdateKind.UPDATE, update)]


async def test_unknown_messages_are_ignored(gateway: Gateway) -> None:
    async with joined(gateway) as client:
        await values(client, 1)
        await client.send(b"\x63")
        await client.send(b"\x66\x01\x02")
        await client.send(step1_message(EMPTY_STATE_VECTOR))
        assert isinstance((await values(client, 1))[0], Apply)


async def test_a_reader_is_told_that_it_may_not_edit(gateway: Gateway) -> None:
    async with joined(gateway, token="reader") as client:
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
    async with joined(gateway) as client:
        await values(client, 1)
        await client.send(step2_message(update))
        await until(lambda: gateway.document.applied == [update], 30)


async def test_sockets_stay_open_while_the_document_moves(gateway: Gateway) -> None:
    stage = gateway.stage
    async with joined(gateway) as client:
        await values(client, 1)
        first = stage.actor
        second = await stage.activate()
        await first.server.stop()
        await until(lambda: stage.lost)
        second.document.commit_soon = True
        edit = typed("typed while it was nowhere")
        await client.send(update_message(edit))
        await gateway.the_link.attach(second.route)
        kinds = {type(value) for value in [(await _raw(client)) for _ in range(2)]}
        assert kinds == {Step1, str}
        await client.send(step2_message(edit))  # what it has been asked for, kept or not
        await until(lambda: len(second.document.applied) == 2)
        assert str(second.document.text) == "typed while it was nowhere"


async def test_a_silent_client_is_sent_something_now_and_then(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.editors.outbox.SOCKET_QUIET_S", 0.02)
    async with joined(gateway) as client:
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
    monkeypatch.setattr("gateway.editors.outbox.OUTBOX_FRAMES", 50)
    monkeypatch.setattr("gateway.editors.outbox.SOCKET_CLOSE_S", 0.1)
    hub = gateway.stage.actor.hub
    async with joined(gateway) as fast, joined(gateway) as slow:
        await values(fast, 1)
        await values(slow, 1)
        slow.transport.pause_reading()
        clock = 0
        while hub.sessions == 2 and clock < 2_000:
            clock += 1
            state = b'{"pad":"%d%s"}' % (clock, b"x" * 60_000)
            entry = AwarenessEntry(77, clock, state)
            await fast.send(awareness_message(encode_awareness([entry])))
            (echo,) = await values(fast, 1)
            assert isinstance(echo, Awareness)
            assert echo.entries == (entry,)  # in order, none missing
        assert hub.sessions == 1
        slow.transport.resume_reading()
        # dropped when it did not take the close frame in time
        assert await closed(slow) in {DROPPED, (close_codes.TRY_AGAIN, "too slow")}


async def test_who_sends_too_fast_is_read_more_slowly_and_loses_nothing(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shared.wire.pace.BURST_FRAMES", 10)
    monkeypatch.setattr("shared.wire.pace.SOCKET_FRAMES_PER_S", 100)
    gateway.document.commit_soon = True
    async with joined(gateway) as fast, joined(gateway) as other:
        await values(fast, 1)
        await values(other, 1)
        start = anyio.current_time()
        updates = [typed(str(number)) for number in range(40)]
        for update in updates:
            await fast.send(update_message(update))
        await until(lambda: gateway.document.applied)
        mine = typed("not held up")
        await other.send(update_message(mine))
        await until(lambda: mine in gateway.document.applied)
        assert len(gateway.document.applied) < 40
        await until(lambda: len(gateway.document.applied) == 41)
        assert anyio.current_time() - start >= 0.25  # 29 frames at 100 per second
        assert [update for update in gateway.document.applied if update != mine] == updates
