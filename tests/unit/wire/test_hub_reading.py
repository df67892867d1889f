"""What the hub of a document tells of who is reading it."""

from __future__ import annotations

import pytest

from shared.wire.frames import Frame, Kind, Open, Read, Shut, UpdateKind, pack
from shared.wire.reading import Reading
from shared.wire.y_protocol import EMPTY_STATE_VECTOR, AwarenessEntry, encode_awareness
from tests.unit.wire.fakes import ANNA
from tests.unit.wire.stage import Editor, Stage


@pytest.fixture
def stage() -> Stage:
    return Stage()


def left(stage: Stage) -> int | None:
    return stage.document.readers.last_left("person:anna")


def says(editor: Editor, clock: int, state: bytes) -> None:
    editor.frame(Kind.AWARENESS, encode_awareness([AwarenessEntry(editor.number, clock, state)]))


@pytest.mark.parametrize("frame", ["awareness", "update", "step 1"])
def test_any_frame_says_that_the_client_is_there(stage: Stage, frame: str) -> None:
    stage.document.now += 11_000
    read_at = stage.document.now
    if frame == "awareness":
        says(stage.anna, 1, b"{}")
    elif frame == "update":
        stage.anna.update(stage.anna.type("a"), UpdateKind.UPDATE)
    else:
        stage.anna.frame(Kind.STEP1, EMPTY_STATE_VECTOR)
    stage.document.now += 5_000
    stage.anna.frame(Kind.SHUT)
    assert (left(stage), stage.document.stamps) == (read_at, 1)


def test_a_page_that_says_it_is_hidden_is_not_read(stage: Stage) -> None:
    says(stage.anna, 1, b'{"visible":false}')
    stage.document.now += 60_000
    says(stage.anna, 2, b'{"visible":false,"cursor":1}')
    stage.anna.frame(Kind.SHUT)
    assert (left(stage), stage.document.stamps) == (None, 0)


def test_a_gateway_that_is_gone_takes_its_readers_along(stage: Stage) -> None:
    stage.document.now += 11_000
    says(stage.anna, 1, b"{}")
    stage.hub.leave(stage.peer)
    assert (left(stage), stage.document.stamps) == (stage.document.now, 1)


def test_what_the_gateway_knows_of_the_end_counts(stage: Stage) -> None:
    stage.document.now += 12_000
    stage.anna.frame(Kind.SHUT, pack(Shut(stage.document.now - 1_000)))
    assert left(stage) == stage.document.now - 1_000


def test_a_session_that_goes_on_at_this_actor_brings_what_was_read(stage: Stage) -> None:
    stage.anna.frame(Kind.SHUT)
    read = stage.document.now - 7_000
    again = Editor(stage.hub, stage.peer, 5)
    again.frame(Kind.OPEN, pack(Open(ANNA, reading=Reading(None, read))))
    assert left(stage) is None
    again.frame(Kind.SHUT)
    assert left(stage) == read


def test_of_a_session_that_ended_meanwhile_the_gateway_tells(stage: Stage) -> None:
    stage.anna.frame(Kind.SHUT)
    read = Read("person:anna", stage.document.now - 3_000)
    stage.hub.receive(stage.peer, Frame(Kind.READ, pack(read)))
    assert (left(stage), stage.document.stamps) == (read.read_at, 1)


def test_not_while_another_session_of_the_person_is_open(stage: Stage) -> None:
    read = Read("person:anna", stage.document.now - 3_000)
    stage.hub.receive(stage.peer, Frame(Kind.READ, pack(read)))
    assert (left(stage), stage.document.stamps) == (None, 0)
    stage.anna.frame(Kind.SHUT)
    assert (left(stage), stage.document.stamps) == (read.read_at, 1)
