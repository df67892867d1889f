"""Whether an editor has been read: open and visible for ten seconds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.limits import READING_MS
from shared.wire.reading import Reading, visibility
from shared.wire.y_protocol import AwarenessEntry

T = 1_700_000_000_000


def test_ten_seconds_are_the_limit() -> None:
    assert READING_MS == 10_000
    assert Reading(T).heard(T + 9_900).read_at is None
    assert Reading(T).heard(T + 10_000).read_at == T + 10_000
    assert Reading(T).heard(T + 10_000).heard(T + 25_000).read_at == T + 25_000


def test_a_hidden_tab_is_not_read() -> None:
    hidden = Reading(T).heard(T + 4_000, visible=False)
    assert hidden == Reading(None)
    assert hidden.heard(T + 60_000) == Reading(None)
    again = hidden.heard(T + 60_000, visible=True)
    assert again.heard(T + 69_999).read_at is None
    assert again.heard(T + 70_000).read_at == T + 70_000


def test_until_it_was_hidden_it_was_read() -> None:
    hidden = Reading(T).heard(T + 12_000, visible=False)
    assert hidden == Reading(None, T + 12_000)
    assert hidden.heard(T + 99_000, visible=True).read_at == T + 12_000


@pytest.mark.parametrize(
    "states, said",
    [
        ([b"{}"], None),
        ([b'{"user":{"name":"visible"}}'], None),
        ([b'{"visible":true}'], True),
        ([b'{"cursor":null,"visible":false}'], False),
        ([b'{"visible":"no"}'], None),
        ([b'{"visible":'], None),
        ([b'["visible"]'], None),
        ([None], None),
        ([b'{"visible":true}', b'{"visible":false}'], False),
    ],
)
def test_what_awareness_says(states: list[bytes | None], said: bool | None) -> None:
    entries = [AwarenessEntry(n, 1, state) for n, state in enumerate(states)]
    assert visibility(entries) is said


@given(st.lists(st.tuples(st.integers(0, 30_000), st.sampled_from([None, True, False]))))
def test_it_only_goes_forward(events: list[tuple[int, bool | None]]) -> None:
    reading, now = Reading(T), T
    for wait, visible in events:
        before, now = reading.read_at or 0, now + wait
        reading = reading.heard(now, visible)
        assert before <= (reading.read_at or 0) <= now
