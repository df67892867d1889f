"""A link whose document has no actor: over real sockets, from the last frame to the next actor."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest

from gateway.editors.link import DocumentLink
from gateway.editors.link_session import LinkSession
from shared.limits import KEPT_BYTES
from shared.wire import close_codes
from shared.wire.frames import Open, UpdateKind
from shared.wire.sync_session import Awareness
from shared.wire.y_protocol import (
    EMPTY_STATE_VECTOR,
    EMPTY_UPDATE,
    AwarenessEntry,
    decode_awareness,
    encode_awareness,
)
from tests.integration.wire.actor import Sink, Stage, staged, until
from tests.integration.wire.gateway import typed
from tests.unit.wire.fakes import ANNA, BEN

pytestmark = pytest.mark.anyio


class Tabs:
    """Two sessions of one link, each with a caret, and a document that has gone to sleep."""

    def __init__(self, stage: Stage, link: DocumentLink) -> None:
        self.stage = stage
        self.link = link
        self.sinks = [Sink(), Sink()]
        self.sessions = [
            link.open_session(sink, Open(caller, acks=True))
            for sink, caller in zip(self.sinks, (ANNA, BEN), strict=True)
        ]

    @classmethod
    async def asleep(cls, stage: Stage) -> Tabs:
        tabs = cls(stage, await stage.link())
        for number, session in enumerate(tabs.sessions):
            present(session, 10 + number, 1)
        await until(lambda: len(tabs.sinks[1].presence) >= 2)
        await sleep(stage, tabs.link)
        for sink in tabs.sinks:
            sink.presence.clear()
            sink.asked.clear()
        return tabs

    def seen(self, number: int) -> list[AwarenessEntry]:
        """What a session was told of others' presence, in order."""
        return [
            entry for body in self.sinks[number].presence for entry in decode_awareness(body, 99)
        ]


async def sleep(stage: Stage, link: DocumentLink) -> None:
    await until(lambda: stage.actor.server.sole_gateway == "gateway-1")
    assert stage.actor.server.sleep()
    await until(lambda: link.asleep)
    await stage.actor.server.stop()


def present(session: LinkSession, client: int, clock: int, state: bytes | None = b"{}") -> bool:
    entry = AwarenessEntry(client, clock, state)
    return session.awareness(Awareness((entry,), encode_awareness([entry])))


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with staged() as stage:
        yield stage


async def test_the_sockets_stay_and_carets_go_round(stage: Stage) -> None:
    tabs = await Tabs.asleep(stage)
    assert present(tabs.sessions[0], 10, 2, b'{"at":1}')
    assert tabs.seen(0) == tabs.seen(1) == [AwarenessEntry(10, 2, b'{"at":1}')]
    assert not present(tabs.sessions[1], 10, 3, None)  # Anna's
    tabs.sessions[1].query_awareness()
    assert tabs.seen(1)[-1] == AwarenessEntry(10, 2, b'{"at":1}')
    tabs.sessions[0].close()
    assert tabs.seen(1)[-1] == AwarenessEntry(10, 2, None)
    assert stage.lost == []  # nobody asked for an actor
    assert tabs.link.in_use


async def test_answers_without_news_wake_nobody_and_the_first_edit_once(stage: Stage) -> None:
    tabs = await Tabs.asleep(stage)
    tabs.sessions[0].update(UpdateKind.STEP_2, EMPTY_UPDATE)
    assert stage.lost == []
    key = stage.actor.key
    edit = typed("hello")
    assert not tabs.sessions[0].update(UpdateKind.UPDATE, edit)
    tabs.sessions[1].update(UpdateKind.UPDATE, edit)
    assert stage.lost == [key]
    second = await stage.activate()
    second.document.commit_soon = True
    assert await tabs.link.attach(second.route)
    assert not tabs.link.asleep
    await until(lambda: all(sink.asked for sink in tabs.sinks))
    assert [sink.moves for sink in tabs.sinks] == [1, 1]
    tabs.sessions[0].update(UpdateKind.STEP_2, edit)
    await until(lambda: tabs.sinks[1].updates)
    assert str(second.document.text) == "hello"


async def test_carets_go_round_until_the_next_actor_has_the_sessions(stage: Stage) -> None:
    tabs = await Tabs.asleep(stage)
    tabs.link.wake()
    assert present(tabs.sessions[0], 10, 2, b'{"at":2}')
    assert tabs.seen(1) == [AwarenessEntry(10, 2, b'{"at":2}')]
    second = await stage.activate()
    await tabs.link.attach(second.route)
    await until(lambda: second.hub.sessions == 2)
    present(tabs.sessions[0], 10, 3)
    await until(lambda: tabs.seen(1)[-1] == AwarenessEntry(10, 3, b"{}"))


async def test_a_newcomer_wakes_it_and_so_does_a_question_for_the_whole(stage: Stage) -> None:
    tabs = await Tabs.asleep(stage)
    tabs.link.open_session(Sink(), Open(BEN))
    assert len(stage.lost) == 1
    third = await stage.activate()
    await tabs.link.attach(third.route)
    await until(lambda: third.hub.sessions == 3)
    await sleep(stage, tabs.link)
    tabs.sessions[0].step1(EMPTY_STATE_VECTOR)
    assert len(stage.lost) == 2
    await tabs.link.attach((await stage.activate()).route)
    await until(lambda: tabs.sinks[0].answers)


async def test_a_frame_that_crosses_the_farewell_is_not_lost(stage: Stage) -> None:
    """It was sent before the gateway knew and comes after the actor has closed its ears."""
    link = await stage.link()
    sink = Sink()
    session = link.open_session(sink, Open(ANNA, acks=True))
    await until(lambda: sink.asked and stage.actor.server.sole_gateway == "gateway-1")
    edit = typed("hello")
    assert session.update(UpdateKind.UPDATE, edit)  # in the socket, not read yet
    assert stage.actor.server.sleep()
    await until(lambda: stage.actor.server.leaving)
    await stage.actor.server.stop()
    await until(lambda: stage.lost == [stage.actor.key])  # as if the actor had died
    assert not link.asleep
    assert stage.document.applied == []
    second = await stage.activate()
    second.document.commit_soon = True
    await link.attach(second.route)
    await until(lambda: len(sink.asked) == 2)
    session.update(UpdateKind.STEP_2, edit)
    await until(lambda: str(second.document.text) == "hello")


async def test_who_types_and_leaves_at_once_wakes_it_and_is_not_lost(stage: Stage) -> None:
    """Nobody is there any more whom the next actor could ask."""
    tabs = await Tabs.asleep(stage)
    tabs.sessions[0].update(UpdateKind.UPDATE, typed("hello"))
    for session in tabs.sessions:
        session.close()
    assert stage.lost == [stage.actor.key]
    assert tabs.link.in_use
    second = await stage.activate()
    assert await tabs.link.attach(second.route)
    await until(lambda: str(second.document.text) == "hello")
    assert not tabs.link.in_use


async def test_who_types_and_leaves_during_the_farewell_is_not_lost_either(stage: Stage) -> None:
    link = await stage.link()
    sink = Sink()
    session = link.open_session(sink, Open(ANNA))
    await until(lambda: sink.asked and stage.actor.server.sole_gateway == "gateway-1")
    assert session.update(UpdateKind.UPDATE, typed("hello"))
    session.close()
    assert stage.actor.server.sleep()
    await until(lambda: stage.actor.server.leaving)
    await stage.actor.server.stop()
    await until(lambda: stage.lost == [stage.actor.key])
    assert link.in_use
    second = await stage.activate()
    await link.attach(second.route)
    await until(lambda: str(second.document.text) == "hello")


async def test_an_actor_that_dies_over_an_update_whose_sender_has_left(stage: Stage) -> None:
    link = await stage.link()
    stays = link.open_session(Sink(), Open(BEN))
    goes = link.open_session(Sink(), Open(ANNA))
    await until(lambda: stage.actor.hub.sessions == 2)
    goes.update(UpdateKind.UPDATE, typed("hello"))
    goes.close()
    await until(lambda: str(stage.document.text) == "hello")  # and it is never committed
    second = await stage.activate()
    await link.attach(second.route)
    await until(lambda: str(second.document.text) == "hello")
    assert stays.link is link


async def test_more_than_a_gateway_keeps_is_told(stage: Stage) -> None:
    """Its editor has it still, and comes again."""
    tabs = await Tabs.asleep(stage)
    most = KEPT_BYTES // 2 + 1
    tabs.sessions[0].update(UpdateKind.UPDATE, bytes(most))
    assert not tabs.sinks[0].kicks
    tabs.sessions[1].update(UpdateKind.UPDATE, bytes(most))
    assert [code for code, _ in tabs.sinks[1].kicks] == [close_codes.TRY_AGAIN]
    assert tabs.sinks[0].kicks == []


async def test_of_who_may_only_read_nothing_is_kept(stage: Stage) -> None:
    tabs = await Tabs.asleep(stage)
    reader = tabs.link.open_session(Sink(), Open(BEN, read_only=True))
    reader.update(UpdateKind.UPDATE, typed("not mine to write"))
    for session in (reader, *tabs.sessions):
        session.close()
    assert not tabs.link.in_use


async def test_told_of_the_next_actor_before_the_end_of_the_last_is_heard(stage: Stage) -> None:
    tabs = Tabs(stage, await stage.link())
    await until(lambda: stage.actor.hub.sessions == 2)
    second = await stage.activate()
    assert await tabs.link.attach(second.route)
    await until(lambda: second.hub.sessions == 2)
    assert not await tabs.link.attach(stage.actors[0].route)  # an old story
    assert stage.lost == []


async def test_what_happened_in_its_sleep_is_caught_up_with(stage: Stage) -> None:
    """An activation it was not told of has come and gone meanwhile."""
    tabs = await Tabs.asleep(stage)
    between = await stage.activate()
    between.document.write("written while it slept")
    between.document.commit()
    await between.server.stop()
    await tabs.link.attach((await stage.activate()).route)
    await until(lambda: all(sink.updates for sink in tabs.sinks))


async def test_a_waiting_call_sleeps_too_and_is_woken_by_what_it_waits_for(stage: Stage) -> None:
    link = await stage.link()
    woken = list[bool]()

    async def wait() -> None:
        woken.append(await link.wait_beyond(0, 30))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await sleep(stage, link)
        assert stage.lost == []
        second = await stage.activate()
        await link.attach(second.route)
        await until(lambda: second.hub.waiting)
        second.document.write("news")
        second.document.commit()
    assert woken == [True]


async def test_who_says_nonsense_in_its_sleep_is_closed_alone(stage: Stage) -> None:
    tabs = await Tabs.asleep(stage)
    present(tabs.sessions[0], 10, 2, b"[1]")
    assert tabs.sinks[0].kicks == [(close_codes.MALFORMED, "an awareness state is not an object")]
    assert tabs.seen(1) == [AwarenessEntry(10, 1, None)]
    assert tabs.sinks[1].kicks == []


async def test_the_last_to_leave_leaves_nothing_to_wake(stage: Stage) -> None:
    tabs = await Tabs.asleep(stage)
    for session in tabs.sessions:
        session.close()
    assert not tabs.link.in_use
    assert stage.lost == [stage.actor.key]  # the router forgets a link that is not in use


async def test_those_still_there_are_told_together(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shared.wire.sleeping_room.RENEWAL_S", 0.01)
    tabs = await Tabs.asleep(stage)
    present(tabs.sessions[0], 10, 2)
    present(tabs.sessions[1], 11, 2)
    assert tabs.seen(0) == []
    await until(lambda: tabs.sinks[0].presence)
    assert tabs.sinks[0].presence == [
        encode_awareness([AwarenessEntry(10, 2, b"{}"), AwarenessEntry(11, 2, b"{}")])
    ]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Milliseconds of the sessions' clock, in the one item."""
    now = [1_700_000_000_000]
    monkeypatch.setattr("gateway.editors.link_session._now_ms", lambda: now[0])
    return now


async def test_what_was_read_asleep_is_handed_over_with_the_session(
    stage: Stage, clock: list[int]
) -> None:
    tabs = await Tabs.asleep(stage)
    clock[0] += 12_000
    present(tabs.sessions[0], 10, 2)
    second = await stage.activate()
    second.document.now = clock[0]
    await tabs.link.attach(second.route)
    await until(lambda: second.hub.sessions == 2)
    readers = second.document.readers
    assert readers.last_left("person:anna") is None
    tabs.sessions[0].close()
    await until(lambda: second.hub.sessions == 1)
    assert readers.last_left("person:anna") == clock[0]


async def test_the_last_session_of_somebody_who_read_wakes_the_document_to_say_so(
    stage: Stage, clock: list[int]
) -> None:
    tabs = await Tabs.asleep(stage)
    other = tabs.link.open_session(Sink(), Open(ANNA))
    second = await stage.activate()
    await tabs.link.attach(second.route)
    await until(lambda: second.hub.sessions == 3)
    await sleep(stage, tabs.link)
    stage.lost.clear()
    clock[0] += 12_000
    present(tabs.sessions[0], 10, 5)
    tabs.sessions[0].close()
    assert stage.lost == []  # they have another one
    other.parted()
    other.close()
    assert len(stage.lost) == 1
    assert tabs.link.in_use
    third = await stage.activate()
    third.document.now = clock[0] + 1
    await tabs.link.attach(third.route)
    await until(lambda: third.document.stamps == 1)
    assert third.document.readers.last_left("person:anna") == clock[0]


async def test_who_did_not_read_wakes_nobody(stage: Stage, clock: list[int]) -> None:
    tabs = await Tabs.asleep(stage)
    clock[0] += 9_000
    tabs.sessions[0].parted()
    tabs.sessions[0].close()
    assert stage.lost == []
