"""Text differences: right for any two texts, small, and cheap on long ones."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.yjs import text_diff
from shared.yjs.text_diff import Edit, apply, diff

torture = st.text(
    st.sampled_from("ab \n.é\u0301😀👩\u200d👧\u05d0\u202e中文字\ud800\x00"), max_size=40
)
prose = st.lists(st.sampled_from(["one ", "two ", "three\n", "four", ". ", "中文"])).map("".join)


@given(torture | prose, torture | prose)
def test_the_edits_give_the_new_text(old: str, new: str) -> None:
    edits = diff(old, new)
    assert apply(old, edits) == new
    for edit, following in pairwise(edits):
        assert edit.at + edit.delete < following.at
    for edit in edits:
        assert edit.delete or edit.insert


@given(prose, prose)
def test_rewritten_all_over_it_is_right_too(old: str, new: str) -> None:
    old, new = old * 20, new * 20
    assert apply(old, diff(old, new)) == new


def test_equal_texts_have_no_edits() -> None:
    assert diff("same", "same") == []


def test_common_ends_stay() -> None:
    assert diff("I recieve it", "I receive it") == [Edit(5, 2, "ei")]
    assert diff("abc", "abXc") == [Edit(2, 0, "X")]
    assert diff("aaa", "aa") == [Edit(2, 1, "")]


def test_words_between_two_changes_stay() -> None:
    old = "The quick brown fox jumps over the dog"
    new = "A quick brown fox leaps over the dog"
    assert diff(old, new) == [Edit(0, 3, "A"), Edit(20, 3, "lea")]


def test_a_blank_between_two_changes_is_not_worth_an_island() -> None:
    assert diff("alpha bet", "gamma delty") == [Edit(0, 9, "gamma delty")]


def test_ideographs_are_compared_one_by_one() -> None:
    old = "我们今天去学校上课然后回家吃饭"
    new = "他们今天去公园上课然后回家睡觉"
    assert diff(old, new) == [Edit(0, 1, "他"), Edit(5, 2, "公园"), Edit(13, 2, "睡觉")]


def test_lines_of_code_stay() -> None:
    old = "".join(f"line {n} of the program\n" for n in range(500))
    new = old.replace("line 7 ", "row 7 ").replace("line 400 of", "line 400 in")
    assert len(diff(old, new)) == 2
    assert sum(edit.delete + len(edit.insert) for edit in diff(old, new)) < 20


def test_a_text_rewritten_all_over_keeps_only_long_islands() -> None:
    old = " ".join(f"word{n} same" for n in range(50))
    new = " ".join(f"other{n * 7} same" for n in range(50))
    assert len(diff(old, new)) == 1
    kept = "an island that is long enough to stay "
    assert len(diff(old + kept + old, new + kept + new)) == 2


def test_sentences_of_a_long_text_are_compared_one_by_one() -> None:
    old = "The committee postponed the decision about the bridge. " * 300
    edits = diff(old, old.replace("bridge", "bridges"))
    assert len(edits) == 300
    assert {(edit.delete, edit.insert) for edit in edits} == {(0, "s")}


def test_too_many_pieces_are_replaced_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_diff, "MAX_CELLS", 10)
    assert diff("a bear c door e.", "x bear y a door z.") == [Edit(0, 15, "x bear y a door z")]


@given(prose, prose, st.integers(1, 200))
def test_whatever_is_too_much_the_edits_are_right(old: str, new: str, cells: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_diff, "MAX_CELLS", cells)
        edits = diff(old, new)
    assert apply(old, edits) == new
    for edit, following in pairwise(edits):
        assert edit.at + edit.delete < following.at


def test_a_precious_island_stays_however_short() -> None:
    assert diff("abcd", "xbyz") == [Edit(0, 4, "xbyz")]
    assert diff("abcd", "xbyz", bytes([0, 1, 0, 0])) == [Edit(0, 1, "x"), Edit(2, 2, "yz")]


def test_an_object_stays_whatever_happens_around_it() -> None:
    assert diff("abc\ud801def", "xyz\ud801uvw") == [Edit(0, 3, "xyz"), Edit(4, 3, "uvw")]
