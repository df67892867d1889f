"""A document's actor on another node than its gateway.

Two raylets on one machine: what is shown is placement, the link over TCP and failover of a node.
What is not: that POSIX locks hold between two kernels. Run in a pytest process of its own, because
a process joins one cluster.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

import anyio
import pytest
import ray
from ray.cluster_utils import Cluster as RayNodes

from actors.directory_actor import DIRECTORY_OPTIONS, RemoteDirectoryActor
from actors.processes import is_alive
from gateway.router import Router
from gateway.server.ray_environment import NAMESPACE
from shared.directory_protocol import Created, DirectorySettings, DirectoryStatus, NodeStatus
from shared.errors import DocactorError, InvalidArgument
from shared.markdown.parse import parse
from shared.protocol import (
    Caller,
    InsertRequest,
    ReadDocumentRequest,
    ReadDocumentResult,
    Route,
    Whoami,
    WriteOptions,
    WriteResult,
)
from tests.integration.direct_calls import ask
from tests.ray_first import DATA

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]

ANN = Caller("person:ann", "Ann", "person:ann", scopes=frozenset({"read", "write"}))
STORE = 80 * 2**20


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    """Two nodes; this process and the Directory are on the first."""
    cluster: Any = RayNodes(
        initialize_head=True,
        head_node_args={"num_cpus": 2, "object_store_memory": STORE, "include_dashboard": False},
    )
    cluster.add_node(num_cpus=2, object_store_memory=STORE)
    ray.init(
        address=cluster.address,
        namespace=NAMESPACE,
        log_to_driver=False,
        configure_logging=False,
    )
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture
async def router(nodes: Any) -> AsyncIterator[Router]:
    assert len(nodes.list_all_nodes()) >= 1
    settings = DirectorySettings(data=str(DATA), beat_s=0.5, warm_slots=1)
    RemoteDirectoryActor.options(**DIRECTORY_OPTIONS, namespace=NAMESPACE).remote(settings)
    made = Router("test-gateway")
    yield made
    await made.close()


async def read(router: Router, ref: str) -> str:
    request = ReadDocumentRequest(format="markdown")
    result: ReadDocumentResult = await router.call(ref, "read_document", ANN, request)
    assert isinstance(result.markdown, str)
    return result.markdown


async def append(router: Router, ref: str, text: str) -> None:
    options = WriteOptions(idempotency_key=text)
    request = InsertRequest(parse(text).blocks, "end", options)
    await router.call(ref, "insert", ANN, request)


async def document_on(router: Router, *, other_node: bool) -> Route:
    """A document whose actor is on the other node, or on this one: load spreads them."""
    for n in range(4):
        made: Created = await router.directory(
            "create_document", ANN, f"Document {n}", None, parse("# Head").blocks
        )
        route: Route = await router.directory("locate", made.doc_id)
        if (route.node_id != ray.get_runtime_context().get_node_id()) == other_node:
            return route
    raise AssertionError("four documents went to one of two equal nodes")


async def whoami(route: Route) -> Whoami:
    actor: Any = ray.get_actor(route.actor, namespace=NAMESPACE)
    who: Whoami = await actor.whoami.remote()
    return who


async def test_both_nodes_are_used(router: Router) -> None:
    here = await document_on(router, other_node=False)
    there = await document_on(router, other_node=True)
    assert here.node_id != there.node_id
    status: DirectoryStatus = await router.directory("status")
    assert [node.refused for node in status.nodes] == ["", ""]


async def test_document_on_the_other_node_is_read_written_and_followed_over_tcp(
    router: Router,
) -> None:
    route = await document_on(router, other_node=True)
    doc_id = route.key.doc_id
    await append(router, doc_id, "One.")
    heard: list[bool] = []

    async def wait() -> None:
        link = await router.link(doc_id)
        assert link.route is not None
        assert link.route.node_id != ray.get_runtime_context().get_node_id()
        heard.append(await link.wait_beyond(link.change_seq, 30.0))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        while not (await router.link(doc_id)).in_use:  # noqa: ASYNC110  it sets no event
            await anyio.sleep(0.01)
        await append(router, doc_id, "Two.")
    assert heard == [True]
    assert await read(router, doc_id) == "# Head\n\nOne.\n\nTwo.\n"


async def test_documents_of_a_drained_node_move_under_those_who_follow_them(
    router: Router,
) -> None:
    route = await document_on(router, other_node=True)
    doc_id, drained = route.key.doc_id, route.node_id
    await append(router, doc_id, "Kept.")
    heard: list[bool] = []

    async def wait() -> None:
        link = await router.link(doc_id)
        heard.append(await link.wait_beyond(link.change_seq, 30.0))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        while not (await router.link(doc_id)).in_use:  # noqa: ASYNC110  it sets no event
            await anyio.sleep(0.01)
        answer: NodeStatus = await router.directory("drain_node", drained[:16], False)
        assert (answer.node_id, answer.draining, answer.active) == (drained, True, 0)
        await append(router, doc_id, "After.")
    assert heard == [True]
    assert await read(router, doc_id) == "# Head\n\nKept.\n\nAfter.\n"
    again: Route = await router.directory("locate", doc_id)
    assert again.node_id != drained
    assert (await document_on(router, other_node=False)).node_id == again.node_id
    with pytest.raises(InvalidArgument, match="nowhere to go"):
        await router.directory("drain_node", again.node_id, False)
    await router.directory("undrain_node", drained)
    assert (await document_on(router, other_node=True)).node_id == drained


async def test_a_node_whose_raylet_is_killed_loses_nothing_and_its_zombies_harm_nothing(
    router: Router, nodes: Any
) -> None:
    """kill -9 of the raylet alone: its actor goes on answering until it notices.

    What a zombie acknowledges is there; once the document has opened elsewhere it answers nobody.
    """
    route = await document_on(router, other_node=True)
    doc_id = route.key.doc_id
    await append(router, doc_id, "Kept.")
    zombie: Any = ray.get_actor(route.actor, namespace=NAMESPACE)
    who = await whoami(route)
    kill_raylet(nodes, route.node_id)
    acknowledged = []

    async def write_to_the_zombie() -> None:
        number = 0
        while True:
            text = f"Zombie {number}."
            request = InsertRequest(parse(text).blocks, "end", WriteOptions(idempotency_key=text))
            try:
                answer = await ask(zombie, "insert", route.key, ANN, request)
            except ray.exceptions.RayActorError:
                return  # Ray knows now
            if not isinstance(answer, WriteResult):
                return  # fenced
            acknowledged.append(text)
            number += 1

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(write_to_the_zombie)
            await append(router, doc_id, "After.")
        await wait_gone(who)
        text = await read(router, doc_id)
    written = text.split("\n\n")
    assert written[:2] == ["# Head", "Kept."]
    assert sorted(line.strip() for line in written[2:]) == sorted(["After.", *acknowledged])
    again: Route = await router.directory("locate", doc_id)
    assert again.node_id != route.node_id
    assert again.key.epoch > route.key.epoch


async def test_a_zombie_that_was_stopped_goes_on_and_finds_that_it_lost_its_document(
    router: Router, nodes: Any, rng: random.Random
) -> None:
    """It has the file locked. Killed by a slot of its node that lives on, or let go by itself."""
    nodes.add_node(num_cpus=2, object_store_memory=STORE)
    with anyio.fail_after(60):
        route = await until_on_another(router)
    doc_id = route.key.doc_id
    await append(router, doc_id, "Kept.")
    zombie: Any = ray.get_actor(route.actor, namespace=NAMESPACE)
    who = await whoami(route)
    os.kill(who.pid, signal.SIGSTOP)
    request = InsertRequest(parse("Zombie.").blocks, "end", WriteOptions(idempotency_key="z"))
    stuck = asyncio.ensure_future(ask(zombie, "insert", route.key, ANN, request))
    await asyncio.sleep(0)  # on its way to the stopped process
    kill_raylet(nodes, route.node_id)

    async def go_on() -> None:
        await anyio.sleep(rng.uniform(0, 8))  # the moment under test
        with suppress(ProcessLookupError):
            os.kill(who.pid, signal.SIGCONT)

    with anyio.fail_after(90):
        async with anyio.create_task_group() as group:
            group.start_soon(go_on)
            await append_at_last(router, doc_id, "After.")
        await wait_gone(who)
        text = await read(router, doc_id)
    try:
        acknowledged = isinstance(await asyncio.wait_for(stuck, 30), WriteResult)
    except ray.exceptions.RayActorError:
        acknowledged = False
    assert text.count("Zombie.") <= 1
    assert text.count("Zombie.") == 1 or not acknowledged
    assert text.replace("\n\nZombie.", "") == "# Head\n\nKept.\n\nAfter.\n"
    assert (await router.directory("locate", doc_id)).node_id != route.node_id


def kill_raylet(nodes: Any, node_id: str) -> None:
    """Of all the node's processes the raylet alone, as the kernel does when memory is short."""
    (gone,) = [node for node in nodes.worker_nodes if node.node_id == node_id]
    (raylet,) = gone.all_processes["raylet"]
    raylet.process.kill()
    raylet.process.wait()
    nodes.remove_node(gone, allow_graceful=False)


async def wait_gone(who: Whoami) -> None:
    while is_alive(who.pid, who.started):  # noqa: ASYNC110  the kernel sets no event
        await anyio.sleep(0.05)


async def until_on_another(router: Router) -> Route:
    """A document on the other node, as soon as that has joined."""
    while True:
        try:
            return await document_on(router, other_node=True)
        except AssertionError:
            await anyio.sleep(0.2)


async def append_at_last(router: Router, ref: str, text: str) -> None:
    """Repeats what may be repeated: the file stays locked until the zombie goes on."""
    while True:
        try:
            return await append(router, ref, text)
        except DocactorError as error:
            if not error.retryable:
                raise
            await anyio.sleep(0.1)
