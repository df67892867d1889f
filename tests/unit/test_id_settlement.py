from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import pytest

from shared.index import settlement as id_settlement
from shared.index.settlement import Known, Seen, Touched, Words, settle_ids

LONG = "the harbour master wrote every ship into a ledger bound in green cloth"
OTHER = "nobody remembers who lit the first lantern on the northern hill road"
THIRD = "copper kettles hung above seven ovens while bakers sang before dawn"


class Lately:
    """Removed ids as given, the latest first."""

    def __init__(self, *known: Known) -> None:
        self.known = known

    def with_words(self, digest: bytes) -> Sequence[Known]:
        return [one for one in self.known if one.words.digest == digest]

    def with_attribute(self, value: str) -> Sequence[Known]:
        return [one for one in self.known if one.attribute == value]

    def __contains__(self, block_id: object) -> bool:
        return any(one.id == block_id for one in self.known)


def known(block_id: str, text: str, attribute: str | None = None, look: str = "") -> Known:
    return Known(block_id, attribute, look or text, Words.of(text))


def seen(text: str, attribute: str | None = None, look: str = "") -> Seen:
    return Seen(attribute, look or text, Words.of(text))


def stays(block_id: str, old: str, new: str) -> Touched:
    return Touched(known(block_id, old), seen(new), joined=True)


def gone(block_id: str, text: str, attribute: str | None = None, look: str = "") -> Touched:
    return Touched(known(block_id, text, attribute, look), None, joined=True)


def new(text: str, attribute: str | None = None, look: str = "") -> Touched:
    return Touched(None, seen(text, attribute, look), joined=True)


def settle(*touched: Touched, lately: Lately | None = None, elsewhere: str = "") -> list[str]:
    """Ids after, without the removed ones; fresh ones are n1, n2, …"""
    numbers = count(1)
    ids = settle_ids(
        touched, lately or Lately(), lambda value: value == elsewhere, lambda: f"n{next(numbers)}"
    )
    assert [one.after is None for one in touched] == [one is None for one in ids]
    there = [one for one in ids if one is not None]
    assert len(set(there)) == len(there)
    return there


def test_an_element_whose_words_stayed_keeps_its_id() -> None:
    assert settle(stays("a", LONG, LONG), new(LONG)) == ["a", "n1"]


def test_words_that_slid_to_a_neighbour_take_their_id_along() -> None:
    assert settle(stays("a", LONG, OTHER), stays("b", OTHER, LONG)) == ["b", "a"]


def test_of_equal_words_the_one_whose_attribute_agrees_is_taken() -> None:
    touched = [gone("a", LONG, "a"), gone("b", LONG, "b"), new(LONG), new(LONG, "a")]
    assert settle(*touched) == ["b", "a"]


def test_equal_words_are_given_out_in_document_order() -> None:
    assert settle(gone("a", LONG), gone("b", LONG), new(LONG), new(LONG)) == ["a", "b"]


def test_words_removed_lately_bring_their_id_back_on_a_new_element() -> None:
    lately = Lately(known("x", OTHER), known("y", LONG), known("z", LONG))
    assert settle(new(LONG), new(LONG), new(LONG), lately=lately) == ["y", "z", "n1"]


def test_words_removed_lately_do_not_take_an_element_that_stayed() -> None:
    lately = Lately(known("x", OTHER))
    assert settle(stays("a", LONG, OTHER), new(THIRD), lately=lately) == ["a", "n1"]


def test_a_new_element_takes_the_id_of_the_block_that_carried_its_attribute_last() -> None:
    assert settle(gone("a", LONG, "uuid"), new(OTHER, "uuid")) == ["a"]


def test_an_attribute_says_who_bears_it_only_when_no_block_carried_it() -> None:
    touched = [gone("a", LONG, "b"), gone("b", OTHER), new(THIRD, "b"), new("unlike all of them")]
    assert settle(*touched)[0] == "a"
    assert settle(gone("c", LONG), gone("b", OTHER), new(THIRD, "b"), new("xyz"))[0] == "b"


def test_an_attribute_still_carried_elsewhere_marks_a_copy() -> None:
    assert settle(new(THIRD, "a"), elsewhere="a") == ["n1"]


def test_a_copy_is_no_claim_on_a_block_that_gave_the_value_up_or_is_gone_since_long() -> None:
    gave_up = Touched(known("b", LONG, "v"), seen(OTHER, "w"), attribute_set=True, joined=True)
    assert settle(gave_up, new(THIRD, "v")) == ["n1", "b"]
    assert settle(gave_up, new(THIRD, "v"), elsewhere="v") == ["b", "n1"]
    lately = Lately(known("x", LONG, "v"))
    assert settle(new(THIRD, "v"), lately=lately, elsewhere="v") == ["n1"]


def test_of_two_blocks_that_shared_a_value_the_one_that_is_gone_is_meant() -> None:
    touched = [gone("b", LONG, "v"), new(THIRD, "v"), stays("c", OTHER, OTHER)]
    assert settle(*touched, elsewhere="v") == ["b", "c"]


def test_an_attribute_brings_a_lately_removed_id_back() -> None:
    lately = Lately(known("x", LONG, "v"))
    assert settle(new(OTHER, "v"), lately=lately) == ["x"]
    assert settle(new(OTHER, "x"), lately=Lately(known("x", LONG))) == ["x"]


def test_an_unchanged_attribute_says_nothing() -> None:
    slid = Touched(known("a", LONG, "b"), seen(OTHER, "b"), joined=True)
    assert settle(slid, gone("b", THIRD)) == ["a"]


def test_of_several_claimants_the_ids_own_element_has_it() -> None:
    own = Touched(known("a", LONG), seen("", "a"), attribute_set=True)
    assert settle(new(THIRD, "a"), own) == ["n1", "a"]


def test_of_several_claimants_one_that_looks_the_same_has_it() -> None:
    touched = [gone("a", LONG, "v", look="L"), new(OTHER, "v"), new(THIRD, "v", look="L")]
    assert settle(*touched) == ["n1", "a"]


def test_blank_blocks_go_by_look_within_the_transaction() -> None:
    touched = [gone("a", "", look="rule"), gone("b", "", look="empty")]
    assert settle(*touched, new("", look="empty"), new("", look="rule")) == ["b", "a"]


def test_a_blank_block_removed_earlier_does_not_come_back() -> None:
    assert settle(new("", look="rule"), lately=Lately(known("a", "", look="rule"))) == ["n1"]


@pytest.mark.parametrize(
    "now", [LONG[:20], f"{LONG} and more", LONG[15:]], ids=["cut", "typed on", "beginning cut"]
)
def test_a_text_that_goes_on_from_the_old_one_keeps_the_id(now: str) -> None:
    assert settle(stays("a", LONG, now), new(LONG[20:] + " x")) == ["a", "n1"]


def test_an_id_whose_element_is_gone_and_is_more_alike_wins_over_the_place() -> None:
    slid = f"{OTHER[:30]}X{OTHER[30:]}"
    assert settle(stays("a", LONG, slid), gone("b", OTHER)) == ["b"]


def test_an_emptied_element_gives_its_id_to_the_half_with_the_words() -> None:
    assert settle(stays("a", LONG, ""), new(f"{LONG}!")) == ["n1", "a"]


def test_what_is_left_pairs_best_first() -> None:
    near = LONG.replace("green", "grey")
    far = LONG.replace("green cloth", "old sailcloth and tar")
    assert settle(gone("a", LONG), new(far), new(near)) == ["n1", "a"]


def test_a_retyped_element_keeps_its_id_after_all() -> None:
    assert settle(stays("a", LONG, THIRD)) == ["a"]
    assert settle(stays("a", LONG, THIRD), stays("b", OTHER, OTHER)) == ["a", "b"]


def test_one_new_element_for_one_removed_between_the_same_neighbours_inherits() -> None:
    assert settle(gone("a", ""), new("Title")) == ["a"]
    apart = Touched(None, seen("Title"), joined=False)
    assert settle(gone("a", ""), apart) == ["n1"]
    assert settle(gone("a", ""), stays("b", LONG, LONG), new("Title")) == ["b", "n1"]
    assert settle(gone("a", ""), new("Title"), new("Text")) == ["n1", "n2"]


def test_words_not_read_yet_fall_back_on_the_place() -> None:
    cold = Known("a", None, "", Words(b"12345678", None))
    touched = Touched(cold, seen(OTHER), joined=True)
    assert settle(touched, gone("b", OTHER.upper())) == ["a"]


def test_typing_in_one_block_compares_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> float:
        raise AssertionError("compared")

    monkeypatch.setattr(id_settlement, "ratio", fail)
    assert settle(stays("a", LONG, THIRD)) == ["a"]


@pytest.mark.parametrize("many", [200, 2_000])
def test_comparisons_are_linear_in_what_was_touched(
    many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = 0

    def alike(*_: object, **__: object) -> float:
        nonlocal compared
        compared += 1
        return 0.0

    monkeypatch.setattr(id_settlement, "ratio", alike)
    touched = [stays(f"s{n}", f"old{n}", f"new{n}") for n in range(many)]
    touched += [gone(f"g{n}", f"gone{n}") for n in range(many)]
    touched += [new(f"fresh{n}") for n in range(many)]
    settle(*touched)
    assert compared <= 4_096 + 2 * 64 + 3 * many * 17
