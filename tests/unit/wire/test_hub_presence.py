"""Presence through the hub: after the text it stands in, to everybody, by its owner alone."""

from __future__ import annotations

import pytest

from shared.limits import RENEWAL_S
from shared.wire import close_codes
from shared.wire.frames import (
    EVERYBODY,
    Kick,
    Kind,
    decode_control,
)
from shared.wire.y_protocol import (
    AwarenessEntry,
    decode_awareness,
    encode_awareness,
)
from tests.unit.wire.stage import Editor, FakePeer, Stage


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_a_reader_may_be_present(stage: Stage) -> None:
    reader = Editor(stage.hub, stage.peer, 3)
    reader.open(read_only=True)
    stage.peer.told()
    entry = reader.present(1)
    assert stage.peer.told() == [(Kind.AWARENESS, EVERYBODY, encode_awareness([entry]))]


def test_presence_goes_to_every_link_with_sessions_its_sender_included(stage: Stage) -> None:
    other, idle = FakePeer(), FakePeer()
    stage.hub.join(other, None)
    stage.hub.join(idle, None)
    Editor(stage.hub, other, 1).open()
    other.told(), idle.told()
    update = encode_awareness([stage.anna.present(1)])
    assert stage.peer.told() == other.told() == [(Kind.AWARENESS, EVERYBODY, update)]
    assert idle.told() == []


def test_a_newcomer_is_told_who_is_there(stage: Stage) -> None:
    entry = stage.anna.present(1)
    stage.peer.told()
    Editor(stage.hub, stage.peer, 3).open()
    assert (Kind.AWARENESS, 3, encode_awareness([entry])) in stage.peer.told()
    stage.ben.frame(Kind.QUERY_AWARENESS)
    assert stage.peer.told() == [(Kind.AWARENESS, 2, encode_awareness([entry]))]


def test_a_caret_comes_after_the_text_it_stands_in(stage: Stage) -> None:
    stage.anna.update(stage.anna.type("a"))
    stage.anna.present(1)
    assert stage.peer.told() == []
    stage.document.commit()
    kinds = stage.peer.kinds()
    assert kinds.index(Kind.BROADCAST) < kinds.index(Kind.AWARENESS)


def test_presence_said_while_a_batch_is_open_goes_out_once_and_as_last_said(stage: Stage) -> None:
    stage.anna.update(stage.anna.type("a"))
    stage.anna.present(1)
    last = stage.anna.present(2, b"y")
    stage.document.commit()
    told = [body for kind, _, body in stage.peer.told() if kind is Kind.AWARENESS]
    assert told == [encode_awareness([last])]


def test_presence_is_told_even_when_the_batch_before_it_failed(stage: Stage) -> None:
    stage.anna.update(stage.anna.type("a"))
    entry = stage.anna.present(1)
    stage.document.fail()
    assert (Kind.AWARENESS, EVERYBODY, encode_awareness([entry])) in stage.peer.told()


def test_who_leaves_is_gone_for_everybody(stage: Stage) -> None:
    entry = stage.anna.present(4)
    stage.peer.told()
    stage.anna.frame(Kind.SHUT)
    gone = AwarenessEntry(entry.client, 4, None)
    assert stage.peer.told() == [(Kind.AWARENESS, EVERYBODY, encode_awareness([gone]))]
    assert stage.hub.sessions == 1


def test_a_link_that_breaks_takes_its_sessions_with_it(stage: Stage) -> None:
    other = FakePeer()
    stage.hub.join(other, None)
    Editor(stage.hub, other, 1).open()
    stage.anna.present(4)
    other.told()
    stage.hub.leave(stage.peer)
    ((kind, _, body),) = other.told()
    assert (kind, decode_awareness(body, 5)) == (
        Kind.AWARENESS,
        [AwarenessEntry(1, 4, None)],
    )
    assert stage.hub.sessions == 1
    stage.hub.leave(stage.peer)


def test_nobody_speaks_for_a_client_of_another_session(stage: Stage) -> None:
    entry = stage.anna.present(1)
    stage.peer.told()
    forged = encode_awareness([AwarenessEntry(entry.client, 9, None)])
    stage.ben.frame(Kind.AWARENESS, forged)
    assert stage.peer.told() == [(Kind.AWARENESS, 2, encode_awareness([entry]))]


def test_bad_presence_ends_its_session_alone(stage: Stage) -> None:
    stage.anna.frame(Kind.AWARENESS, b"\x01\x01\x01\x01x")
    ((kind, number, body),) = stage.peer.told()
    assert (kind, number) == (Kind.KICK, 1)
    assert decode_control(body, Kick).code == close_codes.MALFORMED


def test_a_caret_in_the_next_batch_does_not_go_out_with_the_batch_before(stage: Stage) -> None:
    stage.anna.update(stage.anna.type("a"))
    first = stage.anna.present(1)
    stage.document.start_commit()
    stage.anna.update(stage.anna.type("b"))
    second = stage.anna.present(2, b"y")
    stage.document.commit()
    assert [body for kind, _, body in stage.peer.told() if kind is Kind.AWARENESS] == [
        encode_awareness([first])
    ]
    stage.document.commit()
    assert [body for kind, _, body in stage.peer.told() if kind is Kind.AWARENESS] == [
        encode_awareness([second])
    ]


def test_who_is_still_there_is_told_a_little_later_and_all_together(stage: Stage) -> None:
    stage.anna.present(1), stage.ben.present(1)
    stage.anna.present(2), stage.ben.present(2)
    both = [stage.anna.present(3), stage.ben.present(3)]
    stage.peer.told()
    ((seconds, tell),) = stage.later
    assert seconds == RENEWAL_S
    tell()
    assert stage.peer.told() == [(Kind.AWARENESS, EVERYBODY, encode_awareness(both))]
    stage.anna.present(4)
    assert len(stage.later) == 2


def test_what_happened_since_is_not_undone_by_it(stage: Stage) -> None:
    stage.anna.present(1), stage.ben.present(1)
    stage.anna.present(2), stage.ben.present(2)
    stage.anna.present(3, b"moved")
    stage.ben.frame(Kind.SHUT)
    stage.peer.told()
    ((_, tell),) = stage.later
    tell()
    assert stage.peer.told() == []
