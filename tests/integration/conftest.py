"""One Ray for all integration tests, with a Directory, on a data folder of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import pytest

from actors.directory.catalog import SqliteCatalog
from actors.directory.catalog_memory import MemoryCatalog
from actors.ports import Catalog
from gateway.router import Router
from gateway.server.cluster import Cluster
from shared.directory_protocol import DirectorySettings
from tests.ray_first import DATA, TEMP

IDLE_S = 1.5  # short, so that every test may see documents come and go
HIBERNATE_S = 8.0  # longer than any test is still, but for the one of that


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[Cluster]:
    """An embedded cluster with a Directory."""
    with ThreadPoolExecutor(1) as ray_thread:  # Ray's processes die with the thread that made them
        cluster = ray_thread.submit(Cluster.start, TEMP.path).result()
        settings = DirectorySettings(
            data=str(DATA), idle_s=IDLE_S, hibernate_s=HIBERNATE_S, beat_s=0.2, warm_slots=2
        )
        anyio.run(cluster.start_directory, settings)
        yield cluster
        ray_thread.submit(cluster.end).result()


@pytest.fixture
async def router(ray_cluster: Cluster) -> AsyncIterator[Router]:
    """A gateway's router, on the test's loop."""
    assert ray_cluster.address
    made = Router("test-gateway")
    yield made
    await made.close()


@pytest.fixture(params=["sqlite", "memory"])
async def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Catalog]:
    """The catalog and its double: one contract for both."""
    made: Catalog
    if request.param == "sqlite":
        made = await SqliteCatalog.open(tmp_path / "catalog.sqlite3")
    else:
        made = MemoryCatalog()
    yield made
    await made.close()
