"""The mailboxes of gateways with sleeping documents: told first, at least once, not waited for."""

from __future__ import annotations

import anyio
import pytest

from actors.directory.catalog_memory import MemoryCatalog
from actors.directory.wakes import Wakes
from actors.ports import Holder
from shared.directory_protocol import Wake, WakeNews
from shared.limits import GATEWAY_BACK_S, NOTICE_WAIT_S
from shared.protocol import Route, RouteKey
from tests.unit.clock import Clock
from tests.unit.cluster_double import until

pytestmark = pytest.mark.anyio

DOC = "a" * 12


def route(epoch: int) -> Route:
    return Route(RouteKey(DOC, epoch, "s"), "actor", "n1", "unix:/x", "tcp:h:1")


@pytest.fixture
def clock() -> Clock[float]:
    return Clock(1_000.0)


@pytest.fixture
async def wakes(clock: Clock[float]) -> Wakes:
    made = Wakes(MemoryCatalog(), clock)
    clock.now += GATEWAY_BACK_S + 1
    return made


async def asked(wakes: Wakes) -> WakeNews:
    """What a gateway without a mailbox is told at once."""
    return await wakes.wait("g1", "", 0, 60)


async def test_who_tells_waits_until_the_gateway_is_attached(wakes: Wakes) -> None:
    box = (await asked(wakes)).mailbox
    outcome = list[bool]()

    async def tell() -> None:
        outcome.append(await wakes.tell("g1", route(4)))

    async with anyio.create_task_group() as group:
        group.start_soon(tell)
        news = await wakes.wait("g1", box, 0, 60)
        assert news.wakes == (Wake(DOC, route(4)),)
        wakes.attached("g1", DOC, 3)  # to an earlier activation
        wakes.attached("g2", DOC, 4)
        await anyio.lowlevel.checkpoint()
        assert outcome == []
        wakes.attached("g1", DOC, 4)
    assert outcome == [True]
    assert (await wakes.wait("g1", box, news.number, 0)).wakes == ()


async def test_an_answer_that_got_lost_is_given_again(wakes: Wakes) -> None:
    box = (await asked(wakes)).mailbox
    wakes.gone("g1", DOC)
    first = await wakes.wait("g1", box, 0, 60)
    assert await wakes.wait("g1", box, 0, 60) == first
    wakes.gone("g1", "b" * 12)
    second = await wakes.wait("g1", box, first.number, 60)
    assert [wake.doc_id for wake in second.wakes] == ["b" * 12]


async def test_one_that_does_not_answer_is_not_waited_for_twice(
    wakes: Wakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actors.directory.wakes.WAKE_S", 0.01)
    box = (await asked(wakes)).mailbox
    assert not await wakes.tell("g1", route(4))
    monkeypatch.setattr("actors.directory.wakes.WAKE_S", 60)
    assert not await wakes.tell("g1", route(5))
    # It was only slow: it hears of both, and counts again.
    news = await wakes.wait("g1", box, 0, 60)
    assert [wake.route for wake in news.wakes] == [route(4), route(5)]
    async with anyio.create_task_group() as group:
        group.start_soon(wakes.tell, "g1", route(6))
        await until(lambda: ("g1", DOC) in wakes._awaited)
        wakes.attached("g1", DOC, 6)


async def test_one_that_is_gone_is_not_waited_for_and_finds_another_mailbox(
    wakes: Wakes, clock: Clock[float]
) -> None:
    assert not await wakes.tell("never heard of", route(4))
    box = (await asked(wakes)).mailbox
    clock.now += NOTICE_WAIT_S + GATEWAY_BACK_S + 1
    assert not await wakes.tell("g1", route(4))
    back = await wakes.wait("g1", box, 0, 60)  # at once: it has to look at everything
    assert back.mailbox != box


async def test_a_directory_just_started_waits_for_gateways_to_call(clock: Clock[float]) -> None:
    wakes = Wakes(MemoryCatalog(), clock)
    outcome = list[bool]()

    async def tell() -> None:
        outcome.append(await wakes.tell("g1", route(4)))

    async with anyio.create_task_group() as group:
        group.start_soon(tell)
        await until(lambda: ("g1", DOC) in wakes._awaited)
        news = await wakes.wait("g1", "of the Directory before", 17, 60)
        assert news.wakes == (Wake(DOC, route(4)),)
        wakes.attached("g1", DOC, 4)
    assert outcome == [True]


async def test_what_does_not_sleep_there_any_more_is_named(clock: Clock[float]) -> None:
    catalog = MemoryCatalog()
    wakes = Wakes(catalog, clock)
    holder = Holder("doc-slot-1", "n1", 7, 7)
    for doc_id in ("asleep", "woken", "elsewhere", "held"):
        epoch = await catalog.raise_epoch(doc_id, holder, 0, 1)
        await catalog.fall_asleep(doc_id, epoch, "g1")
        if doc_id != "held":
            at = "g2" if doc_id == "elsewhere" else "g1"
            await catalog.hand_back(doc_id, epoch, 1, at)
    assert await catalog.raise_epoch("woken", holder, 0, 1) == 2
    asleep = dict.fromkeys(("asleep", "woken", "elsewhere", "held", "unknown"), 1)
    awake = await wakes.awake("g1", asleep)
    assert set(awake) == {"woken", "elsewhere", "held", "unknown"}
