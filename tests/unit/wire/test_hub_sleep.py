"""When a document's hub leaves its sessions to their gateway, and what it says then."""

from __future__ import annotations

import pytest

from shared.wire.frames import Frame, Kind, Sleep, decode_control
from shared.wire.y_protocol import encode_awareness
from tests.unit.wire.stage import Editor, FakePeer, Stage


@pytest.fixture
def stage() -> Stage:
    return Stage()


def told(peer: FakePeer) -> Sleep:
    """The one frame that came."""
    (frame,) = peer.frames()
    assert frame.kind == Kind.SLEEP
    return decode_control(frame.payload, Sleep)


def test_who_is_present_goes_with_the_sessions(stage: Stage) -> None:
    mine = stage.anna.present(4)
    stage.ben.present(3)
    stage.ben.frame(Kind.SHUT)
    stage.peer.frames()
    assert stage.hub.sole_user is stage.peer
    assert stage.hub.sleep(77)
    assert told(stage.peer) == Sleep(77, ((1, mine.client, 4, mine.state or b""),), ((2, 3),))


@pytest.mark.parametrize("busy", ["open batch", "batch on its way"])
def test_not_while_anything_is_to_be_committed(stage: Stage, busy: str) -> None:
    stage.anna.update(stage.anna.type("a"))
    if busy == "batch on its way":
        stage.document.start_commit()
    stage.peer.frames()
    assert not stage.hub.sleep(0)
    assert stage.peer.frames() == []
    stage.document.commit()
    assert stage.hub.sleep(0)
    assert stage.peer.frames()[-1].kind == Kind.SLEEP


def test_sessions_or_calls_at_two_gateways_keep_it_awake(stage: Stage) -> None:
    other = FakePeer()
    stage.hub.join(other, None)
    users = [stage.hub.sole_user]  # a link alone is nothing
    guest = Editor(stage.hub, other, 1)
    guest.open()
    users.append(stage.hub.sole_user)
    assert not stage.hub.sleep(0)
    guest.frame(Kind.SHUT)
    users.append(stage.hub.sole_user)
    stage.hub.receive(other, _waiting(b"\x01"))
    users.append(stage.hub.sole_user)
    assert users == [stage.peer, None, stage.peer, None]
    stage.hub.receive(other, _waiting(b"\x00"))
    assert stage.hub.sleep(0)


def test_waiting_calls_alone_may_be_left_to_their_gateway(stage: Stage) -> None:
    for editor in (stage.anna, stage.ben):
        editor.frame(Kind.SHUT)
    assert stage.hub.sole_user is None
    stage.hub.receive(stage.peer, _waiting(b"\x01"))
    assert stage.hub.sole_user is stage.peer


def test_not_while_a_gateway_is_still_brought_up_to_date(stage: Stage) -> None:
    stage.hub.leave(stage.peer)
    stage.document.write("one")
    stage.document.commit()
    late = FakePeer()
    assert stage.hub.join(late, 0)
    stage.hub.receive(late, _waiting(b"\x01"))
    assert not stage.hub.sleep(0)


def _waiting(said: bytes) -> Frame:
    return Frame(Kind.WAITING, said)


def test_those_who_said_that_they_are_still_there_are_told_of_first(stage: Stage) -> None:
    """Kept back for a few seconds more than their peers' patience, they would be taken for gone."""
    stage.anna.present(4)
    stage.peer.frames()
    renewed = stage.anna.present(5)
    assert stage.peer.frames() == []
    assert stage.hub.sleep(0)
    presence, farewell = stage.peer.frames()
    assert presence.payload == b"\x00" + encode_awareness([renewed])
    assert decode_control(farewell.payload, Sleep).present[0][2] == 5
