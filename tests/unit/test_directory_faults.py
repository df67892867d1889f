"""The Directory while its catalog or its folder fails: told, nothing leaked, mended afterwards."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio.lowlevel
import pytest

from actors.directory.directory import Directory
from shared.errors import StorageUnavailable
from shared.metrics import GatewayReport
from shared.protocol import Caller
from tests.unit.cluster_double import World, until

pytestmark = pytest.mark.anyio

ANN = Caller("person:ann", "Ann", "person:ann", agent=False, scopes=frozenset({"write"}))
GONE = StorageUnavailable("The disk is gone.")


async def create(directory: Directory, slug: str) -> str:
    return (await directory.create_document(ANN, slug, slug)).doc_id


async def test_whatever_needs_a_failing_catalog_says_storage_unavailable() -> None:
    world = World()
    async with world.directory(beat_s=60.0) as directory:
        doc_id = await create(directory, "one")
        world.catalog.failing = GONE
        calls: tuple[Callable[[], Awaitable[object]], ...] = (
            lambda: directory.describe(doc_id),
            lambda: directory.resolve("one"),
            lambda: directory.locate("one"),
            lambda: directory.list_documents(ANN),
            lambda: directory.list_documents(ANN, deleted=True),
            lambda: directory.create_document(ANN, "Two", None),
            lambda: directory.create_document(ANN, "Two", None, (), "key"),
            lambda: directory.delete_document(ANN, doc_id),
            lambda: directory.undelete_document(ANN, doc_id),
            lambda: directory.create_token("ann", "bot", frozenset({"read"})),
            directory.list_tokens,
            lambda: directory.revoke_token("t1"),
            lambda: directory.authenticate(b"hash"),
            directory.document_ids,
            lambda: directory.back_up_catalog("/backup/catalog.sqlite3"),
            directory.check_catalog,
            directory.metrics,
            lambda: directory.drain_node("n1", force=True),
            lambda: directory.undrain_node("n1"),
        )
        for call in calls:
            with pytest.raises(StorageUnavailable):
                await call()
        assert (await directory.status()).documents == 1
        await directory.report_gateway(GatewayReport("g1"))
        world.catalog.failing = None
        assert (await directory.locate("one")).key.doc_id == doc_id


async def test_a_catalog_that_fails_at_the_start_is_told_as_what_it_is() -> None:
    world = World()
    world.catalog.failing = GONE
    with pytest.raises(StorageUnavailable):
        async with world.directory():
            pass
    world.catalog.failing = None
    async with world.directory() as directory:
        await create(directory, "one")


async def test_every_slot_hears_the_heartbeat_while_the_catalog_takes_no_reports() -> None:
    world = World()
    async with world.directory() as directory:
        for slug in ("one", "two", "three"):
            world.slots.holding(await create(directory, slug)).busy = True
        world.catalog.failing = GONE
        heard = {slot.holder.actor: slot.beats for slot in world.slots.slots.values()}
        for number, slot in enumerate(world.slots.slots.values()):
            slot.title, slot.updated_at = f"New {number}", 2 * world.now

        def all_heard() -> bool:
            return all(world.slots.slots[a].beats > n + 2 for a, n in heard.items())

        await until(all_heard)
        world.catalog.failing = None

        async def told() -> bool:
            rows = (await directory.list_documents(ANN)).rows
            return all(row.title.startswith("New") for row in rows)

        while not await told():
            await anyio.lowlevel.checkpoint()


async def test_a_document_whose_closing_cannot_be_noted_kills_nobody_else_later() -> None:
    """The catalog goes on naming its slot, and who opens the document next kills that."""
    world = World()
    async with world.directory(beat_s=60.0) as directory:
        doc_id = await create(directory, "one")
        slot = world.slots.holding(doc_id)
        await directory._activations.sweep()  # its title is in the catalog
        world.catalog.fail_next = GONE
        with pytest.raises(StorageUnavailable):
            await directory._activations.passivate(doc_id, None)
        assert not slot.alive
        other = await create(directory, "two")
        await directory.locate("one")
        assert world.slots.holding(other).alive
        assert world.slots.holding(doc_id).alive
        (node,) = (await directory.status()).nodes
        assert node.active == 2


async def test_an_opening_refused_while_the_catalog_fails_leaks_no_slot() -> None:
    world = World()
    async with world.directory(beat_s=60.0, max_active=2) as directory:
        doc_id = await create(directory, "one")
        assert await directory._activations.passivate(doc_id, None)
        for _ in range(4):
            world.slots.refuse = StorageUnavailable("The file cannot be opened.")
            world.slots.then = lambda: setattr(world.catalog, "failing", GONE)
            with pytest.raises(StorageUnavailable):
                await directory.locate(doc_id)
            world.catalog.failing = None
            world.slots.then = None
        assert (await directory.locate(doc_id)).key.doc_id == doc_id
        (node,) = (await directory.status()).nodes
        assert node.active == 1


async def test_a_take_over_that_cannot_announce_its_epoch_leaks_no_slot_and_forgets_nobody() -> (
    None
):
    world = World()
    async with world.directory(beat_s=60.0, max_active=2) as directory:
        doc_id = await create(directory, "one")
        route = await directory.locate(doc_id)
        victim = world.slots.holding(doc_id)
        victim.silent = True
        world.files.failing = StorageUnavailable("The folder is read-only.")
        for _ in range(4):
            with pytest.raises(StorageUnavailable):
                await directory.locate(doc_id, route.key)
        assert victim.holder.actor not in world.slots.killed
        world.files.failing = None
        again = await directory.locate(doc_id, route.key)
        assert again.actor != victim.holder.actor
        assert victim.holder.actor in world.slots.killed
        assert world.files.epochs[doc_id] == again.key.epoch


async def test_a_creation_that_failed_is_undone_when_that_is_possible_again() -> None:
    world = World()
    async with world.directory() as directory:
        world.slots.refuse = StorageUnavailable("The disk is full.")
        world.slots.then = lambda: setattr(world.catalog, "failing", GONE)
        with pytest.raises(StorageUnavailable):
            await directory.create_document(ANN, "One", "the-slug", (), "key-1")
        world.slots.then = world.catalog.failing = None
        while await world.catalog.states() != {}:
            await anyio.lowlevel.checkpoint()
        made = await directory.create_document(ANN, "One", "the-slug", (), "key-1")
        assert made.slug == "the-slug"
