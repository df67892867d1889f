"""How fast a socket may send before it is read more slowly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.limits import (
    BURST_BYTES,
    BURST_FRAMES,
    ECHO_SHARE,
    MAX_STEP2_BYTES,
    SOCKET_BYTES_PER_S,
    SOCKET_FRAMES_PER_S,
)
from shared.wire.pace import Pace


def test_a_burst_waits_for_nothing_and_what_follows_has_the_steady_rate() -> None:
    pace = Pace()
    waits = [pace.spend(100.0, 10) for _ in range(BURST_FRAMES)]
    assert max(waits) == pytest.approx(0, abs=1e-6)
    for number in range(1, 4):
        assert pace.spend(100.0, 10) == pytest.approx(number / SOCKET_FRAMES_PER_S, abs=1e-6)


def test_bytes_have_their_own_bound() -> None:
    pace = Pace()
    assert pace.spend(100.0, MAX_STEP2_BYTES) == 0
    assert pace.spend(100.0, MAX_STEP2_BYTES) == 0
    assert pace.spend(100.0, SOCKET_BYTES_PER_S) == pytest.approx(1)


def test_a_pause_gives_the_burst_back_and_no_more() -> None:
    pace = Pace()
    pace.spend(0.0, BURST_BYTES)
    pace.spend(1_000_000.0, BURST_BYTES)
    assert pace.spend(1_000_000.0, SOCKET_BYTES_PER_S) == pytest.approx(1)


def test_echoes_count_less() -> None:
    pace = Pace()
    for _ in range(BURST_FRAMES * ECHO_SHARE):
        assert pace.spend(0.0, 1, echo=True) == pytest.approx(0, abs=1e-6)
    assert pace.spend(0.0, 1, echo=True) > 0


@given(st.lists(st.tuples(st.floats(0, 5), st.integers(0, 2**20)), min_size=1, max_size=200))
def test_who_waits_as_told_never_exceeds_the_rate(frames: list[tuple[float, int]]) -> None:
    pace, now, sent = Pace(), 0.0, 0
    for pause, size in frames:
        now += pause
        sent += size
        now += pace.spend(now, size)
        assert sent <= BURST_BYTES + SOCKET_BYTES_PER_S * now + 1
