from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.limits import MAX_MERGE_WORDS
from shared.patch.text_merge import merge

BASE = "The quick brown fox jumps over the lazy dog near the river bank today."


def edit(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1
    return text.replace(old, new)


def test_edits_that_lie_apart_are_both_taken() -> None:
    theirs = edit(BASE, "quick", "swift")
    ours = edit(BASE, "river bank", "sea")
    assert merge(BASE, theirs, ours) == edit(theirs, "river bank", "sea")


def test_an_insertion_and_a_deletion_lie_apart() -> None:
    theirs = edit(BASE, "The quick ", "The ")
    ours = edit(BASE, "today", "today and tomorrow")
    assert merge(BASE, theirs, ours) == edit(theirs, "today", "today and tomorrow")


def test_markup_put_round_a_word_merges_with_an_edit_elsewhere() -> None:
    theirs = edit(BASE, "lazy", "**lazy**")
    ours = edit(BASE, "quick", "slow")
    assert merge(BASE, theirs, ours) == edit(theirs, "quick", "slow")


@pytest.mark.parametrize(
    "old, theirs, ours",
    [
        ("brown", "red", "white"),  # the same word
        ("quick brown", "quick red", "slow brown"),  # neighbours
        ("brown fox", "brown cat", "brown fox quickly"),  # one ends where the other begins
        ("lazy dog", "lazy", "lazy old dog"),  # one inside the other
    ],
)
def test_edits_that_touch_do_not_merge(old: str, theirs: str, ours: str) -> None:
    assert merge(BASE, edit(BASE, old, theirs), edit(BASE, old, ours)) is None


def test_two_insertions_at_one_place_do_not_merge() -> None:
    assert merge(BASE, f"{BASE} Yes.", f"{BASE} No.") is None


def test_equal_edits_are_one_edit() -> None:
    both = edit(BASE, "quick", "swift")
    assert merge(BASE, both, both) == both
    ours = edit(both, "river bank", "sea")
    assert merge(BASE, both, ours) == ours


def test_two_rewritings_are_not_woven_into_each_other() -> None:
    theirs = "A slow red cat sits under the old tree near the road side now."
    ours = "My small grey bird sings over the big house near the market place soon."
    assert merge(BASE, theirs, ours) is None


def test_a_deleted_text_does_not_merge_with_an_edited_one() -> None:
    assert merge(BASE, "", edit(BASE, "quick", "swift")) is None


def test_too_much_text_is_not_compared() -> None:
    long = "word " * (MAX_MERGE_WORDS // 2 + 1)
    assert merge(long, f"first {long}", f"{long} last") is None


WORDS = st.lists(
    st.sampled_from(["alpha", "beta", "gamma", "delta", "**eps**", "-", "zeta,", "漢字", "🙂"]),
    max_size=14,
)
TEXTS = WORDS.map(" ".join)


@given(TEXTS, TEXTS)
def test_what_one_side_left_alone_is_as_the_other_made_it(base: str, edited: str) -> None:
    assert merge(base, edited, base) == edited
    assert merge(base, base, edited) == edited
    assert merge(base, edited, edited) == edited


@given(TEXTS, TEXTS, TEXTS)
def test_both_sides_agree_on_the_merge(base: str, theirs: str, ours: str) -> None:
    assert merge(base, theirs, ours) == merge(base, ours, theirs)


@given(TEXTS, TEXTS, TEXTS)
def test_no_new_word_of_either_side_is_lost(base: str, theirs: str, ours: str) -> None:
    merged = merge(base, theirs, ours)
    if merged is not None:
        new = {*theirs.split(), *ours.split()} - {*base.split()}
        assert all(word in merged for word in new)
