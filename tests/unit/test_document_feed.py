"""The change feed of one document, as agents and people use it."""

from __future__ import annotations

import pytest
from pycrdt import XmlElement, XmlText

from shared.errors import InvalidCursor
from tests.unit.documents import ANN, OTHER, SCRIBE, Bench, anchors, block_id, text_of

pytestmark = pytest.mark.anyio
TEXT = "# Plan\n\nFirst words.\n\nSecond words.\n\nThird words.\n"


async def test_without_a_cursor_there_is_no_baseline_but_a_way_on() -> None:
    bench = await Bench.of(TEXT)
    answer = await bench.changes(None)
    assert (answer.truncated, answer.reason) == (True, "no_cursor")
    assert (answer.blocks, answer.removed) == ((), ())
    assert "read_document" in str(answer.next_step)


async def test_nothing_changed_gives_the_same_cursor_and_nothing_else() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    answer = await bench.changes(read.cursor)
    assert (answer.blocks, answer.removed, answer.cursor) == ((), (), read.cursor)
    assert not answer.truncated


async def test_a_persons_edit_is_told_once_and_then_there_is_stillness() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    await bench.type(1, " More.")
    answer = await bench.changes(read.cursor)
    (block,) = answer.blocks
    assert (block.text, block.change, block.by) == ("First words. More.", "changed", ("Ann",))
    assert block.after == block_id(anchors(read)[0])
    assert (await bench.changes(answer.cursor)).blocks == ()


async def test_ten_keystrokes_are_one_entry_and_one_row() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    await bench.type(1, "0123456789")
    assert len((await bench.changes(read.cursor)).blocks) == 1
    assert len(bench.store.rows) == 1


async def test_a_deleted_block_is_removed() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    await bench.erase(2)
    answer = await bench.changes(read.cursor)
    assert answer.removed == (block_id(anchors(read)[2]),)
    assert answer.blocks == ()  # what only shifted is not told


async def test_an_added_block_stays_added_while_it_is_typed_in_and_its_anchor_is_good() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    await bench.paragraph(1, "New")
    await bench.type(1, " words")
    (block,) = (await bench.changes(read.cursor)).blocks
    assert (block.change, block.text) == ("added", "New words")
    result = await bench.replace(block.anchor, None, "Newer words")
    assert result.replaced == 1
    assert "Newer words" in await bench.markdown()


async def test_added_and_removed_since_is_not_mentioned() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    await bench.paragraph(1, "Here and gone")
    await bench.erase(1)
    answer = await bench.changes(read.cursor)
    assert (answer.blocks, answer.removed) == ((), ())


async def test_what_an_author_behind_others_was_told_of_its_own_is_removed_when_it_goes() -> None:
    """Its cursor is older than the block, its copy has it all the same: from the answer."""
    bench = await Bench.of(TEXT)
    read = await bench.read()
    await bench.type(1, "!")
    written = await bench.insert("Mine", base=read.cursor)
    assert written.behind
    (mine,) = written.blocks
    await bench.erase(len(anchors(await bench.read(ANN))) - 1)
    answer = await bench.changes(written.cursor)
    assert answer.removed == (block_id(mine.anchor),)
    assert (await bench.changes(answer.cursor)).removed == ()


async def test_a_block_quoted_by_an_author_behind_others_is_removed_when_it_goes() -> None:
    """It came after the author's cursor: only the answer to the author's write told of it."""
    bench = await Bench.of(TEXT)
    mirror = await bench.mirror()
    await bench.paragraph(1, "Quite new words")
    written = await bench.replace_text(("new", "other"), base=mirror.cursor)
    assert written.behind
    (told,) = written.blocks
    await bench.erase(1)
    await bench.restart()
    answer = await bench.changes(written.cursor)
    assert answer.removed == (block_id(told.anchor),)
    nobody = await bench.changes(written.cursor, OTHER)
    assert nobody.removed == ()


async def test_removed_and_put_back_elsewhere_is_moved() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    await bench.erase(1)
    await bench.paragraph(3, "First words.")
    answer = await bench.changes(read.cursor)
    (block,) = answer.blocks
    assert (block.change, block.text) == ("moved", "First words.")
    assert block_id(block.anchor) == block_id(anchors(read)[1])
    assert answer.removed == ()


async def test_an_agents_write_says_by_whom_and_can_be_left_out() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read(OTHER)
    await bench.insert("From the scribe.", caller=SCRIBE)
    await bench.type(1, "!")
    everything = await bench.changes(read.cursor, OTHER)
    assert [block.by for block in everything.blocks] == [("Ann",), ("Scribe",)]
    own_left_out = await bench.changes(read.cursor, SCRIBE, exclude_self=True)
    assert [block.by for block in own_left_out.blocks] == [("Ann",)]


async def test_what_nobody_watches_is_recorded_all_the_same() -> None:
    bench = await Bench.of(TEXT)
    cursor = bench.document.cursor()
    await bench.type(1, "!")
    assert len((await bench.changes(cursor)).blocks) == 1


async def test_seeding_is_no_change() -> None:
    bench = await Bench.of(TEXT)
    assert bench.store.rows == {}
    assert (await bench.changes(bench.document.cursor())).blocks == ()


async def test_cursors_from_elsewhere_are_refused() -> None:
    bench, other = await Bench.of(TEXT), await Bench.of(TEXT)
    other.document._keeper.live.cursors.__init__(b"another secret!!")  # type: ignore[misc]
    await other.type(1, "!")
    cursor = bench.document.cursor()
    for wrong in (other.document.cursor(), cursor + 1, cursor + 2**40, -cursor, 0, 2**60):
        with pytest.raises(InvalidCursor):
            await bench.changes(wrong)


async def test_cursor_and_ids_survive_a_restart() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    await bench.type(1, "!")
    await bench.restart()
    (block,) = (await bench.changes(read.cursor)).blocks
    assert (block.text, block.by) == ("First words.!", ("Ann",))
    again = await bench.read()
    assert [block_id(a) for a in anchors(again)] == [block_id(a) for a in anchors(read)]


async def test_reading_leaves_the_document_as_it_is() -> None:
    bench = await Bench.of(TEXT)
    before = bench.document.state_vector(), dict(bench.store.updates)
    for arguments in ({}, {"outline": True}, {"find": "words"}, {"format": "anchored"}):
        await bench.read(**arguments)
    await bench.changes(bench.document.cursor(), ANN)
    assert (bench.document.state_vector(), bench.store.updates) == before


async def test_the_servers_own_writes_set_nothing_off() -> None:
    """P23: blocks without ids get them once; neither that nor a checkpoint is a change."""
    bench = await Bench.of(TEXT)
    for words in ("one", "two", "three"):
        await bench.paragraph(4, f"Pasted {words}.")
    ids = [block_id(anchor) for anchor in anchors(await bench.read())]
    assert len(set(ids)) == 7
    told: list[int] = []
    bench.document.subscribe(lambda committed: told.append(committed.seq))
    cursor, state = bench.document.cursor(), bench.document.state_vector()
    stored, rows = dict(bench.store.updates), dict(bench.store.rows)
    await bench.restart()  # with its last checkpoint
    assert (bench.document.cursor(), bench.document.state_vector()) == (cursor, state)
    assert (bench.store.updates, bench.store.rows, told) == (stored, rows, [])
    read = await bench.read()
    assert [block_id(anchor) for anchor in anchors(read)] == ids
    written = await bench.patch(f"{await bench.markdown()}\n\nFrom the scribe.")
    answer = await bench.changes(written.cursor)
    assert (answer.blocks, answer.removed, answer.cursor) == ((), (), written.cursor)


async def test_a_look_of_the_gateways_leaves_the_reader_where_it_was() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    await bench.type(1, " mo")
    assert (await bench.changes(read.cursor, look=True)).blocks[0].text == "First words. mo"
    await bench.type(1, "re")
    answer = await bench.changes(read.cursor)
    assert answer.blocks[0].text == "First words. more"
    text = TEXT.replace("First words.", "First words. more, revised.")
    result = await bench.patch(text, base=answer.cursor)
    assert (result.replaced, result.conflicts) == (1, ())


@pytest.mark.parametrize("max_chars", [1, 300, 1_000, 40_000])
async def test_hundreds_of_changed_blocks_come_in_pages_that_miss_and_repeat_nothing(
    max_chars: int,
) -> None:
    bench = await Bench.of("\n\n".join(f"Paragraph {n}." for n in range(600)) + "\n")
    mirror = await bench.mirror()
    editor = bench.editor()
    for n in range(0, 600, 2):  # 300 are typed in
        text_of(editor, n).insert(0, "x")
    for n in range(500, 520):  # 20 come
        editor.root.children.insert(n, XmlElement("paragraph", {}, [XmlText(f"New {n}.")]))
    for n in range(19, 0, -2):  # 10 go
        del editor.root.children[n]
    editor.push()
    pages, listed, removed = 0, list[str](), list[str]()
    more = True
    while more:
        page = await bench.changes(mirror.cursor, max_chars=max_chars)
        pages, more = pages + 1, page.more
        used = [len(block.text) for block in page.blocks]
        assert len(used) == 1 or sum(used) <= max_chars
        listed += [block_id(block.anchor) for block in page.blocks]
        removed += page.removed
        mirror.apply(page)
    assert (len(listed), len(set(listed))) == (320, 320)
    assert len(set(removed)) == 10
    assert pages == {1: 320, 300: 16, 1_000: 5, 40_000: 1}[max_chars]
    assert mirror.markdown() == await bench.markdown()


async def test_pages_are_exact_while_the_document_is_edited_between_them() -> None:
    bench = await Bench.of("\n\n".join(f"Paragraph {n}." for n in range(400)) + "\n")
    mirror = await bench.mirror()
    editor = bench.editor()
    for n in range(350):
        text_of(editor, n).insert(0, "x")
    editor.push()
    number, more = 0, True
    while more:
        page = await bench.changes(mirror.cursor, max_chars=300)
        mirror.apply(page)
        more, number = page.more, number + 1
        if number <= 12:  # in blocks that were given, and in blocks that are still to come
            await bench.type(number, "y")
            await bench.type(349 - number, "z")
            await bench.erase(40 + number)
            await bench.paragraph(60 + number, f"New {number}.")
    assert number > 12
    assert mirror.markdown() == await bench.markdown()
