"""A router and its sleeping links, over real sockets and a Directory that the test plays."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from gateway.counts import GatewayCounts
from gateway.router import Router
from shared.directory_protocol import Wake
from shared.errors import DocumentNotFound
from shared.wire import close_codes
from shared.wire.frames import Open
from tests.integration.wire.actor import NODE, Sink, Stage, staged, until
from tests.unit.wire.fakes import ANNA

pytestmark = pytest.mark.anyio

DOC = "abcdefghijkl"


class Road:
    """A Directory that knows one document, where the stage has it."""

    def __init__(self, stage: Stage) -> None:
        self.node_id = NODE
        self.stage = stage
        self.deleted = False
        self.located = 0
        self.acked: list[tuple[Any, ...]] = []
        self.awake: tuple[str, ...] = ()

    async def document(self, *_: Any) -> Any:
        raise AssertionError("nobody calls")

    async def directory(self, method: str, *args: Any) -> Any:
        if method == "awake":
            return self.awake
        if method == "woken":
            self.acked.append(args)
            return None
        assert method == "locate"
        self.located += 1
        return DocumentNotFound.for_document(DOC).to_wire() if self.deleted else self.route()

    def route(self) -> Any:
        return self.stage.actor.route


class Site:
    """One document asleep, with one session at a gateway."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.road = Road(stage)
        self.counts = GatewayCounts("gateway-1")
        self.router = Router("gateway-1", self.road, self.counts)
        self.sink = Sink()

    async def fall_asleep(self) -> None:
        self.link = await self.router.link(DOC)
        self.session = self.link.open_session(self.sink, Open(ANNA))
        await until(lambda: self.stage.actor.server.sole_gateway == "gateway-1")
        assert self.stage.actor.server.sleep()
        await until(lambda: self.link.asleep)
        await self.stage.actor.server.stop()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with staged() as stage:
        site = Site(stage)
        await site.fall_asleep()
        yield site
        await site.router.close()


async def test_asking_for_the_link_wakes_nobody_and_a_session_on_it_does(site: Site) -> None:
    located = site.road.located
    assert await site.router.link(DOC) is site.link
    assert (site.road.located, site.counts.sleeping) == (located, {DOC})
    assert await site.router.sleeps(DOC) == 1
    second = await site.stage.activate()
    site.link.open_session(Sink(), Open(ANNA))
    await until(lambda: second.hub.sessions == 2)
    assert site.counts.sleeping == set()
    assert await site.router.sleeps(DOC) == 0


async def test_a_session_that_comes_when_the_last_one_has_just_left_is_served(site: Site) -> None:
    """It was given the link before that one was given up."""
    link = await site.router.link(DOC)
    site.session.close()
    assert site.counts.sleeping == set()
    second = await site.stage.activate()
    link.open_session(Sink(), Open(ANNA))
    await until(lambda: second.hub.sessions == 1)


async def test_a_session_that_comes_to_a_link_another_has_replaced_comes_again(site: Site) -> None:
    link = await site.router.link(DOC)
    site.session.close()
    await site.stage.activate()
    assert await site.router.link(DOC) is not link
    late = Sink()
    link.open_session(late, Open(ANNA))
    assert late.kicks == [(close_codes.TRY_AGAIN, "link closed")]


async def test_it_follows_whoever_had_it_opened_and_says_so(site: Site) -> None:
    second = await site.stage.activate()
    await site.router._sleepers._woken(Wake(DOC, second.route))
    await until(lambda: second.hub.sessions == 1)
    assert site.road.acked == [("gateway-1", DOC, 2)]
    await site.router._sleepers._woken(Wake("x" * 12, second.route))  # it has nothing of that
    assert len(site.road.acked) == 2


async def test_a_deleted_document_closes_who_sleeps(site: Site) -> None:
    site.road.deleted = True
    await site.router._sleepers._woken(Wake(DOC, None))
    await until(lambda: site.sink.kicks)
    assert site.sink.kicks[0][0] == close_codes.NOT_FOUND


async def test_another_mailbox_makes_it_look_at_all_that_sleeps(site: Site) -> None:
    second = await site.stage.activate()
    site.road.awake = (DOC,)
    await site.router._sleepers._look()
    await until(lambda: second.hub.sessions == 1)
    assert await site.router.sleeps(DOC) == 0
