"""patch, insert, replace and delete on a document that others edit too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from shared.errors import (
    BaseExpired,
    BaseRequired,
    EmptyPatch,
    InvalidArgument,
    StaleAnchor,
    StaleBlock,
)
from shared.protocol import WriteResult
from tests.unit.documents import OTHER, SCRIBE, Bench, anchors, block_id, text_of

pytestmark = pytest.mark.anyio
TEXT = "# Plan\n\nFirst words.\n\nSecond words.\n\nThird words.\n"


async def test_one_reworded_paragraph_leaves_every_other_anchor_as_it_was() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    result = await bench.patch(TEXT.replace("Second", "Better"), base=read.cursor)
    assert (result.replaced, result.inserted, result.deleted, result.moved) == (1, 0, 0, 0)
    after = anchors(await bench.read())
    before = anchors(read)
    assert [a == b for a, b in zip(after, before, strict=True)] == [True, True, False, True]
    assert block_id(after[2]) == block_id(before[2])
    (block,) = result.blocks
    assert (block.anchor, block.after) == (after[2], block_id(before[1]))


async def test_what_was_read_sent_back_changes_nothing_and_costs_nothing() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read(format="markdown")
    stored = dict(bench.store.updates)
    result = await bench.patch(str(read.markdown))
    assert (result.replaced, result.inserted, result.deleted, result.moved) == (0, 0, 0, 0)
    assert (result.charged, result.blocks) == (0, ())
    assert bench.store.updates == stored


async def test_only_what_is_written_is_charged() -> None:
    long = "word " * 600 + "end."
    bench = await Bench.of(f"{long}\n\nShort.\n")
    read = await bench.read()
    result = await bench.patch(f"{long}\n\nShorter.\n", base=read.cursor)
    assert result.charged == len("Shorter.")


async def test_insert_delete_and_replace_in_one_patch() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    sent = "# Plan\n\nNew.\n\nFirst words!\n\nThird words.\n"
    result = await bench.patch(sent, base=read.cursor)
    assert (result.replaced, result.inserted, result.deleted) == (1, 1, 1)
    assert await bench.markdown() == sent


async def test_a_conflicting_edit_is_refused_whole_when_anchors_are_given() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    await bench.type(2, " By a person.")
    sent = TEXT.replace("Second words", "Rewritten").replace("Third", "Last")
    with pytest.raises(StaleBlock):
        await bench.patch(sent, base=read.cursor, anchors=tuple(anchors(read)))
    assert await bench.markdown() == TEXT.replace("Second words.", "Second words. By a person.")


async def test_a_conflicting_edit_is_kept_and_told_without_anchors() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    await bench.erase(2)
    await bench.paragraph(2, "Something else entirely, written by a person just now.")
    sent = TEXT.replace("Second words.", "Second words, reworded.").replace("Third", "Last")
    result = await bench.patch(sent, base=read.cursor)
    assert len(result.conflicts) == 1
    markdown = await bench.markdown()
    assert "written by a person just now" in markdown
    assert "Last words." in markdown


async def test_an_edit_elsewhere_does_not_stop_a_patch_and_survives_it() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    await bench.type(1, " Mine.")
    result = await bench.patch(
        TEXT.replace("Third", "Last"), base=read.cursor, anchors=tuple(anchors(read))
    )
    assert result.replaced == 1
    assert await bench.markdown() == TEXT.replace("First words.", "First words. Mine.").replace(
        "Third", "Last"
    )


async def test_two_edits_of_one_paragraph_merge_word_by_word() -> None:
    bench = await Bench.of("Alpha beta gamma delta epsilon.\n")
    read = await bench.read()
    editor = bench.editor()
    text_of(editor, 0).insert(0, "Also ")
    editor.push()
    result = await bench.patch("Alpha beta gamma delta zeta.\n", base=read.cursor)
    assert (result.replaced, result.conflicts) == (1, ())
    assert await bench.markdown() == "Also Alpha beta gamma delta zeta.\n"


async def test_a_block_added_since_the_read_is_never_deleted() -> None:
    bench = await Bench.of("A one.\n\nB two.\n")
    for based in (True, False):
        read = await bench.read()
        await bench.paragraph(1, "By a person.")
        base = read.cursor if based else None
        result = await bench.patch("A one.\n\nB two, changed.\n\nEnd.\n", base=base)
        assert "By a person." in await bench.markdown()
        assert result.deleted == 0
        await bench.erase(1)


async def test_a_block_deleted_since_the_read_stays_deleted() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    await bench.erase(2)
    await bench.patch(TEXT.replace("Third", "Last"), base=read.cursor)
    assert await bench.markdown() == "# Plan\n\nFirst words.\n\nLast words.\n"


async def test_without_having_read_only_insertions_go_through() -> None:
    bench = await Bench.of(TEXT)
    with pytest.raises(BaseRequired):
        await bench.patch("# Plan\n\nAll new.\n")
    assert await bench.markdown() == TEXT
    result = await bench.insert("At the end.")
    assert result.inserted == 1


async def test_another_conversations_view_is_not_mine() -> None:
    bench = await Bench.of(TEXT)
    await bench.read(OTHER)
    with pytest.raises(BaseRequired):
        await bench.patch("# Plan\n\nAll new.\n", caller=SCRIBE)


@pytest.mark.parametrize("empty", ["", "  \n\t\n"])
async def test_a_patch_that_would_empty_the_document_is_refused(empty: str) -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    with pytest.raises(EmptyPatch):
        await bench.patch(empty, base=read.cursor, allow_large_delete=True)
    assert await bench.markdown() == TEXT


async def test_a_moved_block_keeps_its_id() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    bench.now += 60_000
    sent = "# Plan\n\nThird words.\n\nFirst words.\n\nSecond words.\n"
    result = await bench.patch(sent, base=read.cursor)
    assert (result.moved, result.deleted, result.inserted) == (1, 0, 0)
    assert sorted(anchors(await bench.read())) == sorted(anchors(read))
    assert await bench.markdown() == sent


async def test_another_node_type_keeps_its_id_too() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    await bench.patch(TEXT.replace("Second words.", "## Second words."), base=read.cursor)
    after = anchors(await bench.read())
    assert [block_id(a) for a in after] == [block_id(a) for a in anchors(read)]


async def test_typing_in_the_paragraph_that_is_patched_loses_no_keystroke() -> None:
    bench = await Bench.of("The quick brown fox jumps over the lazy dog.\n")
    editor = bench.editor()
    for number in range(20):
        read = await bench.read()
        text_of(editor, 0).insert(0, f"{number} ")  # not yet at the server
        sent = str((await bench.read(format="markdown")).markdown)
        old, new = ("lazy", "lazy lazy") if number % 2 else ("lazy lazy", "lazy")
        sent = sent.replace(old, new)
        result = await bench.patch(sent, base=read.cursor)
        editor.push()
        editor.pull()
        assert result.conflicts == ()
    markdown = await bench.markdown()
    assert all(f"{number} " in markdown for number in range(20))
    assert markdown.endswith("dog.\n")


async def test_the_cursor_of_a_write_skips_nobodys_change() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    alone = await bench.patch(TEXT.replace("Third", "Last"), base=read.cursor)
    assert not alone.behind
    assert alone.cursor is not None
    assert (await bench.changes(alone.cursor)).blocks == ()
    await bench.type(1, "!")
    text = await bench.markdown()
    after = await bench.patch(text.replace("Last", "Final"), base=alone.cursor)
    assert after.behind
    assert after.cursor == alone.cursor
    told = await bench.changes(after.cursor)
    assert {block.by for block in told.blocks} == {("Ann",), ("Scribe",)}


async def test_a_block_rewritten_behind_a_new_one_is_known_to_its_author_afterwards() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    sent = TEXT.replace("Second words.", "A new block.\n\nSecond words, reworded.")
    first = await bench.patch(sent, base=read.cursor)
    order = [block_id(a) for a in anchors(await bench.read(OTHER))]
    written = [block_id(block.anchor) for block in first.blocks]
    assert written == order[2:4]  # as the document has them
    again = sent.replace("reworded", "reworded twice")
    second = await bench.patch(again, base=first.cursor)
    assert (second.replaced, second.inserted, second.kept) == (1, 0, ())
    assert await bench.markdown() == again


async def test_blocks_their_author_may_not_know_are_not_left_in_their_order_in_silence() -> None:
    """After a crash the newest view is that from before: what came since was perhaps never read."""
    bench = await Bench.of(TEXT)
    read = await bench.read()
    await bench.restart()
    await bench.paragraph(4, "Fourth words came.")
    await bench.paragraph(5, "Fifth words came.")
    await bench.changes(read.cursor)
    left = bench.store.reopened()
    await bench.document.close()
    bench.store = left
    await bench.restart()
    bench.now += 20_000
    before = await bench.markdown()
    for sent in (
        TEXT + "\nFifth words came.\n\nFourth words came.\n",
        "Fifth words came.\n\n" + TEXT + "\nFourth words came.\n",
    ):
        result = await bench.patch(sent)
        assert [one.reason for one in result.conflicts] == ["not_seen"]
        assert "call move" in str(result.conflicts[0].insist)
        assert await bench.markdown() == before
    assert (await bench.patch(before)).conflicts == ()


async def quoted_in_what_somebody_typed(bench: Bench) -> tuple[WriteResult, str]:
    """The answer, and what the quoted block says then; its author never read that."""
    read = await bench.read()
    await bench.type(2, " And Ann's.")
    result = await bench.replace_text(("Second", "2nd"), base=read.cursor)
    assert result.behind
    return result, "2nd words. And Ann's."


async def test_what_quoting_did_and_somebody_took_back_is_not_deleted_unasked() -> None:
    bench = await Bench.of(TEXT)
    written, _ = await quoted_in_what_somebody_typed(bench)
    editor = bench.editor()
    text = text_of(editor, 2)
    del text[:]
    text.insert(0, "Second words.")
    editor.push()
    before = await bench.markdown()
    await bench.restart()
    deleted = await bench.patch(TEXT.replace("Second words.\n\n", ""), base=written.cursor)
    assert [one.reason for one in deleted.conflicts] == ["changed"]
    assert await bench.markdown() == before == TEXT


async def test_what_quoting_made_of_a_block_does_not_come_back_when_it_is_gone() -> None:
    bench = await Bench.of(TEXT)
    written, text = await quoted_in_what_somebody_typed(bench)
    await bench.erase(2)
    result = await bench.patch(TEXT.replace("Second words.", text), base=written.cursor)
    assert (result.inserted, result.replaced) == (0, 0)
    assert await bench.markdown() == TEXT.replace("Second words.\n\n", "")


async def test_a_base_whose_view_is_gone_is_the_document_of_that_moment() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    await bench.type(1, " Mine.")
    await bench.erase(2)
    bench.now += 25 * 3600 * 1000
    sent = TEXT.replace("Third", "Last").replace("First words.", "Some first words.")
    result = await bench.patch(sent, base=read.cursor)
    assert (result.inserted, result.deleted, result.conflicts) == (0, 0, ())
    assert await bench.markdown() == "# Plan\n\nSome first words. Mine.\n\nLast words.\n"


async def test_a_base_of_a_partial_answer_whose_view_is_gone_is_refused() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read(max_chars=1)
    bench.now += 25 * 3600 * 1000
    with pytest.raises(BaseExpired):
        await bench.patch(TEXT, base=read.cursor)


async def test_a_base_before_what_is_kept_is_refused() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    for _ in range(2):
        await bench.type(1, "x")
        await bench.restart()
        bench.now += 30 * 24 * 3600 * 1000
    await bench.document._keeper.store.trim(bench.now)
    with pytest.raises(BaseExpired):
        await bench.patch(TEXT.replace("Third", "Last"), base=read.cursor)


async def test_a_dry_run_says_what_would_happen_and_does_nothing() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    result = await bench.patch(TEXT.replace("Third", "Last"), base=read.cursor, dry_run=True)
    assert (result.ok, result.replaced) == (True, 1)
    assert await bench.markdown() == TEXT
    done = await bench.patch(TEXT.replace("Third", "Last"), base=read.cursor)
    assert done.blocks[0].anchor == result.blocks[0].anchor


async def test_insert_goes_where_it_is_told() -> None:
    bench = await Bench.of(TEXT)
    second = anchors(await bench.read())[2]
    await bench.insert("Between.", after=second)
    await bench.insert("On top.", after="start")
    result = await bench.insert("Below.\n\nTwo of them.", after="end")
    assert await bench.markdown() == (
        "On top.\n\n# Plan\n\nFirst words.\n\nSecond words.\n\nBetween.\n\nThird words.\n\n"
        "Below.\n\nTwo of them.\n"
    )
    assert [block.text for block in result.blocks] != ["Below.", "Two of them."]  # as it was sent
    assert result.blocks[1].after == block_id(result.blocks[0].anchor)


async def test_replace_and_delete_check_the_hashes_of_anchors() -> None:
    bench = await Bench.of(TEXT)
    old = anchors(await bench.read())
    await bench.type(2, "!")
    for refused in (
        bench.replace(old[1], old[2], "Gone."),
        bench.delete(old[2]),
        bench.insert("Here.", after=old[2]),
    ):
        with pytest.raises(StaleBlock) as stale:
            await refused
        assert "Second words.!" in str(stale.value.data)
    assert "Second words.!" in await bench.markdown()
    fresh = anchors(await bench.read())
    result = await bench.replace(fresh[1], fresh[2], "Both in one.")
    assert result.deleted + result.replaced == 2
    assert await bench.markdown() == "# Plan\n\nBoth in one.\n\nThird words.\n"


async def test_unknown_blocks_and_inverted_ranges_are_refused_with_a_way_on() -> None:
    bench = await Bench.of(TEXT)
    known = anchors(await bench.read())
    with pytest.raises(StaleAnchor) as unknown:
        await bench.replace("zzzzzzzz", None, "x")
    assert "Plan" in str(unknown.value.data)
    with pytest.raises(InvalidArgument):
        await bench.replace(known[3], known[1], "x")
    assert await bench.markdown() == TEXT


async def test_the_last_block_becomes_one_empty_paragraph() -> None:
    bench = await Bench.of("Only this.\n")
    only = anchors(await bench.read())[0]
    result = await bench.delete(only)
    assert result.ok
    assert await bench.markdown() == ""
    assert bench.document.block_count == 1


async def test_text_is_told_only_where_it_is_not_what_was_sent() -> None:
    bench = await Bench.of(TEXT)
    result = await bench.insert("* a\n* b\n\nPlain.")
    texts = [block.text for block in result.blocks]
    assert texts[0] == "- a\n- b"
    assert not isinstance(texts[1], str)


async def test_a_line_like_an_anchor_of_nothing_here_is_text() -> None:
    bench = await Bench.of(TEXT)
    await bench.insert("[abcd1234-abcdef]\n# Heading")
    assert "abcd1234-abcdef" in await bench.markdown()


async def test_a_line_of_a_block_that_is_gone_is_not_text() -> None:
    bench = await Bench.of(TEXT)
    anchored = (await bench.read(format="anchored")).markdown
    assert isinstance(anchored, str)
    await bench.erase(1)
    without = await bench.markdown()
    written = await bench.patch(anchored, caller=OTHER)  # who was shown nothing
    assert (written.inserted, written.conflicts) == (0, ())
    assert await bench.markdown() == without


async def test_an_emoji_does_not_shift_what_follows() -> None:
    bench = await Bench.of("A📊B конец\n")
    for old, new in (("B", "B!"), ("конец", "конец 日本語の"), ("A", "e\u0301te\u0301s")):
        read = await bench.read(format="markdown")
        sent = str(read.markdown).replace(old, new, 1)
        await bench.patch(sent, base=read.cursor)
        assert await bench.markdown() == sent


async def test_what_is_called_idempotent_does_nothing_more_when_repeated() -> None:
    """Without a key: what the tools' annotations say of patch, replace, delete and move."""
    bench = await Bench.of("# Plan\n\nFirst.\n\nSecond.\n\nThird.\n")
    read = await bench.read()
    first, second, third = anchors(read)[1:]
    calls: tuple[Callable[[], Awaitable[WriteResult]], ...] = (
        lambda: bench.patch("# Plan\n\n1st.\n\nSecond.\n\nThird.\n", base=read.cursor),
        lambda: bench.move(third, "start"),
        lambda: bench.replace(second, None, "2nd."),
        lambda: bench.delete(block_id(first)),
    )
    for call in calls:
        await call()
        once = await bench.markdown()
        with suppress(StaleBlock, StaleAnchor):
            await call()
        assert await bench.markdown() == once
