"""Whatever is tried, one process writes a document, and each write is there once.

P13, P17, P18 (b), P58, P59 and P61 of the table in acceptance/test_failover.py.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
import ray
from ray.util import list_named_actors

from actors.directory.ray_slots import start_actor
from actors.directory_actor import DIRECTORY_OPTIONS, RemoteDirectoryActor
from actors.document_actor import SLOT_OPTIONS, DocumentActor, RemoteDocumentActor
from actors.ray_calls import answer_within
from actors.storage.document_files import DocumentFiles
from gateway.router import Router
from gateway.server.cluster import Cluster
from gateway.server.ray_environment import NAMESPACE
from shared.calls import Verb
from shared.directory_protocol import DirectorySettings, DirectoryStatus
from shared.errors import DocumentNotFound, Moved, StorageUnavailable, WireError
from shared.markdown.parse import parse
from shared.protocol import (
    Activated,
    Activation,
    InsertRequest,
    PatchRequest,
    Route,
    RouteKey,
    WriteOptions,
    WriteResult,
)
from tests.integration.conftest import IDLE_S
from tests.integration.direct_calls import ask
from tests.integration.test_actor_life import ANN, append, create, locate, pid_of, read, until
from tests.ray_first import DATA

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

ANSWER_S = 60.0
STOPPED_ANSWER_S = 3 * 8.0  # a stopped actor's document answers within 8 s where it has a core


class DiesAfterWriting(DocumentActor):
    """Is killed between its commit and its answer."""

    async def serve(self, verb: Verb, call: bytes) -> bytes:
        answer = await super().serve(verb, call)
        os.kill(os.getpid(), signal.SIGKILL)
        return answer


def new_slot(kind: Any = RemoteDocumentActor, namespace: str = NAMESPACE) -> Any:
    """An actor the Directory knows nothing of."""
    return start_actor(kind, {**SLOT_OPTIONS, "namespace": namespace})


def activation(doc_id: str, epoch: int) -> Activation:
    return Activation(RouteKey(doc_id, epoch, "forced"), DocumentFiles(DATA).path(doc_id))


def holders(doc_id: str) -> list[int]:
    """Processes that have the document's file open."""
    name = f"{doc_id}.sqlite3"
    found = []
    for process in Path("/proc").iterdir():
        try:
            if any(fd.readlink().name == name for fd in (process / "fd").iterdir()):
                found.append(int(process.name))
        except OSError:
            continue
    return found


def write(text: str, key: str | None) -> InsertRequest:
    return InsertRequest(parse(text).blocks, "end", WriteOptions(idempotency_key=key))


async def append_all(router: Router, doc_id: str, texts: list[str]) -> None:
    async with anyio.create_task_group() as group:
        for text in texts:
            group.start_soon(append, router, doc_id, text)


async def assert_each_once(router: Router, doc_id: str, texts: list[str]) -> None:
    found = (await read(router, doc_id)).split("\n\n")
    assert sorted(found) == sorted(["# Head", "First.", *texts])
    assert len(holders(doc_id)) == 1


async def test_whoever_comes_while_a_document_loads_waits_for_the_one_load(
    router: Router,
) -> None:
    """P13: nobody sees an empty document, and what was read patched back is no change."""
    made = await create(router, "Slow to load")
    text = await read(router, made.doc_id)
    route = await locate(router, made.doc_id)
    actor: Any = ray.get_actor(route.actor, namespace=NAMESPACE)
    assert await actor.passivate.remote(route.key, None)
    slow = sqlite3.connect(DocumentFiles(DATA).path(made.doc_id), isolation_level=None)
    slow.execute("BEGIN IMMEDIATE")  # who opens the file waits for it
    same = PatchRequest(parse(text).blocks)
    patching = asyncio.ensure_future(router.call(made.doc_id, "patch", ANN, same))
    reading = [asyncio.ensure_future(read(router, made.doc_id)) for _ in range(2)]
    linking = asyncio.ensure_future(router.link(made.doc_id))
    try:

        async def waits() -> bool:
            status: DirectoryStatus = await router.directory("status")
            return status.waiting == 1

        await until(waits)
        assert not any(task.done() for task in (patching, *reading, linking))
    finally:
        slow.close()
    assert await asyncio.gather(*reading) == [text, text]
    patched: WriteResult = await patching
    assert (patched.inserted, patched.replaced, patched.deleted, patched.moved) == (0, 0, 0, 0)
    assert (await linking).attached
    assert (await locate(router, made.doc_id)).key.epoch == route.key.epoch + 1


async def test_twenty_callers_meet_a_killed_actor_and_none_notices(router: Router) -> None:
    """P58."""
    made = await create(router, "Callers")
    os.kill(await pid_of(await locate(router, made.doc_id)), signal.SIGKILL)
    texts = [f"Text {number}." for number in range(20)]

    async def reads() -> None:
        assert "First." in await read(router, made.slug)

    async with anyio.create_task_group() as group:
        for text in texts:
            group.start_soon(append, router, made.doc_id, text)
            group.start_soon(reads)
    await assert_each_once(router, made.doc_id, texts)


@pytest.mark.parametrize("key", ["given", None])
async def test_an_actor_that_dies_between_commit_and_answer_has_written_once(
    router: Router, key: str | None
) -> None:
    """P59: Ray repeats nothing, and the file knows what was done under a key."""
    made = await create(router, "Dies after writing")
    route = await locate(router, made.doc_id)
    actor: Any = ray.get_actor(route.actor, namespace=NAMESPACE)
    assert await actor.passivate.remote(route.key, None)
    dying = new_slot(ray.remote(DiesAfterWriting))
    order = activation(made.doc_id, route.key.epoch)
    assert isinstance(await dying.activate.remote(order), Activated)
    request = write("Once.", key)
    with pytest.raises(ray.exceptions.RayActorError):
        await ask(dying, "insert", order.key, ANN, request)
    if key is not None:
        again = await router.call(made.doc_id, "insert", ANN, request)
        assert again.inserted == 1
    await assert_each_once(router, made.doc_id, ["Once."])


async def test_of_two_activations_at_once_one_gets_the_file(router: Router) -> None:
    """P17: the second waits for the lock and says that it has no file; it never yields."""
    made = await create(router, "Two at once")
    route = await locate(router, made.doc_id)
    actor: Any = ray.get_actor(route.actor, namespace=NAMESPACE)
    assert await actor.passivate.remote(route.key, None)
    slots = [new_slot(), new_slot()]
    order = activation(made.doc_id, route.key.epoch)
    answers = await asyncio.gather(
        *(answer_within(slot.activate.remote(order), ANSWER_S) for slot in slots)
    )
    won = [n for n, answer in enumerate(answers) if isinstance(answer, Activated)]
    lost = [answer for answer in answers if isinstance(answer, WireError)]
    assert len(won) == 1
    assert [answer.code for answer in lost] == [StorageUnavailable.code]
    written = await ask(slots[won[0]], "insert", order.key, ANN, write("Kept.", None))
    assert written.inserted == 1
    refused = await ask(slots[1 - won[0]], "insert", order.key, ANN, write("Lost.", None))
    assert refused.code == Moved.code
    for slot in slots:
        ray.kill(slot)
    await assert_each_once(router, made.doc_id, ["Kept."])


async def test_a_rival_with_a_higher_epoch_fences_the_holder_and_then_has_the_file(
    router: Router,
) -> None:
    """P17: the holder's next write is refused, it leaves, and nothing it told is lost."""
    made = await create(router, "Rival")
    route = await locate(router, made.doc_id)
    await append(router, made.doc_id, "Before.")
    order = activation(made.doc_id, route.key.epoch + 1)
    await DocumentFiles(DATA).write_epoch(made.doc_id, order.key.epoch)
    rival = new_slot()
    activating = rival.activate.remote(order)
    holder: Any = ray.get_actor(route.actor, namespace=NAMESPACE)
    refused = await ask(holder, "insert", route.key, ANN, write("Never.", None))
    assert refused.code == Moved.code
    assert isinstance(await answer_within(activating, ANSWER_S), Activated)
    written = await ask(rival, "insert", order.key, ANN, write("Rival's.", None))
    assert written.inserted == 1
    assert holders(made.doc_id) == [(await rival.whoami.remote()).pid]
    ray.kill(rival)
    await assert_each_once(router, made.doc_id, ["Before.", "Rival's."])


@pytest.mark.parametrize("moment", [(0.3, 0.6), (4.5, 4.8), (6.3, 6.6), (0.0, 8.0)])
async def test_a_stopped_actor_that_goes_on_at_any_moment_leaves_one_writer(
    router: Router, rng: random.Random, moment: tuple[float, float]
) -> None:
    """At once, while it is asked, while it is replaced, and whenever chance has it."""
    made = await create(router, "Stopped and gone on")
    await append(router, made.doc_id, "Kept.")
    pid = await pid_of(await locate(router, made.doc_id))
    os.kill(pid, signal.SIGSTOP)
    texts = [f"Text {number}." for number in range(5)]

    async def go_on() -> None:
        await anyio.sleep(rng.uniform(*moment))  # the moment under test
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            return  # replaced before

    with anyio.fail_after(STOPPED_ANSWER_S):
        async with anyio.create_task_group() as group:
            group.start_soon(go_on)
            group.start_soon(append_all, router, made.doc_id, texts)
    await assert_each_once(router, made.doc_id, ["Kept.", *texts])


async def test_a_document_put_away_while_somebody_comes_back_is_served(router: Router) -> None:
    """P18 (b): at whatever moment of its closing the caller arrives."""
    made = await create(router, "Comes back")
    texts = []
    for number in range(5):
        route: Route = await locate(router, made.doc_id)
        actor: Any = ray.get_actor(route.actor, namespace=NAMESPACE)
        texts.append(f"Text {number}.")
        closing = actor.passivate.remote(route.key, None)
        for _ in range(2 * number):
            await anyio.sleep(0.001)  # a moment later each time
        await append(router, made.doc_id, texts[-1])
        with suppress(ray.exceptions.RayActorError):  # killed while it closed: fine as well
            await answer_within(closing, ANSWER_S)
    await assert_each_once(router, made.doc_id, texts)


async def test_another_namespace_gets_neither_catalog_nor_document(
    router: Router, ray_cluster: Cluster
) -> None:
    """P61: what is locked is the file; a name in a namespace decides nothing."""
    assert ray_cluster.address
    made = await create(router, "Namespaces")
    route = await locate(router, made.doc_id)
    assert {entry["namespace"] for entry in list_named_actors(all_namespaces=True)} == {NAMESPACE}
    options = {**DIRECTORY_OPTIONS, "namespace": "another", "lifetime": None, "max_restarts": 0}
    settings = DirectorySettings(data=str(DATA))
    second = start_actor(RemoteDirectoryActor, options, settings)
    slot = new_slot(namespace="another")

    async def keep_awake() -> None:
        while True:
            await read(router, made.doc_id)
            await anyio.sleep(IDLE_S / 3)

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(keep_awake)  # who holds the file must not put it away meanwhile
            order = activation(made.doc_id, route.key.epoch)
            calls = (second.call.remote("locate", made.doc_id), slot.activate.remote(order))
            refused = await asyncio.gather(*(answer_within(call, ANSWER_S) for call in calls))
            assert [answer.code for answer in refused] == [StorageUnavailable.code] * 2
            await append(router, made.doc_id, "Kept.")
            group.cancel_scope.cancel()
    finally:
        ray.kill(second)
        ray.kill(slot)
    await assert_each_once(router, made.doc_id, ["Kept."])


async def test_names_that_look_alike_are_not_one_document(router: Router) -> None:
    """P61: an id is an id; what is not exactly one is a slug or nothing."""
    made = await create(router, "Names")
    for ref in (made.doc_id.upper(), f"{made.doc_id} ", made.slug.upper(), f"{made.slug}\u0301"):
        with pytest.raises(DocumentNotFound):
            await read(router, ref)
    assert len(holders(made.doc_id)) == 1
