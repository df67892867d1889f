"""Last left is on disk: after an orderly end, after a kill, after a disk that was full."""

from __future__ import annotations

import pytest

from shared.stored import StoredReader
from tests.unit.cluster_double import until
from tests.unit.documents import ANN, OTHER, SCRIBE, Bench

pytestmark = pytest.mark.anyio


async def read(bench: Bench, seconds: int = 12) -> int:
    """A session of Ann's, still open; returns the last instant she was reading."""
    bench.document.readers.opened("tab", ANN, None)
    bench.now += seconds * 1000
    bench.document.readers.heard("tab")
    return bench.now


async def test_the_stamp_makes_a_commit_of_its_own() -> None:
    bench = await Bench.of("one\n")
    at = await read(bench)
    bench.document.readers.ended("tab")
    assert bench.document.all_left == {}  # the catalog is not told before it is on disk
    await until(lambda: bench.store.readers == {"ann": StoredReader("ann", at)})
    await until(lambda: bench.document.all_left == {"ann": at})


async def test_what_is_read_goes_out_with_the_next_commit_and_not_before() -> None:
    bench = await Bench.of("one\n")
    at = await read(bench)
    commits = bench.store.commits
    assert bench.store.readers == {}
    await bench.insert("two")
    assert bench.store.commits == commits + 1
    assert bench.store.readers == {"ann": StoredReader("ann", None, at)}


async def test_a_killed_server_stamps_at_the_next_opening() -> None:
    bench = await Bench.of("one\n")
    at = await read(bench)
    await bench.insert("two")
    bench.store.closed = True  # what was not stored is gone
    bench.document = await bench._start()
    assert bench.document.readers.last_left("ann") == at


async def test_a_document_put_away_with_its_sessions_has_seen_nobody_leave() -> None:
    bench = await Bench.of("one\n")
    at = await read(bench)
    bench.document.readers.part()
    bench.document.readers.ended("tab")
    await bench.document.close()
    assert bench.store.readers == {"ann": StoredReader("ann", None, at)}


async def test_a_full_disk_delays_the_stamp() -> None:
    bench = await Bench.of("one\n")
    at = await read(bench)
    bench.store.full = True
    bench.document.readers.ended("tab")
    await until(lambda: bench.document.degraded)
    assert bench.document.readers.last_left("ann") == at
    bench.store.full = False
    await until(lambda: bench.store.readers == {"ann": StoredReader("ann", at)})
    assert not bench.document.degraded


async def test_who_is_behind_an_agent_is_stored_with_what_it_changed() -> None:
    bench = await Bench.of("one\n", SCRIBE)
    assert bench.store.people == {"scribe": "ann"}
    await bench.insert("two", caller=OTHER)
    await bench.insert("three", caller=ANN)
    assert bench.store.people == {"scribe": "ann", "other": "ann"}
