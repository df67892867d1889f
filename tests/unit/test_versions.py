"""Versions: when a document gets one by itself, by what name it goes, and what it holds."""

from __future__ import annotations

import pytest
from msgspec import UNSET

from shared.budget import Allowance
from shared.errors import (
    BaseExpired,
    DocactorError,
    InvalidArgument,
    InvalidCursor,
    RateLimited,
    StaleAnchor,
    StorageUnavailable,
    VersionNotFound,
)
from shared.history.versions import Moment, VersionLog, version_name
from shared.ids import BlockRef
from shared.protocol import Caller
from shared.stored import StoredUpdate
from shared.times import iso
from tests.unit.documents import ANN, Bench, anchors, block_id

pytestmark = pytest.mark.anyio
MINUTE = 60_000


def update(seq: int, at: int, change_seq: int) -> StoredUpdate:
    return StoredUpdate(seq, at, "ann", "editor", b"", b"", change_seq)


# --- the rule -------------------------------------------------------------------------------------


def test_a_minute_of_quiet_makes_a_version_of_what_was_there() -> None:
    log = VersionLog(None, Moment(1, 0, 0))
    assert log.due(MINUTE - 1) is None
    made = log.follow(update(2, MINUTE, 1))
    assert made is not None
    assert (made.number, made.seq, made.kind) == (1, 1, "quiet")
    assert log.follow(update(3, MINUTE + 1, 2)) is None
    made = log.due(2 * MINUTE + 1)
    assert made is not None
    assert (made.number, made.seq, made.at) == (2, 3, MINUTE + 1)
    assert log.due(9 * MINUTE) is None  # nothing changed since


def test_ten_minutes_of_activity_make_a_version_in_the_middle_of_it() -> None:
    log = VersionLog(None, Moment(0, 0, 0))
    made = [log.follow(update(n, n * 30_000, n)) for n in range(1, 50)]
    numbers = [(one.seq, one.kind) for one in made if one is not None]
    assert numbers == [(21, "activity"), (42, "activity")]


def test_the_two_halves_of_one_act_are_not_parted() -> None:
    """An update and what the server mends behind it have one time."""
    log = VersionLog(None, Moment(0, 0, 0))
    log.follow(update(1, 30_000, 1))
    log.head = Moment(2, 11 * MINUTE, 2)
    assert log.follow(update(3, 11 * MINUTE, 3)) is None
    assert log.follow(update(4, 11 * MINUTE + 1, 4)) is not None


def test_what_no_reader_sees_makes_none() -> None:
    log = VersionLog(None, Moment(1, 0, 5))
    assert log.due(MINUTE) is not None
    assert log.follow(update(2, 2 * MINUTE, 5)) is None
    assert log.due(9 * MINUTE) is None


@pytest.mark.parametrize("name", ["", "  ", "v12", "12", "2026-03-31", "x" * 101])
def test_a_name_that_reads_like_something_else_is_refused(name: str) -> None:
    with pytest.raises(InvalidArgument):
        version_name(name)


def test_a_name_is_put_on_one_line() -> None:
    assert version_name(" as\nagreed ") == "as agreed"


# --- the document ---------------------------------------------------------------------------------


async def test_versions_come_by_themselves_and_are_listed_newest_first() -> None:
    bench = await Bench.of("one\n")
    assert await bench.versions() == []
    bench.now += MINUTE
    assert [one.version for one in await bench.versions()] == ["v1"]
    await bench.type(0, " more")
    typed_at = bench.now
    bench.now += MINUTE
    newest, first = await bench.versions()
    assert (newest.version, newest.at, newest.kind, newest.by) == (
        "v2",
        iso(typed_at),
        "quiet",
        UNSET,
    )
    assert (await bench.version("v1")).markdown == "one\n"
    assert (await bench.version("v2")).markdown == "one more\n"
    assert first.version == "v1"
    assert await bench.versions() == [newest, first]  # asking again makes none


async def test_a_version_outlives_a_restart_and_a_document_put_away_gets_its_own() -> None:
    bench = await Bench.of("one\n")
    await bench.type(0, " more")
    bench.now += MINUTE
    await bench.restart()
    await bench.type(0, " still")
    bench.now += 30_000
    await bench.restart()  # not quiet for long enough
    assert [one.version for one in await bench.versions()] == ["v1"]
    assert (await bench.version("v1")).markdown == "one more\n"
    bench.now += 30_000
    assert [one.version for one in await bench.versions()] == ["v2", "v1"]


async def test_pages_of_versions() -> None:
    bench = await Bench.of("one\n")
    for n in range(5):
        await bench.save(f"name {n}")
    request = await bench.versions(limit=2)
    assert [one.name for one in request] == ["name 4", "name 3"]
    rest = await bench.versions(limit=9, before="v4")
    assert [one.version for one in rest] == ["v3", "v2", "v1"]
    with pytest.raises(InvalidArgument):
        await bench.versions(before="name 3")


async def test_a_version_is_named_by_hand_now_or_later() -> None:
    bench = await Bench.of("one\n")
    bench.now += MINUTE
    await bench.versions()
    made = await bench.save("as agreed")
    assert (made.version, made.name, made.by, made.kind) == ("v2", "as agreed", "Ann", "named")
    assert await bench.save("as agreed") == made  # sent again: its answer was lost
    later = await bench.save("the start", "v1")
    assert await bench.save("the start", "v1") == later
    assert (later.version, later.name, later.kind) == ("v1", "the start", "quiet")
    await bench.type(0, " more")
    await bench.restart()
    assert (await bench.version("as agreed")).markdown == "one\n"
    assert (await bench.version("the start")).markdown == "one\n"
    assert [one.name for one in await bench.versions()] == ["as agreed", "the start"]
    for taken in ("as agreed", "the start"):
        with pytest.raises(InvalidArgument):
            await bench.save(taken)
    with pytest.raises(VersionNotFound):
        await bench.save("another", "v9")


async def test_before_an_agent_writes_much_of_it_there_is_a_version() -> None:
    text = "\n\n".join(f"paragraph {n}" for n in range(10)) + "\n"
    bench = await Bench.of(text)
    read = await bench.read()
    await bench.patch(text.replace("h 1", "h one").replace("h 2", "h two"), base=read.cursor)
    assert await bench.versions() == []  # two of ten
    before = await bench.markdown()
    read = await bench.read()
    much = before.replace("paragraph", "line")
    await bench.patch(much, base=read.cursor)
    (made,) = await bench.versions()
    assert (made.kind, made.by) == ("before_write", "Scribe")
    assert (await bench.version("v1")).markdown == before
    person = await bench.read(ANN)
    await bench.patch(text, base=person.cursor, caller=ANN)
    assert len(await bench.versions()) == 1  # a person's is none of that


async def test_a_long_version_is_cut_at_a_blocks_end() -> None:
    bench = await Bench.of("one\n\ntwo\n\nthree\n")
    await bench.save("all")
    cut = await bench.version("all", max_chars=9)
    assert (cut.markdown, cut.total_chars, cut.truncated) == ("one\n", 16, True)
    assert (await bench.version("all", max_chars=1)).markdown == "one\n"
    whole = await bench.version("all")
    assert (whole.truncated, whole.next_step) == (False, UNSET)


@pytest.mark.parametrize("version", ["v7", "nothing", "v0", "v99999999999999999999"])
async def test_a_version_that_is_none(version: str) -> None:
    bench = await Bench.of("one\n")
    with pytest.raises(VersionNotFound):
        await bench.version(version)
    with pytest.raises(VersionNotFound):
        await bench.restore(version)


async def test_a_full_disk_makes_no_version_and_forgets_none() -> None:
    bench = await Bench.of("one\n")
    bench.now += MINUTE
    bench.store.full = True
    with pytest.raises(StorageUnavailable):
        await bench.save("lost")
    bench.store.full = False
    await bench.document._keeper.when_ready()
    with pytest.raises(VersionNotFound):
        await bench.version("lost")


async def test_readers_of_history_have_a_budget() -> None:
    bench = await Bench.of("one\n")
    await bench.save("all")
    caller = Caller("poor", "Poor", allowance=Allowance(reads_per_minute=5))
    for _ in range(5):
        await bench.versions(caller)
    with pytest.raises(RateLimited):
        await bench.versions(caller)


# --- comparing ------------------------------------------------------------------------------------


async def test_compare_says_what_became_of_each_block_word_by_word() -> None:
    bench = await Bench.of("# Plan\n\nthe old words\n\ngone\n\nlast\n")
    plan, words, gone, last = map(block_id, anchors(await bench.read()))
    await bench.save("then")
    await bench.replace_text(("old", "new"))
    await bench.delete(gone)
    await bench.insert("came", after=words)
    await bench.move(last, "start")
    found = await bench.compare("then")
    told = [(one.block_id, one.change, one.diff) for one in found.blocks]
    new = anchors(await bench.read())
    assert told == [
        (last, "moved", UNSET),
        (words, "changed", "the {--old--}{++new++} words"),
        (gone, "removed", "{--gone--}"),
        (block_id(new[3]), "added", "{++came++}"),
    ]
    counts = found.counts
    assert (counts.added, counts.removed, counts.changed, counts.moved) == (1, 1, 1, 1)
    assert (counts.words_added, counts.words_removed) == (2, 2)
    assert found.since.version == "v1"
    assert found.until.version is UNSET
    assert plan not in [one.block_id for one in found.blocks]


async def test_points_are_cursors_times_and_versions() -> None:
    bench = await Bench.of("one\n")
    first, created = await bench.read(), bench.now
    await bench.save("start")
    bench.now += 10 * MINUTE
    await bench.type(0, " more")
    for since in (first.cursor, str(first.cursor), iso(created), "start", "v1"):
        found = await bench.compare(since)
        assert [one.diff for one in found.blocks] == ["one{++ more++}"], since
        assert found.since.at == iso(created)
    back = await bench.compare(iso(bench.now), "start")
    assert [one.diff for one in back.blocks] == ["one{-- more--}"]
    assert (await bench.compare(iso(created), iso(bench.now - 1))).blocks == ()
    before = await bench.compare(iso(created - 1))
    assert [one.change for one in before.blocks] == ["added"]


@pytest.mark.parametrize(
    "point, error",
    [
        (12345, InvalidCursor),
        ("2023-11-14T22:13:20", InvalidArgument),  # in which zone?
        ("no such name", VersionNotFound),
        ("v9", VersionNotFound),
    ],
)
async def test_a_point_that_is_none_is_refused(
    point: int | str, error: type[DocactorError]
) -> None:
    bench = await Bench.of("one\n")
    with pytest.raises(error):
        await bench.compare(point)


async def test_what_is_no_longer_kept_is_said_so() -> None:
    bench = await Bench.of("one\n")
    cursor, created = (await bench.read()).cursor, bench.now
    bench.now += 1000
    await bench.type(0, "!")
    await bench.restart()
    await bench.store.trim(bench.now)
    for since in (cursor, iso(created)):
        with pytest.raises(BaseExpired):
            await bench.compare(since)


async def test_compare_of_a_section_is_of_all_under_its_heading() -> None:
    bench = await Bench.of("# A\n\none\n\n## B\n\ntwo\n\n# C\n\nthree\n")
    await bench.save("then")
    head = block_id(anchors(await bench.read())[0])
    await bench.replace_text(("two", "2"), ("three", "3"))
    found = await bench.compare("then", section_id=BlockRef(head))
    assert [one.diff for one in found.blocks] == ["{--two--}{++2++}"]
    with pytest.raises(StaleAnchor):
        await bench.compare("then", section_id=BlockRef("zzzzzzzz"))


async def test_a_long_answer_lists_the_rest_without_words() -> None:
    bench = await Bench.of("one\n\ntwo\n\nthree\n")
    await bench.save("then")
    read = await bench.read()
    await bench.patch("1 one\n\n2 two\n\n3 three\n", base=read.cursor)
    found = await bench.compare("then", max_chars=1)
    assert [one.diff is UNSET for one in found.blocks] == [False, True, True]
    assert found.truncated
    assert found.counts.changed == 3
