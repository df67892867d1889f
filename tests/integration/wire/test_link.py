"""Link server and gateway link over real sockets, in one process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import anyio
import pytest
from pycrdt import Doc, Text

from gateway.editors.link import DocumentLink
from shared import limits
from shared.errors import Moved
from shared.protocol import Route, RouteKey
from shared.wire import close_codes
from shared.wire.frames import (
    Ack,
    Frame,
    FrameReader,
    Hello,
    Kind,
    Open,
    UpdateKind,
    encode_control,
)
from shared.wire.sync_session import Awareness
from shared.wire.y_protocol import (
    EMPTY_STATE_VECTOR,
    AwarenessEntry,
    decode_awareness,
    encode_awareness,
)
from tests.integration.wire.actor import NODE, Sink, Stage, opened, staged, until
from tests.unit.wire.fakes import ANNA, BEN

pytestmark = pytest.mark.anyio


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with staged() as stage:
        yield stage


def presence(client: int, clock: int, name: bytes = b"x") -> Awareness:
    entry = AwarenessEntry(client, clock, b'{"name":"%s"}' % name)
    return Awareness((entry,), encode_awareness([entry]))


def typed(text: str) -> bytes:
    doc: Doc[Text] = Doc()
    doc["text"] = Text(text)
    return doc.get_update()


@pytest.mark.parametrize("node", [NODE, "another node"])
async def test_an_edit_reaches_every_session_over_unix_and_tcp(stage: Stage, node: str) -> None:
    link = await stage.link(node)
    anna, ben = Sink(), Sink()
    session = link.open_session(anna, Open(ANNA, acks=True))
    link.open_session(ben, Open(BEN))
    session.step1(EMPTY_STATE_VECTOR)
    session.update(UpdateKind.UPDATE, typed("hello"))
    await until(lambda: str(stage.document.text) == "hello")
    assert anna.updates == ben.updates == []
    stage.document.commit()
    await until(lambda: anna.updates and ben.updates and anna.acks)
    assert anna.updates == ben.updates
    assert anna.acks == [(Ack.SAVED, "")]
    assert (len(anna.asked), len(anna.answers), len(ben.asked)) == (1, 1, 1)


@pytest.mark.parametrize(
    "key",
    [
        RouteKey("abcdefghijkl", 1, "wrong"),
        RouteKey("abcdefghijkl", 2, "secret-1"),
        RouteKey("bbbbbbbbbbbb", 1, "secret-1"),
    ],
)
async def test_a_route_that_is_not_this_activation_is_refused(stage: Stage, key: RouteKey) -> None:
    route = stage.actor.route
    wrong = Route(key, route.actor, NODE, route.link, route.link_tcp)
    with pytest.raises(Moved):
        await DocumentLink.connect(wrong, "gateway-1", node_id=NODE, on_loss=stage._lost)
    assert stage.lost == []


async def test_a_route_to_nobody_is_a_moved_document(stage: Stage) -> None:
    gone = stage.actor.route
    await stage.actor.server.stop()
    for node in (NODE, "another node"):
        with pytest.raises(Moved):
            await DocumentLink.connect(gone, "gateway-1", node_id=node, on_loss=stage._lost)


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00\x00\x00\x00",
        b"\xff\xff\xff\xff",
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        (limits.LINK_HELLO_BYTES + 1).to_bytes(4, "big") + b"\x01",
        b"\x00\x00\x00\x01\x08",
        b"\x00\x00\x00\x03\x01\xff\xff",
    ],
    ids=lambda sent: sent[:5].hex(),
)
async def test_whoever_does_not_begin_with_a_hello_is_cut_off(stage: Stage, sent: bytes) -> None:
    for address in (stage.actor.route.link, stage.actor.route.link_tcp):
        reader, writer = await opened(address)
        writer.write(sent)
        with anyio.fail_after(5):
            assert await _to_the_end(reader) == b""
        writer.close()
    link = await stage.link()
    assert link.attached


async def test_whoever_says_nothing_is_cut_off(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actors.document.link_server.LINK_HELLO_S", 0.05)
    reader, writer = await opened(stage.actor.route.link)
    with anyio.fail_after(5):
        assert await _to_the_end(reader) == b""
    writer.close()


async def test_an_old_gateway_is_told_that_the_document_moved(stage: Stage) -> None:
    reader, writer = await opened(stage.actor.route.link)
    key = RouteKey("abcdefghijkl", 1, "old")
    writer.write(encode_control(Kind.HELLO, Hello(key, "gateway-1")))
    with anyio.fail_after(5):
        answer = await _to_the_end(reader)
    writer.close()
    frames = FrameReader(10_000)
    frames.feed(answer)
    assert [frame.kind for frame in _all(frames)] == [Kind.REFUSED]


async def test_loss_is_told_once_and_the_sessions_follow_to_the_next_actor(stage: Stage) -> None:
    link = await stage.link()
    anna, ben = Sink(), Sink()
    session = link.open_session(anna, Open(ANNA))
    link.open_session(ben, Open(BEN))
    session.step1(EMPTY_STATE_VECTOR)
    session.update(UpdateKind.UPDATE, typed("one "))
    await until(lambda: str(stage.document.text) == "one ")
    stage.document.commit()
    await until(lambda: anna.updates and ben.updates and anna.answers)
    first = stage.actor
    second = await stage.activate()
    await first.server.stop()
    await until(lambda: stage.lost)
    assert (stage.lost, link.route) == ([first.key], None)
    second.document.write("missed ")
    second.document.commit()
    session.update(UpdateKind.UPDATE, typed("never arrives"))
    await link.attach(second.route)
    await until(lambda: len(anna.updates) == len(ben.updates) == 2)
    await until(lambda: len(anna.asked) == len(ben.asked) == 2)
    assert anna.moves == ben.moves == 1
    assert anna.kicks == []
    fresh: Doc[Text] = Doc()
    for update in ben.updates:
        fresh.apply_update(update)
    assert str(fresh.get("text", type=Text)) == "one missed "
    assert second.hub.sessions == 2
    assert stage.lost == [first.key]


async def test_a_step_1_without_its_answer_is_answered_by_the_next_actor(stage: Stage) -> None:
    link = await stage.link()
    stage.document.write("not yet on disk")
    sink = Sink()
    link.open_session(sink, Open(ANNA)).step1(EMPTY_STATE_VECTOR)
    await until(lambda: sink.asked)
    first = stage.actor
    second = await stage.activate()
    await first.server.stop()
    await until(lambda: stage.lost)
    assert sink.answers == []
    await link.attach(second.route)
    await until(lambda: sink.answers)


async def test_a_session_opened_while_the_document_is_nowhere_begins_when_it_is_back(
    stage: Stage,
) -> None:
    link = await stage.link()
    first = stage.actor
    second = await stage.activate()
    await first.server.stop()
    await until(lambda: stage.lost)
    sink = Sink()
    session = link.open_session(sink, Open(ANNA))
    session.step1(EMPTY_STATE_VECTOR)
    await link.attach(second.route)
    await until(lambda: sink.asked and sink.answers)
    session.close()
    await until(lambda: second.hub.sessions == 0)


async def test_presence_keeps_its_owners_when_the_document_moves(stage: Stage) -> None:
    link = await stage.link()
    anna, ben = Sink(), Sink()
    anna_session = link.open_session(anna, Open(ANNA))
    ben_session = link.open_session(ben, Open(BEN))
    anna_session.awareness(presence(1, 5, b"anna"))
    ben_session.awareness(presence(2, 5, b"ben"))
    await until(lambda: len(ben.presence) == 2)
    first = stage.actor
    second = await stage.activate()
    await first.server.stop()
    await until(lambda: stage.lost)
    await link.attach(second.route)
    both = (*presence(1, 5, b"anna").entries, *presence(2, 5, b"ben").entries)
    # unmodified clients answer with everybody they know
    ben_session.awareness(Awareness(both, encode_awareness(both)))
    anna_session.awareness(Awareness(both, encode_awareness(both)))
    await until(lambda: len(anna.presence) >= 4)
    anna_session.close()
    await until(lambda: decode_awareness(ben.presence[-1], 9) == [AwarenessEntry(1, 5, None)])


async def test_echoes_of_others_never_cross_the_link(stage: Stage) -> None:
    link = await stage.link()
    anna, ben = Sink(), Sink()
    said = presence(1, 5)
    link.open_session(anna, Open(ANNA)).awareness(said)
    ben_session = link.open_session(ben, Open(BEN))
    await until(lambda: ben.presence)
    told = len(anna.presence)
    ben_session.awareness(said)
    ben_session.awareness(presence(2, 1))
    await until(lambda: len(anna.presence) > told)
    assert [entry.client for entry in decode_awareness(anna.presence[-1], 9)] == [2]
    assert all(len(decode_awareness(update, 9)) == 1 for update in ben.presence)


async def test_a_session_closed_by_the_document_hears_why(stage: Stage) -> None:
    link = await stage.link()
    sink = Sink()
    session = link.open_session(sink, Open(ANNA))
    session.step1(b"\xff\xff\xff")
    await until(lambda: sink.kicks)
    assert sink.kicks[0][0] == close_codes.MALFORMED
    assert link.sessions == 0
    session.close()


async def test_a_waiting_call_is_woken_by_a_change_and_not_by_its_own(stage: Stage) -> None:
    link = await stage.link()
    results: list[bool] = []

    async def wait() -> None:
        results.append(await link.wait_beyond(0, 10, "agent:a"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await until(lambda: stage.actor.hub.waiting)
        stage.document.write("own", "agent:a")
        stage.document.commit()
        await until(lambda: link.change_seq == 1)
        assert results == []
        stage.document.write("other", "person:b")
        stage.document.commit()
    assert results == [True]
    await until(lambda: not stage.actor.hub.waiting)


async def test_a_waiting_call_ends_when_its_time_is_over(stage: Stage) -> None:
    link = await stage.link()
    assert await link.wait_beyond(0, 0.01) is False
    stage.document.write("x")
    stage.document.commit()
    await until(lambda: link.change_seq == 1)
    assert await link.wait_beyond(0, 0) is True


async def test_waiting_calls_survive_a_move_and_see_what_changed_meanwhile(stage: Stage) -> None:
    link = await stage.link()
    results: list[bool] = []

    async def wait() -> None:
        results.append(await link.wait_beyond(0, 10))

    async with anyio.create_task_group() as tasks:
        for _ in range(300):
            tasks.start_soon(wait)
        await until(lambda: stage.actor.hub.waiting)
        first = stage.actor
        second = await stage.activate()
        await first.server.stop()
        await until(lambda: stage.lost)
        assert link.in_use
        second.document.write("meanwhile")
        second.document.commit()
        await link.attach(second.route)
    assert results == [True] * 300
    assert not link.in_use


async def test_an_actor_that_answers_no_ping_is_given_up(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.editors.link_connection.LINK_PING_S", 0.02)
    monkeypatch.setattr("gateway.editors.link_connection.LINK_DEAD_S", 0.1)
    monkeypatch.setattr(
        "actors.document.link_server.ServerLink.frame_received",
        lambda self, frame: self._hello(frame) if frame.kind == Kind.HELLO else None,
    )
    await stage.link()
    await until(lambda: stage.lost)


async def test_an_actor_that_is_there_is_not_given_up(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.editors.link_connection.LINK_PING_S", 0.01)
    monkeypatch.setattr("gateway.editors.link_connection.LINK_DEAD_S", 0.2)
    seen: list[Frame] = []
    link = await stage.link()
    connection = link._connection
    assert connection is not None
    monkeypatch.setattr(connection, "frame_received", seen.append)
    await until(lambda: len(seen) > 40)
    assert {frame.kind for frame in seen} == {Kind.PONG}
    assert stage.lost == []


async def test_while_the_document_is_backlogged_nothing_more_is_read(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actors.document.link_server.LINK_PING_S", 0.01)
    monkeypatch.setattr("gateway.editors.link_connection.LINK_PING_S", 0.01)
    monkeypatch.setattr("gateway.editors.link_connection.LINK_DEAD_S", 0.15)
    link = await stage.link()
    sink = Sink()
    session = link.open_session(sink, Open(ANNA))
    await until(lambda: sink.asked)
    stage.document.write("open")
    stage.document.backlogged = True
    applied = len(stage.document.applied)
    large = typed("x" * 100_000)
    for _ in range(200):
        session.update(UpdateKind.UPDATE, large)
    writable = anyio.Event()

    async def wait() -> None:
        await link.wait_writable()
        writable.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        with anyio.move_on_after(0.4):  # much longer than a dead actor is given
            await writable.wait()
        assert not writable.is_set()
        assert stage.lost == []
        assert len(stage.document.applied) == applied
        stage.document.backlogged = False
        stage.document.commit()
    await until(lambda: len(stage.document.applied) == applied + 200)


async def test_a_gateway_that_does_not_read_is_cut_off_and_others_do_not_notice(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actors.document.link_server.LINK_OUTBOX_BYTES", 2**20)
    _, writer = await opened(stage.actor.route.link)
    writer.write(encode_control(Kind.HELLO, Hello(stage.actor.key, "stuck")))
    link = await stage.link()
    sink = Sink()
    session = link.open_session(sink, Open(ANNA))
    await until(lambda: len(stage.actor.hub._links) == 2 and sink.asked)
    stuck = next(iter(stage.actor.server._links - {_server_side(stage, session.number)}))
    for _ in range(2_000):
        if not stuck.connected:
            break
        stuck.send(b"\x00\x00\xff\xff\x19" + b"x" * 65_534)
    await until(lambda: len(stage.actor.hub._links) == 1)
    session.update(UpdateKind.UPDATE, typed("fine"))
    await until(lambda: str(stage.document.text) == "fine")
    stage.document.commit()
    await until(lambda: sink.updates)
    writer.close()


async def test_a_flood_on_one_link_leaves_time_for_everybody_else(stage: Stage) -> None:
    flooding, quiet = await stage.link(), await stage.link()
    flood = flooding.open_session(Sink(), Open(ANNA))
    sink = Sink()
    session = quiet.open_session(sink, Open(BEN))
    await until(lambda: sink.asked)
    for _ in range(20_000):
        flood.query_awareness()
    session.step1(EMPTY_STATE_VECTOR)
    with anyio.fail_after(2):
        await until(lambda: sink.answers)


async def test_closing_a_link_ends_its_sessions_and_tells_nobody_of_a_loss(stage: Stage) -> None:
    link = await stage.link()
    sink = Sink()
    link.open_session(sink, Open(ANNA))
    await until(lambda: stage.actor.hub.sessions == 1)
    link.close(close_codes.NOT_FOUND, "deleted")
    assert sink.kicks == [(close_codes.NOT_FOUND, "deleted")]
    await until(lambda: stage.actor.hub.sessions == 0)
    assert stage.lost == []


async def test_attaching_twice_at_once_makes_one_connection(stage: Stage) -> None:
    link = await stage.link()
    sink = Sink()
    link.open_session(sink, Open(ANNA))
    first = stage.actor
    second = await stage.activate()
    await first.server.stop()
    await until(lambda: stage.lost)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(link.attach, second.route)
        tasks.start_soon(link.attach, second.route)
    await until(lambda: sink.moves)
    assert len(second.server._links) == second.hub.sessions == sink.moves == 1


async def test_a_link_closed_while_it_attaches_stays_closed(stage: Stage) -> None:
    link = await stage.link()
    first = stage.actor
    second = await stage.activate()
    await first.server.stop()
    await until(lambda: stage.lost)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(link.attach, second.route)
        await until(lambda: second.server._links)
        link.close()
    await until(lambda: not second.server._links)
    assert not link.attached
    assert len(stage.lost) == 1


async def test_a_large_step_2_crosses_whole(stage: Stage) -> None:
    link = await stage.link("another node")
    sink = Sink()
    session = link.open_session(sink, Open(ANNA, acks=True))
    update = typed("ä" * 10 * 2**20)
    session.update(UpdateKind.STEP_2, update)
    await until(lambda: stage.document.applied == [update])
    stage.document.commit()
    await until(lambda: sink.acks)
    assert sink.acks == [(Ack.SAVED, "")]
    await until(lambda: sink.updates)
    assert len(sink.updates[0]) >= len(update) - 100


def _server_side(stage: Stage, number: int) -> object:
    return next(peer for peer, link in stage.actor.hub._links.items() if number in link.sessions)


def _all(reader: FrameReader) -> list[Frame]:
    found = []
    while (frame := reader.next()) is not None:
        found.append(frame)
    return found


async def _to_the_end(reader: asyncio.StreamReader) -> bytes:
    """All bytes until the other side ends the connection, politely or not."""
    data = b""
    try:
        while piece := await reader.read(65_536):
            data += piece
    except ConnectionResetError:
        return data
    return data
