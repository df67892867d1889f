"""read_document: formats, sections, cuts, outline and hits."""

from __future__ import annotations

import asyncio

import pytest
from msgspec import UNSET
from pycrdt import XmlElement

from shared.document import live_document
from shared.errors import StaleAnchor, StaleBlock
from shared.ids import anchor
from shared.index.block_index import BlockIndex
from shared.limits import RENDER_BLOCKS
from shared.markdown.render import Rendered, render
from shared.tree import Hints, Node
from tests.unit.documents import Bench, anchors, block_id, ref

pytestmark = pytest.mark.anyio
TEXT = (
    "# Plan\n\nIntro.\n\n## Goals\n\nTo be *good*.\n\n### Detail\n\nDeep.\n\n## Later\n\nThe end.\n"
)


async def test_the_three_formats_say_the_same() -> None:
    bench = await Bench.of(TEXT)
    blocks, plain, anchored = [
        await bench.read(format=format_) for format_ in ("blocks", "markdown", "anchored")
    ]
    assert plain.markdown == TEXT
    assert isinstance(blocks.blocks, tuple)
    assert [block.text for block in blocks.blocks] == TEXT.strip().split("\n\n")
    assert isinstance(anchored.markdown, str)
    lines = [line for line in anchored.markdown.splitlines() if not line.startswith("[")]
    assert "\n".join(lines) == "\n".join(plain.markdown.splitlines())
    for block in blocks.blocks:
        assert f"[{block.anchor}]\n{block.text}" in anchored.markdown
        assert block.anchor == anchor(block_id(block.anchor), str(block.text))
    assert (blocks.title, blocks.truncated, blocks.total_chars) == ("Plan", False, len(TEXT))


async def test_an_outline_has_sizes_of_subtrees_and_no_text() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read(outline=True)
    assert isinstance(read.outline, tuple)
    assert [(one.level, one.title) for one in read.outline] == [
        (1, "Plan"), (2, "Goals"), (3, "Detail"), (2, "Later"),
    ]  # fmt: skip
    assert read.outline[0].chars > read.outline[1].chars > read.outline[2].chars
    assert (read.markdown, read.blocks) == (UNSET, UNSET)


async def test_a_section_is_a_heading_with_everything_under_it() -> None:
    bench = await Bench.of(TEXT)
    outline = (await bench.read(outline=True)).outline
    assert isinstance(outline, tuple)
    read = await bench.read(format="markdown", section_id=ref(outline[1].section_id))
    assert read.markdown == "## Goals\n\nTo be *good*.\n\n### Detail\n\nDeep.\n"


async def test_a_section_that_is_none_is_refused_with_an_outline() -> None:
    bench = await Bench.of(TEXT)
    paragraph = anchors(await bench.read())[1]
    for wrong in (block_id(paragraph), "zzzzzzzz"):
        with pytest.raises(StaleAnchor) as refused:
            await bench.read(section_id=ref(wrong))
        assert refused.value.data["outline"][0]["title"] == "Plan"
    heading = anchors(await bench.read())[0]
    await bench.type(0, "!")
    with pytest.raises(StaleBlock) as stale:
        await bench.read(section_id=ref(heading))
    assert stale.value.data["text"] == "# Plan!"


async def test_a_cut_answer_ends_where_a_section_starts_and_names_it() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read(format="markdown", max_chars=40)
    assert read.truncated
    assert read.markdown == "# Plan\n\nIntro.\n"
    assert isinstance(read.outline, tuple)
    assert read.next_section_id == read.outline[0].section_id
    rest = await bench.read(format="markdown", section_id=ref(str(read.next_section_id)))
    assert str(rest.markdown).startswith("## Goals")


async def test_a_cut_in_text_without_headings_says_to_ask_for_more() -> None:
    bench = await Bench.of("One.\n\nTwo.\n\nThree.\n")
    read = await bench.read(format="markdown", max_chars=12)
    assert (read.truncated, read.next_section_id) == (True, UNSET)
    assert read.markdown == "One.\n\nTwo.\n"
    assert "max_chars" in str(read.next_step)


async def test_find_gives_places_not_texts() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read(find="DEEP")
    assert isinstance(read.hits, tuple)
    (hit,) = read.hits
    assert hit.snippet == "Deep."
    outline = (await bench.read(outline=True)).outline
    assert isinstance(outline, tuple)
    assert hit.section_id == outline[2].section_id
    assert (await bench.read(find="be good")).hits  # plain text, without its marks
    assert (await bench.read(find="nowhere")).hits == ()


async def test_a_document_without_anything_reads_as_nothing() -> None:
    bench = await Bench.of("")
    read = await bench.read(format="markdown")
    assert (read.markdown, read.title, read.truncated) == ("", "Untitled", False)


async def test_after_one_edit_one_block_is_rendered_and_one_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rendered: list[str] = []

    def counting(node: Node, hints: Hints, block_id: str) -> Rendered:
        rendered.append(block_id)
        return render(node, hints, block_id)

    bench = await Bench.of("\n\n".join(f"Paragraph {number}." for number in range(300)))
    monkeypatch.setattr(live_document, "render", counting)
    first = await bench.read(format="markdown", max_chars=1_000_000)
    assert len(set(rendered)) == len(rendered) == 300
    rendered.clear()
    for format_ in ("blocks", "markdown", "anchored"):
        await bench.read(format=format_, max_chars=1_000_000)
    await bench.read(outline=True)
    await bench.read(find="Paragraph 7")
    assert rendered == []

    await bench.type(150, " typed")
    changed = block_id(anchors(await bench.read(max_chars=1_000_000))[150])
    assert rendered == [changed]
    await bench.changes(first.cursor)
    assert rendered == [changed]
    await bench.document.close()


async def test_after_one_edit_only_what_changed_and_what_is_shown_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[str] = []
    fingerprint = BlockIndex.fingerprint

    def counting(index: BlockIndex, block_id: str) -> str:
        looked.append(block_id)
        return fingerprint(index, block_id)

    text = "\n\n".join(f"# Part {n}\n\nParagraph {n}." for n in range(300))
    bench = await Bench.of(text)
    await bench.read(max_chars=1_000_000)
    monkeypatch.setattr(BlockIndex, "fingerprint", counting)
    for at, arguments in ((1, {"outline": True}), (3, {"max_chars": 100}), (6, {"max_chars": 100})):
        await bench.type(at, " typed")
        read = await bench.read(**arguments)
        assert len(set(looked)) < 20
        assert read.total_chars == len(await bench.markdown())
        looked.clear()
    titles = [one.title for one in (await bench.read(outline=True)).outline or ()]
    assert titles == [f"Part {n} typed" if n == 3 else f"Part {n}" for n in range(300)]


async def test_a_text_is_found_however_its_block_is_marked_up() -> None:
    words = ["a \N{NO-BREAK SPACE}b", "a *b* c", "a\\\nb", "a&#32;", "- a  b\n- c", "a \\* b"]
    bench = await Bench.of("\n\n".join(words))
    for wanted, found in (("a b", 4), ("a b c", 2), ("b c", 2), ("a * b", 1), ("x", 0)):
        assert len((await bench.read(find=wanted)).hits or ()) == found, wanted


async def test_what_the_text_leaves_out_is_told_anew_when_it_alone_changes() -> None:
    bench = await Bench.of("![a](b)\n\nx")
    before = await bench.read()
    assert before.fidelity == UNSET
    for width, told in ((30, ["image: width is not shown"]), (None, [])):
        editor = bench.editor()
        image = editor.root.children[0]
        assert isinstance(image, XmlElement)
        if width is None:
            del image.attributes["width"]
        else:
            image.attributes["width"] = width
        editor.push()
        read = await bench.read()
        notes = read.fidelity if isinstance(read.fidelity, tuple) else ()
        assert [note.what for note in notes] == told
        assert anchors(read) == anchors(before)
        assert all(note.block_id == block_id(anchors(read)[0]) for note in notes)
    await bench.document.close()


async def test_others_get_their_turn_while_a_long_document_is_read_for_the_first_time() -> None:
    bench = await Bench.of("\n\n".join(f"Paragraph {n}." for n in range(5 * RENDER_BLOCKS)))
    await bench.restart()
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    waiting = asyncio.create_task(others())
    first = await bench.read()
    seen, turns = turns, 0
    assert await bench.read() == first
    waiting.cancel()
    assert seen >= 4 > turns, "between the five slices"
