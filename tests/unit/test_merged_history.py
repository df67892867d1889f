"""Old history made smaller: what a reader may name is exact, what a load reads is left alone."""

from __future__ import annotations

import asyncio
import random

import pytest
from pycrdt import Doc, Text, merge_updates

from actors.storage.stored import NotCommittedError
from shared.errors import BaseExpired
from shared.history import merging
from shared.history.merging import Boundaries, authors_of, groups, splice_between
from shared.index.record import SavedIndex
from shared.limits import DAY_MS, SPAN_MS
from shared.protocol import Caller
from shared.stored import StoredUpdate
from shared.yjs.update import deletions, insertions, same_items
from tests.amount import amount
from tests.unit.documents import Bench

pytestmark = pytest.mark.anyio
BOB = Caller("bob", "Bob")
Texts = list[tuple[str, str]]


async def now(bench: Bench) -> Texts:
    mirror = await bench.mirror()
    return [(one, mirror.texts[one]) for one in mirror.order]


async def at(bench: Bench, ms: int) -> tuple[int, Texts]:
    state = await bench.document.history.state_at(ms)
    assert state is not None
    return state.at, [(one.block_id, one.text) for one in state.blocks]


async def settle(bench: Bench) -> int:
    """Makes history as small as it gets; the steps it took."""
    steps = 1
    while await bench.document._keeper.retention.step():
        steps += 1
    return steps


def makers(updates: list[StoredUpdate]) -> dict[tuple[str, int, int], str]:
    """Who inserted and who deleted every single item."""
    found = {}
    for update in updates:
        for kind, ranges in (("+", insertions(update.data)), ("-", deletions(update.data))):
            for client, start, end in ranges:
                for clock in range(start, end):
                    found[kind, client, clock] = update.principal
    return found


class Story:
    """A document two people edited for days, and what readers saw when."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.seen: dict[int, Texts] = {}
        self.versions: dict[str, Texts] = {}
        self.cursors: dict[int, Texts] = {}
        self.log: dict[int, StoredUpdate] = {}

    @classmethod
    async def of(cls, seed: int, steps: int) -> Story:
        rng = random.Random(seed)
        story = cls(await Bench.of("# Plan\n\none 📊\n\n- a\n- b\n"))
        bench = story.bench
        story.seen[bench.now] = await now(bench)
        editors = [bench.editor(), bench.editor(BOB, keeps_ids=False)]
        for step in range(steps):
            bench.now += rng.choice([0, 1, 300, 2_000, 40_000, 90_000])
            if step == steps // 2:
                bench.now += 2 * DAY_MS
            editor = rng.choice(editors)
            editor.pull()
            editor.act(rng)
            editor.hand_over()
            await story.look(step)
            if step % 25 == 24:
                await bench.restart()  # leaves a checkpoint
                for one in editors:
                    one.document = bench.document
        await bench.restart()
        story.log = dict(bench.store.updates)
        return story

    async def look(self, step: int) -> None:
        bench = self.bench
        texts = await now(bench)
        self.seen[bench.now] = texts
        read = await bench.read(max_chars=1_000_000)
        self.cursors[read.cursor] = texts
        if step % 10 == 9:
            made = await bench.save(f"step {step}")
            self.versions[made.version] = texts


@pytest.mark.parametrize("seed", range(amount(3, 30)))
async def test_what_can_be_named_is_exact_after_merging(seed: int) -> None:
    story = await Story.of(seed, amount(60, 300))
    bench = story.bench
    head, moments = await now(bench), sorted(story.seen)
    left = moments[len(moments) // 5]
    bench.document._keeper.retention._instants = lambda: [left]
    bench.now += 10 * DAY_MS
    await settle(bench)
    await bench.restart()
    bench.document._keeper.retention._instants = lambda: [left]
    merged = bench.store.updates
    assert len(merged) < len(story.log) * 2 / 3
    assert sum(update.merged for update in merged.values()) == len(story.log)
    assert max(u.at - story.log[u.first].at for u in merged.values()) <= SPAN_MS
    assert await now(bench) == head
    for ms in moments:
        used, texts = await at(bench, ms)
        assert used <= ms
        assert texts == story.seen[used]
    assert (await at(bench, left))[1] == story.seen[left]
    for version, texts in story.versions.items():
        number = int(version[1:])
        state = await bench.document.history.state_after(bench.store.versions_kept[number].seq)
        assert state is not None
        assert [(one.block_id, one.text) for one in state.blocks] == texts
    exact = 0
    for cursor, texts in story.cursors.items():
        codec = bench.document._keeper.live.cursors
        found = await bench.document.history.state_at_cursor(codec.decode(cursor, 10**9).seq)
        if found is not None:
            exact += 1
            assert [(one.block_id, one.text) for one in found.blocks] == texts
    assert exact < len(story.cursors)
    assert (await bench.store.check("doc")).problems == ()


@pytest.mark.parametrize("seed", range(amount(3, 30)))
async def test_who_made_what_is_kept_to_the_item(seed: int) -> None:
    story = await Story.of(seed, amount(60, 300))
    bench = story.bench
    bench.now += 10 * DAY_MS
    await settle(bench)
    expected = makers(list(story.log.values()))
    single = [u for u in bench.store.updates.values() if u.merged == 1]
    told = makers(single)
    for authors in bench.store.authors.values():
        for one in authors:
            for clock in range(one.clock_from, one.clock_to):
                told["+" if one.kind == "inserted" else "-", one.client, clock] = one.principal
    assert told == expected
    rows = sum(len(authors) for authors in bench.store.authors.values())
    assert rows < len(expected)


async def test_a_cursor_inside_of_what_was_merged_is_told_to_be_gone() -> None:
    bench = await Bench.of("one\n")
    bench.now += 1000
    await bench.type(0, " more")
    cursor = (await bench.read()).cursor
    bench.now += 20_000
    await bench.type(0, " and more")
    await bench.restart()
    bench.now += 2 * DAY_MS
    await settle(bench)
    with pytest.raises(BaseExpired):
        await bench.compare(cursor)
    changes = await bench.changes(cursor)  # the feed is another thing
    assert len(changes.blocks) == 1


async def test_nothing_of_the_last_day_is_merged_and_nothing_a_load_reads() -> None:
    bench = await Bench.of("one\n")
    await bench.type(0, " long ago")
    bench.now += 2 * DAY_MS
    before = dict(bench.store.updates)
    await settle(bench)  # there is no checkpoint yet
    assert bench.store.updates == before
    await bench.restart()
    await bench.type(0, " today")
    await bench.restart()
    await settle(bench)
    assert [update.merged for _, update in sorted(bench.store.updates.items())] == [
        *(1, len(" long ago")),
        *(1 for _ in " today"),
    ]


async def test_long_ago_there_is_a_state_a_day_and_what_has_a_name() -> None:
    bench = await Bench.of("start\n")
    bench.now += DAY_MS - bench.now % DAY_MS
    kept: dict[str, Texts] = {}
    texts: Texts = []
    for day in range(5):
        for hour in range(3):
            bench.now += 3_600_000
            await bench.type(0, f" {day}.{hour}")
            texts = await now(bench)
            if (day, hour) == (2, 0):
                await bench.save("agreed")
                kept["agreed"] = texts
        kept[str(day)] = texts
        bench.now += DAY_MS - 3 * 3_600_000
        await bench.versions()
        await bench.restart()
    bench.now += 40 * DAY_MS
    await bench.type(0, " now")
    await bench.restart()
    steps = await settle(bench)
    assert steps > 1  # a version that no checkpoint held takes a step of its own
    assert len(bench.store.updates) == len(" now")
    left = await bench.versions()
    assert [one.name for one in left].count("agreed") == 1
    told = {(await bench.version(one.version)).markdown for one in left}
    for texts in kept.values():
        assert texts[0][1] + "\n" in told
    assert len(left) < 10
    await settle(bench)
    assert [one.version for one in await bench.versions()] == [one.version for one in left]


async def test_a_full_disk_stops_it_and_costs_nothing() -> None:
    bench = await Bench.of("one\n")
    await bench.type(0, " more")
    await bench.restart()
    bench.now += 2 * DAY_MS
    before = dict(bench.store.updates)
    bench.store.full = True
    with pytest.raises(NotCommittedError):
        await settle(bench)
    assert bench.store.updates == before
    bench.store.full = False
    await settle(bench)
    assert len(bench.store.updates) < len(before)
    assert bench.document.commits.merged == len(before) - len(bench.store.updates)


async def test_a_document_at_work_and_its_merging_do_not_meet() -> None:
    bench = await Bench.of("one\n")
    for _ in range(20):
        await bench.type(0, ".")
        bench.now += 1000
    await bench.restart()
    bench.now += 2 * DAY_MS
    mirror = await bench.mirror()
    working = asyncio.create_task(settle(bench))
    for letter in "typing":
        await bench.type(0, letter)
    await working
    mirror.apply(await bench.changes(mirror.cursor))
    assert mirror.markdown() == await bench.markdown()


def test_runs_end_where_they_must() -> None:
    def made(seq: int, ms: int, via: str = "editor", merged: int = 1) -> StoredUpdate:
        return StoredUpdate(seq, ms, "ann", via, b"", b"", seq, merged)  # type: ignore[arg-type]

    updates = [made(n, n * 1000) for n in range(1, 9)]
    numbers = [[u.seq for u in run] for run in groups(updates, Boundaries({2}, [4_500, 6_000]))]
    assert numbers == [[1, 2], [3, 4], [5, 6], [7, 8]]
    mixed = [made(1, 0), made(2, 1, "repair"), made(3, 2), made(4, 3), made(6, 4, merged=2)]
    assert [len(run) for run in groups(mixed, Boundaries())] == [1, 1, 2, 1]
    instant = [made(1, 5), made(2, 7, "repair"), made(3, 7), made(4, 7), made(5, 8), made(6, 9)]
    assert [len(run) for run in groups(instant, Boundaries())] == [1, 1, 2, 2]
    assert [len(run) for run in groups(instant[2:], Boundaries(), 7)] == [2, 2]
    long = [made(1, 0), made(2, SPAN_MS), made(3, SPAN_MS + 1)]
    assert [len(run) for run in groups(long, Boundaries())] == [2, 1]


async def test_a_splice_of_many_is_that_of_all_of_them() -> None:
    story = await Story.of(5, 60)
    log = [update for _, update in sorted(story.log.items())]
    rng = random.Random(1)
    for _ in range(20):
        start, end = sorted(rng.sample(range(len(log) + 1), 2))
        before = SavedIndex.load(b"", [u.splice for u in log[:start]])
        after = SavedIndex.load(b"", [u.splice for u in log[:end]])
        splice = splice_between(before.entries, after.entries, 1)
        if splice:
            before.apply(splice)
        assert before.entries == after.entries
    assert authors_of(log)


async def test_what_does_not_merge_stays_and_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    story = await Story.of(1, 40)
    bench = story.bench
    bench.now += 10 * DAY_MS
    monkeypatch.setattr(merging, "merge_updates", lambda *parts: merge_updates(*parts[:-1]))
    await settle(bench)
    assert {seq: u.data for seq, u in bench.store.updates.items()} == {
        seq: u.data for seq, u in story.log.items()
    }
    assert "do not merge" in caplog.text


def test_a_place_left_free_is_no_item() -> None:
    doc: Doc[Text] = Doc({"t": Text()})
    made: list[bytes] = []
    subscription = doc.observe(lambda event: made.append(event.update))
    for word in ("one ", "two ", "three"):
        doc["t"] += word
    subscription.drop()
    first, second, third = made
    gapped, whole = merge_updates(first, third), merge_updates(first, second, third)
    assert same_items(gapped, (first, third))
    assert same_items(whole, made)
    assert not same_items(gapped, made)
    assert not same_items(whole, (first, third))
