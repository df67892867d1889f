"""Reported cases of Markdown round trips, against documents: read, patched, typed in, reopened.

Those of single texts are in `tests/unit/markdown/test_reported_cases.py`. Where a report asks for
something this dialect decides otherwise, the test says so.
"""

from __future__ import annotations

import time
from typing import Final

import pytest

from shared.errors import TooLarge, UnsupportedMarkup
from tests.unit.documents import anchors, block_id
from tests.unit.markdown.test_reported_cases import LIKE_BLOCKS, LIKE_INLINE
from tests.unit.reported import (
    EVERYTHING,
    Make,
    counts,
    element,
    first_text,
    patched,
    runs,
    sent_back,
    trees,
    typed,
    whole,
)

pytestmark = pytest.mark.anyio

# --- text that looks like syntax -----------------------------------------------------------------


async def test_typed_text_that_looks_like_syntax_is_sent_back_as_it_was(make: Make) -> None:
    lines = LIKE_BLOCKS + LIKE_INLINE
    bench = await typed(
        make,
        *(element("paragraph", line) for line in lines),
        *(element("paragraph", "x", element("hardBreak"), line) for line in lines),
        *(element("bulletList", element("listItem", element("paragraph", line))) for line in lines),
        *(element("blockquote", element("paragraph", line)) for line in lines),
    )
    await sent_back(bench)
    texts = [item.text for node in trees(bench)[: len(lines)] for item in node.content]  # type: ignore[union-attr]
    assert texts == list(lines)


@pytest.mark.parametrize("line", LIKE_BLOCKS + LIKE_INLINE)
async def test_ten_trips_add_no_backslash(make: Make, line: str) -> None:
    bench = await typed(make, element("paragraph", line))
    text, _ = await whole(bench)
    for _ in range(10):
        bench = await make(text)
        assert (await whole(bench))[0] == text
    assert [run[0] for run in runs(trees(bench)[0])] == [line]


# --- tables, code, lists -------------------------------------------------------------------------


async def test_a_surplus_cell_is_told_and_kept(make: Make) -> None:
    """The report lets it be dropped if that is told; here it joins the last column and is told."""
    bench = await make("| op | regex |\n|:--|--:|\n| or | `a\\|b` |\n|  |  |\n| one |\n\nend\n")
    assert "| one |  |" in await sent_back(bench)
    result = await bench.insert("| a | b |\n| --- | --- |\n| 1 | 2 | 3 |\n")
    assert isinstance(result.fidelity, tuple)
    assert [note.what for note in result.fidelity] == ["1 more cells than columns in a table row"]
    assert "| 1 | 2 3 |" in await sent_back(bench)


async def test_code_with_fences_blank_lines_and_any_language_is_exact(make: Make) -> None:
    codes = ("````\n```\n~~~", "a\n\n\n", "", "\tx\n  y")
    languages = ("c++ {1,3}", "a`b", 'md title="a b"', "")
    bench = await typed(
        make,
        *(element("codeBlock", code, language=lang) for code in codes for lang in languages),
        element("paragraph", "end"),
    )
    await sent_back(bench)
    stored = [(node.attrs.get("language"), runs(node)) for node in trees(bench)[:-1]]
    assert stored == [
        (lang or "", [(code, [])] if code else []) for code in codes for lang in languages
    ]


async def test_an_open_fence_ends_with_the_text_and_grows_no_more(make: Make) -> None:
    bench = await make("```\nopen\n\n")
    assert await sent_back(bench) == "```\nopen\n\n```\n"


LISTS: Final = (
    "1. a\n   - b\n     1. c\n        code para\n2. d\n\t- tab child\n- e\n    - four\n  - two\n"
    "      continuation\n* star\n+ plus\n10. ten\n    - under ten\n"
)


async def test_lists_of_every_indentation_come_back(make: Make) -> None:
    bench = await make(LISTS)
    before = trees(bench)
    text = await sent_back(bench)
    assert "10. ten\n    - under ten" in text
    assert trees(await make(text)) == before


NUMBERS: Final = (
    "10. ten\n11. eleven\n\npara\n\n3) a\n4) b\n\n1. x\n1. y\n1. z\n\nsep\n\n0. zero\n\n"
    "1234567890. not a list\n\n7. q\n   - sub\n"
)


async def test_numbers_and_delimiters_survive_an_edit_by_an_editor_and_a_restart(
    make: Make,
) -> None:
    """`1. 1. 1.` is counted: a list has one spelling here."""
    bench = await make(NUMBERS)
    expected = NUMBERS.replace("1. y\n1. z", "2. y\n3. z")
    assert await sent_back(bench) == expected
    await bench.type(1, "!")
    await bench.restart()
    assert await sent_back(bench) == expected.replace("para", "para!")


TIGHT_AND_LOOSE: Final = (
    "- a\n- b\n\n---\n\n- c\n\n- d\n\n---\n\n- e\n\n  second para\n\n- f\n\n---\n\n"
    "1. g\n   ```\n   x\n   ```\n2. h\n"
)


async def test_an_edit_of_one_item_changes_one_line(make: Make) -> None:
    bench = await make(TIGHT_AND_LOOSE)
    assert await sent_back(bench) == TIGHT_AND_LOOSE
    await patched(bench, "- b", "- b2")
    expected = TIGHT_AND_LOOSE.replace("- b", "- b2")
    await bench.restart()
    editor = bench.editor(keeps_ids=False)
    for at in (0, 2, 4):
        text = first_text(editor.root.children[at])
        text.insert(len(text), "!")
    editor.push()
    expected = expected.replace("- a", "- a!").replace("- c", "- c!").replace("- e", "- e!")
    assert await sent_back(bench) == expected


async def test_ticking_one_task_leaves_the_others(make: Make) -> None:
    """A list of mixed items is split by kind: no editor holds both in one."""
    text = "- [ ] a\n- [x] b\n- plain\n  - [x] nested\n- [ ]\n- [x]no space\n- [ ] [link](u)\n"
    bench = await make(f"{text}\n1. [ ] ordered task\n\n[x] not a list\n")
    await patched(bench, "- [ ] a", "- [x] a")
    assert await sent_back(bench) == (
        f"{text.replace('- [ ] a', '- [x] a')}\n1. [ ] ordered task\n\n[x] not a list\n"
    )


# --- breaks, front matter, references, HTML ------------------------------------------------------


async def test_breaks_at_every_place_come_back(make: Make) -> None:
    line = element("hardBreak")
    cell = element("tableCell", element("paragraph", "a", line, "b", line), colspan=1, rowspan=1)
    bench = await typed(
        make,
        element("paragraph", "a", line),
        element("paragraph", "a", line, line, "b"),
        element("paragraph", line),
        element("heading", "a", line, "b", level=1),
        element("heading", "a", line, level=1),
        element("table", element("tableRow", cell)),
        element("paragraph", "end"),
    )
    assert await sent_back(bench) == (
        "a<br>\n\na\\\n\\\nb\n\n<br><!---->\n\n# a<br>b\n\n# a<br>\n\n"
        "<!-- no header -->\n|  |\n| --- |\n| a<br>b<br> |\n\nend\n"
    )


async def test_front_matter_is_untouched_by_a_patch_below_it(make: Make) -> None:
    matter = '---\ntitle: "A: b"\ntags: [x, y]\nbody: |\n  ---\n  two\n---\n'
    bench = await make(f"{matter}\n# Real\n\nBody.\n")
    before = trees(bench)[0]
    await patched(bench, "Body", "New body")
    await bench.insert("First.", "start")
    await bench.restart()
    assert await sent_back(bench) == f"{matter}\nFirst.\n\n# Real\n\nNew body.\n"
    assert trees(bench)[0] == before


@pytest.mark.parametrize("text", ["---\n---\n", "+++ a=1 +++\n", "---\n\ntext\n"])
async def test_what_starts_with_a_rule_comes_back(make: Make, text: str) -> None:
    assert await sent_back(await make(text)) == text
    assert await sent_back(await make("\n" + text.replace("---\n---", "---"))) == text.replace(
        "---\n---", "---"
    )


async def test_notes_and_unused_definitions_survive_a_patch_elsewhere(make: Make) -> None:
    """The report wants `[docs][d]` untouched; a block stands alone here, so it is resolved."""
    notes = "[unused]: /u\n\n[^1]: first\n\n    second para\n\n    - list\n\n"
    bench = await make(
        f"See [docs][d] and [d] and note[^1].\n\n[d]: <https://e.org/a b> 'T'\n{notes}Tail.\n"
    )
    before = trees(bench)[:-1]
    await patched(bench, "Tail.", "The tail.")
    link = '(<https://e.org/a b> "T")'
    assert await sent_back(bench) == (
        f"See [docs]{link} and [d]{link} and note[^1].\n\n{notes}The tail.\n"
    )
    assert trees(bench)[:-1] == before


HTML: Final = (
    "<details>\n<summary>S</summary>\n\n**md** inside\n\n</details>\n\n<!-- keep\n\nthis -->\n\n"
    "text <kbd>Ctrl</kbd> <x-y a='1'>\n\n<script>\n\nlet a = '<b>';\n</script>\n\n"
    "<div>\n*not md*\n</div>\n"
)


async def test_html_survives_a_patch_elsewhere(make: Make) -> None:
    bench = await make(f"{HTML}\nend\n")
    before = trees(bench)[:-1]
    await patched(bench, "end", "The end.")
    assert await sent_back(bench) == f"{HTML}\nThe end.\n"
    assert trees(bench)[:-1] == before


# --- transport, empty documents, size -----------------------------------------------------------


@pytest.mark.parametrize(
    "sent",
    [
        "# T\r\n\r\na\r\nb\r\n\r\n```\r\nx\r\n```\r\n",
        "# T\r\ra\rb\r\r```\rx\r```\r",
        "\ufeff# T\n\na\nb\n\n```\nx\n```\n",
        "# T\n\na\nb\n\n```\nx\n```",
        "# T\n\na\nb\n\n```\nx\n```\n\n\n",
        "# T\r\n\na\rb\n\r\n```\nx\r```\n",
    ],
    ids=["CRLF", "CR", "BOM", "no end", "three ends", "mixed"],
)
async def test_line_ends_and_a_byte_order_mark_are_no_change(make: Make, sent: str) -> None:
    bench = await make("# T\n\na\nb\n\n```\nx\n```\n")
    _, cursor = await whole(bench)
    before = bench.document.diff(EVERYTHING)
    result = await bench.patch(sent, base=cursor)
    assert (counts(result), result.charged) == ((0, 0, 0, 0), 0)
    assert bench.document.diff(EVERYTHING) == before


async def test_no_character_is_a_line_end_but_those_two(make: Make) -> None:
    text = "a\u2028b\u2029c\x0bd\x0ce\x85f\x1fg\n"
    bench = await make(text)
    assert await sent_back(bench) == text
    for sent in ("a\x00b", "a\ud800b"):
        with pytest.raises(UnsupportedMarkup, match="line 1, column 2"):
            await bench.patch(sent)
    assert await sent_back(bench) == text


RIGHT_TO_LEFT: Final = (
    "שלום *עולם* וגם **עברית**, \u200fעם סימן\u200e.",
    "العَرَبِيَّة **نَصٌّ** و`code` 123",
    "e\u0301 é o\u0308 ö \u1112\u1161\u11ab 한 g\u0308",
    "👩\u200d👩\u200d👧🏽 🇩🇪 \u202eabc\u202c \u2066def\u2069",
    "नमस्ते **दुनिया** क्\u200dष",
)


@pytest.mark.parametrize("text", RIGHT_TO_LEFT)
async def test_no_character_is_normalised_or_reordered(make: Make, text: str) -> None:
    bench = await make(f"{text}\n\n- {text}\n\n| {text} |\n| --- |\n\n[{text}](u)\n")
    assert (await sent_back(bench)).startswith(f"{text}\n\n- {text}\n\n| {text} |\n| --- |")
    await patched(bench, f"- {text}", f"- {text} x")
    plain = "".join(run for run, _ in runs(trees(bench)[0]))
    assert plain == text.replace("*", "").replace("`", "")


@pytest.mark.parametrize("markdown", ["", "\n", "   ", "\ufeff"])
async def test_nothing_reads_as_nothing_and_has_a_place_to_insert(
    make: Make, markdown: str
) -> None:
    for place in ("start", "end"):
        bench = await make(markdown)
        assert (await whole(bench))[0] == ""
        await bench.insert("First.", place)
        assert await sent_back(bench) == "First.\n"


async def test_one_empty_paragraph_reads_as_nothing_and_stays(make: Make) -> None:
    for bench in (await typed(make, element("paragraph")), await make("&nbsp;")):
        assert (await whole(bench))[0] == ""
        await bench.insert("First.")
        assert (await whole(bench))[0] == "First.\n"
        assert [node.content for node in trees(bench)][-1] == ()


async def test_blank_paragraphs_between_others_are_kept(make: Make) -> None:
    """`&nbsp;` is how Markdown spells an empty paragraph; it is never text of the document."""
    bench = await typed(
        make,
        element("paragraph", "a"),
        element("paragraph"),
        element("paragraph"),
        element("paragraph", "b"),
    )
    assert await sent_back(bench) == "a\n\n&nbsp;\n\n&nbsp;\n\nb\n"
    assert [runs(node) for node in trees(bench)] == [[("a", [])], [], [], [("b", [])]]
    await patched(bench, "\n\nb\n", "\n\nb2\n")
    assert (await whole(bench))[0] == "a\n\n&nbsp;\n\n&nbsp;\n\nb2\n"


async def test_one_letter_in_a_very_long_paragraph_is_a_small_edit(make: Make) -> None:
    """Of 190,000 characters: what is charged is the block, and a budget is 200,000."""
    text = ("lorem ipsum dolor " * 10_500).strip()
    bench = await make(text)
    shown, cursor = await whole(bench)
    middle = len(text) // 2
    assert shown[middle : middle + 5] != "XYZZY"
    new = f"{shown[:middle]}X{shown[middle + 1 :]}"
    state = bench.document.state_vector()
    started = time.process_time()
    result = await bench.patch(new, base=cursor)
    assert time.process_time() - started < 5  # a quadratic diff takes minutes
    assert counts(result) == (1, 0, 0, 0)
    assert len(bench.document.diff(state)) < 500
    assert (await whole(bench))[0] == new


@pytest.mark.parametrize("flood", ["[" * 200_000, "*a" * 40_000], ids=["brackets", "stars"])
async def test_a_flood_of_signs_is_read_or_refused_in_time(make: Make, flood: str) -> None:
    started = time.process_time()
    try:
        bench = await make(flood)
        await sent_back(bench)
    except UnsupportedMarkup as refused:
        assert "nested too deep" in refused.message
    assert time.process_time() - started < 20


async def test_a_table_of_twenty_thousand_rows_is_read_or_refused(make: Make) -> None:
    started = time.process_time()
    try:
        await make("| a | b |\n| --- | --- |\n" + "| 1 | 2 |\n" * 20_000)
    except TooLarge as refused:
        assert refused.data["limit"]
    assert time.process_time() - started < 60


async def test_the_right_one_of_many_equal_paragraphs_goes(make: Make) -> None:
    many = 2_000
    bench = await make("same\n\n" * many)
    shown = await bench.read(max_chars=1_000_000)
    names = [block_id(anchor) for anchor in anchors(shown)]
    await bench.delete(anchors(shown)[many // 2 - 1])
    left = await bench.read(max_chars=1_000_000)
    names.pop(many // 2 - 1)
    assert [block_id(anchor) for anchor in anchors(left)] == names


async def test_who_reads_one_state_many_times_still_knows_it(make: Make) -> None:
    """A ninth answer displaces one that said the same: nothing about it is in doubt."""
    bench = await make("a\n")
    await patched(bench, "a", "b")
    for _ in range(20):
        await sent_back(bench)
    _, cursor = await whole(bench)
    result = await bench.patch("x\n\ny\n", base=cursor, allow_large_delete=True)
    assert result.kept == ()
    assert (await whole(bench))[0] == "x\n\ny\n"
