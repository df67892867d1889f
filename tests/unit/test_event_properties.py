"""Digests, cursors and mentions, over any history: nothing is left out, nothing is told twice."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.errors import InvalidCursor
from shared.events.cursor import EventCursors, Position, top_of
from shared.events.digests import Digests
from shared.events.kinds import TYPES, Draft, EventType
from shared.events.log import EventLog
from shared.events.mentions import handles
from shared.limits import DIGEST_MS
from shared.protocol import Caller
from shared.stored_annotations import StoredDigest, StoredEvent
from tests.amount import amount

START = 1_700_000_000_000
EDITS = st.tuples(
    st.sampled_from(["ann", "ben"]), st.sampled_from("abcdef"), st.integers(0, DIGEST_MS)
)


@settings(max_examples=amount(100, 3000))
@given(st.lists(st.tuples(EDITS, st.booleans()), max_size=40))
def test_every_edit_is_told_within_a_window_and_no_window_has_two(
    acts: list[tuple[tuple[str, str, int], bool]],
) -> None:
    """Each act: an edit some time after the one before, and whether the document is loaded anew."""
    digests, now = Digests({}, {}), START
    rows: dict[str, StoredDigest] = {}
    told: dict[str, list[tuple[int, frozenset[str]]]] = defaultdict(list)
    edits: list[tuple[str, str, int]] = []

    def settle() -> None:
        for ended, row in digests.ended(now):
            rows[row.principal] = row
            told[ended.principal].append((now, frozenset(ended.waiting.blocks)))

    for (who, block, pause), reload in acts:
        then = now + pause
        while (due := digests.next_end()) is not None and due <= then:
            now = max(now, due)
            settle()
        now = then
        edits.append((who, block, now))
        leading, row = digests.edited(who, now, (block,), ())
        if row is not None:
            rows[row.principal] = row
        if not leading.empty:
            told[who].append((now, frozenset(leading.blocks)))
        if reload:
            digests = Digests(rows, {who: told[who][-1][0] for who in told if told[who]})
    now += 2 * DIGEST_MS
    settle()
    assert digests.next_end() is None
    for who, block, at in edits:
        assert any(at <= when and block in blocks for when, blocks in told[who]), (who, block, at)
    for events in told.values():
        times = [when for when, _ in events]
        assert all(b - a >= DIGEST_MS for a, b in pairwise(times))


FILTERS = st.frozensets(st.sampled_from(TYPES), min_size=1)


@settings(max_examples=amount(100, 3000))
@given(
    st.lists(st.tuples(st.lists(st.sampled_from(TYPES), max_size=6), FILTERS), max_size=12),
)
def test_whatever_filters_come_in_turn_each_event_is_told_once_in_order(
    acts: list[tuple[list[EventType], frozenset[EventType]]],
) -> None:
    log, cursors, reader = EventLog({}, 0), EventCursors(b"k" * 16), Caller("bot", "Bot")
    cursor = cursors.encode(Position(0))
    told: list[StoredEvent] = []
    for happened, types in acts:
        log.add([Draft(one, "ann") for one in happened], START)
        found = log.read(cursors.decode(cursor, log.head), types, reader)
        assert {event.type for event in found.events} <= types
        told += found.events
        cursor = cursors.encode(found.position)
        assert top_of(cursor) == log.head
    told += log.read(cursors.decode(cursor, log.head), frozenset(TYPES), reader).events
    assert sorted(event.seq for event in told) == list(range(1, log.head + 1))
    for one in TYPES:
        numbers = [event.seq for event in told if event.type == one]
        assert numbers == sorted(numbers)


@given(st.text(max_size=40))
def test_no_text_that_was_not_given_is_a_cursor(text: str) -> None:
    with pytest.raises(InvalidCursor):
        EventCursors(b"k" * 16).decode(text, 10**9)


def test_a_cursor_from_the_future_is_refused() -> None:
    cursors = EventCursors(b"k" * 16)
    cursor = cursors.encode(Position(9, {"mention": 3}))
    assert cursors.decode(cursor, 9) == Position(9, {"mention": 3})
    with pytest.raises(InvalidCursor):
        cursors.decode(cursor, 8)


@pytest.mark.parametrize(
    "text, whom",
    [
        ("@Ann hello", {"ann"}),
        ("hello @ann.", {"ann"}),
        ("(@ANN)", {"ann"}),
        ("@Ann Lee and @ben", {"lee", "ben"}),
        ("@Annabel", set()),
        ("@Ann_", set()),
        ("mail@Ann.example", set()),
        ("@ Ann", set()),
        ("@@Ann", {"ann"}),
        ("@Bot", {"bot1", "bot2"}),
        ("@bot2", {"bot2"}),
        ("@lee", {"lee"}),
        ("@Élise!", {"elise"}),
        ("", set()),
        ("@", set()),
    ],
)
def test_whom_a_text_mentions(text: str, whom: set[str]) -> None:
    names = {
        "ann": "Ann",
        "lee": "Ann Lee",
        "ben": "Ben",
        "bot1": "Bot",
        "bot2": "Bot",
        "elise": "élise",
    }
    assert handles(names).mentioned(text) == whom


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=8), max_size=6), st.text(max_size=30))
def test_any_names_and_any_text(names: dict[str, str], text: str) -> None:
    assert handles(names).mentioned(text) <= names.keys()
