"""Budgets: sliding windows, refusals that say when to come back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.budget import HOUR_MS, MINUTE_MS, Allowance, Budgets, Window
from shared.errors import RateLimited
from shared.limits import (
    CHARS_PER_HOUR,
    MAX_SPENDERS,
    NAMED_FACTOR,
    READS_PER_MINUTE,
    WRITES_PER_MINUTE,
)

START = 1_700_000_000_123
TIGHT = Allowance(writes_per_minute=3, chars_per_hour=100, reads_per_minute=2)
SLOT = MINUTE_MS // 60


def write(budgets: Budgets, chars: int, now: int, who: str = "ann") -> None:
    budgets.check_write(who, TIGHT, chars, now)
    budgets.spend_write(who, chars, now)


def test_what_is_spent_comes_back_after_a_minute() -> None:
    budgets = Budgets()
    for n in range(3):
        write(budgets, 1, START + n)
    with pytest.raises(RateLimited) as refused:
        write(budgets, 1, START + 3)
    assert refused.value.data == {
        "budget": "writes_per_minute",
        "limit": 3,
        "remaining": 0,
        "retry_after_s": 61,
    }
    write(budgets, 1, START + 61_000)


def test_characters_are_counted_over_an_hour_and_deletions_are_free() -> None:
    budgets = Budgets()
    write(budgets, 90, START)
    with pytest.raises(RateLimited) as refused:
        write(budgets, 11, START + MINUTE_MS)
    assert (refused.value.data["budget"], refused.value.data["remaining"]) == ("chars_per_hour", 10)
    assert 3_500 < refused.value.data["retry_after_s"] <= 3_600
    write(budgets, 0, START + MINUTE_MS)
    write(budgets, 10, START + 2 * MINUTE_MS)
    write(budgets, 90, START + HOUR_MS + MINUTE_MS)


def test_more_than_the_whole_budget_is_not_worth_waiting_for() -> None:
    with pytest.raises(RateLimited) as refused:
        write(Budgets(), 101, START)
    told = refused.value.as_dict()
    assert (told["retryable"], told["limit"], told["remaining"]) == (False, 100, 100)
    assert "Send less" in told["next_step"]


def test_everybody_and_every_tool_has_its_own() -> None:
    budgets = Budgets()
    for tool in ("read_document", "read_changes"):
        for who in ("ann", "bob"):
            for _ in range(2):
                budgets.spend_read(who, tool, TIGHT, START)
            with pytest.raises(RateLimited):
                budgets.spend_read(who, tool, TIGHT, START)
    for n in range(3):
        write(budgets, 1, START + n, "bob")
    assert budgets.left("ann", TIGHT, START) == (3, 100)
    assert budgets.left("bob", TIGHT, START) == (0, 97)


def test_a_check_spends_nothing() -> None:
    budgets = Budgets()
    for _ in range(10):
        budgets.check_write("ann", TIGHT, 100, START)
    assert budgets.left("ann", TIGHT, START) == (3, 100)


def test_whose_token_says_nothing_has_what_named_callers_have() -> None:
    named = Allowance()
    assert named.limit("writes_per_minute") == WRITES_PER_MINUTE * NAMED_FACTOR
    assert named.limit("chars_per_hour") == CHARS_PER_HOUR * NAMED_FACTOR
    assert named.limit("reads_per_minute") == READS_PER_MINUTE * NAMED_FACTOR
    assert Allowance(chars_per_hour=0).over(TIGHT) == Allowance(3, 0, 2)


def test_a_budget_that_has_shrunk_has_nothing_left_not_less() -> None:
    budgets = Budgets()
    for n in range(3):
        write(budgets, 1, START + n)
    assert budgets.left("ann", Allowance(1, 1, 1), START) == (0, 0)


@given(
    st.lists(
        st.tuples(st.integers(0, 30_000), st.integers(1, 40)),
        max_size=60,
    )
)
def test_no_minute_holds_more_than_the_budget_and_what_is_promised_comes(
    spent: list[tuple[int, int]],
) -> None:
    window, now, limit = Window(MINUTE_MS), START, 100
    done: list[tuple[int, int]] = []
    for pause, amount in spent:
        now += pause
        if window.used(now) + amount <= limit:
            window.spend(amount, now)
            done.append((now, amount))
        else:
            free_at = window.free_at(amount, limit, now)
            assert window.used(now) + amount > limit
            assert now < free_at <= now + MINUTE_MS + SLOT
            now = free_at
            assert window.used(now) + amount <= limit
    for at, _ in done:
        assert sum(amount for when, amount in done if at <= when < at + MINUTE_MS) <= limit


def test_memory_does_not_grow_with_what_is_spent() -> None:
    window = Window(MINUTE_MS)
    for n in range(20_000):
        window.spend(1, START + n * 10)
    window.used(START + 200_000)
    assert len(window._spent) <= 62


def test_what_is_saved_is_what_was_spent() -> None:
    budgets = Budgets()
    for n in range(3):
        write(budgets, 10, START + n * 1_500)
    budgets.spend_read("ann", "read_document", TIGHT, START)
    again = Budgets.load({"ann": budgets.save("ann", START + 4_000).data})
    assert again.left("ann", TIGHT, START + 4_000) == (0, 70)
    for now in range(START + 55_000, START + 66_000, 500):
        assert again.left("ann", TIGHT, now) == budgets.left("ann", TIGHT, now)
    again.spend_read("ann", "read_document", TIGHT, START)
    with pytest.raises(RateLimited):
        again.spend_read("ann", "read_document", TIGHT, START)


def test_only_who_spent_since_is_unsaved() -> None:
    budgets = Budgets()
    write(budgets, 10, START)
    budgets.spend_read("bob", "read_document", TIGHT, START)
    budgets.save("ann", START)
    assert [one.principal for one in budgets.unsaved(START)] == ["bob"]
    assert budgets.unsaved(START) == ()


def test_what_is_saved_is_small_and_what_cannot_be_read_is_nothing() -> None:
    budgets, plenty = Budgets(), Allowance(10**9, 10**9, 10**9)
    for n in range(10_000):
        budgets.spend_write("ann", 100, START + n * 1_000)
        for tool in ("read_document", "read_changes", "patch", "replace_text"):
            budgets.spend_read("ann", tool, plenty, START + n * 1_000)
    assert len(budgets.save("ann", START + 10_000_000).data) < 4_000
    assert Budgets.load({"ann": b"\xff", "bob": b""}).left("ann", TIGHT, START) == (3, 100)


def test_no_more_principals_are_kept_in_mind_than_the_limit() -> None:
    budgets = Budgets()
    for n in range(MAX_SPENDERS + 10):
        write(budgets, 1, START, f"p{n}")
    assert len(budgets._windows) == len(budgets.unsaved(START)) == MAX_SPENDERS
    write(budgets, 1, START + 2 * HOUR_MS, "late")
    assert len(budgets._windows) == 1


def test_a_clock_that_goes_back_frees_nothing() -> None:
    budgets = Budgets()
    for n in range(3):
        write(budgets, 1, START + 10_000 - n * 5_000)
    with pytest.raises(RateLimited):
        write(budgets, 1, START)
