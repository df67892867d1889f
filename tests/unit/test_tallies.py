"""What is counted: commits by how long they took, documents and slots by what became of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.directory.directory import Directory
from actors.directory.tallies import NOTHING, Tallies
from actors.storage.commit_tally import CommitTally
from actors.storage.committer import Committer
from actors.storage.store_memory import MemoryStore
from shared.errors import StorageUnavailable
from shared.limits import GATEWAY_GONE_S
from shared.metrics import COMMIT_BUCKETS, DirectoryMetrics, GatewayReport, added
from shared.protocol import Caller, CommitTotals, Report, RouteKey
from tests.unit.cluster_double import World, until

pytestmark = pytest.mark.anyio

ANN = Caller("person:ann", "Ann", "person:ann", agent=False, scopes=frozenset({"write"}))
SECONDS = st.lists(st.floats(0, 10), max_size=20)


def tallied(seconds: list[float]) -> CommitTotals:
    tally = CommitTally()
    for one in seconds:
        tally.committed(one, 10)
    return tally.totals()


@given(SECONDS)
def test_every_commit_is_in_the_bucket_it_fits(seconds: list[float]) -> None:
    totals = tallied(seconds)
    assert (totals.commits, totals.log_bytes) == (len(seconds), 10 * len(seconds))
    for at, bound in enumerate(COMMIT_BUCKETS):
        within = sum(one <= bound for one in seconds)
        assert sum(totals.buckets[: at + 1]) == within
    assert sum(totals.buckets) == len(seconds)


@given(SECONDS, SECONDS)
def test_what_came_since_is_what_is_added_again(first: list[float], more: list[float]) -> None:
    before, after = tallied(first), tallied(first + more)
    since = added(after, before, -1)
    assert since.commits == len(more)
    again = added(before, since)
    assert (again.commits, again.buckets) == (after.commits, after.buckets)
    assert again.seconds == pytest.approx(after.seconds)


def test_bounds_of_buckets_rise() -> None:
    assert sorted(set(COMMIT_BUCKETS)) == list(COMMIT_BUCKETS)


async def test_committer_counts_its_batches_and_what_failed() -> None:
    store, tally = MemoryStore(), CommitTally()
    committer = Committer(store, tally=tally)
    committer.add_views({"ann": b"views"})
    committer.finish()
    assert await committer.run() is None
    assert (tally.totals().commits, tally.totals().failed) == (1, 0)
    store.full = True
    committer = Committer(store, tally=tally)
    committer.add_views({"ann": b"more"})
    assert await committer.run() is not None
    assert (tally.totals().commits, tally.totals().failed) == (1, 1)


def report(epoch: int, commits: int) -> Report:
    return Report(RouteKey("a" * 12, epoch, "s"), "T", 1, 1, 0, CommitTotals(commits))


def test_commits_of_documents_that_were_put_away_stay_counted() -> None:
    tallies = Tallies(lambda: 0.0)
    for before, now in (
        (None, report(1, 3)),
        (report(1, 3), report(1, 5)),
        (None, report(2, 4)),  # opened again: it counts from nothing
        (report(2, 4), report(2, 4)),
    ):
        tallies.heard(before, now)
    assert tallies.metrics({}, (), 0, ()).commits == CommitTotals(9)


def test_gateway_not_heard_of_is_forgotten() -> None:
    now = 0.0
    tallies = Tallies(lambda: now)
    tallies.heard_gateway(GatewayReport("one", sockets=1))
    now = GATEWAY_GONE_S
    tallies.heard_gateway(GatewayReport("two", sockets=2))
    tallies.heard_gateway(GatewayReport("two", sockets=3))
    assert {(g.gateway_id, g.sockets) for g in tallies.gateways()} == {("one", 1), ("two", 3)}
    now += 1
    assert [g.gateway_id for g in tallies.gateways()] == ["two"]


async def metrics(directory: Directory) -> DirectoryMetrics:
    return await directory.metrics()


async def test_directory_counts_what_it_does() -> None:
    world = World()
    async with world.directory(max_active=2, slot_reuses=2, beat_s=60.0) as directory:
        made = [await directory.create_document(ANN, f"Document {n}") for n in range(3)]
        await directory.delete_document(ANN, made[0].doc_id)
        slot = world.slots.holding(made[2].doc_id)
        slot.sessions, slot.commits = 4, CommitTotals(7, log_bytes=70)
        await directory._activations.sweep()
        told = await metrics(directory)
        assert told.documents == {"ready": 2, "deleted": 1}
        assert told.active == {"active": 2}
        assert (told.activations, told.evictions, told.sessions) == (3, 1, 4)
        assert told.commits == CommitTotals(7, log_bytes=70)

        route = await directory.locate(made[1].doc_id)
        world.slots.holding(made[1].doc_id).silent = True
        await directory.locate(made[1].doc_id, route.key)
        told = await metrics(directory)
        assert (told.takeovers, told.lost, told.activations) == (1, 1, 4)
        assert (await directory._activations.passivate(made[2].doc_id, None)) is True
        world.slots.refuse = StorageUnavailable("The disk is full.")
        with pytest.raises(StorageUnavailable):
            await directory.locate(made[2].doc_id)
        assert (await metrics(directory)).failures == 1


async def test_used_up_slots_are_counted() -> None:
    world = World()
    async with world.directory(slot_reuses=1, beat_s=60.0) as directory:
        made = await directory.create_document(ANN, "One")
        assert await directory._activations.passivate(made.doc_id, None)
        assert (await metrics(directory)).recycled == 1


async def test_commits_since_the_last_heartbeat_count_when_a_document_is_put_away() -> None:
    world = World()
    async with world.directory(beat_s=60.0) as directory:
        made = await directory.create_document(ANN, "One")
        world.slots.holding(made.doc_id).commits = CommitTotals(5)
        assert await directory._activations.passivate(made.doc_id, None)
        assert (await metrics(directory)).commits == CommitTotals(5)


async def test_gateways_of_the_server_are_in_its_metrics() -> None:
    async with World().directory() as directory:
        await directory.report_gateway(GatewayReport("one", sockets=9))
        assert (await metrics(directory)).gateways == (GatewayReport("one", sockets=9),)
        assert (await metrics(directory)).commits == NOTHING
        await until(lambda: bool(directory._nodes.blanks()))
        (node,) = (await metrics(directory)).nodes
        assert node.blank >= 1


def test_what_was_merged_is_counted_once_whatever_is_reported_again() -> None:
    tallies = Tallies(lambda: 0.0)
    key = RouteKey("doc", 1, "s")
    reports = [Report(key, "", 0, 1, 0, CommitTotals(merged=merged)) for merged in (0, 40, 40, 100)]
    before = None
    for report in reports:
        tallies.heard(before, report)
        before = report
    tallies.heard(None, Report(RouteKey("other", 1, "s"), "", 0, 1, 0, CommitTotals(merged=5)))
    assert tallies.merged == 105
