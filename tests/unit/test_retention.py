"""Documents over time, under a clock in the test's hands: deleted, expired, had back, gone."""

from __future__ import annotations

from datetime import UTC, datetime

import anyio
import msgspec
import pytest

from actors.directory.directory import Directory
from shared.directory_protocol import Created
from shared.errors import (
    CapabilityDenied,
    DocumentNotFound,
    IdempotencyMismatch,
    InvalidArgument,
    StorageUnavailable,
)
from shared.limits import DAY_MS, DELETED_DAYS, RETENTION_STEP
from shared.protocol import Caller
from tests.unit.cluster_double import World, until

pytestmark = pytest.mark.anyio

ANN = Caller("person:ann", "Ann", "person:ann", agent=False, scopes=frozenset({"write"}))
BEN = Caller("person:ben", "Ben", "person:ben", agent=False, scopes=frozenset({"admin"}))
KEPT_MS = DELETED_DAYS * DAY_MS


async def create(directory: Directory, slug: str, expires: str | None = None) -> Created:
    return await directory.create_document(ANN, slug.title(), slug, (), None, expires)


async def exists(directory: Directory, ref: str) -> bool:
    try:
        await directory.locate(ref)
    except DocumentNotFound:
        return False
    return True


async def test_deleted_document_is_closed_gone_and_its_slug_free() -> None:
    world = World()
    async with world.directory() as directory:
        made = await create(directory, "the-slug")
        row = await directory.delete_document(ANN, "the-slug")
        assert (row.state, row.doc_id) == ("deleted", made.doc_id)
        assert made.doc_id not in world.slots.locked_by
        for ask in (directory.locate, directory.resolve, directory.describe):
            for ref in (made.doc_id, "the-slug"):
                with pytest.raises(DocumentNotFound):
                    await ask(ref)
        with pytest.raises(DocumentNotFound):
            await directory.delete_document(ANN, made.doc_id)
        assert (await directory.list_documents(ANN)).rows == ()
        assert (await create(directory, "the-slug")).doc_id != made.doc_id


async def test_deleted_document_comes_back_as_it_was() -> None:
    world = World()
    async with world.directory() as directory:
        made = await create(directory, "the-slug")
        before = await directory.describe(made.doc_id)
        await directory.delete_document(ANN, made.doc_id)
        back = await directory.undelete_document(ANN, "the-slug")
        assert back == before == await directory.describe("the-slug")
        assert await exists(directory, made.doc_id)
        with pytest.raises(DocumentNotFound):
            await directory.undelete_document(ANN, made.doc_id)


async def test_document_whose_slug_was_taken_comes_back_under_another() -> None:
    async with World().directory() as directory:
        first = await create(directory, "the-slug")
        await directory.delete_document(ANN, first.doc_id)
        second = await create(directory, "the-slug")
        back = await directory.undelete_document(ANN, first.doc_id)
        assert back.slug.startswith("the-slug-")
        assert await directory.resolve(back.slug) == first.doc_id
        assert await directory.resolve("the-slug") == second.doc_id


async def test_of_several_deleted_under_one_slug_the_last_comes_back() -> None:
    async with World().directory() as directory:
        made = []
        for _ in range(3):
            made.append((await create(directory, "the-slug")).doc_id)
            await directory.delete_document(ANN, made[-1])
        assert (await directory.undelete_document(ANN, "the-slug")).doc_id == made[-1]


async def test_deleted_documents_are_listed_last_deleted_first() -> None:
    async with World().directory(max_active=9) as directory:
        made = [await create(directory, f"doc-{n}") for n in range(4)]
        for doc in (made[2], made[0], made[3]):
            await directory.delete_document(ANN, doc.doc_id)
        first = await directory.list_documents(ANN, "", 2, None, True)
        rest = await directory.list_documents(ANN, "", 2, first.next, True)
        assert [row.slug for row in first.rows + rest.rows] == ["doc-3", "doc-0", "doc-2"]
        assert rest.next is None
        assert [row.slug for row in (await directory.list_documents(ANN)).rows] == ["doc-1"]


async def test_file_goes_after_its_time_and_not_before() -> None:
    world = World()
    async with world.directory(beat_s=60.0) as directory:
        made = await create(directory, "the-slug")
        kept = await create(directory, "kept")
        await directory.delete_document(ANN, made.doc_id)
        world.now += KEPT_MS - 1_000
        await directory._retention.step()
        assert made.doc_id in world.slots.files
        world.now += 2_000
        with pytest.raises(DocumentNotFound):  # no coming back from here, purged yet or not
            await directory.undelete_document(ANN, made.doc_id)
        await directory._retention.step()
        assert set(world.slots.files) == {kept.doc_id}
        assert set(await world.catalog.states()) == {kept.doc_id}
        assert (await directory.list_documents(ANN, "", 9, None, True)).rows == ()


async def test_time_passes_by_itself() -> None:
    world = World()
    async with world.directory() as directory:
        made = await create(directory, "brief", "1h")
        world.now += 3_600_000
        await until(lambda: made.doc_id not in world.slots.locked_by)
        world.now += KEPT_MS + 1_000
        await until(lambda: world.slots.files == {})


async def test_purging_is_a_few_at_a_time_and_one_that_cannot_go_holds_up_nobody() -> None:
    world = World()
    async with world.directory(max_active=50, beat_s=60.0) as directory:
        made = [await create(directory, f"doc-{n}") for n in range(RETENTION_STEP + 3)]
        for doc in made:
            await directory.delete_document(ANN, doc.doc_id)
        world.now += 2 * KEPT_MS
        world.files.stuck = {doc.doc_id for doc in made[:RETENTION_STEP]}
        await directory._retention.step()
        assert len(world.slots.files) == len(made)
        await directory._retention.step()
        assert set(world.slots.files) == world.files.stuck
        world.files.stuck = set()
        await directory._retention.step()
        assert world.slots.files == {}
        assert await world.catalog.states() == {}


async def test_crash_between_file_and_row_is_made_good() -> None:
    world = World()
    async with world.directory(beat_s=60.0) as directory:
        made = await create(directory, "the-slug")
        await directory.delete_document(ANN, made.doc_id)
        world.now += KEPT_MS + 1_000
        world.catalog.fail_next = StorageUnavailable("The disk is full.")
        with pytest.raises(StorageUnavailable):
            await directory._retention.step()
        assert world.slots.files == {}
    async with world.directory(beat_s=60.0) as directory:
        await directory._retention.step()
        assert await world.catalog.states() == {}


async def test_expired_document_is_not_found_from_that_moment_and_is_deleted() -> None:
    world = World()
    async with world.directory(beat_s=60.0) as directory:
        made = await create(directory, "brief", "1h")
        assert made.expires_at is not None
        assert (await directory.describe("brief")).expires_at == made.expires_at
        world.now = made.expires_at - 10
        await directory._retention.step()
        assert made.doc_id in world.slots.locked_by
        world.now = made.expires_at
        assert not await exists(directory, "brief")
        await directory._retention.step()
        assert made.doc_id not in world.slots.locked_by
        (row,) = (await directory.list_documents(ANN, "", 9, None, True)).rows
        assert row.doc_id == made.doc_id


async def test_expired_document_that_is_had_back_expires_no_more() -> None:
    world = World()
    async with world.directory(beat_s=60.0) as directory:
        made = await create(directory, "brief", "1h")
        world.now += DAY_MS
        await directory._retention.step()
        assert (await directory.undelete_document(ANN, made.doc_id)).expires_at is None
        await directory._retention.step()
        assert await exists(directory, "brief")


async def test_document_deleted_before_its_time_still_expires_when_it_is_back() -> None:
    async with World().directory() as directory:
        made = await create(directory, "brief", "1h")
        await directory.delete_document(ANN, made.doc_id)
        assert (await directory.undelete_document(ANN, made.doc_id)).expires_at == made.expires_at


async def test_expiry_is_a_time_to_come_and_part_of_the_call() -> None:
    world = World()
    async with world.directory() as directory:
        gone = datetime.fromtimestamp(world.now / 1000 - 60, UTC).isoformat()
        with pytest.raises(InvalidArgument, match="not in the future"):
            await create(directory, "late", gone)
        first = await directory.create_document(ANN, "Brief", None, (), "key-1", "1h")
        world.now += 60_000
        assert await directory.create_document(ANN, "Brief", None, (), "key-1", "1h") == first
        with pytest.raises(IdempotencyMismatch):
            await directory.create_document(ANN, "Brief", None, (), "key-1")


async def test_document_deleted_while_it_is_opened_does_not_stay_open() -> None:
    world = World()
    async with world.directory(beat_s=60.0) as directory:
        made = await create(directory, "the-slug")
        assert await directory._activations.passivate(made.doc_id, None)
        world.slots.may_activate.clear()
        before = len(world.slots.activations)
        async with anyio.create_task_group() as group:
            group.start_soon(exists, directory, made.doc_id)
            await until(lambda: len(world.slots.activations) > before)
            group.start_soon(directory.delete_document, ANN, made.doc_id)
            await until(lambda: world.catalog._documents[made.doc_id].state == "deleted")
            world.slots.may_activate.set()
        assert world.slots.locked_by == {}
        assert not await exists(directory, made.doc_id)


async def test_who_asks_while_it_is_closed_for_deletion_does_not_open_it_again() -> None:
    world = World()
    async with world.directory(beat_s=60.0) as directory:
        made = await create(directory, "the-slug")
        world.slots.may_close.clear()
        answers: list[bool] = []

        async def ask() -> None:
            answers.append(await exists(directory, made.doc_id))

        async with anyio.create_task_group() as group:
            group.start_soon(directory._activations.passivate, made.doc_id, None)
            await until(lambda: made.doc_id in directory._activations._closing)
            seen = world.catalog.lookups
            group.start_soon(ask)  # finds it ready, and waits for the closing
            await until(lambda: world.catalog.lookups > seen)
            group.start_soon(directory.delete_document, ANN, made.doc_id)
            await until(lambda: world.catalog._documents[made.doc_id].state == "deleted")
            world.slots.may_close.set()
        assert answers == [False]
        assert world.slots.locked_by == {}


async def test_document_that_could_not_be_closed_at_once_is_closed_later() -> None:
    world = World()
    async with world.directory(beat_s=60.0) as directory:
        made = await create(directory, "the-slug")
        world.slots.refuse_close = StorageUnavailable("The catalog is busy.")
        await directory.delete_document(ANN, made.doc_id)
        assert made.doc_id in world.slots.locked_by
        await directory._retention.step()
        assert made.doc_id not in world.slots.locked_by


async def test_slot_that_does_not_let_go_of_a_deleted_document_is_killed() -> None:
    world = World()
    async with world.directory(beat_s=60.0) as directory:
        made = await create(directory, "the-slug")
        slot = world.slots.holding(made.doc_id)
        slot.clinging = True
        await directory.delete_document(ANN, made.doc_id)
        assert world.slots.killed == [slot.holder.actor]
        assert world.slots.locked_by == {}


async def test_owners_delete_list_and_bring_back_their_documents_and_nobody_elses() -> None:
    ben = msgspec.structs.replace(BEN, scopes=frozenset({"write"}))
    agent = Caller("agent:ann:bot", "Bot", "person:ann", agent=True, scopes=ANN.scopes)
    world = World()
    async with world.directory() as directory:
        made = await create(directory, "the-slug")
        certain = msgspec.structs.replace(ANN, documents=frozenset({made.doc_id}))
        others = await directory.create_document(ben, "Others", "others")
        with pytest.raises(DocumentNotFound) as missing:
            await directory.delete_document(ben, "the-slug")
        await directory.set_member(ANN, made.doc_id, "ben", "editor")
        for caller in (ben, agent, certain):
            with pytest.raises(CapabilityDenied):
                await directory.delete_document(caller, "the-slug")
        assert await exists(directory, "the-slug")
        await directory.delete_document(ANN, "the-slug")
        await directory.delete_document(ben, "others")
        for ref in ("the-slug", made.doc_id):
            with pytest.raises(DocumentNotFound) as hidden:
                await directory.undelete_document(ben, ref)
            assert str(hidden.value).replace(ref, "the-slug") == str(missing.value)
        for caller in (agent, certain):
            with pytest.raises(CapabilityDenied):
                await directory.undelete_document(caller, made.doc_id)
        for caller, there in ((ANN, made), (ben, others)):
            listed = await directory.list_documents(caller, deleted=True)
            assert [row.doc_id for row in listed.rows] == [there.doc_id]
        everything = await directory.list_documents(BEN, deleted=True)
        assert {row.doc_id for row in everything.rows} == {made.doc_id, others.doc_id}
        assert (await directory.list_documents(certain, deleted=True)).rows == ()
        assert (await directory.undelete_document(ANN, "the-slug")).doc_id == made.doc_id
        assert await exists(directory, "the-slug")


async def test_who_deleted_and_brought_back_a_document_is_kept() -> None:
    world = World()
    async with world.directory() as directory:
        made = await create(directory, "the-slug")
        await directory.delete_document(BEN, "the-slug")
        await directory.undelete_document(ANN, made.doc_id)
        brief = await create(directory, "brief", "1h")
        assert brief.expires_at is not None
        world.now = brief.expires_at
        await directory._retention.step()
        log = [(row.who, row.what, row.about) for row in await directory.audit(9)]
        assert log == [
            ("server", "document.delete", brief.doc_id),
            ("person:ann", "document.undelete", made.doc_id),
            ("person:ben", "document.delete", made.doc_id),
        ]
