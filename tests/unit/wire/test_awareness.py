"""Presence: who owns a client id, which clock wins, what a gateway lets through."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from shared.limits import (
    AWARENESS_TOMBSTONES,
    MAX_AWARENESS_BYTES,
    MAX_AWARENESS_CLIENTS,
    MAX_AWARENESS_CLOCK,
    MAX_AWARENESS_ROOM_BYTES,
    MAX_CLIENT_ID,
)
from shared.wire.awareness import NO_CHANGE, AwarenessChange, AwarenessGuard, AwarenessRoom
from shared.wire.y_protocol import AwarenessEntry


def says(client: int, clock: int, name: str | None = "x") -> AwarenessEntry:
    state = None if name is None else json.dumps({"name": name}).encode()
    return AwarenessEntry(client, clock, state)


def room_with_anna(clock: int = 12) -> AwarenessRoom[str]:
    room: AwarenessRoom[str] = AwarenessRoom()
    assert room.apply("anna", [says(77, clock, "Anna")]).accepted
    return room


def test_what_a_session_says_of_itself_goes_to_everybody_and_to_newcomers() -> None:
    room = room_with_anna()
    assert room.others("ben") == (says(77, 12, "Anna"),)
    assert room.others("anna") == ()


def test_nobody_else_can_rename_a_client() -> None:
    room = room_with_anna()
    change = room.apply("mallory", [says(77, 99, "Mallory")])
    assert change.accepted == ()
    assert change.corrections == (says(77, 12, "Anna"),)
    assert room.others("ben") == (says(77, 12, "Anna"),)


def test_nobody_else_can_remove_a_client() -> None:
    room = room_with_anna()
    assert room.apply("mallory", [says(77, 99, None)]).accepted == ()
    assert room.others("ben") == (says(77, 12, "Anna"),)


def test_a_clock_nobody_could_answer_is_ignored() -> None:
    room = room_with_anna()
    for clock in (MAX_AWARENESS_CLOCK + 1, 2**63 - 1, 2**64 - 1):
        assert room.apply("anna", [says(77, clock)]).accepted == ()
        assert room.apply("mallory", [says(78, clock)]).accepted == ()
    assert room.apply("anna", [says(77, 13)]).accepted == (says(77, 13),)


def test_an_id_that_javascript_cannot_hold_is_ignored() -> None:
    room: AwarenessRoom[str] = AwarenessRoom()
    assert room.apply("anna", [says(MAX_CLIENT_ID + 1, 1)]).accepted == ()


def test_only_a_higher_clock_renews() -> None:
    room = room_with_anna(12)
    assert room.apply("anna", [says(77, 12, "again"), says(77, 11, "old")]).accepted == ()
    assert room.apply("anna", [says(77, 13, "new")]).accepted == (says(77, 13, "new"),)


def test_the_same_state_at_a_higher_clock_is_nothing_new() -> None:
    room = room_with_anna(12)
    (known,) = room.others("ben")
    again = AwarenessEntry(known.client, 13, known.state)
    assert room.apply("anna", [again]) == AwarenessChange(renewed=(again,))
    assert room.others("ben") == (again,)


def test_gone_wins_at_the_same_clock() -> None:
    room = room_with_anna(12)
    assert room.apply("anna", [says(77, 12, None)]).accepted == (says(77, 12, None),)
    assert room.others("ben") == ()


def test_gone_at_an_older_clock_is_ignored() -> None:
    room = room_with_anna(12)
    assert room.apply("anna", [says(77, 11, None)]).accepted == ()


def test_a_session_that_ends_is_gone_for_everybody() -> None:
    room = room_with_anna(12)
    room.apply("anna", [says(78, 1, "second")])
    assert set(room.leave("anna")) == {says(77, 12, None), says(78, 1, None)}
    assert room.others("ben") == ()
    assert room.leave("anna") == ()


def test_a_client_back_at_its_old_clock_is_told_to_raise_it_and_then_seen() -> None:
    room = room_with_anna(12)
    room.leave("anna")
    change = room.apply("anna again", [says(77, 12, "Anna")])
    assert (change.accepted, change.corrections) == ((), (says(77, 12, None),))
    assert room.apply("anna again", [says(77, 13, "Anna")]).accepted == (says(77, 13, "Anna"),)


def test_a_stale_packet_brings_no_ghost_back() -> None:
    room = room_with_anna(12)
    room.leave("anna")
    room.apply("anna again", [says(77, 13, "Anna")])
    assert room.apply("anna again", [says(77, 11, "ghost")]).accepted == ()
    assert room.apply("ben", [says(77, 11, "ghost")]).accepted == ()
    assert room.others("ben") == (says(77, 13, "Anna"),)


def test_an_unknown_client_that_is_gone_changes_nothing() -> None:
    room: AwarenessRoom[str] = AwarenessRoom()
    assert room.apply("anna", [says(77, 5, None)]) == NO_CHANGE


def test_a_session_owns_a_few_ids_only() -> None:
    room: AwarenessRoom[str] = AwarenessRoom()
    change = room.apply("mallory", [says(n, 1) for n in range(1000)])
    assert len(change.accepted) == MAX_AWARENESS_CLIENTS
    assert room.apply("anna", [says(2000, 1)]).accepted


def test_the_states_of_one_session_and_of_the_room_are_bounded() -> None:
    room: AwarenessRoom[int] = AwarenessRoom()
    large = AwarenessEntry(1, 1, b'{"x":"%s"}' % (b"x" * (MAX_AWARENESS_BYTES - 8)))
    assert large.state is not None
    assert len(large.state) == MAX_AWARENESS_BYTES
    assert room.apply(1, [large]).accepted
    assert not room.apply(1, [says(2, 1)]).accepted
    assert not room.apply(2, [AwarenessEntry(2, 1, large.state + b" ")]).accepted
    for session in range(2, 1_000):
        room.apply(session, [AwarenessEntry(session, 1, large.state)])
    held = room.others(0)
    assert sum(len(entry.state or b"") for entry in held) <= MAX_AWARENESS_ROOM_BYTES
    room.leave(1)
    assert room.apply(5_000, [AwarenessEntry(5_000, 1, large.state)]).accepted


def test_the_clocks_of_those_who_left_are_bounded() -> None:
    room: AwarenessRoom[int] = AwarenessRoom()
    for client in range(AWARENESS_TOMBSTONES + 1):
        room.apply(client, [says(client, 5)])
        room.leave(client)
    assert room.apply(-1, [says(0, 5)]).accepted  # forgotten
    assert room.apply(-2, [says(1, 5)]).corrections  # still known


def test_the_guard_drops_echoes_of_others_and_passes_what_is_new() -> None:
    guard = AwarenessGuard()
    own = says(77, 1)
    assert guard.admit(1, [own]) == [own]
    guard.told_everybody([own, says(99, 4)])
    assert guard.admit(2, [own, says(99, 4), says(88, 1)]) == [says(88, 1)]
    assert guard.admit(1, [says(77, 2)]) == [says(77, 2)]


def test_the_guard_never_takes_gone_for_an_announcement() -> None:
    guard = AwarenessGuard()
    assert guard.admit(1, [says(77, 5, None)]) == []
    assert guard.admit(2, [says(77, 5)]) == [says(77, 5)]


def test_the_guard_frees_the_ids_of_a_session_that_ended() -> None:
    guard = AwarenessGuard()
    guard.admit(1, [says(77, 5)])
    guard.leave(1)
    assert guard.admit(2, [says(77, 6)]) == [says(77, 6)]


def test_gone_told_late_does_not_lock_out_the_client_that_came_back() -> None:
    guard = AwarenessGuard()
    guard.admit(1, [says(77, 5)])
    guard.leave(1)
    guard.admit(2, [says(77, 5)])
    guard.told_everybody([says(77, 5, None)])
    guard.told_everybody([says(77, 6)])
    assert guard.admit(2, [says(77, 7)]) == [says(77, 7)]


def test_an_echo_taken_for_an_announcement_is_given_up_when_the_document_says_so() -> None:
    guard = AwarenessGuard()
    guard.admit(3, [says(77, 5)])  # a late echo of somebody who just left
    guard.told(3, [says(77, 5, None)])
    assert guard.admit(1, [says(77, 5)]) == [says(77, 5)]
    guard.told(1, [says(77, 9, "elsewhere")])
    assert guard.admit(1, [says(77, 10)]) == []


def test_an_old_clock_corrected_late_does_not_silence_who_has_gone_on() -> None:
    guard = AwarenessGuard()
    guard.admit(1, [says(77, 5)])  # back with the clock it had left with
    guard.admit(1, [says(77, 6)])  # and moves its caret at once
    guard.told(1, [says(77, 5, None)])
    guard.told_everybody([says(77, 6)])
    assert guard.admit(1, [says(77, 7)]) == [says(77, 7)]


SESSIONS = st.sampled_from(["anna", "ben", "mallory"])
CLIENTS = st.integers(1, 4)
CLOCKS = st.integers(0, 6) | st.sampled_from([2**63 - 1, MAX_AWARENESS_CLOCK + 1])


class Presence(RuleBasedStateMachine):
    """Whatever is said in whatever order: a state only ever changes by its owner's doing."""

    def __init__(self) -> None:
        super().__init__()
        self.room: AwarenessRoom[str] = AwarenessRoom()
        self.shown: dict[int, AwarenessEntry] = {}  # what a peer has, by the rules of y-protocols
        self.owner: dict[int, str] = {}

    @rule(session=SESSIONS, client=CLIENTS, clock=CLOCKS, name=st.sampled_from(["x", "y", None]))
    def say(self, session: str, client: int, clock: int, name: str | None) -> None:
        before = self.shown.get(client)
        change = self.room.apply(session, [says(client, clock, name)])
        accepted = change.accepted + change.renewed
        for entry in change.renewed:
            assert before is not None
            assert before.state == entry.state
        for entry in accepted:
            assert entry.clock <= MAX_AWARENESS_CLOCK
            if before is not None and before.state is not None:
                assert self.owner[client] == session
            self.owner[client] = session
        self.show(accepted)

    @rule(session=SESSIONS)
    def leave(self, session: str) -> None:
        self.show(self.room.leave(session))

    def show(self, entries: tuple[AwarenessEntry, ...]) -> None:
        for entry in entries:
            known = self.shown.get(entry.client)
            fresh = known is None or entry.clock > known.clock
            assert fresh or (entry.state is None and known is not None and known.state is not None)
            self.shown[entry.client] = entry

    @invariant()
    def a_peer_and_a_newcomer_see_the_same(self) -> None:
        present = {entry for entry in self.shown.values() if entry.state is not None}
        assert set(self.room.others("nobody")) == present


Presence.TestCase.settings = settings(max_examples=60, stateful_step_count=30)
TestPresence = Presence.TestCase


@given(st.lists(st.tuples(st.integers(1, 3), CLIENTS, st.integers(0, 5)), max_size=40))
def test_two_sessions_never_speak_for_one_id_through_a_guard(
    said: list[tuple[int, int, int]],
) -> None:
    guard = AwarenessGuard()
    owner: dict[int, int] = {}
    for session, client, clock in said:
        for entry in guard.admit(session, [says(client, clock)]):
            assert owner.setdefault(entry.client, session) == session
