"""The Directory over a cluster in memory: one holder per document, whatever dies."""

from __future__ import annotations

import anyio
import msgspec
import pytest

from actors.directory.directory import Directory
from shared.directory_protocol import Created, DocumentRow
from shared.errors import (
    CapabilityDenied,
    DocumentNotFound,
    IdempotencyMismatch,
    InvalidArgument,
    Overloaded,
    ShuttingDown,
    StorageUnavailable,
)
from shared.protocol import Activation, Caller, Route, RouteKey, Whoami
from shared.tree import Block, Node, Text
from tests.unit.cluster_double import FakeSlots, World, until

pytestmark = pytest.mark.anyio

ANN = Caller("person:ann", "Ann", "person:ann", agent=False, scopes=frozenset({"write"}))
HEADING = Block(Node("heading", {"level": 1}, (Text("Hello, World"),)))


async def passive(directory: Directory, slug: str = "doc-one") -> Created:
    """A document that exists and has no actor."""
    made = await directory.create_document(ANN, "One", slug)
    assert await directory._activations.passivate(made.doc_id, None)
    return made


async def test_created_document_is_found_by_id_and_by_slug() -> None:
    async with World().directory() as directory:
        made = await directory.create_document(ANN, None, None, (HEADING,))
        assert made.slug == "hello-world"
        assert made.title == "Hello, World"
        assert made.cursor == 7
        assert len(made.blocks) == 1
        assert await directory.resolve(made.doc_id) == made.doc_id
        assert await directory.resolve("hello-world") == made.doc_id


async def test_unknown_document_is_not_found() -> None:
    async with World().directory() as directory:
        with pytest.raises(DocumentNotFound):
            await directory.locate("nowhere")


async def test_slug_from_a_title_gets_a_suffix_when_taken_but_a_chosen_one_is_refused() -> None:
    async with World().directory() as directory:
        first = await directory.create_document(ANN, "My Plan")
        second = await directory.create_document(ANN, "My Plan")
        assert first.slug == "my-plan"
        assert second.slug.startswith("my-plan-")
        with pytest.raises(InvalidArgument, match="slug: 'my-plan' is taken"):
            await directory.create_document(ANN, "Other", "my-plan")


async def test_slug_never_looks_like_an_id() -> None:
    async with World().directory() as directory:
        made = await directory.create_document(ANN, "Introduction")  # 12 letters
        assert made.slug.startswith("introduction-")


async def test_concurrent_callers_share_one_activation() -> None:
    world = World()
    async with world.directory() as directory:
        made = await passive(directory)
        before = len(world.slots.activations)
        routes: list[Route] = []

        async def locate() -> None:
            routes.append(await directory.locate(made.doc_id))

        world.slots.may_activate.clear()
        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(locate)
            await until(lambda: len(world.slots.activations) == before + 1)
            world.slots.may_activate.set()
        assert len({route.key for route in routes}) == 1
        assert len(world.slots.activations) == before + 1


async def test_caller_that_goes_away_does_not_stop_the_activation_of_the_others() -> None:
    world = World()
    async with world.directory() as directory:
        made = await passive(directory)
        world.slots.may_activate.clear()
        with anyio.move_on_after(0.02):
            await directory.locate(made.doc_id)
        world.slots.may_activate.set()
        route = await directory.locate(made.doc_id)
        assert world.slots.holding(made.doc_id).key == route.key


async def test_every_activation_has_a_higher_epoch_and_a_new_secret() -> None:
    world = World()
    async with world.directory() as directory:
        made = await passive(directory)
        one = await directory.locate(made.doc_id)
        assert await directory._activations.passivate(made.doc_id, None)
        two = await directory.locate(made.doc_id)
        assert two.key.epoch > one.key.epoch
        assert two.key.secret != one.key.secret


async def test_dead_actor_is_replaced_when_a_gateway_reports_it() -> None:
    world = World()
    async with world.directory(beat_s=60.0) as directory:
        made = await directory.create_document(ANN, "One")
        one = await directory.locate(made.doc_id)
        world.slots.die(world.slots.holding(made.doc_id))
        two = await directory.locate(made.doc_id, one.key)
        assert two.actor != one.actor
        assert two.key.epoch > one.key.epoch
        assert world.slots.holding(made.doc_id).key == two.key


async def test_heartbeat_and_opening_may_both_find_the_actor_dead() -> None:
    world = World()
    async with world.directory(beat_s=60.0) as directory:
        made = await directory.create_document(ANN, "One")
        one = await directory.locate(made.doc_id)
        (held,) = directory._activations.held
        world.slots.die(world.slots.holding(made.doc_id))
        asked = world.slots.whoami

        async def heartbeat_first(actor: str) -> Whoami:
            directory._activations._lost(held)
            return await asked(actor)

        world.slots.whoami = heartbeat_first  # type: ignore[method-assign]
        two = await directory.locate(made.doc_id, one.key)
        assert two.actor != one.actor


async def test_stopped_actor_is_killed_after_the_epoch_was_announced() -> None:
    world = World()
    async with world.directory(beat_s=60.0) as directory:
        made = await directory.create_document(ANN, "One")
        one = await directory.locate(made.doc_id)
        world.slots.holding(made.doc_id).silent = True  # it still has the file locked
        two = await directory.locate(made.doc_id, one.key)
        assert one.actor in world.slots.killed
        assert world.files.epochs[made.doc_id] == two.key.epoch
        assert world.slots.holding(made.doc_id).key == two.key


async def test_false_alarm_keeps_the_actor() -> None:
    world = World()
    async with world.directory(beat_s=60.0) as directory:
        made = await directory.create_document(ANN, "One")
        route = await directory.locate(made.doc_id)
        assert await directory.locate(made.doc_id, route.key) == route
        assert world.slots.killed == []


async def test_complaint_about_an_older_route_changes_nothing() -> None:
    world = World()
    async with world.directory(beat_s=60.0) as directory:
        made = await passive(directory)
        old = await directory.locate(made.doc_id)
        await directory._activations.passivate(made.doc_id, None)
        new = await directory.locate(made.doc_id)
        assert await directory.locate(made.doc_id, old.key) == new


async def test_slot_that_dies_while_it_opens_a_document_is_replaced() -> None:
    world = World()
    async with world.directory(beat_s=60.0) as directory:
        made = await passive(directory)
        world.slots.may_activate.clear()
        before = len(world.slots.activations)
        async with anyio.create_task_group() as group:
            group.start_soon(directory.locate, made.doc_id)
            await until(lambda: len(world.slots.activations) > before)
            for slot in world.slots.slots.values():
                world.slots.die(slot)
            world.slots.may_activate.set()
        assert world.slots.holding(made.doc_id).alive


async def test_catalog_from_an_older_backup_gets_past_the_files_epoch() -> None:
    world = World()
    async with world.directory() as directory:
        made = await passive(directory)
        world.slots.files[made.doc_id] = 41
        route = await directory.locate(made.doc_id)
        assert route.key.epoch == 42


async def test_refused_activation_is_told_and_leaves_the_slot_usable() -> None:
    world = World()
    async with world.directory() as directory:
        made = await passive(directory)
        world.slots.refuse = StorageUnavailable("The disk is full.")
        with pytest.raises(StorageUnavailable, match="disk"):
            await directory.locate(made.doc_id)
        assert (await directory.locate(made.doc_id)).key.doc_id == made.doc_id


async def test_who_must_still_be_killed_is_not_forgotten_when_taking_over_fails() -> None:
    world = World()
    async with world.directory(beat_s=60.0) as directory:
        made = await directory.create_document(ANN, "One")
        one = await directory.locate(made.doc_id)
        world.slots.holding(made.doc_id).silent = True
        world.slots.refuse = StorageUnavailable("The file stays locked.")
        with pytest.raises(StorageUnavailable):
            await directory.locate(made.doc_id, one.key)
        assignment = await world.catalog.assignment(made.doc_id)
        assert assignment is not None
        assert assignment.holder is not None
        assert assignment.holder.actor == one.actor


async def test_idle_document_is_passivated_and_opened_again_on_demand() -> None:
    world = World()
    async with world.directory(idle_s=60.0) as directory:
        made = await directory.create_document(ANN, "One")
        route = await directory.locate(made.doc_id)
        world.slots.holding(made.doc_id).idle_s = 61.0
        await until(lambda: made.doc_id not in world.slots.locked_by)
        assignment = await world.catalog.assignment(made.doc_id)
        assert assignment is not None
        again = await directory.locate(made.doc_id)
        assert again.key.epoch == route.key.epoch + 1


async def test_busy_document_is_not_passivated() -> None:
    world = World()
    async with world.directory(idle_s=0.0) as directory:
        made = await directory.create_document(ANN, "One")
        slot = world.slots.holding(made.doc_id)
        slot.busy = True
        slot.title = "Seen by a heartbeat"
        await until(lambda: world.catalog._documents[made.doc_id].title == slot.title)
        assert world.slots.holding(made.doc_id) is slot


async def test_title_and_last_change_reach_the_catalog() -> None:
    world = World()
    async with world.directory() as directory:
        made = await directory.create_document(ANN, "One")
        slot = world.slots.holding(made.doc_id)
        slot.title, slot.updated_at = "Another title", world.now + 5_000
        await until(lambda: world.catalog._documents[made.doc_id].title == "Another title")
        assert (await directory.describe(made.doc_id)).updated_at == slot.updated_at


async def test_last_change_reaches_the_catalog_when_the_document_is_put_away() -> None:
    world = World()
    async with world.directory(beat_s=60.0) as directory:
        made = await directory.create_document(ANN, "One")
        world.slots.holding(made.doc_id).title = "Changed just now"
        await directory.drain()
        assert (await directory.describe(made.doc_id)).title == "Changed just now"


async def test_slot_is_recycled_after_so_many_documents() -> None:
    world = World()
    async with world.directory(slot_reuses=2, warm_slots=0, beat_s=60.0) as directory:
        made = await passive(directory)
        first = next(iter(world.slots.slots))
        route = await directory.locate(made.doc_id)
        assert route.actor == first
        await directory._activations.passivate(made.doc_id, None)
        assert world.slots.killed == [first]
        assert (await directory.locate(made.doc_id)).actor != first


async def test_full_node_closes_the_least_recently_used_document_nobody_is_at() -> None:
    world = World()
    async with world.directory(max_active=2, beat_s=60.0) as directory:
        made = [await directory.create_document(ANN, f"Document {n}") for n in range(2)]
        await directory._activations.sweep()  # nobody is at either
        await directory.locate(made[0].doc_id)
        third = await directory.create_document(ANN, "Document 3")
        assert set(world.slots.locked_by) == {made[0].doc_id, third.doc_id}


async def test_full_node_with_everybody_busy_is_overloaded() -> None:
    world = World()
    async with world.directory(max_active=1, beat_s=60.0) as directory:
        made = await directory.create_document(ANN, "One")
        world.slots.holding(made.doc_id).busy = True
        await directory._activations.sweep()
        with pytest.raises(Overloaded):
            await directory.create_document(ANN, "Two")
        # What was refused left nothing behind: its slug is free.
        world.slots.holding(made.doc_id).busy = False
        await directory._activations.sweep()
        assert (await directory.create_document(ANN, "Two")).slug == "two"


async def test_who_finds_no_slot_in_time_is_told_so() -> None:
    world = World()
    world.slots.may_start.clear()
    async with world.directory(activate_deadline_s=0.02) as directory:
        with pytest.raises(Overloaded):
            await directory.create_document(ANN, "One")


async def test_returning_directory_adopts_living_documents() -> None:
    world = World()
    async with world.directory() as directory:
        made = await directory.create_document(ANN, "One")
        route = await directory.locate(made.doc_id)
    async with world.directory() as directory:
        assert await directory.locate(made.doc_id) == route
        assert route.actor not in world.slots.killed


async def test_returning_directory_kills_a_holder_of_an_old_epoch() -> None:
    world = World()
    async with world.directory() as directory:
        made = await directory.create_document(ANN, "One")
        route = await directory.locate(made.doc_id)
        stranger = world.slots.slots[route.actor].holder
        await world.catalog.raise_epoch(made.doc_id, stranger, 0, 0)
    async with world.directory() as directory:
        assert route.actor in world.slots.killed
        assert (await directory.locate(made.doc_id)).key.epoch > route.key.epoch


async def test_returning_directory_kills_a_silent_slot_and_opens_its_document_elsewhere() -> None:
    world = World()
    async with world.directory() as directory:
        made = await directory.create_document(ANN, "One")
        route = await directory.locate(made.doc_id)
    world.slots.holding(made.doc_id).silent = True
    async with world.directory() as directory:
        assert route.actor in world.slots.killed
        assert (await directory.locate(made.doc_id)).actor != route.actor


async def test_unfinished_creation_is_removed_by_the_next_directory() -> None:
    world = World()
    row = DocumentRow("a" * 12, "the-slug", "One", "creating", 1, 1, "person:ann")
    await world.catalog.reserve(row, None, 1)
    holder = await world.slots.start("n1")
    epoch = await world.catalog.raise_epoch(row.doc_id, holder, 0, 1)
    key = RouteKey(row.doc_id, epoch, "secret")
    await world.slots.activate(holder.actor, Activation(key, "/data/x", ()))
    async with world.directory() as directory:
        assert await world.catalog.creating() == ()
        assert world.slots.files == {}
        assert (await directory.create_document(ANN, "Two", "the-slug")).slug == "the-slug"


async def test_failed_creation_leaves_neither_row_nor_file_and_frees_the_slug() -> None:
    world = World()
    async with world.directory() as directory:
        world.slots.refuse = StorageUnavailable("The disk is full.")
        with pytest.raises(StorageUnavailable):
            await directory.create_document(ANN, "One", "the-slug", (), "key-1")
        assert world.slots.files == {}
        made = await directory.create_document(ANN, "One", "the-slug", (), "key-1")
        assert made.slug == "the-slug"


async def test_repeated_creation_with_one_key_makes_one_document() -> None:
    world = World()
    async with world.directory() as directory:
        answers: list[Created] = []

        async def create() -> None:
            answers.append(await directory.create_document(ANN, "One", None, (HEADING,), "key-1"))

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(create)
        assert len({answer.doc_id for answer in answers}) == 1
        assert len(world.slots.files) == 1
        with pytest.raises(IdempotencyMismatch):
            await directory.create_document(ANN, "Two", None, (HEADING,), "key-1")


async def test_list_goes_page_by_page_without_loss() -> None:
    async with World().directory(max_active=50) as directory:
        made = {(await directory.create_document(ANN, f"Number {n}")).doc_id for n in range(7)}
        seen: list[str] = []
        before: str | None = None
        while True:
            page = await directory.list_documents(ANN, "NUMBER", 3, before)
            seen += [row.doc_id for row in page.rows]
            before = page.next
            if before is None:
                break
        assert len(seen) == len(made)
        assert set(seen) == made
        with pytest.raises(InvalidArgument, match="before"):
            await directory.list_documents(ANN, "", 3, "nonsense")


async def test_deleted_document_is_gone_and_its_slug_free() -> None:
    world = World()
    async with world.directory() as directory:
        made = await directory.create_document(ANN, "One", "the-slug")
        await directory.delete_document(ANN, "the-slug")
        assert made.doc_id not in world.slots.locked_by
        with pytest.raises(DocumentNotFound):
            await directory.locate(made.doc_id)
        assert (await directory.create_document(ANN, "Two", "the-slug")).slug == "the-slug"


async def test_drain_closes_every_document_and_opens_none() -> None:
    world = World()
    async with world.directory() as directory:
        made = await directory.create_document(ANN, "One")
        await directory.drain()
        assert world.slots.locked_by == {}
        with pytest.raises(ShuttingDown):
            await directory.locate(made.doc_id)
        assert not (await directory.status()).ready


async def test_document_goes_to_the_node_with_the_most_room() -> None:
    world = World(FakeSlots(nodes=("n1", "n2")))
    async with world.directory(max_active=4) as directory:
        nodes = []
        for n in range(4):
            made = await directory.create_document(ANN, f"Document {n}")
            nodes.append((await directory.locate(made.doc_id)).node_id)
        assert sorted(nodes) == ["n1", "n1", "n2", "n2"]


async def test_node_that_does_not_share_the_folder_is_not_used() -> None:
    world = World(FakeSlots(nodes=("n1", "n2")))
    world.slots.foreign_nodes = {"n2"}
    async with world.directory(max_active=4) as directory:
        for n in range(3):
            made = await directory.create_document(ANN, f"Document {n}")
            assert (await directory.locate(made.doc_id)).node_id == "n1"
        refused = {node.node_id for node in (await directory.status()).nodes if node.refused}
        assert refused == {"n2"}


async def test_documents_of_a_node_that_left_open_elsewhere() -> None:
    world = World(FakeSlots(nodes=("n1", "n2")))
    async with world.directory(max_active=4) as directory:
        made = await directory.create_document(ANN, "One")
        route = await directory.locate(made.doc_id)
        gone = route.node_id
        world.slots.node_infos = [n for n in world.slots.node_infos if n.node_id != gone]
        for slot in world.slots.slots.values():
            if slot.holder.node_id == gone:
                world.slots.die(slot)
        again = await directory.locate(made.doc_id, route.key)
        assert again.node_id != gone


async def test_processes_of_documents_put_away_are_ended_but_for_those_kept_warm() -> None:
    world = World()
    async with world.directory(warm_slots=2) as directory:
        docs = [await directory.create_document(ANN, f"Doc {number}") for number in range(8)]
        for made in docs:
            assert await directory._activations.passivate(made.doc_id, None)
        await until(lambda: len(living(world)) == 2)
        assert (await directory.locate(docs[0].doc_id)).key.doc_id == docs[0].doc_id


def living(world: World) -> list[str]:
    return [name for name, slot in world.slots.slots.items() if slot.alive]


async def test_a_token_for_certain_documents_lists_these_and_makes_none() -> None:
    world = World()
    async with world.directory() as directory:
        made = []
        for name in ("One", "Two", "Three"):
            world.now += 1
            made.append(await directory.create_document(ANN, name))
        ids = frozenset({made[0].doc_id, made[1].doc_id, "zzzzzzzzzzzz"})
        bound = msgspec.structs.replace(ANN, documents=ids)
        first = await directory.list_documents(bound, "", 1)
        assert [row.slug for row in first.rows] == ["two"]
        rest = await directory.list_documents(bound, "", 9, first.next)
        assert [row.slug for row in rest.rows] == ["one"]
        assert rest.next is None
        assert [row.slug for row in (await directory.list_documents(bound, "ONE")).rows] == ["one"]
        with pytest.raises(CapabilityDenied, match=r"^token: "):
            await directory.create_document(bound, "Four")


@pytest.mark.parametrize("before", ["", "x", "-", "\u00b2-x", "9" * 400 + "-x", "-5-x", "1.5-x"])
async def test_a_page_that_begins_nowhere_is_refused(before: str) -> None:
    async with World().directory() as directory:
        with pytest.raises(InvalidArgument, match=r"^before: "):
            await directory.list_documents(ANN, before=before)
