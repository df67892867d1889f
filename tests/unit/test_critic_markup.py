"""CriticMarkup: rejecting all of an export gives the document, accepting all the edited one."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.errors import StaleBlock
from shared.suggestions.critic import accepted, notes, rejected, woven
from tests.amount import amount
from tests.unit.documents import ANN, Bench, anchors

pytestmark = pytest.mark.anyio
PIECES = st.sampled_from(
    [
        *("{++", "++}", "{--", "--}", "{~~", "~>", "~~}", "{>>", "<<}", "{==", "==}"),
        *("{", "}", "+", "-", "~", "<", ">", "=", "\u2060", "word ", "wards", "word", "a", "é"),
        *("\n", "\n\n", "\\", "明", "b"),
    ]
)
TEXTS = st.lists(PIECES, max_size=12).map("".join)


@given(before=TEXTS, after=TEXTS)
@settings(max_examples=amount(300, 5_000), deadline=None)
def test_any_two_texts_are_one_and_two_again(before: str, after: str) -> None:
    text = woven(before, after, [(len(before), "{>>why<<}")])
    assert rejected(text) == before
    assert accepted(text) == after
    assert notes(text) == ["why"]


@given(text=TEXTS)
@settings(max_examples=amount(200, 5_000), deadline=None)
def test_a_text_without_edits_has_no_marks(text: str) -> None:
    shown = woven(text, text)
    assert rejected(shown) == accepted(shown) == text
    assert notes(shown) == []


def test_marks_that_are_never_closed_are_text_and_cost_no_time() -> None:
    for mark in ("{++", "{--", "{~~", "{~~~>", "{>>", "{=="):
        text = mark * 100_000
        assert rejected(text) == accepted(text) == text


@pytest.mark.parametrize(
    "before, after, shown",
    [
        ("a sentense.", "a sentence.", "a {~~sentense~>sentence~~}."),
        ("the colour is", "the color is", "the {~~colour~>color~~} is"),
        ("one cat", "one cats", "one cat{++s++}"),
        ("un-happy", "happy", "{--un---}happy"),
        ("receive it", "reiceve it", "{~~receive~>reiceve~~} it"),
        ("Third sentence", "Last sentence", "{~~Third~>Last~~} sentence"),
        ("**old** words", "**new** words", "**{~~old~>new~~}** words"),
        ("我们明天发布", "我们今天发布", "我们{~~明~>今~~}天发布"),
        ("x" * 100, "x" * 50 + "y" + "x" * 49, None),
    ],
)
def test_a_word_that_is_changed_within_is_shown_whole(
    before: str, after: str, shown: str | None
) -> None:
    text = woven(before, after)
    assert (rejected(text), accepted(text)) == (before, after)
    assert shown is None or text == shown


def test_each_mark_is_read() -> None:
    text = "a{++b++}{--c--}{~~d~>e~~}{==f==}{>> why <<}"
    assert (rejected(text), accepted(text), notes(text)) == ("acdf", "abef", ["why"])


TEXT = "# Plan\n\nThe first step is small.\n\n- one\n- two\n\nThe end with {++braces++}.\n"


async def test_an_export_shows_what_is_open() -> None:
    bench = await Bench.of(TEXT)
    await bench.suggest(("small", "tiny"), note="sizes")
    await bench.insert("New words.", after=anchors(await bench.read())[1], mode="suggest")
    shown = str((await bench.read(format="markdown", critic=True)).markdown)
    assert rejected(shown) == TEXT
    assert accepted(shown) == TEXT.replace("small.", "tiny.\n\nNew words.")
    assert "sizes — Scribe" in notes(shown)
    assert await bench.markdown() == TEXT


@pytest.mark.parametrize("seed", range(amount(12, 100)))
async def test_accepting_all_gives_what_the_export_says(seed: int) -> None:
    rng = random.Random(seed)
    bench = await Bench.of(TEXT)
    groups = []
    for _ in range(3):
        read = await bench.read()
        place = rng.choice(anchors(read)[:-1])
        act = rng.randrange(4)
        if act == 0:
            made = await bench.insert("Fresh.\n\n- three", after=place, mode="suggest")
        elif act == 1:
            made = await bench.replace(place, None, "Other words.", mode="suggest")
        elif act == 2:
            made = await bench.delete(place, mode="suggest")
        else:
            made = await bench.suggest((rng.choice(["first", "small", "end"]), "better"))
        groups.append(str(made.group))
    await bench.type(1, " More.")
    before = await bench.markdown()
    shown = str((await bench.read(format="markdown", critic=True)).markdown)
    assert rejected(shown) == before
    wanted = accepted(shown)
    for group in groups:
        with suppress(StaleBlock):  # it stays open, and the export had left it out
            await bench.decide("accept", group=group)
    assert await bench.markdown() == wanted


async def test_a_text_with_marks_becomes_suggestions() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    sent = TEXT.replace("{++braces++}", "braces").replace("small", "{~~small~>tiny~~}")
    sent = sent.replace("- two\n", "- two\n\n{++Added.\n\n++}")
    await bench.replace_text(("{++braces++}", "braces"), caller=ANN)
    made = await bench.patch(accepted(sent), base=read.cursor, mode="suggest")
    assert made.group is not None
    await bench.decide("accept", group=str(made.group))
    assert "is tiny." in await bench.markdown()
    assert "Added." in await bench.markdown()
