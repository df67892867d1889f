"""Reported cases of tables, against documents: read, patched, typed in meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest
from pycrdt import XmlElement, XmlText

from shared.protocol import WriteResult
from tests.unit.documents import Bench
from tests.unit.editors import Editor

pytestmark = pytest.mark.anyio

Build = Callable[[], XmlElement | XmlText]
RIVERS: Final = "| river | km |\n| --- | --- |\n| Elbe | 1094 |\n|  |  |\n|  |  |\n| Oder | 840 |\n"


@asynccontextmanager
async def document_of(content: str | Build) -> AsyncIterator[Bench]:
    """A document of a Markdown text, or with a block that a person's editor has put there."""
    bench = await Bench.of(content if isinstance(content, str) else "")
    if not isinstance(content, str):
        editor = bench.editor()
        editor.root.children.append(content())
        editor.push()
    yield bench
    await bench.document.close()


def element(tag: str, *content: Build | str, **attrs: Any) -> Build:
    def build() -> XmlElement:
        made = [XmlText(part) if isinstance(part, str) else part() for part in content]
        return XmlElement(tag, attrs, made)

    return build


def table(*rows: tuple[Build, ...]) -> Build:
    return element("table", *(element("tableRow", *row) for row in rows))


def cell(*content: Build | str, **attrs: Any) -> Build:
    spans = {"colspan": 1, "rowspan": 1, **attrs}
    return element("tableCell", element("paragraph", *content), **spans)


async def whole(bench: Bench) -> tuple[str, int]:
    shown = await bench.read(format="markdown", max_chars=1_000_000)
    assert isinstance(shown.markdown, str)
    return shown.markdown, shown.cursor


async def sent_back(bench: Bench) -> str:
    """What was read, sent back: it changes nothing. The text."""
    before = bench.document.state_vector()
    text, cursor = await whole(bench)
    result = await bench.patch(text, base=cursor)
    assert (result.replaced, result.inserted, result.deleted, result.charged) == (0, 0, 0, 0)
    assert bench.document.state_vector() == before
    return text


async def patched(bench: Bench, old: str, new: str) -> WriteResult:
    """An agent reads all, changes one place and sends all back."""
    text, cursor = await whole(bench)
    assert old in text
    result = await bench.patch(text.replace(old, new, 1), base=cursor)
    assert (result.replaced, result.inserted, result.deleted) == (1, 0, 0)
    return result


def cells_of(editor: Editor, at: int = 0) -> list[list[Any]]:
    """The elements of the cells of each row of a block, of the first."""
    block: Any = editor.root.children[at]
    return [list(row.children) for row in block.children]


# --- what is in cells ----------------------------------------------------------------------------


async def test_pipes_and_code_typed_into_cells_are_sent_back_as_they_were() -> None:
    typed = table((cell("a|b\\c"), cell("`|`"), cell("|"), cell("\\|"), cell("")))
    async with document_of(typed) as bench:
        editor = bench.editor()
        code = cells_of(editor)[0][2].children[0].children[0]
        code.format(0, 1, {"code": {}})
        editor.push()
        text = await sent_back(bench)
        assert "| a\\|b\\c |" in text
        await patched(bench, "a\\|b", "a\\|\\|b")
        editor.pull()
        texts = ["".join(str(p) for p in it.children[0].children) for it in cells_of(editor)[0]]
        assert texts[0] == "a||b\\c"
        assert texts[1] == "`|`"
        await sent_back(bench)


async def test_breaks_at_every_place_of_a_cell_come_back() -> None:
    line = element("hardBreak")
    contents: list[tuple[Build | str, ...]] = [
        ("a", line),
        (line, "a"),
        ("a", line, line, "b"),
        (line,),
        ("a", line, "b", line),
    ]
    async with document_of(table(tuple(cell(*content) for content in contents))) as bench:
        text = await sent_back(bench)
        assert "\\" not in text
        assert text.count("<br>") == 7
        await patched(bench, "| a", "| x")
        assert (await sent_back(bench)).count("<br>") == 7


async def test_a_short_row_is_padded_and_stays_so() -> None:
    async with document_of("| a | b |\n| --- | --- |\n| 1 |\n| 2 | 3 |\n") as bench:
        assert (await sent_back(bench)).splitlines()[2] == "| 1 |  |"
        assert [len(row) for row in cells_of(bench.editor())] == [2, 2, 2]


# --- which row is which --------------------------------------------------------------------------


async def test_words_typed_into_one_of_two_equal_rows_stay_when_one_of_them_goes() -> None:
    async with document_of(RIVERS) as bench:
        text, cursor = await whole(bench)
        editor = bench.editor()
        cells_of(editor)[3][0].children[0].children.append(XmlText("Rhine"))
        editor.push()
        await bench.patch(text.replace("|  |  |\n", "", 1), base=cursor, on_conflict="merge")
        assert "| Elbe | 1094 |\n" in await sent_back(bench)
        assert "| Rhine |  |\n| Oder | 840 |" in await sent_back(bench)


async def test_a_row_between_two_equal_ones_touches_no_other() -> None:
    async with document_of(RIVERS) as bench:
        editor = bench.editor()
        before = [element for row in cells_of(editor) for element in row]
        await patched(bench, "|  |  |\n|  |  |", "|  |  |\n| Main | 527 |\n|  |  |")
        editor.pull()
        rows = cells_of(editor)
        assert [element for row in (*rows[:3], *rows[4:]) for element in row] == before


async def test_what_somebody_types_while_an_agent_adds_a_row_and_a_column_is_kept() -> None:
    async with document_of(RIVERS) as bench:
        late = bench.editor()  # its next update was made before it had the agent's
        await patched(
            bench,
            RIVERS,
            "| river | sea | km |\n| --- | --- | --- |\n| Elbe | North | 1094 |\n|  |  |  |\n"
            "|  |  |  |\n| Oder | Baltic | 840 |\n| Main |  | 527 |\n",
        )
        for number, words in ((1, " (D)"), (4, " (PL)")):
            text = cells_of(late)[number][0].children[0].children[0]
            text.insert(4, words)
        late.push()
        rows = (await sent_back(bench)).splitlines()
        assert rows[2] == "| Elbe (D) | North | 1094 |"
        assert rows[5:] == ["| Oder (PL) | Baltic | 840 |", "| Main |  | 527 |"]


# --- what Markdown cannot say --------------------------------------------------------------------


async def test_a_merged_cell_of_set_widths_is_edited_and_keeps_them() -> None:
    wide = cell("m", colspan=2, colwidth=[80, 90], background="red")
    rows = (wide,), (cell("s", colwidth=[80]), cell("t", colwidth=[90], background="blue"))
    async with document_of(table(*rows)) as bench:
        await patched(bench, ">m<", ">more<")
        await patched(bench, "</table>", "<tr><td>u</td><td>v</td></tr>\n</table>")
        rows_now = cells_of(bench.editor())
        told = [[dict(one.attributes) for one in row] for row in rows_now]
        widths = [[one.get("colwidth") for one in row] for row in told]
        colours = [[one.get("background") for one in row] for row in told]
        assert widths == [[[80, 90]], [[80], [90]], [[80], [90]]]
        assert colours == [["red"], [None, "blue"], [None, None]]
        await sent_back(bench)


async def test_a_table_that_lacks_far_too_much_is_left_to_its_editors() -> None:
    """An editor would add 1,980 cells to it: until one does, it stays as it is, and says so."""
    wide = (cell("wide", colspan=100),)
    async with document_of(table(wide, *[(cell("a"),)] * 20)) as bench:
        shown = await bench.read()
        (block,) = [told for told in shown.blocks or () if "opaque" in str(told.text)]
        assert block.text == f"<!-- opaque:table {block.anchor[:8]} -->"
        assert [note.what for note in shown.fidelity or ()] == ["table: shown as a placeholder"]
        text = await sent_back(bench)
        result = await bench.patch(f"above\n\n{text}\nbelow", base=shown.cursor)
        assert (result.inserted, result.deleted) == (2, 0)
        assert len(cells_of(bench.editor(), 1)) == 21
