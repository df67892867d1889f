"""Documents in real actors: opened, killed, stopped, put away, found again."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
import ray

from actors.processes import is_alive, start_time
from gateway.router import Router
from gateway.server.cluster import Cluster
from gateway.server.ray_environment import NAMESPACE
from shared.directory_protocol import DIRECTORY_NAME, Created, DirectoryStatus
from shared.errors import DocumentNotFound
from shared.markdown.parse import parse
from shared.protocol import (
    Caller,
    InsertRequest,
    ReadDocumentRequest,
    ReadDocumentResult,
    Route,
    WriteOptions,
    WriteResult,
)
from tests.integration.conftest import IDLE_S

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(90)]

ANN = Caller("person:ann", "Ann", "person:ann", scopes=frozenset({"read", "write"}))


async def create(router: Router, title: str, markdown: str = "# Head\n\nFirst.") -> Created:
    blocks = parse(markdown).blocks
    made: Created = await router.directory("create_document", ANN, title, None, blocks)
    return made


async def read(router: Router, ref: str) -> str:
    request = ReadDocumentRequest(format="markdown")
    result: ReadDocumentResult = await router.call(ref, "read_document", ANN, request)
    assert isinstance(result.markdown, str)
    return result.markdown.removesuffix("\n")


async def append(router: Router, ref: str, text: str) -> WriteResult:
    options = WriteOptions(idempotency_key=text)
    request = InsertRequest(parse(text).blocks, "end", options)
    result: WriteResult = await router.call(ref, "insert", ANN, request)
    return result


async def locate(router: Router, ref: str) -> Route:
    route: Route = await router.directory("locate", ref)
    return route


async def pid_of(route: Route) -> int:
    actor: Any = ray.get_actor(route.actor, namespace=NAMESPACE)
    who = await actor.whoami.remote()
    assert who.key == route.key
    pid: int = who.pid
    return pid


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    while not await condition():  # noqa: ASYNC110  the cluster sets no event
        await anyio.sleep(0.05)


async def test_document_is_created_read_and_written(router: Router) -> None:
    made = await create(router, "Create and read")
    assert made.slug == "create-and-read"
    assert len(made.blocks) == 2
    assert await read(router, made.slug) == await read(router, made.doc_id) == "# Head\n\nFirst."
    written = await append(router, made.doc_id, "Second.")
    assert written.inserted == 1
    assert await read(router, made.doc_id) == "# Head\n\nFirst.\n\nSecond."


async def test_unknown_document_is_not_found(router: Router) -> None:
    with pytest.raises(DocumentNotFound):
        await router.call("nowhere", "read_document", ANN, ReadDocumentRequest())


async def test_killed_actor_loses_nothing_and_nobody_notices(router: Router) -> None:
    made = await create(router, "Killed")
    await append(router, made.doc_id, "Kept.")
    route = await locate(router, made.doc_id)
    os.kill(await pid_of(route), signal.SIGKILL)
    await append(router, made.doc_id, "After.")
    assert await read(router, made.doc_id) == "# Head\n\nFirst.\n\nKept.\n\nAfter."
    assert (await locate(router, made.doc_id)).key.epoch > route.key.epoch


async def test_stopped_actor_is_killed_and_its_document_opens_elsewhere(router: Router) -> None:
    made = await create(router, "Stopped")
    await append(router, made.doc_id, "Kept.")
    pid = await pid_of(await locate(router, made.doc_id))
    started = start_time(pid)
    os.kill(pid, signal.SIGSTOP)  # it keeps the file locked
    with anyio.fail_after(3 * 8):  # 8 s where it has a core of its own
        assert await read(router, made.doc_id) == "# Head\n\nFirst.\n\nKept."
    assert not is_alive(pid, started)


async def test_killed_directory_finds_its_documents_again(
    router: Router, ray_cluster: Cluster
) -> None:
    made = await create(router, "Directory killed")
    await append(router, made.doc_id, "Kept.")
    link = await router.link(made.doc_id)  # a session of nobody: keeps nothing awake
    route = await locate(router, made.doc_id)
    directory: Any = ray.get_actor(DIRECTORY_NAME, namespace=NAMESPACE)
    pid = await directory.process.remote()
    os.kill(pid, signal.SIGKILL)
    assert await read(router, made.doc_id) == "# Head\n\nFirst.\n\nKept."  # no Directory needed
    status: DirectoryStatus = await router.directory("status")
    assert status.ready
    assert await directory.process.remote() != pid
    again = await locate(router, made.doc_id)
    if link.attached:  # not put away meanwhile: exactly the same activation
        assert again == route
    assert ray_cluster.address


async def test_idle_document_is_put_away_and_comes_back(router: Router) -> None:
    made = await create(router, "Idle")
    route = await locate(router, made.doc_id)

    async def nobody_active() -> bool:
        status: DirectoryStatus = await router.directory("status")
        return status.documents == 0

    await until(nobody_active)
    assert await read(router, made.doc_id) == "# Head\n\nFirst."
    assert (await locate(router, made.doc_id)).key.epoch > route.key.epoch


async def test_reader_that_waits_hears_of_a_change_and_keeps_the_document_awake(
    router: Router,
) -> None:
    made = await create(router, "Waiting")
    await append(router, made.doc_id, "One.")
    heard: list[bool] = []

    async def wait() -> None:
        link = await router.link(made.doc_id)
        heard.append(await link.wait_beyond(link.change_seq, 30.0))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        route = await locate(router, made.doc_id)
        await anyio.sleep(2 * IDLE_S)  # an idle document would have been put away
        assert heard == []
        await append(router, made.doc_id, "Two.")
    assert heard == [True]
    assert (await locate(router, made.doc_id)).key == route.key


async def test_reader_that_waits_outlives_the_actor(router: Router) -> None:
    made = await create(router, "Waiting on")
    await append(router, made.doc_id, "One.")
    link = await router.link(made.doc_id)
    heard: list[bool] = []

    async def wait() -> None:
        heard.append(await link.wait_beyond(link.change_seq, 40.0))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        os.kill(await pid_of(await locate(router, made.doc_id)), signal.SIGKILL)
        while link.attached:  # noqa: ASYNC110  the link sets no event
            await anyio.sleep(0.005)
        await append(router, made.doc_id, "Two.")
    assert heard == [True]


async def test_documents_opened_at_once_are_all_served(router: Router) -> None:
    made = [await create(router, f"Many {n}") for n in range(4)]
    texts: list[Any] = await asyncio.gather(*(read(router, doc.slug) for doc in made))
    assert texts == ["# Head\n\nFirst."] * 4
