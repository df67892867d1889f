"""Reported cases of change feeds, patches and anchors, by the name their docstring gives them.

P01  emoji                    here; test_blocks_text_diff.py, acceptance/test_editor_faults.py
P02  missing dependencies     test_document_durable.py, acceptance/test_editor_faults.py
P09  children of the deleted  acceptance/test_editor_faults.py
P19  observers that re-enter  here
P20  late integration         here; acceptance/test_editor_faults.py
P21  cursors that are none    gateway/test_tool_arguments.py, test_cursor.py
P22  cursors from elsewhere   here; test_document_feed.py
P23  writes that set it off   here
P24  reading changes nothing  here; test_document_feed.py
P31, P34, P37, P39            test_reported_documents.py
P40  emoji with equal ends    here
P41  equal paragraphs         here; test_reported_documents.py
P42  what a patch leaves      here
P43  stale reads              here; test_document_writing.py
P44  moves                    here; test_document_moving.py
P45, P46                      test_reported_marks.py
P47  Enter                    here; test_block_index_traces.py
P48  pasted ids               here
P49  stale hashes             here; gateway/test_tool_arguments.py
P50  what somebody put above  here
P51  ranges                   here; test_patch_text.py
P55  huge arguments           acceptance/test_huge_arguments.py, test_large_patches.py
P56  calls sent again         test_document_durable.py, acceptance/test_failover.py
P57  callers that leave       acceptance/test_callers_that_leave.py, gateway/test_cancel.py
P59  writes done twice        integration/test_one_writer.py
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from pycrdt import XmlElement, XmlText

from shared.errors import (
    Busy,
    FindNotMatched,
    InvalidArgument,
    InvalidCursor,
    NotUnique,
    StaleBlock,
)
from shared.feed import block_changes
from tests.unit.documents import ANN, OTHER, SCRIBE, Bench, anchors, block_id, text_of
from tests.unit.reported import EVERYTHING, Make, counts, patched, sent_back, whole

pytestmark = pytest.mark.anyio
TEXT = "# Plan\n\nFirst words here.\n\nSecond words there.\n\nThird words.\n"


async def ids_of(bench: Bench) -> list[str]:
    return [block_id(anchor) for anchor in anchors(await bench.read(ANN))]


async def stands(bench: Bench) -> None:
    """What holds after anything: ids are unique, a restart changes nothing, a newcomer has it."""
    before = await bench.read(ANN, max_chars=1_000_000)
    ids = [block_id(anchor) for anchor in anchors(before)]
    assert len(set(ids)) == len(ids)
    await bench.restart()
    assert anchors(await bench.read(ANN, max_chars=1_000_000)) == anchors(before)
    newcomer = bench.editor()
    assert newcomer.doc.get_state() == bench.document.state_vector() or (
        newcomer.doc.get_update() == bench.document.diff(EVERYTHING)
    )
    assert len(newcomer.root.children) == len(ids)
    await sent_back(bench)


# --- the feed ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "before, after",
    [
        ("A📊B конец", "A📊B! конец"),
        ("日本語テスト", "日本語のテスト"),
        ("e\u0301te\u0301", "e\u0301te\u0301s"),
        ("mood 😀 end", "mood 😁 end"),
        ("x👍🏽", "x👍🏿"),
        ("👩‍💻👩‍💻", "👩‍💻"),
    ],
)
async def test_whole_characters_change(make: Make, before: str, after: str) -> None:
    """P01, P40."""
    bench = await make(before)
    editor = bench.editor()
    sent = len(bench.document.diff(editor.doc.get_state()))
    await patched(bench, before, after)
    assert len(bench.document.diff(editor.doc.get_state())) < sent + 60
    editor.pull()
    assert str(text_of(editor, 0)) == after
    await stands(bench)


async def test_reading_and_patching_between_keystrokes_tells_each_change_once(make: Make) -> None:
    """P19: nothing that looks at a transaction opens another one."""
    bench = await make(TEXT)
    editor = bench.editor()
    mirror = await bench.mirror(OTHER)
    told: Counter[str] = Counter()
    for number in range(60):
        text_of(editor, 1).insert(0, "x")
        editor.push()
        if number % 3 == 0:
            answer = await bench.changes(mirror.cursor, OTHER)
            told.update(block_id(block.anchor) for block in answer.blocks)
            mirror.apply(answer)
        if number % 6 == 0:
            await patched(bench, "Third", "A Third")
    mirror.apply(await bench.changes(mirror.cursor, OTHER))
    assert mirror.markdown() == await bench.markdown()
    assert set(told) == {(await ids_of(bench))[1], (await ids_of(bench))[3]}
    assert max(told.values()) == 20  # once an answer
    await stands(bench)


async def test_what_waits_is_told_when_it_integrates_and_once(make: Make) -> None:
    """P20."""
    bench = await make(TEXT)
    ann, ben = bench.editor(), bench.editor(OTHER)
    cursor = bench.document.cursor()
    text_of(ann, 1).insert(0, "one ")
    ben.take(ann)
    text_of(ben, 1).insert(4, "two ")
    (late,) = ben._outgoing
    assert bench.document.apply(late, OTHER).verdict == "leftover"
    between = await bench.changes(cursor)
    assert between.blocks == ()
    ann.push()
    told = await bench.changes(between.cursor)
    assert [block.text for block in told.blocks] == ["one two First words here."]
    assert (await bench.changes(told.cursor)).blocks == ()
    ben.answer()
    await stands(bench)


async def test_a_cursor_of_elsewhere_or_of_the_future_is_refused_and_an_old_one_says_so(
    make: Make,
) -> None:
    """P22. The reset is `truncated` with a reason."""
    one, other = await make(TEXT), await make(TEXT)
    for _ in range(5):
        await one.type(1, "x")
    cursor = (await one.read()).cursor
    for wrong in (cursor + 1000, cursor + 2**18, -cursor):
        with pytest.raises(InvalidCursor):
            await one.changes(wrong)
    with pytest.raises(InvalidCursor):
        await other.changes(cursor)
    start = await one.changes(None)
    assert (start.truncated, start.reason, start.blocks) == (True, "no_cursor", ())


async def test_a_cursor_older_than_the_rows_says_so_and_what_to_do(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P22: nothing is left out in silence, and the reader goes on from a new reading."""
    monkeypatch.setattr(block_changes, "MIN_CHANGE_ROWS", 2)
    monkeypatch.setattr(block_changes, "CHANGE_ROWS_PER_BLOCK", 0)
    bench = await make(TEXT)
    mirror = await bench.mirror()
    for block in (1, 2, 3):
        await bench.type(block, "x")
        bench.now += 1_000
    answer = await bench.changes(mirror.cursor)
    assert (answer.truncated, answer.reason) == (True, "too_old")
    assert (answer.blocks, answer.removed) == ((), ())
    assert "read_document" in str(answer.next_step)
    mirror = await bench.mirror()
    await bench.type(1, "y")
    mirror.apply(await bench.changes(mirror.cursor))
    assert mirror.markdown() == await bench.markdown()
    await stands(bench)


async def test_what_the_server_writes_sets_nothing_off(make: Make) -> None:
    """P23."""
    bench = await make(TEXT)
    editor = bench.editor(keeps_ids=False)
    for place in (1, 1, 1):
        editor.root.children.insert(place, XmlElement("paragraph", {}, [XmlText("pasted")]))
    editor.push()
    await bench.read()
    rows = bench.document.change_seq
    state = bench.document.state_vector()
    bench.now += 30_000
    for _ in range(3):
        await bench.read()
        await bench.restart()
    assert (bench.document.change_seq, bench.document.state_vector()) == (rows, state)
    answer = await patched(bench, "Third", "Last")
    assert answer.cursor is not None
    assert (await bench.changes(answer.cursor)).blocks == ()
    await stands(bench)


async def test_reading_leaves_unknown_nodes_and_marks_as_they_are(make: Make) -> None:
    """P24."""
    bench = await make(TEXT)
    editor = bench.editor()
    callout = XmlElement(
        "callout", {"kind": "x"}, [XmlElement("paragraph", {}, [XmlText("inside")])]
    )
    editor.root.children.insert(1, callout)
    with editor.doc.transaction():
        text_of(editor, 2).format(0, 5, {"sparkle": {}})
    editor.push()
    before = bench.document.diff(EVERYTHING)
    shown = await bench.read(format="markdown")
    for _ in range(10):
        shown = await bench.read(format="markdown")
        await bench.changes(shown.cursor)
    assert "<!-- opaque:callout" in str(shown.markdown)
    assert bench.document.diff(EVERYTHING) == before
    await patched(bench, "Third", "Last")
    editor.pull()
    assert "sparkle" in str(text_of(editor, 2).diff())
    await stands(bench)


# --- patches -------------------------------------------------------------------------------------


async def test_of_equal_paragraphs_the_right_one_goes_comes_and_changes(make: Make) -> None:
    """P41."""
    bench = await make("TODO\n\nx\n\nTODO\n\nTODO\n\ny\n")
    p1, p2, p3, p4, p5 = await ids_of(bench)
    _, cursor = await whole(bench)
    result = await bench.patch("x\n\nTODO\n\nTODO\n\ny\n", base=cursor)
    assert (counts(result), result.removed) == ((0, 0, 1, 0), (p1,))
    result = await bench.patch("x\n\nTODO\n\nTODO\n\nTODO\n\ny\n", base=result.cursor)
    assert counts(result) == (0, 1, 0, 0)
    assert {p2, p3, p4, p5} < set(await ids_of(bench))
    last = (await ids_of(bench))[3]
    result = await bench.patch("x\n\nTODO\n\nTODO\n\nDONE\n\ny\n", base=result.cursor)
    assert counts(result) == (1, 0, 0, 0)
    assert [block_id(block.anchor) for block in result.blocks] == [last]
    await stands(bench)


async def test_a_patch_of_sixty_blocks_touches_the_two_that_changed(make: Make) -> None:
    """P42: the others keep their very items; somebody types in one of them meanwhile."""
    bench = await make("\n\n".join(f"Paragraph number {n}, as it was." for n in range(60)))
    text, cursor = await whole(bench)
    before, editor = await ids_of(bench), bench.editor()
    text_of(editor, 30).insert(0, "typed ")
    new = text.replace("number 10,", "numbers 10,").replace("59, as it was.", "59, as it was. End")
    state = bench.document.state_vector()
    result = await bench.patch(new, base=cursor)
    assert counts(result) == (2, 0, 0, 0)
    assert len(bench.document.diff(state)) < 250
    editor.push()
    now, _ = await whole(bench)
    assert now == new.replace("Paragraph number 30,", "typed Paragraph number 30,")
    assert await ids_of(bench) == before
    await stands(bench)


async def test_two_patches_of_one_read_and_a_deletion_all_count(make: Make) -> None:
    """P43."""
    bench = await make("a\n\nb\n\nc\n")
    first, second = await bench.read(SCRIBE), await bench.read(OTHER)
    await bench.patch("a\n\nb\n\nNEW\n\nc\n", base=first.cursor)
    await bench.erase(1)
    result = await bench.patch("a!\n\nb\n\nc\n", base=second.cursor, caller=OTHER)
    assert await bench.markdown() == "a!\n\nNEW\n\nc\n"
    assert len(result.kept) == 1
    await stands(bench)


async def test_the_block_nobody_types_in_moves_and_two_movers_leave_one(make: Make) -> None:
    """P44."""
    bench = await make("A alpha\n\nB bravo\n\nC charlie\n\nD delta\n")
    a, b, c, d = await ids_of(bench)
    first, second = await bench.read(SCRIBE), await bench.read(OTHER)
    await bench.type(1, " typed")
    result = await bench.patch("A alpha\n\nC charlie\n\nB bravo\n\nD delta\n", base=first.cursor)
    assert counts(result) == (0, 0, 0, 1)
    assert await ids_of(bench) == [a, c, b, d]
    assert "B bravo typed" in await bench.markdown()
    bench.now += 60_000
    await bench.move(b, "end")
    with pytest.raises(Busy):
        await bench.move(b, "start", caller=OTHER)
    bench.now += 60_000
    await bench.move(b, "start", caller=OTHER)
    assert await ids_of(bench) == [b, a, c, d]
    assert second.cursor <= bench.document.cursor()
    await stands(bench)


# --- anchors -------------------------------------------------------------------------------------


@pytest.mark.parametrize("keeps_ids", [True, False])
@pytest.mark.parametrize("tag", ["paragraph", "heading"])
@pytest.mark.parametrize("cut", [0, 6, 10])
async def test_enter_keeps_the_id_with_the_words(
    make: Make, cut: int, tag: str, keeps_ids: bool
) -> None:
    """P47: one block changed and one new one, wherever the caret was."""
    bench = await make("# alpha beta\n" if tag == "heading" else "alpha beta\n")
    (known,) = await ids_of(bench)
    cursor = bench.document.cursor()
    editor = bench.editor(keeps_ids=keeps_ids)
    block, text = editor.root.children[0], text_of(editor, 0)
    assert isinstance(block, XmlElement)
    view: Any = block.attributes
    attributes = dict(view)
    if not keeps_ids:
        del attributes["id"]
    with editor.doc.transaction():
        if cut < 10:
            del text[cut:10]
        editor.root.children.insert(1, XmlElement(tag, attributes, [XmlText("alpha beta"[cut:])]))
        if not keeps_ids:
            del block.attributes["id"]
    editor.push()
    ids = await ids_of(bench)
    assert ids.index(known) == (1 if cut == 0 else 0)
    told = await bench.changes(cursor)
    assert told.removed == ()
    kinds = {block_id(one.anchor): one.change for one in told.blocks}
    assert [kinds.pop(one) for one in ids if one != known] == ["added"]
    assert set(kinds.values()) <= ({"changed"} if cut == 6 else set())
    await stands(bench)


@pytest.mark.parametrize("keeps_ids", [True, False])
@pytest.mark.parametrize("cut", [0, 6, 10])
async def test_enter_in_an_item_changes_its_list_and_nothing_else(
    make: Make, cut: int, *, keeps_ids: bool
) -> None:
    """P47: a list is one block."""
    bench = await make("- alpha beta\n- more\n")
    (known,) = await ids_of(bench)
    cursor = bench.document.cursor()
    editor = bench.editor(keeps_ids=keeps_ids)
    with editor.doc.transaction():
        blocks = editor.root.children[0]
        assert isinstance(blocks, XmlElement)
        text = leaf(blocks)
        if cut < 10:
            del text[cut:10]
        rest = XmlElement("paragraph", {}, [XmlText("alpha beta"[cut:])])
        blocks.children.insert(1, XmlElement("listItem", {}, [rest]))
    editor.push()
    told = await bench.changes(cursor)
    assert [(block_id(one.anchor), one.change) for one in told.blocks] == [(known, "changed")]
    assert (told.removed, await ids_of(bench)) == ((), [known])
    await stands(bench)


def leaf(element: XmlElement) -> XmlText:
    """The first text inside."""
    child = element.children[0]
    assert isinstance(child, XmlElement | XmlText)
    return child if isinstance(child, XmlText) else leaf(child)


async def test_pasted_copies_with_the_ids_of_others_are_new_and_the_originals_keep_theirs(
    make: Make,
) -> None:
    """P48."""
    bench = await make("v one\n\nw two\n\nx three\n\ny four\n\nz five\n")
    before = await ids_of(bench)
    editor = bench.editor()
    with editor.doc.transaction():
        for place, known in enumerate(before):
            words = str(text_of(editor, place))
            copy = XmlElement("paragraph", {"id": known}, [XmlText(words)])
            editor.root.children.append(copy)
    editor.push()
    ids = await ids_of(bench)
    assert ids[:5] == before
    assert len(set(ids)) == 10
    shown = await bench.read()
    await bench.replace(anchors(shown)[0], None, "replaced")
    assert (await bench.markdown()).startswith("replaced\n\nw two")
    editor.take_back()
    editor.hand_over()
    assert await ids_of(bench) == before
    await stands(bench)


async def test_what_is_pasted_into_another_document_may_keep_its_ids(make: Make) -> None:
    """P48: an id is of one document; anchors of the other are none here."""
    one, other = await make("v one\n\nw two\n"), await make("x three\n")
    ids = await ids_of(one)
    editor = other.editor()
    with editor.doc.transaction():
        for known, words in zip(ids, ("v one", "w two"), strict=True):
            editor.root.children.append(XmlElement("paragraph", {"id": known}, [XmlText(words)]))
    editor.push()
    assert len(set(await ids_of(other))) == 3
    await one.replace(anchors(await one.read())[0], None, "v changed")
    assert await other.markdown() == "x three\n\nv one\n\nw two\n"
    await other.insert(await one.markdown())
    assert len(set(await ids_of(other))) == 5
    await stands(one)
    await stands(other)


async def test_a_stale_hash_is_refused_with_the_block_as_it_is(make: Make) -> None:
    """P49. An insertion behind it goes by its id."""
    bench = await make(TEXT)
    stale = anchors(await bench.read())[2]
    await bench.type(2, "!")
    before = await bench.markdown()
    with pytest.raises(StaleBlock) as refusal:
        await bench.replace(stale, None, "X")
    assert "Second words there.!" in str(refusal.value.data)
    assert anchors(await bench.read(ANN))[2] in str(refusal.value.data)
    with pytest.raises(StaleBlock):
        await bench.delete(stale)
    assert await bench.markdown() == before
    await stands(bench)


async def test_a_block_put_above_is_not_hit(make: Make) -> None:
    """P50."""
    bench = await make("p pope\n\nq queen\n\nr rook\n")
    _, q, r = anchors(await bench.read())
    await bench.paragraph(1, "n new")
    await bench.replace(q, None, "Q")
    await bench.insert("s", after=r)
    assert await bench.markdown() == "p pope\n\nn new\n\nQ\n\nr rook\n\ns\n"
    await stands(bench)


async def test_quotes_are_found_as_they_read_and_never_clamped(make: Make) -> None:
    """P51. There are no offsets: what is meant is quoted."""
    bench = await make("**Bold** link [x](u) 😀 end and end\n")
    for quote, error in (("end", NotUnique), ("", InvalidArgument), ("no such", FindNotMatched)):
        with pytest.raises(error):
            await bench.replace_text((quote, "X"))
    await bench.replace_text(("😀 end", "😀 END"))
    await bench.replace_text(("Bold link", "Bald link"))  # no mark is all over it
    assert await bench.markdown() == "Bald link [x](u) 😀 END and end\n"
    first, *_ = anchors(await bench.read())
    await bench.insert("last")
    last = anchors(await bench.read())[-1]
    with pytest.raises(InvalidArgument):
        await bench.replace(last, first, "wrong way round")
    await stands(bench)
