"""Where the window of get_changes begins: asked for, Last left, and the clamp of both."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import InvalidArgument
from shared.history import window
from shared.history.window import Window, change_window, clamp_change_window_start
from shared.limits import DAY_MS, RETENTION_DAYS

NOW = 1_700_000_000_000
FLOOR = NOW - RETENTION_DAYS * DAY_MS
Resolve = Callable[[int | None, int | None, int, int], Window]


def the_window_is_right(resolve: Resolve) -> None:
    """What must hold of `change_window`."""
    last_left = NOW - 5 * DAY_MS
    assert resolve(None, last_left, NOW, RETENTION_DAYS) == Window(last_left, from_last_left=True)
    assert resolve(NOW - 7, last_left, NOW, RETENTION_DAYS) == Window(NOW - 7)
    assert resolve(None, FLOOR - 1, NOW, RETENTION_DAYS) == Window(FLOOR)
    assert resolve(FLOOR - 1, None, NOW, RETENTION_DAYS) == Window(FLOOR)
    assert resolve(NOW + 1, None, NOW, RETENTION_DAYS) == Window(NOW)
    assert resolve(None, NOW + 1, NOW, RETENTION_DAYS) == Window(NOW)


def test_asked_for_last_left_clamped_to_the_floor_or_to_now() -> None:
    the_window_is_right(change_window)


def test_without_the_clamp_that_test_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "clamp_change_window_start", lambda start, _now, _days: start)
    with pytest.raises(AssertionError):
        the_window_is_right(change_window)


def test_who_asks_for_the_instant_they_last_left_has_asked_for_it() -> None:
    assert not change_window(NOW - 9, NOW - 9, NOW, RETENTION_DAYS).from_last_left


def test_last_left_at_the_floor_to_the_letter_counts() -> None:
    assert change_window(None, FLOOR, NOW, RETENTION_DAYS) == Window(FLOOR, from_last_left=True)


def test_who_never_read_it_is_told_to_say_since_when() -> None:
    with pytest.raises(InvalidArgument, match=r"^since: .*2026-03-31T09:00:00\+02:00") as raised:
        change_window(None, None, NOW, RETENTION_DAYS)
    assert raised.value.data["field"] == "since"


@given(st.integers(-(2**50), 2**50), st.integers(0, 2**50), st.integers(1, 400))
def test_it_lies_between_the_floor_and_now_and_stays_what_it_is(
    start: int, now: int, days: int
) -> None:
    clamped = clamp_change_window_start(start, now, days)
    assert now - days * DAY_MS <= clamped <= now
    assert clamp_change_window_start(clamped, now, days) == clamped
    if now - days * DAY_MS <= start <= now:
        assert clamped == start


@given(st.integers(-(2**50), 2**50), st.integers(0, 2**50))
def test_without_retention_there_is_no_floor(start: int, now: int) -> None:
    assert clamp_change_window_start(start, now, 0) == min(start, now)
