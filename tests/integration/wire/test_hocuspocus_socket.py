"""The Hocuspocus websocket under uvicorn, with a bare websocket client and a fake document."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

import anyio
import pytest
from pycrdt import Doc, Text
from websockets.asyncio.client import ClientConnection, connect

from gateway.editors.hocuspocus_socket import hocuspocus_socket
from gateway.editors.socket_protocol import EditorSocketProtocol
from shared.limits import MAX_FRAME_BYTES
from shared.wire import close_codes
from shared.wire.hocuspocus_protocol import (
    KEEP_ALIVE,
    PING,
    PONG,
    SYNC_REFUSED,
    SYNC_SAVED,
    addressed,
    authenticated_message,
    permission_denied_message,
    read_frame,
)
from shared.wire.lib0 import var_string
from shared.wire.sync_session import Apply, Awareness, QueryAwareness, Step1
from shared.wire.y_protocol import (
    EMPTY_STATE_VECTOR,
    EMPTY_UPDATE,
    AwarenessEntry,
    awareness_message,
    encode_awareness,
    step1_message,
    step2_message,
    update_message,
)
from tests.integration.wire.actor import until
from tests.integration.wire.gateway import GOOD, Endpoint, Gateway, closed, serving, typed

pytestmark = pytest.mark.anyio

STEP1: Final = step1_message(EMPTY_STATE_VECTOR)
IN_SYNC: Final = step2_message(EMPTY_UPDATE)
LET_IN: Final = authenticated_message(read_only=False)
READ_ONLY: Final = authenticated_message(read_only=True)


@pytest.fixture(params=[EditorSocketProtocol, "websockets-sansio"], ids=["framed", "asgi"])
async def gateway(request: pytest.FixtureRequest) -> AsyncIterator[Gateway]:
    def make(gateway: Gateway) -> Endpoint:
        return hocuspocus_socket(gateway, gateway.authenticate)

    async with serving("/hocuspocus", make, request.param) as running:
        yield running


class Client:
    """A provider's socket, frame by frame."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    async def say(self, *messages: bytes, at: str = "doc") -> None:
        for message in messages:
            await self.connection.send(addressed(at, message))

    async def ask(self, token: str = GOOD, at: str = "doc") -> None:
        """Token, step 1: as a provider, without waiting in between."""
        await self.say(b"\x02\x00" + var_string(token), STEP1, at=at)

    async def join(self, token: str = GOOD, at: str = "doc") -> None:
        """Asks, is let in and synced, and has been told to have saved all."""
        await self.ask(token, at)
        let_in, asked, answered = await self.frames(3, at)
        assert let_in in {LET_IN, READ_ONLY}
        assert (asked[:2], answered[:2]) == (b"\x00\x00", b"\x00\x01")
        await self.say(IN_SYNC, at=at)
        assert await self.frames(1, at) == [SYNC_SAVED]

    async def frames(self, count: int, at: str = "doc") -> list[bytes]:
        """The next `count` messages, all for `at`."""
        address, found = var_string(at), []
        with anyio.fail_after(10):
            for _ in range(count):
                frame = await self.connection.recv()
                assert isinstance(frame, bytes)
                assert frame.startswith(address)
                found.append(frame[len(address) :])
        return found

    async def nothing_more(self) -> None:
        """Whatever was done before is answered; nothing came but a pong."""
        await self.connection.send(PING)
        with anyio.fail_after(10):
            assert await self.connection.recv() == PONG


@pytest.fixture
async def client(gateway: Gateway) -> AsyncIterator[Client]:
    async with joined(gateway) as connection:
        yield Client(connection)


def joined(gateway: Gateway) -> connect:
    return connect(f"{gateway.url}/hocuspocus", max_size=None, max_queue=None)


async def test_a_provider_that_waits_for_nothing_is_let_in_asked_and_answered(
    gateway: Gateway, client: Client
) -> None:
    gateway.document.write("hello")
    gateway.document.commit()
    await client.ask()
    let_in, asked, answered = await client.frames(3)
    assert let_in == LET_IN
    assert asked == step1_message(gateway.document.state_vector())
    fresh: Doc[Text] = Doc()
    _, answer = read_frame(addressed("doc", answered))
    assert isinstance(answer, Apply)
    fresh.apply_update(answer.update)
    assert str(fresh.get("text", type=Text)) == "hello"


async def test_an_update_is_called_saved_once_and_when_it_is_on_disk(
    gateway: Gateway, client: Client
) -> None:
    await client.join()
    update = typed("hello")
    await client.say(update_message(update))
    await until(lambda: gateway.document.applied[-1:] == [update])
    await client.nothing_more()
    gateway.document.commit()
    assert await client.frames(2) == [update_message(update), SYNC_SAVED]
    await client.say(update_message(update))  # brings nothing new
    assert await client.frames(1) == [SYNC_SAVED]
    await client.nothing_more()


async def test_what_a_failed_batch_lost_is_called_saved_when_it_came_again(
    gateway: Gateway, client: Client
) -> None:
    await client.join()
    update = typed("hello")
    await client.say(update_message(update))
    await until(lambda: gateway.document.applied[-1:] == [update])
    gateway.document.fail()
    assert await client.frames(1) == [step1_message(gateway.document.state_vector())]
    await client.nothing_more()
    await client.say(step2_message(update))
    await until(lambda: len(gateway.document.applied) == 3)
    await client.nothing_more()
    gateway.document.commit()
    assert await client.frames(2) == [update_message(update), SYNC_SAVED]
    await client.nothing_more()


async def test_the_socket_stays_while_the_document_moves_and_all_is_saved_in_the_end(
    gateway: Gateway, client: Client
) -> None:
    stage = gateway.stage
    await client.join()
    first = stage.actor
    first.document.commit_soon = False
    lost = typed("lost in memory")
    await client.say(update_message(lost))
    await until(lambda: first.document.applied[-1:] == [lost])
    second = await stage.activate()
    await first.server.stop()
    await until(lambda: stage.lost)
    await client.say(update_message(lost), update_message(typed("typed to nobody")))
    await client.nothing_more()
    second.document.commit_soon = True
    await gateway.the_link.attach(second.route)
    kinds = {type(read_frame(addressed("doc", frame))[1]) for frame in await client.frames(2)}
    assert kinds == {Step1, QueryAwareness}
    await client.say(step2_message(lost))
    assert (await client.frames(4))[1:] == [SYNC_SAVED] * 3
    await client.nothing_more()


async def test_a_reader_is_refused_and_what_brings_nothing_new_is_not(
    gateway: Gateway, client: Client
) -> None:
    gateway.document.write("hello")
    gateway.document.commit()
    await client.ask("reader")
    assert (await client.frames(3))[0] == READ_ONLY
    await client.say(step2_message(gateway.document.diff(EMPTY_STATE_VECTOR)))
    assert await client.frames(1) == [SYNC_SAVED]
    await client.say(update_message(typed("no")))
    assert await client.frames(1) == [SYNC_REFUSED]
    assert gateway.document.applied == []


@pytest.mark.parametrize(
    "ref, token, code",
    [
        ("unknown", "good", "doc_not_found"),
        ("private", "good", "capability_denied"),
        ("doc", "bad", "unauthenticated"),
        ("doc", "", "unauthenticated"),
        ("doc", "nothing", "capability_denied"),
        ("", "good", "doc_not_found"),
        ("Übung 😀", "good", "doc_not_found"),
    ],
)
async def test_a_refusal_is_a_message_and_costs_no_other_document(
    gateway: Gateway, client: Client, ref: str, token: str, code: str
) -> None:
    await client.join(at="doc\x00mine")
    await client.ask(token, ref)
    assert await client.frames(1, ref) == [permission_denied_message(code)]
    await client.nothing_more()
    await client.ask(at="doc\x00other")
    assert (await client.frames(3, "doc\x00other"))[0] == LET_IN
    assert gateway.stage.actor.hub.sessions == 2


async def test_a_token_from_the_handshake_counts_where_a_provider_has_none(
    gateway: Gateway,
) -> None:
    headers = {"Authorization": "Bearer good"}
    async with connect(f"{gateway.url}/hocuspocus", additional_headers=headers) as connection:
        client = Client(connection)
        await client.join("")
        await client.ask("bad", "doc\x00again")
        denied = permission_denied_message("unauthenticated")
        assert await client.frames(1, "doc\x00again") == [denied]


async def test_a_new_token_changes_whose_session_it_is(gateway: Gateway, client: Client) -> None:
    gateway.document.commit_soon = True
    await client.join()
    await client.say(b"\x02\x00" + var_string(GOOD))
    assert await client.frames(1) == [LET_IN]  # nothing else changed
    await client.say(b"\x02\x00" + var_string("reader"), update_message(typed("no")))
    let_in, asked, refused = await client.frames(3)
    assert (let_in, asked[:2], refused) == (READ_ONLY, b"\x00\x00", SYNC_REFUSED)
    assert gateway.stage.actor.hub.sessions == 1
    await client.say(b"\x02\x00" + var_string("bad"))
    assert await client.frames(1) == [permission_denied_message("unauthenticated")]
    await until(lambda: gateway.stage.actor.hub.sessions == 0)


async def test_a_document_that_cannot_be_opened_just_now_is_opened_later(
    gateway: Gateway, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.editors.hocuspocus_socket.REOPEN_S", 0.01)
    await client.ask(at="full")
    await client.join()
    gateway.full.clear()
    assert (await client.frames(3, "full"))[0] == LET_IN


async def test_a_document_that_takes_too_long_sends_the_client_away_for_a_while(
    gateway: Gateway, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.editors.hocuspocus_socket.REOPEN_S", 0.01)
    monkeypatch.setattr("gateway.editors.hocuspocus_socket.SOCKET_OPEN_S", 0.05)
    await client.ask(at="full")
    assert (await closed(client.connection))[0] == close_codes.TRY_AGAIN


async def test_a_gateway_takes_so_many_sessions(
    gateway: Gateway, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.counts.MAX_SESSIONS_PER_GATEWAY", 1)
    monkeypatch.setattr("gateway.editors.hocuspocus_socket.REOPEN_S", 0.01)
    await client.join()
    async with joined(gateway) as second:
        assert (await closed(second))[0] == close_codes.TRY_AGAIN
    await client.ask(at="doc\x00other")
    await client.nothing_more()
    await client.say(b"\x07")
    assert (await client.frames(3, "doc\x00other"))[0] == LET_IN


async def test_one_principal_waits_for_a_place_of_its_own(
    gateway: Gateway, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.counts.SESSIONS_OF_ONE", 1)
    monkeypatch.setattr("gateway.editors.hocuspocus_socket.REOPEN_S", 0.01)
    await client.join()
    await client.ask()  # the token once more: its place is its own
    assert (await client.frames(1))[0] == LET_IN
    async with joined(gateway) as second:
        waiting, ben = Client(second), "doc\x00ben"
        await waiting.ask()
        await waiting.ask("ben", at=ben)
        assert (await waiting.frames(3, ben))[0] == LET_IN
        await waiting.nothing_more()
        await client.say(b"\x07")
        assert (await waiting.frames(3))[0] == LET_IN


async def test_a_socket_that_opens_nothing_is_closed(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.editors.hocuspocus_socket.BARE_SOCKET_S", 0.05)
    async with joined(gateway) as bare, joined(gateway) as used:
        await Client(used).join()
        assert (await closed(bare))[0] == close_codes.TRY_AGAIN
        await Client(used).nothing_more()


async def test_what_is_final_ends_a_document_and_what_is_not_ends_the_socket(
    gateway: Gateway, client: Client
) -> None:
    await client.join()
    gateway.the_link.close(close_codes.FORBIDDEN, "capability_denied")
    assert await client.frames(1) == [permission_denied_message("capability_denied")]
    await client.nothing_more()
    gateway.the_link = await gateway.stage.link()
    await client.join()
    gateway.the_link.close(close_codes.GOING_AWAY, "shutting_down")
    assert await closed(client.connection) == (close_codes.GOING_AWAY, "shutting_down")


async def test_presence_comes_back_to_its_sender_and_ends_with_the_document(
    gateway: Gateway, client: Client
) -> None:
    await client.join()
    async with joined(gateway) as connection:
        anna = Client(connection)
        await anna.join()
        entry = AwarenessEntry(77, 1, b'{"name":"Anna"}')
        said = awareness_message(encode_awareness([entry]))
        await anna.say(said)
        assert await anna.frames(1) == await client.frames(1) == [said]
        await anna.say(b"\x07")
        (gone,) = await client.frames(1)
        _, message = read_frame(addressed("doc", gone))
        assert isinstance(message, Awareness)
        assert message.entries == (AwarenessEntry(77, 1, None),)
        await anna.nothing_more()


async def test_a_silent_client_is_sent_something_now_and_then(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.editors.outbox.SOCKET_QUIET_S", 0.02)
    async with joined(gateway) as connection:
        with anyio.fail_after(10):
            assert [await connection.recv() for _ in range(2)] == [KEEP_ALIVE] * 2


@pytest.mark.parametrize(
    "frame, code",
    [
        (b"", close_codes.MALFORMED),
        (b"\x03do", close_codes.MALFORMED),
        (addressed("doc", b"\x00\x02\xff\xff\xff\xff\x0f"), close_codes.MALFORMED),
        (addressed("doc", awareness_message(b"\x01\x01\x01\x05oops!")), close_codes.MALFORMED),
        (addressed("doc", step1_message(b"\xff\xff")), close_codes.MALFORMED),
        (addressed("doc", update_message(bytes(MAX_FRAME_BYTES + 1))), close_codes.TOO_BIG),
        ("hello", close_codes.NOT_ACCEPTABLE),
    ],
    ids=range(7),
)
async def test_a_bad_frame_costs_its_sender_the_socket_and_nobody_else(
    gateway: Gateway, client: Client, frame: bytes | str, code: int
) -> None:
    gateway.document.commit_soon = True
    await client.join()
    async with joined(gateway) as connection:
        await Client(connection).join()
        await connection.send(frame)
        assert (await closed(connection))[0] == code
    await until(lambda: gateway.stage.actor.hub.sessions == 1)
    update = typed("still here")
    await client.say(update_message(update))
    assert await client.frames(2) == [update_message(update), SYNC_SAVED]


async def test_a_client_back_from_long_offline_may_send_more_than_a_frame(
    gateway: Gateway, client: Client
) -> None:
    gateway.document.commit_soon = True
    await client.ask()
    await client.frames(3)
    update = typed("x" * (MAX_FRAME_BYTES + 1))
    await client.say(step2_message(update))
    await until(lambda: gateway.document.applied == [update], 30)
    assert (await client.frames(2))[1] == SYNC_SAVED


async def test_frames_wait_for_their_document_in_order(gateway: Gateway, client: Client) -> None:
    gateway.full.add("doc")
    gateway.document.commit_soon = True
    updates = [typed(str(number)) for number in range(20)]
    await client.ask()
    await client.say(*(update_message(update) for update in updates))
    await client.nothing_more()
    gateway.full.clear()
    await until(lambda: len(gateway.document.applied) == 20)
    assert gateway.document.applied == updates


async def test_whoever_asks_again_is_answered_once_and_for_the_last_time_asked(
    gateway: Gateway, client: Client
) -> None:
    gateway.full.add("doc")
    for _ in range(50):
        await client.say(b"\x02\x00" + var_string("reader"))
    await client.ask()
    await client.nothing_more()
    gateway.full.clear()
    assert (await client.frames(3))[0] == LET_IN
    await client.nothing_more()
    assert gateway.stage.actor.hub.sessions == 1


async def test_a_socket_is_no_place_to_guess_tokens(
    gateway: Gateway, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.editors.hocuspocus_socket.MAX_REFUSALS", 10)
    for number in range(12):
        await client.say(b"\x02\x00" + var_string(f"guess {number}"), at=f"doc\x00{number}")
    assert (await closed(client.connection))[0] == close_codes.UNAUTHENTICATED
