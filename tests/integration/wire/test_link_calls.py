"""Calls over a link: every one is answered, or its caller knows whether it was taken."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from actors.document import link_server
from gateway import router as gateway_router
from gateway.editors.link import DocumentLink
from gateway.roads import LostCallError, UnreachableError
from gateway.router import Router
from shared.calls import Verb, decode_answer, decode_call, encode_answer
from shared.directory_protocol import Admitted
from shared.errors import InternalError, TooLarge
from shared.markdown.parse import parse
from shared.protocol import Caller, InsertRequest, ReadDocumentRequest, RouteKey, WriteResult
from shared.wire.frames import Open
from tests.integration.wire.actor import NODE, Actor, Sink, Stage, staged, until
from tests.unit.wire.fakes import ANNA

pytestmark = pytest.mark.anyio

DOC = "abcdefghijkl"


class Gate:
    """Answers nothing before it is opened."""

    def __init__(self, actor: Actor) -> None:
        self.opened = asyncio.Event()
        self._actor = actor
        actor.serve = self.wait

    async def wait(self, call: bytes) -> bytes:
        await self.opened.wait()
        return b"late " + call

    async def reached(self, calls: int = 1) -> None:
        await until(lambda: len(self._actor.served) == calls)


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with staged() as stage:
        yield stage


def ask(link: DocumentLink, call: bytes, verb: Verb = "read_changes") -> asyncio.Task[bytes]:
    return asyncio.ensure_future(link.call(verb, call))


@pytest.mark.parametrize("node", [NODE, "another node"])
async def test_answers_find_their_callers_in_whatever_order_they_come(
    stage: Stage, node: str
) -> None:
    link = await stage.link(node)
    assert link.takes_calls(stage.actor.key)
    gate = Gate(stage.actor)
    slow = ask(link, b"1")
    await gate.reached()
    stage.actor.serve = quick
    assert await ask(link, b"2", "patch") == b"quick 2"
    assert not slow.done()
    gate.opened.set()
    assert await slow == b"late 1"
    assert stage.actor.served == [("read_changes", b"1"), ("patch", b"2")]


async def quick(call: bytes) -> bytes:
    return b"quick " + call


async def test_a_call_whose_actor_dies_is_lost(stage: Stage) -> None:
    link = await stage.link()
    gate = Gate(stage.actor)
    call = ask(link, b"1")
    await gate.reached()
    for end in tuple(stage.actor.server._links):
        end.abort()
    with pytest.raises(LostCallError):
        await call
    assert not link.takes_calls(stage.actor.key)
    with pytest.raises(UnreachableError):
        await link.call("patch", b"2")
    gate.opened.set()


async def test_a_call_that_was_taken_is_answered_before_the_actor_leaves(stage: Stage) -> None:
    link = await stage.link()
    gate = Gate(stage.actor)
    call = ask(link, b"1")
    await gate.reached()
    leaving = asyncio.ensure_future(stage.actor.server.stop())
    await until(lambda: not link.takes_calls(stage.actor.key))
    gate.opened.set()
    assert await call == b"late 1"
    await leaving


async def test_a_call_that_crosses_the_goodbye_was_certainly_not_taken(stage: Stage) -> None:
    link = await stage.link()
    call = ask(link, b"1")
    await asyncio.sleep(0)  # it is in the socket, not read yet
    await stage.actor.server.stop()
    with pytest.raises(UnreachableError):
        await call
    assert stage.actor.served == []


async def test_a_call_that_crosses_the_farewell_neither(stage: Stage) -> None:
    link = await stage.link()
    sink = Sink()
    link.open_session(sink, Open(ANNA))
    await until(lambda: sink.asked and stage.actor.server.sole_gateway == "gateway-1")
    call = ask(link, b"1")
    await asyncio.sleep(0)
    assert stage.actor.server.sleep()
    with pytest.raises(UnreachableError):
        await call
    await stage.actor.server.stop()
    assert stage.actor.served == []


async def test_a_document_does_not_fall_asleep_over_a_call(stage: Stage) -> None:
    link = await stage.link()
    sink = Sink()
    link.open_session(sink, Open(ANNA))
    await until(lambda: sink.asked and stage.actor.server.sole_gateway == "gateway-1")
    gate = Gate(stage.actor)
    call = ask(link, b"1")
    await gate.reached()
    assert not stage.actor.server.sleep()
    gate.opened.set()
    assert await call == b"late 1"
    await until(stage.actor.server.sleep)


async def test_a_fault_behind_a_call_is_told_by_its_id(stage: Stage) -> None:
    link = await stage.link()

    async def fails(_call: bytes) -> bytes:
        raise ValueError("secret words")

    stage.actor.serve = fails
    answer = decode_answer("patch", await link.call("patch", b"1"))
    assert (answer.code, answer.message) == (InternalError.code, "Something went wrong here.")
    assert len(answer.data["error_id"]) == 8
    assert "secret" not in str(answer)


async def test_a_caller_that_left_leaves_nothing_behind(stage: Stage) -> None:
    link = await stage.link()
    gate = Gate(stage.actor)
    call = ask(link, b"1")
    await gate.reached()
    call.cancel()
    gate.opened.set()
    stage.actor.serve = quick
    assert await link.call("patch", b"2") == b"quick 2"


async def test_many_long_answers_cut_nobody_off(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_server, "LINK_OUTBOX_BYTES", 6 * 2**20)
    link = await stage.link()

    async def long(call: bytes) -> bytes:
        return call * (4 * 2**20)

    stage.actor.serve = long
    answers = await asyncio.gather(*(ask(link, bytes([n])) for n in range(10)))
    assert [answer[:1] for answer in answers] == [bytes([n]) for n in range(10)]
    assert stage.lost == []


def written(cursor: int) -> WriteResult:
    return WriteResult(True, 0, 1, 0, 0, 0, (), (), (), (), cursor, behind=False)


async def test_an_answer_too_long_for_a_frame_is_refused_and_costs_no_link(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_server, "LINK_ANSWER_BYTES", 1_000)
    link = await stage.link()

    async def long(call: bytes) -> bytes:
        return call * 1_001

    stage.actor.serve = long
    answer = decode_answer("read_document", await link.call("read_document", b"1"))
    assert (answer.code, answer.data["bytes"]) == (TooLarge.code, 1_001)
    stage.actor.serve = quick
    assert await link.call("patch", b"2") == b"quick 2"


class Road:
    """A Directory that follows the stage, and Ray's calls, which are counted."""

    def __init__(self, stage: Stage) -> None:
        self.node_id = NODE
        self.stage = stage
        self.called = 0

    async def document(self, *_: Any) -> Any:
        self.called += 1
        return written(self.called)

    async def directory(self, method: str, *args: Any) -> Any:
        if method == "admit":
            return [await self._admit(*asked) for asked in args[0]]
        assert method == "locate"
        return self.stage.actor.route

    async def _admit(self, _ref: str, _caller: Caller) -> Any:
        return Admitted(DOC, "editor", None)


@pytest.fixture
async def road(stage: Stage) -> Road:
    return Road(stage)


@pytest.fixture
async def router(road: Road) -> AsyncIterator[Router]:
    router = Router("gateway-1", road)
    yield router
    await router.close()


async def counted(call: bytes) -> bytes:
    key, caller, request = decode_call("insert", call)
    assert (key.doc_id, caller.name, request) == (DOC, ANNA.name, InsertRequest(()))
    return encode_answer(written(100))


async def test_the_first_call_goes_by_ray_and_those_behind_it_over_the_link(
    stage: Stage, road: Road, router: Router
) -> None:
    stage.actor.serve = counted
    write = InsertRequest(())
    assert (await router.call(DOC, "insert", ANNA, write)).cursor == 1
    link = await router.link(DOC)
    assert link.takes_calls(stage.actor.key)
    assert (await router.call(DOC, "insert", ANNA, write)).cursor == 100
    assert (road.called, len(stage.actor.served)) == (1, 1)


async def test_a_long_call_goes_by_ray_however_open_the_link(
    stage: Stage, road: Road, router: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway_router, "LINK_CALL_BYTES", 100)
    await router.link(DOC)
    write = InsertRequest(parse("word " * 100).blocks)
    assert (await router.call(DOC, "insert", ANNA, write)).cursor == 1
    assert stage.actor.served == []


async def test_a_write_the_actor_did_not_take_is_made_at_the_next_one(
    stage: Stage, road: Road, router: Router
) -> None:
    """It has no idempotency key, and needs none: nothing of it was done."""
    link, first = await router.link(DOC), stage.actor
    second = await stage.activate()
    second.serve = counted
    write = asyncio.ensure_future(router.call(DOC, "insert", ANNA, InsertRequest(())))
    connection = link._connection
    assert connection is not None
    while not connection._calls._pending:  # noqa: ASYNC110  each step of the loop, not a moment
        await asyncio.sleep(0)
    await first.server.stop()
    assert (await write).cursor in {1, 100}  # by Ray, or over the new link
    assert (len(first.served), road.called + len(second.served)) == (0, 1)


async def test_a_read_whose_actor_dies_over_it_is_asked_again_once(
    stage: Stage, road: Road, router: Router
) -> None:
    await router.link(DOC)
    gate = Gate(stage.actor)
    read = asyncio.ensure_future(router.call(DOC, "read_document", ANNA, ReadDocumentRequest()))
    await gate.reached()
    first = stage.actor
    await stage.activate()
    for end in tuple(first.server._links):
        end.abort()
    answer = await read
    assert isinstance(answer, WriteResult)  # Ray's answer, whatever it was asked
    assert road.called == 1
    gate.opened.set()


async def test_a_link_of_an_earlier_activation_takes_no_calls(stage: Stage) -> None:
    link = await stage.link()
    assert not link.takes_calls(RouteKey(DOC, 99, "secret-99"))
