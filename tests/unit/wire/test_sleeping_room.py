"""Presence of a sleeping document: the rules of an awake one, without an actor."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.limits import MAX_AWARENESS_CLOCK, RENEWAL_S
from shared.wire.awareness import AwarenessRoom
from shared.wire.frames import EVERYBODY, Sleep
from shared.wire.lib0 import MalformedMessage
from shared.wire.sleeping_room import Later, SleepingRoom, Tell
from shared.wire.y_protocol import AwarenessEntry

ANN, BEN = 1, 2


def of(client: int, clock: int, state: bytes | None = b"{}") -> AwarenessEntry:
    return AwarenessEntry(client, clock, state)


@pytest.fixture
def room() -> SleepingRoom:
    """Ann is there as client 11, Ben as 22; 33 has left."""
    present = ((ANN, 11, 5, b'{"n":"a"}'), (BEN, 22, 7, b'{"n":"b"}'))
    return SleepingRoom(Sleep(0, present, ((33, 9),)))


def test_a_moved_caret_is_told_to_everybody_its_sender_included(room: SleepingRoom) -> None:
    moved = of(11, 6, b'{"at":3}')
    assert room.said(ANN, [moved]) == [Tell(EVERYBODY, (moved,))]
    assert room.asked(BEN) == [Tell(BEN, (moved,))]


@pytest.mark.parametrize("entry", [of(22, 8, None), of(22, MAX_AWARENESS_CLOCK), of(22, 8)])
def test_nobody_nulls_or_plays_another(room: SleepingRoom, entry: AwarenessEntry) -> None:
    assert room.said(ANN, [entry]) == [Tell(ANN, (of(22, 7, b'{"n":"b"}'),))]
    assert room.asked(ANN) == [Tell(ANN, (of(22, 7, b'{"n":"b"}'),))]


def test_who_left_before_the_sleep_comes_back_with_a_higher_clock_alone(room: SleepingRoom) -> None:
    assert room.said(ANN, [of(33, 9)]) == [Tell(ANN, (of(33, 9, None),))]
    assert room.said(ANN, [of(33, 10)]) == [Tell(EVERYBODY, (of(33, 10),))]


def test_who_ends_is_gone_for_everybody(room: SleepingRoom) -> None:
    assert room.left(ANN) == [Tell(EVERYBODY, (of(11, 5, None),))]
    assert room.left(ANN) == []
    assert room.asked(BEN) == []


def test_those_still_there_are_told_of_together_a_little_later(room: SleepingRoom) -> None:
    first, second = of(11, 6, b'{"n":"a"}'), of(22, 8, b'{"n":"b"}')
    assert room.said(ANN, [first]) == [Later(RENEWAL_S)]
    assert room.said(BEN, [second]) == []
    assert room.renewed() == [Tell(EVERYBODY, (first, second))]
    assert room.renewed() == []
    assert room.said(ANN, [of(11, 7, b'{"n":"a"}')]) == [Later(RENEWAL_S)]


def test_news_of_somebody_overtakes_that_they_are_still_there(room: SleepingRoom) -> None:
    room.said(ANN, [of(11, 6, b'{"n":"a"}')])
    moved = of(11, 7, b'{"at":1}')
    assert room.said(ANN, [moved]) == [Tell(EVERYBODY, (moved,))]
    assert room.renewed() == []


def test_a_state_that_is_no_object_is_refused(room: SleepingRoom) -> None:
    with pytest.raises(MalformedMessage):
        room.said(ANN, [of(11, 6, b"[1]")])


ENTRIES = st.builds(
    AwarenessEntry,
    st.integers(1, 4),
    st.integers(0, 4),
    st.sampled_from([None, b"{}", b'{"a":1}']),
)
ACTS = st.lists(st.tuples(st.integers(1, 3), st.lists(ENTRIES, max_size=3)), max_size=30)


@given(ACTS, ACTS)
def test_asleep_or_awake_the_same_is_told(
    before: list[tuple[int, list[AwarenessEntry]]], after: list[tuple[int, list[AwarenessEntry]]]
) -> None:
    """A room that goes on in the gateway says what the actor's own would have said."""
    awake: AwarenessRoom[int] = AwarenessRoom()
    for session, entries in before:
        awake.apply(session, entries)
    present = tuple(
        (session, entry.client, entry.clock, entry.state or b"")
        for session, entry in awake.present()
    )
    asleep = SleepingRoom(Sleep(0, present, awake.left))
    for session, entries in after:
        change = awake.apply(session, entries)
        told = asleep.said(session, entries)
        assert [one.entries for one in told if one[0] == EVERYBODY and isinstance(one, Tell)] == [
            accepted for accepted in [change.accepted] if accepted
        ]
        assert [one.entries for one in told if isinstance(one, Tell) and one.to == session] == [
            corrections for corrections in [change.corrections] if corrections
        ]
    for session in (1, 2, 3):
        gone = awake.leave(session)
        assert asleep.left(session) == ([Tell(EVERYBODY, gone)] if gone else [])
