"""Open tabs cost no actor: what the Directory does when nobody works, and when somebody comes."""

from __future__ import annotations

import anyio
import pytest

from actors.directory.directory import Directory
from shared.directory_protocol import Created, WakeNews
from shared.errors import DocumentNotFound, StorageUnavailable
from shared.protocol import Caller, Route
from tests.unit.cluster_double import World, until

pytestmark = pytest.mark.anyio

ANN = Caller("person:ann", "Ann", "person:ann", agent=False, scopes=frozenset({"write"}))


async def asleep(world: World, directory: Directory, title: str = "One") -> Created:
    """A document whose sessions are at g1 and that has no actor."""
    made = await directory.create_document(ANN, title)
    slot = world.slots.holding(made.doc_id)
    slot.busy, slot.sole_gateway, slot.still_s = True, "g1", 121.0
    await until(lambda: made.doc_id not in world.slots.locked_by)
    return made


class Gateway:
    """g1, which hears its mailbox and attaches when the test lets it."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self.mailbox, self.seen = "", 0
        self.told: list[tuple[str, Route | None]] = []
        self.may_attach = anyio.Event()
        self.may_attach.set()

    async def follow(self) -> None:
        while True:
            news: WakeNews = await self._directory.wait_for_wakes("g1", self.mailbox, self.seen, 30)
            self.mailbox, self.seen = news.mailbox, news.number
            for wake in news.wakes:
                self.told.append((wake.doc_id, wake.route))
                if wake.route is not None:
                    await self.may_attach.wait()
                    await self._directory.woken("g1", wake.doc_id, wake.route.key.epoch)


async def test_nobody_edits_so_the_actor_leaves_and_the_row_names_the_gateway() -> None:
    world = World()
    async with world.directory() as directory:
        made = await asleep(world, directory)
        row = await world.catalog.assignment(made.doc_id)
        assert row is not None
        assert (row.holder, row.sleeping_at) == (None, "g1")
        told = await directory.metrics()
        assert (told.hibernations, told.wakes, told.active) == (1, 0, {})


@pytest.mark.parametrize(
    "still_s,gateway,hibernate_s", [(119.0, "g1", 120.0), (500.0, "", 120.0), (500.0, "g1", 0.0)]
)
async def test_it_stays_while_somebody_works_or_it_is_switched_off(
    still_s: float, gateway: str, hibernate_s: float
) -> None:
    world = World()
    async with world.directory(hibernate_s=hibernate_s) as directory:
        made = await directory.create_document(ANN, "One")
        slot = world.slots.holding(made.doc_id)
        slot.busy, slot.sole_gateway, slot.still_s = True, gateway, still_s
        beats = slot.beats
        await until(lambda: slot.beats > beats + 3)
        assert world.slots.holding(made.doc_id) is slot


async def test_nobody_has_the_route_before_the_gateway_is_attached() -> None:
    world = World()
    async with world.directory() as directory, anyio.create_task_group() as group:
        made = await asleep(world, directory)
        gateway = Gateway(directory)
        gateway.may_attach = anyio.Event()
        group.start_soon(gateway.follow)
        routes = list[Route]()

        async def locate() -> None:
            routes.append(await directory.locate(made.doc_id))

        group.start_soon(locate)
        await until(lambda: gateway.told)  # type: ignore[arg-type,return-value]
        group.start_soon(locate)  # somebody else, who comes in between
        await until(lambda: made.doc_id in world.slots.locked_by)
        assert routes == []
        gateway.may_attach.set()
        await until(lambda: len(routes) == 2)
        assert gateway.told == [(made.doc_id, routes[0])]
        assert routes[0] == routes[1]
        assert (await directory.metrics()).wakes == 1
        group.cancel_scope.cancel()


async def test_a_gateway_that_does_not_answer_is_waited_for_so_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("actors.directory.wakes.WAKE_S", 0.02)
    monkeypatch.setattr("actors.directory.wakes.GATEWAY_BACK_S", 0.0)
    world = World()
    async with world.directory() as directory:
        made = await asleep(world, directory)
        await directory.wait_for_wakes("g1", "", 0, 30)  # and then it is killed
        route = await directory.locate(made.doc_id)
        assert world.slots.holding(made.doc_id).key == route.key


async def test_another_directory_knows_what_sleeps_where() -> None:
    world = World()
    async with world.directory() as directory:
        made = await asleep(world, directory)
    async with world.directory() as directory, anyio.create_task_group() as group:
        gateway = Gateway(directory)
        group.start_soon(gateway.follow)
        route = await directory.locate(made.doc_id)
        assert gateway.told == [(made.doc_id, route)]
        group.cancel_scope.cancel()


async def test_a_directory_that_dies_in_between_has_said_who_has_the_sessions() -> None:
    world = World()
    async with world.directory() as directory:
        made = await directory.create_document(ANN, "One")
        slot = world.slots.holding(made.doc_id)
        world.slots.may_close.clear()
        slot.busy, slot.sole_gateway, slot.still_s = True, "g1", 121.0
        async with anyio.create_task_group() as group:
            # The slot leaves its sessions to g1 in here; whoever asked it to is gone by then.
            group.start_soon(directory._activations.hibernate, made.doc_id, "g1", 120.0)
            await until(lambda: made.doc_id in directory._activations._closing)
            row = None
            while row is None or row.sleeping_at is None:
                row = await world.catalog.assignment(made.doc_id)
                await anyio.lowlevel.checkpoint()
            assert row.holder is not None
            world.slots.may_close.set()


async def test_an_opening_that_is_refused_does_not_forget_the_sleepers() -> None:
    world = World()
    async with world.directory() as directory:
        made = await asleep(world, directory)
        world.slots.refuse = StorageUnavailable("The disk is gone.")
        with pytest.raises(StorageUnavailable):
            await directory.locate(made.doc_id)
        row = await world.catalog.assignment(made.doc_id)
        assert row is not None
        assert (row.holder, row.sleeping_at) == (None, "g1")


async def test_deleting_a_sleeping_document_is_told_to_its_gateway() -> None:
    world = World()
    async with world.directory() as directory, anyio.create_task_group() as group:
        made = await asleep(world, directory)
        gateway = Gateway(directory)
        group.start_soon(gateway.follow)
        await until(lambda: gateway.mailbox != "")
        await directory.delete_document(ANN, made.doc_id)
        await until(lambda: gateway.told == [(made.doc_id, None)])
        with pytest.raises(DocumentNotFound):
            await directory.locate(made.doc_id)
        group.cancel_scope.cancel()


async def test_a_full_node_puts_a_still_document_to_sleep_before_it_refuses_another() -> None:
    world = World()
    async with world.directory(max_active=1, beat_s=0.01) as directory:
        first = await directory.create_document(ANN, "One")
        slot = world.slots.holding(first.doc_id)
        slot.busy, slot.sole_gateway, slot.still_s = True, "g1", 6.0
        beats = slot.beats
        await until(lambda: slot.beats > beats + 1)
        second = await directory.create_document(ANN, "Two")
        assert set(world.slots.locked_by) == {second.doc_id}
        row = await world.catalog.assignment(first.doc_id)
        assert row is not None
        assert row.sleeping_at == "g1"
