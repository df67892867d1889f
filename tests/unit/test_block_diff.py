from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from shared.patch.block_diff import (
    between,
    by_place,
    common,
    heaviest_chain,
    similar,
    unique_on_both,
)

TOKENS = st.lists(st.sampled_from("abcde"), max_size=12)


def length_by_table(old: list[str], new: list[str]) -> int:
    """The textbook's length of a longest common subsequence."""
    row = [0] * (len(new) + 1)
    for token in old:
        diagonal = 0
        for j, other in enumerate(new):
            above = row[j + 1]
            row[j + 1] = diagonal + 1 if token == other else max(row[j], above)
            diagonal = above
    return row[-1]


@given(TOKENS, TOKENS)
def test_common_is_a_longest_common_subsequence(old: list[str], new: list[str]) -> None:
    pairs = common(old, new)
    assert all(old[i] == new[j] for i, j in pairs)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in itertools.pairwise(pairs))
    assert len(pairs) == length_by_table(old, new)


def test_common_takes_ends_that_are_longer_than_the_other_list() -> None:
    assert common("aa", "a") == [(0, 0)]
    assert common("", "abc") == []


def test_ten_thousand_blocks_turned_round_are_compared_in_no_time() -> None:
    numbers = list(range(10_000))
    assert len(common(numbers, [*numbers[5_000:], *numbers[:5_000]])) == 5_000


def test_a_token_that_occurs_twice_on_one_side_has_not_surely_moved() -> None:
    assert unique_on_both(enumerate("aab"), enumerate("ba")) == [(2, 0)]


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(1, 9)), max_size=8))
def test_no_chain_is_heavier_than_the_heaviest(triples: list[tuple[int, int, int]]) -> None:
    weights = {(i, j): float(w) for i, j, w in triples}
    chain = heaviest_chain((i, j, w) for (i, j), w in weights.items())
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in itertools.pairwise(chain))

    def best(low: tuple[int, int]) -> float:
        above = [p for p in weights if p[0] > low[0] and p[1] > low[1]]
        return max((weights[p] + best(p) for p in above), default=0.0)

    assert sum(weights[p] for p in chain) == best((-1, -1))


def test_what_is_alike_pairs_before_what_stands_at_the_same_place() -> None:
    pairs = similar(["Intro"], ["Preface", "Intro edited"])
    assert pairs == [(0, 1)]
    assert by_place(pairs, 1, 2) == [(0, 1)]


def test_rewritten_blocks_pair_by_place() -> None:
    assert similar(["abcd"] * 3, ["wxyz"] * 3) == []
    assert by_place([], 3, 3) == [(0, 0), (1, 1), (2, 2)]


def test_a_text_nobody_knows_is_like_nothing() -> None:
    assert similar([None], ["text"]) == []


def test_a_long_run_is_compared_near_its_own_place_only() -> None:
    old = [f"paragraph number {n} of many" for n in range(1_500)]
    pairs = similar(old, [f"{text}, edited" for text in old])
    assert len(pairs) > 1_400


def test_gaps_are_what_lies_between_pairs() -> None:
    gaps = between([(1, 0), (2, 3)], 4, 4)
    assert [(list(a), list(b)) for a, b in gaps] == [([0], []), ([], [1, 2]), ([3], [])]
