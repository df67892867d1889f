"""Writes that suggest: mode="suggest" and on_conflict="suggest" of every verb."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import UNSET

from shared.errors import BaseRequired, LargeDelete, StaleBlock
from shared.protocol import WriteResult
from tests.unit.documents import ANN, Bench, anchors, block_id

pytestmark = pytest.mark.anyio
TEXT = "# Plan\n\nFirst words here.\n\nSecond words here.\n\nThird words here.\n"


def ids(result: WriteResult) -> tuple[str, ...]:
    assert result.suggestions is not UNSET
    return result.suggestions


async def accept_all(bench: Bench, made: WriteResult) -> None:
    await bench.decide("accept", group=str(made.group))


async def test_a_patch_becomes_suggestions_that_together_are_the_patch() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    wanted = "# Plan\n\nNew.\n\nAnd new.\n\nThird words here.\n\nFirst words, better.\n"
    bench.now += 60_000
    made = await bench.patch(wanted, base=read.cursor, mode="suggest")
    assert (made.replaced, made.inserted, made.deleted, made.moved) == (0, 0, 0, 0)
    assert await bench.markdown() == TEXT
    kinds = [one.kind for one in await bench.suggestions()]
    assert len(kinds) == len(ids(made))
    updates = len(bench.store.updates)
    await accept_all(bench, made)
    assert await bench.markdown() == wanted
    assert len(bench.store.updates) == updates + 1


async def test_blocks_in_a_row_are_one_suggestion_at_their_place() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    made = await bench.insert("A.\n\nB.\n\nC.", after=anchors(read)[1], mode="suggest")
    (one,) = await bench.suggestions()
    assert (one.kind, one.after, one.new) == (
        "insert",
        block_id(anchors(read)[1]),
        "A.\n\nB.\n\nC.",
    )
    assert made.charged == 6
    await bench.erase(1)  # then behind the nearest that is left
    await bench.decide("accept", one.id)
    assert (await bench.markdown()).startswith("# Plan\n\nA.\n\nB.\n\nC.\n\nSecond")


async def test_those_already_at_a_place_come_first() -> None:
    bench = await Bench.of(TEXT)
    after = anchors(await bench.read())[1]
    (one,) = ids(await bench.insert("Mine.", after=after, mode="suggest"))
    (other,) = ids(await bench.insert("Later.", after=after, mode="suggest"))
    await bench.decide("accept", one)
    await bench.decide("accept", other)
    assert "First words here.\n\nMine.\n\nLater.\n\nSecond" in await bench.markdown()


async def test_replace_delete_move_and_replace_text() -> None:
    bench = await Bench.of(TEXT)
    _, first, second, third = anchors(await bench.read())
    bench.now += 60_000
    made = [
        await bench.replace(first, None, "One.\n\nTwo.", mode="suggest"),
        await bench.delete(second, mode="suggest"),
        await bench.move(third, "start", mode="suggest"),
        await bench.replace_text(("Plan", "Plans"), mode="suggest"),
    ]
    assert await bench.markdown() == TEXT
    for one in made:
        await accept_all(bench, one)
    assert await bench.markdown() == "Third words here.\n\n# Plans\n\nOne.\n\nTwo.\n"


async def test_the_refusals_are_those_of_the_write() -> None:
    bench = await Bench.of(TEXT + "\n" + "\n\n".join(f"More {n}." for n in range(20)) + "\n")
    read = await bench.read()
    with pytest.raises(LargeDelete):
        await bench.patch("# Plan\n", base=read.cursor, mode="suggest")
    with pytest.raises(BaseRequired):
        await bench.delete(block_id(anchors(read)[1]), mode="suggest", caller=ANN)
    with pytest.raises(StaleBlock):
        await bench.replace(block_id(anchors(read)[1]) + "-000000", None, "x", mode="suggest")
    assert await bench.suggestions() == ()


async def test_what_reads_so_already_suggests_nothing() -> None:
    bench = await Bench.of(TEXT)
    made = await bench.patch(TEXT, base=(await bench.read()).cursor, mode="suggest")
    assert (made.suggestions, made.group) == (UNSET, UNSET)


async def test_a_dry_run_keeps_none() -> None:
    bench = await Bench.of(TEXT)
    made = await bench.insert("x", mode="suggest", dry_run=True)
    assert (made.suggestions, made.charged) == (UNSET, 1)
    assert await bench.suggestions() == ()


async def test_emptying_a_document_leaves_a_paragraph() -> None:
    bench = await Bench.of("Only this.\n")
    (only,) = anchors(await bench.read())
    (one,) = ids(await bench.delete(only, mode="suggest"))
    await bench.decide("accept", one)
    assert await bench.markdown() == ""


async def test_what_conflicts_is_suggested_and_the_rest_applied_in_one_transaction() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    await bench.replace_text(("First words here", "Initial phrases there"), caller=ANN)
    mine = TEXT.replace("First words here", "Early words now").replace("Third", "Last")
    updates = len(bench.store.updates)
    done = await bench.patch(mine, base=read.cursor, on_conflict="suggest")
    assert (done.replaced, done.conflicts) == (1, ())
    assert len(bench.store.updates) == updates + 1
    text = await bench.markdown()
    assert "Initial phrases there.\n" in text
    assert "Last words here.\n" in text
    (one,) = await bench.suggestions()
    assert (one.id, one.kind, one.new) == (ids(done)[0], "replace", "Early words now.")
    await bench.decide("accept", one.id)
    assert await bench.markdown() == mine


async def test_a_rewritten_block_that_somebody_deleted_is_suggested_where_it_was() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    await bench.erase(2)
    mine = TEXT.replace("Second words here", "Second words rewritten")
    done = await bench.patch(mine, base=read.cursor, on_conflict="suggest")
    (one,) = await bench.suggestions()
    assert (one.kind, one.after) == ("insert", block_id(anchors(read)[1]))
    assert "Second" not in await bench.markdown()
    await bench.decide("accept", ids(done)[0])
    assert await bench.markdown() == mine


async def test_a_deletion_of_what_somebody_edited_is_suggested() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    await bench.type(2, " Edited.")
    mine = TEXT.replace("Second words here.\n\n", "")
    await bench.patch(mine, base=read.cursor, on_conflict="suggest")
    (one,) = await bench.suggestions()
    assert one.kind == "delete"
    await bench.decide("accept", one.id)
    assert await bench.markdown() == mine


async def test_both_modes_suggest_the_conflicts_too() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    await bench.replace_text(("First words here", "Initial phrases there"), caller=ANN)
    mine = TEXT.replace("First words here", "Early words now").replace("Third", "Last")
    made = await bench.patch(mine, base=read.cursor, mode="suggest", on_conflict="suggest")
    assert len(ids(made)) == 2
    await accept_all(bench, made)
    assert await bench.markdown() == mine


async def test_a_repeated_call_under_its_key_suggests_once() -> None:
    bench = await Bench.of(TEXT)
    first = await bench.insert("x", mode="suggest", idempotency_key="k")
    assert (await bench.insert("x", mode="suggest", idempotency_key="k")) == first
    assert len(await bench.suggestions()) == 1
    await bench.restart()
    again = await bench.insert("x", mode="suggest", idempotency_key="k")
    assert msgspec.structs.replace(again, remaining=first.remaining) == first


async def test_markup_that_no_editor_has_a_node_for_goes_in_as_sent() -> None:
    bench = await Bench.of(TEXT)
    made = await bench.replace_text(("First", "<kbd>F1</kbd> First"), mode="suggest")
    await accept_all(bench, made)
    assert "<kbd>F1</kbd> First words here." in await bench.markdown()
