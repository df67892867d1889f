"""Parts of a document read at one moment, and what may be written after."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.documents import Bench, block_id, ref

pytestmark = pytest.mark.anyio
TEXT = """\
# Plan

The harbour master wrote every ship into a ledger.

## Tides

Nobody remembers who lit the first lantern.

## Winds

Copper kettles hung above seven ovens.
"""
READ: dict[str, Any] = {"format": "markdown"}


async def sections(bench: Bench) -> dict[str, str]:
    read = await bench.read(outline=True)
    assert isinstance(read.outline, tuple)
    return {entry.title: entry.section_id for entry in read.outline}


@pytest.mark.parametrize("look", ["outline", "find", "changes without a cursor"])
async def test_who_looked_around_and_read_a_section_may_write_it(look: str) -> None:
    bench = await Bench.of(TEXT)
    where = (await sections(bench))["Tides"]
    if look == "find":
        await bench.read(find="lantern")
    if look == "changes without a cursor":
        await bench.changes(None)
    read = await bench.read(section_id=ref(where), **READ)
    assert isinstance(read.markdown, str)
    changed = read.markdown.replace("first", "last")
    result = await bench.patch(changed, section_id=where, base=read.cursor)
    assert (result.replaced, result.inserted, result.kept) == (1, 0, ())
    assert await bench.markdown() == TEXT.replace("first", "last")


async def test_the_edit_of_one_of_two_sections_read_at_one_moment_is_not_doubled() -> None:
    """Both answers have one cursor, and another conversation may have read the other section."""
    bench = await Bench.of(TEXT)
    found = await sections(bench)
    read = await bench.read(section_id=ref(found["Tides"]), **READ)
    again = await bench.read(section_id=ref(found["Winds"]), **READ)
    assert read.cursor == again.cursor
    assert isinstance(read.markdown, str)
    changed = read.markdown.replace("first", "last")
    result = await bench.patch(changed, section_id=found["Tides"], base=read.cursor)
    assert [conflict.reason for conflict in result.conflicts] == ["not_seen"]
    assert await bench.markdown() == TEXT
    anchor = result.conflicts[0].anchor
    named = changed.replace("Nobody", f"[{anchor}]\nNobody")
    result = await bench.patch(named, section_id=found["Tides"], base=read.cursor)
    assert result.replaced == 1
    assert block_id(anchor) == block_id(result.blocks[0].anchor)


async def test_sections_read_with_their_anchors_are_written_one_by_one() -> None:
    bench = await Bench.of(TEXT)
    found = await sections(bench)
    reads = {
        name: await bench.read(section_id=ref(found[name]), format="anchored")
        for name in ("Tides", "Winds")
    }
    for name, (old, new) in {"Tides": ("first", "last"), "Winds": ("seven", "eight")}.items():
        text = reads[name].markdown
        assert isinstance(text, str)
        result = await bench.patch(
            text.replace(old, new), section_id=found[name], base=reads[name].cursor
        )
        assert (result.replaced, result.inserted, result.conflicts) == (1, 0, ())
    assert await bench.markdown() == TEXT.replace("first", "last").replace("seven", "eight")


async def test_who_follows_from_an_outline_is_told_what_came() -> None:
    bench = await Bench.of(TEXT)
    cursor = (await bench.read(outline=True)).cursor
    await bench.type(1, " Daily.")
    changes = await bench.changes(cursor)
    assert [block.text[-6:] for block in changes.blocks] == ["Daily."]
    assert not changes.truncated
