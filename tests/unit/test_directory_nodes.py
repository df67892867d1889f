"""Nodes under the Directory: drained, taken back, full, and what has to give way."""

from __future__ import annotations

import anyio
import pytest

from actors.directory.directory import Directory
from shared.directory_protocol import Created, NodeStatus
from shared.errors import InvalidArgument, Overloaded, StorageUnavailable
from shared.protocol import Caller
from tests.unit.cluster_double import FakeSlots, World, until

pytestmark = pytest.mark.anyio

ANN = Caller("person:ann", "Ann", "person:ann", agent=False, scopes=frozenset({"write"}))


def two_nodes() -> World:
    return World(FakeSlots(nodes=("node-a", "node-b")))


async def create(directory: Directory, count: int) -> list[Created]:
    return [await directory.create_document(ANN, f"Document {n}") for n in range(count)]


async def node(directory: Directory, node_id: str) -> NodeStatus:
    status = await directory.status()
    return next(node for node in status.nodes if node.node_id == node_id)


def homes(world: World) -> dict[str, str]:
    """Node by active document."""
    slots = world.slots
    return {doc: slots.slots[actor].holder.node_id for doc, actor in slots.locked_by.items()}


async def test_documents_of_a_drained_node_open_elsewhere_on_demand() -> None:
    world = two_nodes()
    async with world.directory(max_active=9) as directory:
        made = await create(directory, 6)
        before = homes(world)
        moved = [doc_id for doc_id, at in before.items() if at == "node-a"]
        assert len(moved) == 3
        answer = await directory.drain_node("node-a", False)
        assert (answer.draining, answer.active, answer.blank) == (True, 0, 0)
        assert homes(world) == {d: at for d, at in before.items() if at == "node-b"}
        for doc in made:
            await directory.locate(doc.doc_id)
        assert set(homes(world).values()) == {"node-b"}
        assert len(world.slots.locked_by) == 6


async def test_drained_node_keeps_no_slot_and_starts_none() -> None:
    world = two_nodes()
    async with world.directory(warm_slots=2) as directory:
        await until(lambda: len(world.slots.slots) == 4)
        await directory.drain_node("node-a")
        assert {s.holder.node_id for s in world.slots.slots.values() if s.alive} == {"node-b"}
        await create(directory, 3)
        await directory._activations.sweep()
        await until(lambda: world.slots.starting == 0)
        assert {s.holder.node_id for s in world.slots.slots.values() if s.alive} == {"node-b"}
        assert (await directory.status()).ready


async def test_node_is_named_by_the_beginning_of_its_id() -> None:
    async with two_nodes().directory() as directory:
        for wrong, said in (
            ("node-", "several nodes begin with"),
            ("x", "no node begins with"),
            ("", "no node"),
        ):
            with pytest.raises(InvalidArgument, match=said) as caught:
                await directory.drain_node(wrong)
            assert caught.value.data["nodes"] == ["node-a", "node-b"]
        assert (await directory.drain_node("node-b")).node_id == "node-b"


async def test_last_node_is_not_drained_unless_forced() -> None:
    world = two_nodes()
    async with world.directory() as directory:
        (made,) = await create(directory, 1)
        await directory.drain_node("node-b")
        await directory.locate(made.doc_id)
        with pytest.raises(InvalidArgument, match="nowhere to go"):
            await directory.drain_node("node-a")
        assert world.slots.holding(made.doc_id).holder.node_id == "node-a"
        await directory.drain_node("node-a", force=True)
        assert world.slots.locked_by == {}
        assert not (await directory.status()).ready
        with pytest.raises(Overloaded):
            await directory.locate(made.doc_id)


async def test_node_that_was_refused_is_nowhere_to_go() -> None:
    world = two_nodes()
    world.slots.foreign_nodes = {"node-b"}
    async with world.directory(max_active=9) as directory:
        await create(directory, 3)
        with pytest.raises(InvalidArgument, match="nowhere to go"):
            await directory.drain_node("node-a")


async def test_node_taken_back_has_documents_and_slots_again() -> None:
    world = World()
    async with world.directory() as directory:
        await directory.drain_node("n1", force=True)
        answer = await directory.undrain_node("n1")
        assert not answer.draining
        (made,) = await create(directory, 1)
        assert homes(world) == {made.doc_id: "n1"}
        assert await world.catalog.drained() == frozenset()


async def test_node_stays_drained_over_a_restart_of_the_directory() -> None:
    world = two_nodes()
    async with world.directory() as directory:
        await directory.drain_node("node-a")
    async with world.directory() as directory:
        await create(directory, 2)
        assert set(homes(world).values()) == {"node-b"}
        assert (await node(directory, "node-a")).draining
    world.slots.node_infos = [n for n in world.slots.node_infos if n.node_id != "node-a"]
    async with world.directory():
        assert await world.catalog.drained() == frozenset()  # it left: nobody asks any more


async def test_document_that_was_opening_on_a_node_being_drained_is_closed_too() -> None:
    world = two_nodes()
    async with world.directory(max_active=9) as directory:
        made = (await create(directory, 1))[0]
        assert await directory._activations.passivate(made.doc_id, None)
        world.slots.may_activate.clear()
        before = len(world.slots.activations)
        async with anyio.create_task_group() as group:
            group.start_soon(directory.locate, made.doc_id)
            await until(lambda: len(world.slots.activations) > before)
            assignment = await world.catalog.assignment(made.doc_id)
            assert assignment is not None
            assert assignment.holder is not None
            at = assignment.holder.node_id
            await directory.drain_node(at)
            world.slots.may_activate.set()
        await until(lambda: at not in homes(world).values())
        await until(lambda: all(b.node_id != at for b in directory._nodes.blanks()))


async def test_draining_answers_in_time_while_a_document_still_closes() -> None:
    world = two_nodes()
    async with world.directory(drain_s=0.05) as directory:
        made = await create(directory, 2)
        world.slots.may_close.clear()
        answer = await directory.drain_node("node-a")
        assert (answer.draining, answer.active) == (True, 1)
        world.slots.may_close.set()
        await until(lambda: len(world.slots.locked_by) == 1)
        assert (await directory.drain_node("node-a")).active == 0
        assert {doc.doc_id for doc in made} > set(world.slots.locked_by)


async def test_silent_slot_of_a_drained_node_is_killed() -> None:
    world = two_nodes()
    async with world.directory() as directory:
        made = await create(directory, 2)
        (silent,) = [d.doc_id for d in made if homes(world)[d.doc_id] == "node-a"]
        slot = world.slots.holding(silent)
        slot.silent = True
        assert (await directory.drain_node("node-a")).active == 0
        assert slot.holder.actor in world.slots.killed
        assert (await directory.locate(silent)).node_id == "node-b"


# --- full nodes -----------------------------------------------------------------------------------


async def test_document_opened_a_moment_ago_gives_way_too_when_nobody_is_at_it() -> None:
    world = World()
    async with world.directory(max_active=2, beat_s=60.0) as directory:
        made = await create(directory, 6)  # no heartbeat has been heard of any of them
        assert list(world.slots.locked_by) == [made[4].doc_id, made[5].doc_id]


async def test_least_recently_used_goes_first_and_a_busy_one_never() -> None:
    world = World()
    async with world.directory(max_active=3, beat_s=60.0) as directory:
        made = await create(directory, 3)
        for doc, idle_s in zip(made, (20.0, 40.0, 30.0), strict=True):
            world.slots.holding(doc.doc_id).idle_s = idle_s
        world.slots.holding(made[1].doc_id).busy = True
        await directory._activations.sweep()
        gone = []
        for n in range(2):
            before = set(world.slots.locked_by)
            await directory.create_document(ANN, f"Further {n}")
            gone += sorted(before - set(world.slots.locked_by))
        assert made[1].doc_id in world.slots.locked_by
        assert gone == [made[2].doc_id, made[0].doc_id]


async def test_full_and_busy_is_overloaded_until_somebody_leaves() -> None:
    world = World()
    async with world.directory(max_active=2, beat_s=60.0) as directory:
        made = await create(directory, 2)
        for doc in made:
            world.slots.holding(doc.doc_id).busy = True
        with pytest.raises(Overloaded) as caught:
            await create(directory, 1)
        assert caught.value.retryable
        assert set(world.slots.locked_by) == {doc.doc_id for doc in made}
        assert not (await directory.status()).ready
        world.slots.holding(made[0].doc_id).busy = False  # since the last heartbeat
        await create(directory, 1)
        assert made[0].doc_id not in world.slots.locked_by


async def test_many_at_once_past_the_limit_never_exceed_it() -> None:
    world = World()
    async with world.directory(max_active=3, beat_s=60.0) as directory:
        made = await create(directory, 12)
        most = 0

        async def locate(doc_id: str) -> None:
            nonlocal most
            try:
                await directory.locate(doc_id)
            except Overloaded:
                return
            finally:
                most = max(most, len(world.slots.locked_by))

        async with anyio.create_task_group() as group:
            for doc in made:
                group.start_soon(locate, doc.doc_id)
        assert most <= 3
        (status,) = (await directory.status()).nodes
        assert status.active == len(world.slots.locked_by) <= 3


async def test_used_up_slot_is_replaced_by_a_fresh_blank() -> None:
    world = World()
    async with world.directory(slot_reuses=2, warm_slots=1, beat_s=60.0) as directory:
        (made,) = await create(directory, 1)
        actors = []
        for _ in range(6):
            actors.append((await directory.locate(made.doc_id)).actor)
            assert await directory._activations.passivate(made.doc_id, None)
            await until(lambda: len(directory._nodes.blanks()) >= 1 and not world.slots.starting)
        assert all(actors.count(actor) <= 2 for actor in actors)
        assert set(world.slots.killed) <= set(actors)
        assert len(world.slots.killed) >= 2
        (status,) = (await directory.status()).nodes
        assert status.active == 0
        assert status.blank >= 1


async def test_room_is_made_on_nodes_that_take_documents_only() -> None:
    world = two_nodes()
    async with world.directory(max_active=1, beat_s=60.0) as directory:
        made = await create(directory, 2)
        at = {where: doc_id for doc_id, where in homes(world).items()}
        world.slots.refuse_close = StorageUnavailable("The disk is full.")
        assert (await directory.drain_node("node-a")).active == 1  # not closed yet
        third = await directory.create_document(ANN, "Third")
        assert homes(world) == {at["node-a"]: "node-a", third.doc_id: "node-b"}
        await directory._activations.sweep()
        assert homes(world) == {third.doc_id: "node-b"}
        assert {doc.doc_id for doc in made} == set(at.values())


async def test_documents_are_asked_how_they_are_one_after_another() -> None:
    world = World()
    async with world.directory(max_active=5, beat_s=60.0) as directory:
        made = [await directory.create_document(ANN, f"Document {n}") for n in range(5)]
        slots = [world.slots.holding(one.doc_id) for one in made]
        async with anyio.create_task_group() as group:
            group.start_soon(directory._activations.sweep)
            await until(lambda: any(slot.beats for slot in slots))
            assert not all(slot.beats for slot in slots)
        assert [slot.beats for slot in slots] == [1] * 5
