"""Budgets of an open document: what is spent by what, and that a refusal changes nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from actors.storage.stored import NotCommittedError
from shared.budget import Allowance
from shared.errors import DocactorError, RateLimited, StorageUnavailable
from shared.protocol import Caller, Remaining
from tests.unit.documents import Bench, anchors

pytestmark = pytest.mark.anyio
TEXT = "# Plan\n\nFirst words.\n\nSecond words.\n"
TIGHT = Caller("tight", "Tight", agent=True, allowance=Allowance(3, 100, 5))
HOUR_MS = 3_600_000


async def test_every_write_says_what_is_left() -> None:
    bench = await Bench.of(TEXT)
    first = await bench.insert("12345", caller=TIGHT)
    assert first.remaining == Remaining(writes=2, chars=95)
    second = await bench.replace_text(("12345", "123"), caller=TIGHT)
    assert second.remaining == Remaining(writes=1, chars=92)
    bench.now += 62_000
    third = await bench.insert("12", caller=TIGHT)
    assert third.remaining == Remaining(writes=2, chars=90)


async def test_the_fourth_write_of_a_minute_is_refused_and_changes_nothing() -> None:
    bench = await Bench.of(TEXT)
    for _ in range(3):
        await bench.insert("x", caller=TIGHT)
    before = await bench.markdown()
    with pytest.raises(RateLimited) as refused:
        await bench.insert("y", caller=TIGHT, idempotency_key="k")
    assert refused.value.data["budget"] == "writes_per_minute"
    assert await bench.markdown() == before
    assert (await bench.insert("z")).inserted == 1  # somebody else's budget is theirs
    bench.now += refused.value.data["retry_after_s"] * 1000
    assert (await bench.insert("y", caller=TIGHT, idempotency_key="k")).inserted == 1


async def test_more_characters_than_an_hour_has_are_refused() -> None:
    bench = await Bench.of(TEXT)
    await bench.insert("x" * 90, caller=TIGHT)
    with pytest.raises(RateLimited) as refused:
        await bench.insert("y" * 11, caller=TIGHT)
    assert refused.value.data["remaining"] == 10
    assert (await bench.insert("y" * 10, caller=TIGHT)).remaining == Remaining(1, 0)
    bench.now += HOUR_MS + 61_000
    assert (await bench.insert("y" * 11, caller=TIGHT)).inserted == 1


async def test_deleting_and_moving_cost_no_characters() -> None:
    bench = await Bench.of(TEXT)
    await bench.insert("x" * 100, caller=TIGHT)
    blocks = anchors(await bench.read(TIGHT))
    assert (await bench.delete(blocks[1], caller=TIGHT)).remaining == Remaining(1, 0)
    assert (await bench.move(blocks[0], "end", caller=TIGHT)).remaining == Remaining(0, 0)


Act = Callable[[Bench], Awaitable[Any]]
FREE: dict[str, Act] = {
    "a patch that changes nothing": lambda b: b.patch(TEXT, caller=TIGHT),
    "a dry run": lambda b: b.insert("x" * 50, caller=TIGHT, dry_run=True),
    "an unknown block": lambda b: b.insert("x", "zzzzzzzz", TIGHT),
    "a stale anchor": lambda b: b.delete(f"{anchors_of(b)[1][:8]}-000000", caller=TIGHT),
    "a quote that is not there": lambda b: b.replace_text(("nowhere", "x"), caller=TIGHT),
    "a base of nobody's": lambda b: b.patch("# Other\n", caller=TIGHT, base=123),
}


def anchors_of(bench: Bench) -> list[str]:
    return [one.anchor for one in bench.document.anchors()]


@pytest.mark.parametrize("act", FREE.values(), ids=FREE.keys())
async def test_nothing_is_spent_by(act: Act) -> None:
    bench = await Bench.of(TEXT)
    for _ in range(4):
        try:
            await act(bench)
        except RateLimited:
            raise
        except DocactorError:
            continue
    assert (await bench.insert("1", caller=TIGHT)).remaining == Remaining(2, 99)


async def test_reads_have_a_budget_for_each_tool_and_dry_runs_are_reads() -> None:
    bench = await Bench.of(TEXT)
    cursor = (await bench.read(TIGHT)).cursor
    for _ in range(4):
        await bench.read(TIGHT, outline=True)
    with pytest.raises(RateLimited) as refused:
        await bench.read(TIGHT)
    assert refused.value.data["budget"] == "reads_per_minute"
    for _ in range(5):
        await bench.changes(cursor, TIGHT)
        await bench.insert("x", caller=TIGHT, dry_run=True)
    for _ in range(9):
        await bench.changes(cursor, TIGHT, look=True)  # the gateway's own
    for again in (bench.changes(cursor, TIGHT), bench.insert("x", caller=TIGHT, dry_run=True)):
        with pytest.raises(RateLimited):
            await again
    bench.now += 61_000
    await bench.read(TIGHT)


async def test_a_call_repeated_under_its_key_spends_once() -> None:
    bench = await Bench.of(TEXT)
    for _ in range(5):
        await bench.insert("12345", caller=TIGHT, idempotency_key="k")
    assert (await bench.insert("1", caller=TIGHT)).remaining == Remaining(1, 94)


async def test_a_token_may_have_more_than_others() -> None:
    bench = await Bench.of(TEXT)
    generous = msgspec.structs.replace(TIGHT, allowance=Allowance(1_000, 1_000_000, 1_000))
    for _ in range(50):
        await bench.insert("x" * 100, caller=generous)


async def test_what_was_spent_is_known_when_the_document_is_opened_again() -> None:
    bench = await Bench.of(TEXT)
    await bench.insert("12345", caller=TIGHT)
    await bench.restart()
    assert (await bench.insert("1", caller=TIGHT)).remaining == Remaining(1, 94)
    bench.now += 62_000
    await bench.restart()
    assert (await bench.insert("1", caller=TIGHT)).remaining == Remaining(2, 93)


async def test_reads_are_known_after_the_document_was_put_away() -> None:
    bench = await Bench.of(TEXT)
    for _ in range(5):
        await bench.read(TIGHT)
    await bench.restart()
    with pytest.raises(RateLimited):
        await bench.read(TIGHT)


async def test_a_write_is_charged_in_its_own_transaction() -> None:
    bench = await Bench.of(TEXT)
    await bench.insert("12345", caller=TIGHT)
    dead, bench.store = bench.document, bench.store.reopened()  # as on disk when its actor died
    bench.document = await bench._start()
    assert (await bench.insert("1", caller=TIGHT)).remaining == Remaining(1, 94)
    await dead.close()


async def test_a_write_that_was_not_stored_is_not_charged() -> None:
    bench = await Bench.of(TEXT)
    await bench.insert("12345", caller=TIGHT)
    bench.store.fail = NotCommittedError("a fault")
    with pytest.raises(StorageUnavailable):
        await bench.insert("12345", caller=TIGHT)
    await bench.markdown()
    assert (await bench.insert("1", caller=TIGHT)).remaining == Remaining(1, 94)
