"""What agents do all day, as they would call it: where a careless one used to do harm."""

from __future__ import annotations

import pytest

from shared.errors import BaseRequired, LargeDelete
from tests.unit.documents import OTHER, SCRIBE, Bench, anchors, ref
from tests.unit.reported import Make, counts

pytestmark = pytest.mark.anyio
LONG = "".join(
    f"## Section {n}\n\n" + "".join(f"Paragraph {n}.{m} of words.\n\n" for m in range(5))
    for n in range(20)
)
TABLE = "| name | size |\n| --- | --- |\n| river | long |\n| stone | hard |\n"


async def test_one_typo_in_a_long_document_is_one_short_call(make: Make) -> None:
    bench = await make(LONG)
    before = anchors(await bench.read(OTHER, max_chars=1_000_000))
    result = await bench.replace_text(("Paragraph 7.3 of words", "Paragraph 7.3 in words"))
    assert counts(result) == (1, 0, 0, 0)
    assert result.charged < 60
    after = anchors(await bench.read(OTHER, max_chars=1_000_000))
    assert sum(one != other for one, other in zip(before, after, strict=True)) == 1


async def test_a_section_is_rewritten_while_somebody_types_in_it_and_elsewhere(make: Make) -> None:
    bench = await make(LONG)
    read = await bench.read(max_chars=1_000_000)
    section = anchors(read)[6 * 4]
    shown = await bench.read(section_id=ref(section), format="markdown")
    assert isinstance(shown.markdown, str)
    await bench.type(6 * 4 + 1, " typed")
    await bench.type(1, " elsewhere")
    new = shown.markdown.replace("h 4.2 of", "h 4.2 without").replace("h 4.3 of", "h 4.3 with")
    result = await bench.patch(new, section_id=section, base=shown.cursor)
    assert counts(result) == (2, 0, 0, 0)
    assert (result.conflicts, result.behind) == ((), True)
    expected = LONG.replace("h 4.2 of", "h 4.2 without").replace("h 4.3 of", "h 4.3 with")
    expected = expected.replace("h 4.0 of words.", "h 4.0 of words. typed")
    expected = expected.replace("h 0.0 of words.", "h 0.0 of words. elsewhere")
    assert await bench.markdown() == expected.rstrip("\n") + "\n"


async def test_a_row_of_a_table_is_one_edit_at_its_own_price(make: Make) -> None:
    bench = await make(f"before\n\n{TABLE}\nafter\n")
    row = "| stone | hard |"
    result = await bench.replace_text((row, f"{row}\n| cloud | soft |"))
    assert counts(result) == (1, 0, 0, 0)
    assert await bench.markdown() == f"before\n\n{TABLE}| cloud | soft |\n\nafter\n"


async def test_sections_change_places_in_one_call_and_keep_every_id(make: Make) -> None:
    bench = await make(LONG)
    before = anchors(await bench.read(max_chars=1_000_000))
    result = await bench.move(before[6 * 9], "start", section=True)
    assert (result.moved, result.charged) == (6, 0)
    after = anchors(await bench.read(OTHER, max_chars=1_000_000))
    assert after == [*before[54:60], *before[:54], *before[60:]]


async def test_who_follows_after_its_own_writes_misses_nobody(make: Make) -> None:
    bench = await make("one\n\ntwo\n\nthree\n")
    mirror = await bench.mirror()
    await bench.type(0, "!")
    result = await bench.patch("one\n\ntwo, mine\n\nthree\n", base=mirror.cursor)
    assert result.behind
    assert result.cursor == mirror.cursor
    mirror.apply(await bench.changes(result.cursor))
    assert mirror.markdown() == await bench.markdown() == "one!\n\ntwo, mine\n\nthree\n"


async def test_one_anchor_beside_the_whole_text_doubles_nothing(make: Make) -> None:
    bench = await make("\n\n".join(f"Paragraph {n} of ten." for n in range(10)))
    read = await bench.read(format="markdown")
    (_, _, _, _, fourth, *_) = anchors(await bench.read())
    new = str(read.markdown).replace("Paragraph 4 of", "Paragraph 4 among")
    result = await bench.patch(new, anchors=(fourth,))
    assert counts(result) == (1, 0, 0, 0)
    assert await bench.markdown() == new


@pytest.mark.parametrize("ending", ["", "\n[... rest of the document unchanged ...]\n"])
async def test_what_was_not_read_stays_and_an_elision_is_no_text(make: Make, ending: str) -> None:
    bench = await make(LONG)
    cut = await bench.read(format="markdown", max_chars=300)
    assert cut.truncated
    new = str(cut.markdown).replace("h 0.1 of", "h 0.1 with") + ending
    if ending:
        with pytest.raises(LargeDelete):
            await bench.patch(new, base=cut.cursor)
        assert await bench.markdown() == LONG.rstrip("\n") + "\n"
    else:
        result = await bench.patch(new, base=cut.cursor)
        assert result.deleted == 0
        assert await bench.markdown() == LONG.replace("h 0.1 of", "h 0.1 with").rstrip("\n") + "\n"


async def test_without_having_read_nothing_of_others_is_touched(make: Make) -> None:
    bench: Bench = await make("one\n\ntwo\n\nthree\n")
    await bench.read(SCRIBE)
    await bench.paragraph(1, "typed after the read")
    with pytest.raises(BaseRequired):
        await bench.patch("one\n\nthree\n", caller=OTHER)
    result = await bench.patch("one\n\ntwo, mine\n\nthree\n")
    assert len(result.kept) == 1
    assert await bench.markdown() == "one\n\ntyped after the read\n\ntwo, mine\n\nthree\n"
