"""Updates that came while there was no actor, of sessions that may be over."""

from __future__ import annotations

import msgspec
import pytest

from shared.protocol import Caller
from shared.wire.frames import Frame, Kind, Left, Open, pack
from tests.unit.wire.fakes import ANNA
from tests.unit.wire.stage import Editor, Stage

VIEWER = msgspec.structs.replace(ANNA, role="viewer")
STRANGER = msgspec.structs.replace(ANNA, role=None)
READS = msgspec.structs.replace(ANNA, scopes=frozenset({"read"}))


@pytest.fixture
def stage() -> Stage:
    return Stage()


def hand_over(stage: Stage, caller: Caller, update: bytes) -> None:
    stage.hub.receive(stage.peer, Frame(Kind.LEFT, pack(Left(Open(caller), update))))


def test_it_is_taken_and_told_to_everybody_once_it_is_on_disk(stage: Stage) -> None:
    gone = Editor(stage.hub, stage.peer, 9)
    hand_over(stage, ANNA, gone.type("hello"))
    assert str(stage.document.text) == "hello"
    assert stage.peer.told() == []
    stage.document.commit()
    assert Kind.BROADCAST in stage.peer.kinds()
    assert stage.hub.sessions == 2


def test_twice_is_once(stage: Stage) -> None:
    update = stage.anna.type("hello")
    stage.anna.update(update)
    hand_over(stage, ANNA, update)
    assert str(stage.document.text) == "hello"


@pytest.mark.parametrize("caller", [VIEWER, STRANGER, READS])
def test_who_may_write_is_asked_again(stage: Stage, caller: Caller) -> None:
    hand_over(stage, caller, Editor(stage.hub, stage.peer, 9).type("hello"))
    assert str(stage.document.text) == ""


def test_what_is_no_update_harms_nobody(stage: Stage) -> None:
    hand_over(stage, ANNA, b"\xff\xff")
    stage.anna.update(stage.anna.type("hello"))
    assert str(stage.document.text) == "hello"
