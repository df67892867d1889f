"""A sleeping document in a real cluster: opened by one gateway, written to by another."""

from __future__ import annotations

import anyio
import pytest

from gateway.router import Router
from gateway.server.cluster import Cluster
from shared.directory_protocol import DirectoryStatus
from shared.wire.frames import Open
from tests.integration.test_actor_life import ANN, append, create, locate, read, until
from tests.integration.wire.actor import Sink

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(90)]


async def test_another_gateways_write_reaches_who_sleeps(ray_cluster: Cluster) -> None:
    assert ray_cluster.address
    mine, other = Router("sleeper"), Router("writer")
    sink = Sink()

    async def asleep() -> bool:
        return link.sleeping_epoch > 0 and made.doc_id not in await active()

    async def active() -> set[str]:
        status: DirectoryStatus = await other.directory("status")
        return {document.doc_id for document in status.active}

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(mine.follow)
        made = await create(mine, "Asleep")
        link = await mine.link(made.doc_id)
        link.open_session(sink, Open((await mine.admit(made.doc_id, ANN)).caller))
        await until(asleep)
        before = link.sleeping_epoch
        assert (await append(other, made.doc_id, "written by another")).ok
        while not sink.updates:  # noqa: ASYNC110  the double sets no event
            await anyio.sleep(0.01)
        assert link.sleeping_epoch == 0
        assert (await locate(other, made.doc_id)).key.epoch > before
        assert (await read(other, made.doc_id)).endswith("written by another")
        tasks.cancel_scope.cancel()
    for router in (mine, other):
        await router.close()
