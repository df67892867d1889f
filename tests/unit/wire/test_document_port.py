"""What the hub relies on, asked of the real document and of the hub tests' fake alike."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Protocol

import pytest
from pycrdt import Doc, Text

from actors.document.document_port import Committed, DocumentPort
from actors.storage.stored import NotCommittedError
from shared.errors import DocactorError, StorageUnavailable
from tests.unit.documents import Bench
from tests.unit.wire.fakes import ANNA, FakeDocument

pytestmark = pytest.mark.anyio


class World(Protocol):
    """A document whose commits wait until they are let through or fail."""

    port: DocumentPort

    async def commit(self) -> None: ...
    async def fail(self) -> None: ...


class FakeWorld:
    def __init__(self) -> None:
        self.fake = FakeDocument()
        self.port: DocumentPort = self.fake

    async def commit(self) -> None:
        self.fake.commit()

    async def fail(self) -> None:
        self.fake.fail()


class RealWorld:
    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.port: DocumentPort = bench.document
        self._reloaded = asyncio.Event()
        bench.document.on_reload(self._reloaded.set)
        self._hold()

    def _hold(self) -> None:
        self._gate = asyncio.Event()
        gate = self._gate

        async def wait() -> None:
            await gate.wait()

        self._bench.store.before_commit = wait

    async def commit(self) -> None:
        done = asyncio.Event()
        self.port.after_commit(lambda _error: done.set())
        self._gate.set()
        await done.wait()
        self._hold()

    async def fail(self) -> None:
        self._bench.store.fail = NotCommittedError("disk full")
        self._gate.set()
        await self._reloaded.wait()
        self._hold()

    async def end(self) -> None:
        self._gate.set()
        await self._bench.document.close()


@pytest.fixture(params=["fake", "real"])
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    if request.param == "fake":
        yield FakeWorld()
        return
    real = RealWorld(await Bench.of(""))
    yield real
    await real.end()


class Client:
    """A Yjs client that writes into a text of its own."""

    def __init__(self) -> None:
        self.doc: Doc[Text] = Doc()
        self.text = self.doc.get("text", type=Text)

    def type(self, text: str) -> bytes:
        before = self.doc.get_state()
        self.text += text
        return self.doc.get_update(before)


class Heard:
    """What a document told, in order."""

    def __init__(self, port: DocumentPort) -> None:
        self.port = port
        self.batches: list[Committed] = []
        self.order: list[str] = []
        self.errors: list[DocactorError | None] = []
        port.subscribe(self._batch)

    def ask(self, name: str) -> None:
        def release(error: DocactorError | None) -> None:
            self.order.append(name)
            self.errors.append(error)

        self.port.after_commit(release)

    def _batch(self, batch: Committed) -> None:
        self.batches.append(batch)
        self.order.append("batch")


async def test_when_all_is_on_disk_the_answer_comes_at_once(world: World) -> None:
    heard = Heard(world.port)
    heard.ask("now")
    assert (heard.order, heard.errors) == (["now"], [None])


async def test_a_batch_is_told_before_what_waited_for_it(world: World) -> None:
    heard, client = Heard(world.port), Client()
    before = world.port.seq
    outcome = world.port.apply(client.type("one "), ANNA)
    heard.ask("first")
    heard.ask("second")
    assert (outcome.verdict, heard.order, world.port.seq) == ("applied", [], before)
    await world.commit()
    assert heard.order == ["batch", "first", "second"]
    assert heard.errors == [None, None]
    assert heard.batches[0].seq == world.port.seq > before
    assert world.port.change_seq == heard.batches[0].change_seq
    fresh: Doc[Text] = Doc()
    fresh.apply_update(heard.batches[0].update)
    assert str(fresh.get("text", type=Text)) == "one "


async def test_a_second_copy_changes_nothing_and_waits_for_the_first(world: World) -> None:
    heard, update = Heard(world.port), Client().type("one")
    world.port.apply(update, ANNA)
    outcome = world.port.apply(update, ANNA)
    heard.ask("copy")
    assert (outcome.verdict, heard.order) == ("unchanged", [])
    await world.commit()
    assert heard.order == ["batch", "copy"]


async def test_a_gap_is_named_and_nothing_of_it_kept(world: World) -> None:
    client = Client()
    client.type("never sent")
    vector = world.port.state_vector()
    assert world.port.apply(client.type("x"), ANNA).verdict == "gap"
    assert world.port.state_vector() == vector
    assert world.port.apply(client.doc.get_update(), ANNA).verdict == "applied"
    await world.commit()


@pytest.mark.parametrize("update", [b"", b"\xff\xff", b"\x01\x01"])
async def test_what_is_no_update_is_refused_with_a_reason(world: World, update: bytes) -> None:
    vector = world.port.state_vector()
    outcome = world.port.apply(update, ANNA)
    assert (outcome.verdict, bool(outcome.reason)) == ("refused", True)
    assert world.port.state_vector() == vector


async def test_a_peer_gets_what_it_lacks(world: World) -> None:
    client, other = Client(), Client()
    world.port.apply(client.type("one "), ANNA)
    other.doc.apply_update(world.port.diff(other.doc.get_state()))
    assert str(other.text) == "one "
    await world.commit()


@pytest.mark.parametrize("vector", [b"", b"\xff\xff"])
async def test_what_is_no_state_vector_is_refused(world: World, vector: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        world.port.diff(vector)


async def test_the_batches_since_one_are_kept(world: World) -> None:
    client, other = Client(), Client()
    world.port.apply(client.type("one "), ANNA)
    await world.commit()
    seq, vector = world.port.seq, client.doc.get_update()
    world.port.apply(client.type("two"), ANNA)
    await world.commit()
    missed = await world.port.updates_since(seq)
    assert missed is not None
    other.doc.apply_update(vector)
    other.doc.apply_update(missed)
    assert str(other.text) == "one two"
    assert await world.port.updates_since(world.port.seq) == b""


async def test_a_batch_that_fails_is_not_told_and_the_document_is_as_before(world: World) -> None:
    heard, client, other = Heard(world.port), Client(), Client()
    world.port.apply(client.type("kept "), ANNA)
    await world.commit()
    heard.order.clear()
    heard.errors.clear()
    world.port.apply(client.type("lost"), ANNA)
    heard.ask("lost")
    await world.fail()
    assert heard.order == ["lost"]
    assert isinstance(heard.errors[0], StorageUnavailable)
    other.doc.apply_update(world.port.diff(b"\x00"))
    assert str(other.text) == "kept "
