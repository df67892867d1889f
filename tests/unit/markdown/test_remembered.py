"""What was read before is read as if it never had been."""

from __future__ import annotations

import random
from typing import Final

import pytest

from shared.errors import DocactorError, UnsupportedMarkup
from shared.limits import MAX_BLOCKS
from shared.markdown import remembered
from shared.markdown.parse import Parsed, parse, parse_placed
from shared.markdown.remembered import Remembered
from tests.amount import amount
from tests.commonmark import EXAMPLES

ANCHOR: Final = "[k3x9d2ab-1f09c3]"
PIECES: Final = [
    *["plain words", "*some* words", "**more** of it\nin two lines", "`code` first", "&nbsp;"],
    *["# Title", "## Part", "Title\n===", "> quote", "> quote\n>\n> more", "(a) b", '"said"'],
    *["- one", "- one\n\n- two", "- one\n  - two", "1. one", "3) three", "- [ ] task", "* * *"],
    *["  more of an item", "    indented", "\tindented", "---", "- ", "+ x\n\n  y", "***"],
    *["```\ncode", "```", "~~~", "```py\nx\n```", "$$\nx", "$$", "$$\nx\n$$", "<!-- open", "-->"],
    *[
        "<!-- -->",
        "<!-- no header -->\n|  |\n| --- |\n| x |",
        "| a | b |\n| --- | --- |\n| 1 | 2 |",
    ],
    *["| a |\n| --- |\n| 1 | 2 | 3 |", "<div>\nraw", "<div>", "</div>", "<script>", "</script>"],
    *["<kbd>x</kbd>", "![i](j)", "x[^1]", "[x]", "[x](y)", "<pre>\n\nx", "</pre>", "a\\", "x\n- y"],
    *[ANCHOR, f"{ANCHOR}\nwords", f"{ANCHOR}\n- x", f"{ANCHOR}\n<!-- -->", f"{ANCHOR}\n\nwords"],
    *["<!-- opaque:callout k3x9d2ab -->", "\N{NO-BREAK SPACE}", "é", "中文", "📊 x", "_x_", "2 x"],
]
FRONTS: Final = ["---", "---\ntitle: x", "...", f"{ANCHOR}\n---\ntitle: x", f"{ANCHOR}\n---"]
DEFINITIONS: Final = ["[x]: /url", "[^1]: a note", "> [x]: /url"]


@pytest.fixture(autouse=True)
def _however_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "MIN_REMEMBERED_CHARS", 0)


def some_text(rng: random.Random, pieces: list[str]) -> str:
    chosen = rng.choices(pieces, k=rng.randint(1, 9))
    return "".join(
        piece + rng.choice(["\n\n", "\n\n", "\n\n\n", "\n \n", "\n"]) for piece in chosen
    )


def outcome(read: object, text: str) -> Parsed | str:
    assert callable(read)
    try:
        parsed = read(text)
    except DocactorError as error:
        return str(error)
    assert isinstance(parsed, Parsed)
    return parsed


def test_any_text_reads_the_same(rng: random.Random) -> None:
    examples = [str(example["markdown"]).strip("\n") for example in EXAMPLES]
    plain = [text for text in examples if "]:" not in text]
    fronts = FRONTS * (len(PIECES) // len(FRONTS))
    for pieces in (PIECES, [*PIECES, *DEFINITIONS], [*PIECES, *fronts], plain, examples):
        last = Remembered()
        for _ in range(amount(250, 20_000)):
            text = some_text(rng, pieces)
            assert outcome(last.parse, text) == outcome(parse, text), text


def test_what_stands_still_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counting(text: str) -> object:
        read.append(text)
        return parse_placed(text)

    monkeypatch.setattr(remembered, "parse_placed", counting)
    last = Remembered()
    text = "".join(f"## Part {n}\n\nWords of part {n}.\n\n- one\n\n- two\n\n" for n in range(300))
    assert last.parse(text) == parse(text)
    last.parse(text)
    read.clear()
    text = text.replace("Words of part 100.", "Other words.")
    assert last.parse(text) == parse(text)
    assert sum(map(len, read)) < 100
    read.clear()
    last.parse(text)
    assert read == []


def test_a_refusal_names_its_place_in_the_whole_text() -> None:
    last = Remembered()
    text = "".join(f"Words of part {n}.\n\n" for n in range(300))
    last.parse(text)
    deep = text + "> " * 200 + "x"
    with pytest.raises(UnsupportedMarkup) as refusal:
        last.parse(deep)
    assert "line 601" in str(refusal.value)
    with pytest.raises(DocactorError) as too_many:
        last.parse("x\n\n" * (MAX_BLOCKS + 1))
    assert f"{MAX_BLOCKS:,}" in str(too_many.value)


def test_room_is_kept_to_and_what_was_used_last_stays() -> None:
    last = Remembered(room=5_000)
    for n in range(200):
        last.parse(f"first\n\nwords {n}\n\nmore\n\nend")
    assert last._used <= 5_000
    assert last._used == sum(weight for _, weight in last._blocks.values())
    assert "first" in last._blocks
    assert "words 0" not in last._blocks
