"""A quote keeps its place while people edit around it, and is found again when it comes back."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec import UNSET
from pycrdt import XmlElement, XmlText

from actors.storage.stored import NotCommittedError
from shared.discussion.places import Places
from shared.errors import InvalidArgument, StorageUnavailable
from shared.stored_annotations import StoredThread
from tests.unit.documents import ANN, SCRIBE, Bench
from tests.unit.editors import Editor
from tests.unit.test_discussion import Talk

pytestmark = pytest.mark.anyio

QUOTE = "the words"
TEXT = """# Plan

Here stand the words of it.

- one
- two 📊 items

Other text.

## Later

The end.
"""


async def asked(quote: str = QUOTE, markdown: str = TEXT) -> tuple[Talk, Editor, str]:
    talk = await Talk.of(markdown)
    said = await talk.post("?", quote=quote)
    return talk, talk.bench.editor(), said.thread_id


def paragraph(editor: Editor, at: int) -> XmlText:
    block = editor.root.children[at]
    assert isinstance(block, XmlElement)
    while isinstance(block, XmlElement):
        block = block.children[0]
    assert isinstance(block, XmlText)
    return block


async def edit(talk: Talk, editor: Editor, change: Callable[[], object]) -> None:
    editor.pull()
    with editor.doc.transaction():
        change()
    editor.push()
    await talk.bench.document._keeper.committer.settled()


def anchor(talk: Talk, at: int) -> str:
    return talk.bench.document.anchors()[at].anchor


def stored(talk: Talk, thread_id: str) -> StoredThread:
    return talk.bench.store.annotations.threads[thread_id]


async def test_typing_around_a_quote_shifts_it_and_tells_nobody() -> None:
    talk, editor, thread = await asked()
    cursor = (await talk.bench.read()).cursor
    await edit(talk, editor, lambda: paragraph(editor, 1).insert(0, "📊 "))
    await edit(talk, editor, lambda: paragraph(editor, 1).insert(len("📊 Here st".encode()), "x"))
    await edit(talk, editor, lambda: paragraph(editor, 1).insert(0, "the word "))
    assert talk.standing(thread) == QUOTE
    assert stored(talk, thread) == talk.bench.document._keeper.live.discussion.threads[thread]
    assert (await talk.bench.changes(cursor)).threads is UNSET
    await talk.bench.restart()
    assert talk.standing(thread) == QUOTE


async def test_of_two_equal_ones_it_stays_the_one_it_was() -> None:
    talk, editor, thread = await asked()
    await edit(talk, editor, lambda: paragraph(editor, 1).insert(0, f"{QUOTE} and "))
    place = stored(talk, thread).place
    assert place is not None
    assert place.start == len(f"{QUOTE} and Here stand ")


async def test_marks_do_not_move_it() -> None:
    talk, editor, thread = await asked()
    await edit(talk, editor, lambda: paragraph(editor, 1).format(13, 18, {"bold": {}}))
    assert talk.standing(thread) == QUOTE


async def test_in_an_item_it_follows_items_that_come_before() -> None:
    talk, _, thread = await asked("two 📊 items")
    await talk.bench.replace_text(("one", "zero"))
    read = await talk.bench.read(format="markdown")
    assert isinstance(read.markdown, str)
    await talk.bench.patch(
        read.markdown.replace("- zero", "- new\n- zero\n- half"), base=read.cursor
    )
    assert talk.standing(thread) == "two 📊 items"
    place = stored(talk, thread).place
    assert place is not None
    assert place.path == (3, 0)


async def test_a_quote_that_is_typed_into_is_orphaned_and_undo_brings_it_back() -> None:
    talk, editor, thread = await asked()
    cursor = (await talk.bench.read()).cursor
    await edit(talk, editor, lambda: paragraph(editor, 1).insert(15, "XX"))
    assert talk.standing(thread) is None
    assert [one.orphaned for one in await talk.chats()] == [True]
    told = (await talk.bench.changes(cursor)).threads
    assert told
    assert (told[0].block_id, told[0].messages) == (UNSET, ())
    await talk.bench.restart()
    editor = talk.bench.editor()
    await edit(talk, editor, lambda: paragraph(editor, 5).insert(0, "elsewhere "))
    assert talk.standing(thread) is None
    await edit(talk, editor, lambda: paragraph(editor, 1).__delitem__(slice(15, 17)))
    assert talk.standing(thread) == QUOTE
    assert [one.orphaned for one in await talk.chats()] == [UNSET]


async def test_cut_and_pasted_elsewhere_it_goes_along() -> None:
    talk, _, thread = await asked()
    await talk.bench.delete(anchor(talk, 1))
    assert talk.standing(thread) is None
    await talk.bench.insert("Moved: the words!", "end")
    assert talk.standing(thread) == QUOTE
    assert [one.section_id for one in await talk.chats()] == [talk.headings()[0]]


async def test_enter_in_front_of_it_and_back() -> None:
    talk, editor, thread = await asked()

    def enter() -> None:
        block = editor.root.children[1]
        del paragraph(editor, 1)[11:]
        new = XmlElement("paragraph", {}, [XmlText("the words of it.")])
        editor.root.children.insert(2, new)
        assert block is not None

    await edit(talk, editor, enter)
    assert talk.standing(thread) == QUOTE
    place = stored(talk, thread).place
    assert place is not None
    assert place.block_id == talk.bench.document._keeper.live.index.ids[2]


async def test_the_only_one_left_of_two_is_taken() -> None:
    talk, _, thread = await asked()
    await talk.bench.insert("A copy: the words.", "end")
    await talk.bench.insert("A second: the words.", "end")
    await talk.bench.delete(anchor(talk, 1))
    assert talk.standing(thread) is None  # which of the two?
    await talk.bench.delete(anchor(talk, -1))
    assert talk.standing(thread) == QUOTE


async def test_a_heading_that_goes_leaves_its_threads_and_comes_back_to_them() -> None:
    talk, _, thread = await asked()
    chat = await talk.post("about the end", 1)
    await talk.bench.save("before")
    await talk.bench.delete(anchor(talk, 4))
    listed = {one.thread_id: one for one in await talk.chats()}
    assert (listed[chat.thread_id].section_gone, listed[thread].section_gone) == (True, UNSET)
    await talk.reply(chat.thread_id, "still here")
    await talk.bench.restore("before")
    assert [one.section_gone for one in await talk.chats()] == [UNSET, UNSET]
    assert (await talk.post("again", 1)).thread_id == chat.thread_id


async def test_a_failed_commit_takes_the_place_back_with_the_text() -> None:
    talk, editor, thread = await asked()
    talk.bench.store.fail = NotCommittedError("disk full")
    editor.pull()
    with editor.doc.transaction():
        paragraph(editor, 1).insert(15, "XX")
    editor.push()
    with pytest.raises(StorageUnavailable):
        await talk.bench.changes(None)
    await talk.bench.document._keeper.when_ready()
    assert talk.standing(thread) == QUOTE


async def test_a_document_without_quotes_pays_nothing() -> None:
    class Watched(Places):
        looked = 0

        def follow(self, texts: object) -> dict[str, object]:  # type: ignore[override]
            found = super().follow(texts)  # type: ignore[arg-type]
            self.looked += len(self._touched) + len(self._before)
            return dict(found)

    talk = await Talk.of()
    await talk.post("no quote")
    watched = Watched()
    talk.bench.document._keeper.live.discussion._places = watched
    await talk.bench.insert("more", "end", caller=SCRIBE)
    assert watched.looked == 0
    assert watched._touched == set()
    assert (await talk.bench.read(ANN)).title == "Plan"


async def test_words_inside_nodes_no_editor_of_ours_knows_count() -> None:
    bench = await Bench.of("# T\n\nthe words\n")
    editor = bench.editor()
    odd = XmlElement("callout", {}, [XmlElement("line", {}, [XmlText("the words")])])
    talk = Talk(bench)
    await edit(talk, editor, lambda: editor.root.children.append(odd))
    with pytest.raises(InvalidArgument, match=r"^quote: "):
        await talk.post("?", quote="the words")
