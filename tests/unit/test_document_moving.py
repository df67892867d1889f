"""move and replace_text on a document that others edit too, and what their author then knows."""

from __future__ import annotations

import pytest

from shared.errors import BaseRequired, Busy, FindNotMatched, NotUnique, StaleBlock
from shared.protocol import Caller
from tests.unit.documents import ANN, OTHER, Bench, anchors, block_id, text_of

pytestmark = pytest.mark.anyio
TEXT = "# Plan\n\nFirst words.\n\n## One\n\nSecond words.\n\n## Two\n\nThird words.\n"


async def test_a_section_moves_with_what_is_under_it_and_every_anchor_stays() -> None:
    bench = await Bench.of(TEXT)
    old = anchors(await bench.read())
    result = await bench.move(old[4], old[1], section=True)
    assert (result.moved, result.deleted, result.charged) == (2, 0, 0)
    assert [block.anchor for block in result.blocks] == [old[4], old[5]]
    assert [block.after for block in result.blocks] == [block_id(old[1]), block_id(old[4])]
    after = anchors(await bench.read())
    assert after == [old[0], old[1], old[4], old[5], old[2], old[3]]


async def test_a_move_reaches_editors_and_readers_as_a_move() -> None:
    bench = await Bench.of(TEXT)
    mirror = await bench.mirror(OTHER)
    editor = bench.editor()
    old = anchors(await bench.read())
    await bench.move(old[1], "end")
    changes = await bench.changes(mirror.cursor, OTHER)
    mirror.apply(changes)
    assert [block.change for block in changes.blocks] == ["moved"]
    assert mirror.markdown() == await bench.markdown()
    editor.pull()
    assert str(text_of(editor, 5)) == "First words."


async def test_a_block_somebody_types_in_does_not_move() -> None:
    bench = await Bench.of(TEXT)
    await bench.type(1, "!")
    fresh = anchors(await bench.read())
    with pytest.raises(Busy):
        await bench.move(fresh[1], "end")
    bench.now += 11_000
    assert (await bench.move(fresh[1], "end")).moved == 1


async def test_a_bare_id_must_have_been_shown_to_be_moved() -> None:
    bench = await Bench.of(TEXT)
    old = anchors(await bench.read(OTHER))
    with pytest.raises(BaseRequired):
        await bench.move(block_id(old[1]), "end")
    assert (await bench.move(block_id(old[1]), "end", caller=OTHER)).moved == 1


async def test_a_moved_block_nobody_showed_its_mover_stays_unseen() -> None:
    """A patch that lacks the moved text must not delete it."""
    bench = await Bench.of(TEXT)
    outline = await bench.read(max_chars=1)  # the title alone
    heading = (await bench.read(outline=True)).outline[1]  # type: ignore[index]
    anchor = anchors(await bench.read(OTHER))[2]
    assert heading.section_id == block_id(anchor)
    other = Caller("third", "Third")
    read = await bench.read(other, max_chars=1)
    assert read.cursor == outline.cursor
    moved = await bench.move(anchor, "end", other, section=True, base=read.cursor)
    result = await bench.patch("# Plan, revised\n", caller=other, base=moved.cursor)
    assert result.deleted == 0
    assert "Second words." in await bench.markdown()


async def test_somebodys_edit_of_a_block_a_patch_moves_is_not_taken_back_by_the_next_patch() -> (
    None
):
    bench = await Bench.of("# A\n\nOne is here.\n\nTwo is here.\n\nThree is here.\n")
    read = await bench.read()
    await bench.type(3, " By Ann.")
    bench.now += 11_000
    sent = "# A\n\nThree is here.\n\nOne is here.\n\nTwo is here.\n"
    first = await bench.patch(sent, base=read.cursor)
    assert first.moved == 1
    await bench.patch(sent.replace("Two", "2"), base=first.cursor)
    assert await bench.markdown() == sent.replace(
        "Three is here.", "Three is here. By Ann."
    ).replace("Two", "2")


async def test_one_word_is_fixed_without_reading_and_every_other_anchor_stays() -> None:
    bench = await Bench.of(TEXT)
    before = anchors(await bench.read(OTHER))
    result = await bench.replace_text(("Second", "Better"))
    assert (result.replaced, result.charged, result.cursor) == (1, 6, None)
    after = anchors(await bench.read(OTHER))
    assert [a == b for a, b in zip(before, after, strict=True)] == [True] * 3 + [False] + [True] * 2
    assert result.blocks[0].anchor == after[3]
    assert not isinstance(result.blocks[0].text, str)


async def test_what_was_not_quoted_is_told() -> None:
    bench = await Bench.of("The **bold** “word”.\n")
    result = await bench.replace_text(('bold "word"', "x"))
    assert result.blocks[0].text == "The x."


async def test_typing_beside_the_quote_goes_on() -> None:
    bench = await Bench.of("The quick brown fox jumps over the lazy dog.\n")
    editor = bench.editor()
    text_of(editor, 0).insert(0, "Look: ")
    await bench.replace_text(("lazy", "sleepy"))
    editor.push()
    assert await bench.markdown() == "Look: The quick brown fox jumps over the sleepy dog.\n"


async def test_refused_edits_change_nothing() -> None:
    bench = await Bench.of(TEXT)
    for edits, refusal in (
        ([("First", "x"), ("nowhere", "y")], FindNotMatched),
        ([("First", "x"), ("words", "y")], NotUnique),
    ):
        with pytest.raises(refusal):
            await bench.replace_text(*edits)
    assert await bench.markdown() == TEXT


async def test_a_quote_does_not_show_the_block_it_is_of() -> None:
    """Who fixed a word in a block they never saw must not be taken to have deleted it."""
    bench = await Bench.of(TEXT)
    read = await bench.read(max_chars=1)
    fixed = await bench.replace_text(("Second", "Better"), base=read.cursor)
    result = await bench.patch("# Plan, revised\n", base=fixed.cursor)
    assert result.deleted == 0
    assert "Better words." in await bench.markdown()


async def test_who_has_seen_the_block_knows_it_after_their_own_fix() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    fixed = await bench.replace_text(("Second", "Better"), base=read.cursor)
    assert not fixed.behind
    sent = TEXT.replace("Second words.\n\n", "")
    result = await bench.patch(sent, base=fixed.cursor)
    assert (result.deleted, result.conflicts) == (1, ())
    assert await bench.markdown() == sent


async def test_a_fix_of_a_block_others_changed_since_is_made_or_refused_as_asked() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    await bench.type(3, " More.")
    with pytest.raises(StaleBlock):
        await bench.replace_text(("Second", "x"), base=read.cursor, on_conflict="reject")
    result = await bench.replace_text(("Second", "Better"), base=read.cursor)
    assert result.behind
    assert "Better words. More." in await bench.markdown()


async def test_both_are_done_once_under_a_key_and_not_at_all_in_a_dry_run() -> None:
    bench = await Bench.of(TEXT)
    old = anchors(await bench.read())
    dry = await bench.replace_text(("Second", "Better"), dry_run=True)
    assert (dry.replaced, dry.blocks[0].text) == (1, "Better words.")
    assert (await bench.move(old[1], "end", dry_run=True)).moved == 1
    assert await bench.markdown() == TEXT
    first = await bench.replace_text(("Second", "Better Second"), idempotency_key="k")
    moved = await bench.move(old[1], "end", idempotency_key="k")
    assert await bench.move(old[1], "end", idempotency_key="k") == moved
    again = await bench.replace_text(("Second", "Better Second"), idempotency_key="k")
    assert (again, first.replaced, moved.moved) == (first, 1, 1)
    await bench.restart()
    assert await bench.replace_text(("Second", "Better Second"), idempotency_key="k") == first
    assert (await bench.markdown()).count("Better") == 1


async def test_notes_of_what_could_not_be_kept_are_of_the_blocks_they_are_about() -> None:
    bench = await Bench.of("One.\n\nTwo.\n\nThree.\n")
    read = await bench.read()
    surplus = "| a |\n| --- |\n| 1 | 2 |"
    sent = f"One.\n\nTwo, changed.\n\n{surplus}\n\nThree.\n"
    result = await bench.patch(sent, base=read.cursor)
    assert isinstance(result.fidelity, tuple)
    table = next(block for block in result.blocks if "| a |" in str(block.text))
    assert {note.block_id for note in result.fidelity} == {block_id(table.anchor)}
    plain = await bench.insert("Nothing special.", caller=ANN)
    assert not isinstance(plain.fidelity, tuple)
    fixed = await bench.replace_text(("Three.", surplus.replace("1", "3")))
    assert isinstance(fixed.fidelity, tuple)
    assert fixed.fidelity[0].block_id == block_id(fixed.blocks[0].anchor)
