"""Links at the hub: coming, coming back after a failover, and not being trusted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycrdt import Doc, Text

from actors.document.editor_hub import EditorHub
from shared.wire import close_codes
from shared.wire.frames import (
    Frame,
    Kick,
    Kind,
    Welcome,
    decode_control,
    encode_session,
)
from shared.wire.lib0 import MalformedMessage
from tests.unit.wire.fakes import FakeDocument
from tests.unit.wire.stage import Editor, FakePeer, Stage


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_a_link_is_welcomed_with_where_the_document_is() -> None:
    document = FakeDocument()
    document.write("x")
    document.commit()
    hub, peer = EditorHub(document, "abcdefghijkl"), FakePeer()
    assert not hub.join(peer, None)
    ((kind, payload),) = peer.frames()
    assert (kind, decode_control(payload, Welcome)) == (Kind.WELCOME, Welcome(1, 1))


@pytest.mark.anyio
async def test_a_gateway_that_comes_back_is_sent_what_it_missed_before_all_else(
    stage: Stage,
) -> None:
    stage.document.write("one ")
    stage.document.commit()
    stage.document.write("two ")
    stage.document.commit()
    back = FakePeer()
    assert stage.hub.join(back, 1)
    Editor(stage.hub, back, 1).open()
    stage.document.write("three")
    stage.document.commit()
    assert back.kinds() == [Kind.WELCOME]
    await stage.hub.catch_up(back, 1)
    told = back.told()
    assert [kind for kind, _, _ in told] == [
        Kind.BROADCAST,
        Kind.STEP1,
        Kind.BROADCAST,
        Kind.NOTICE,
    ]
    assert [seq for kind, seq, _ in told if kind is Kind.BROADCAST] == [3, 3]
    fresh: Doc[Text] = Doc()
    fresh.apply_update(stage.document._stored[0])
    for kind, _, update in told:
        if kind is Kind.BROADCAST:
            fresh.apply_update(update)
    assert str(fresh.get("text", type=Text)) == "one two three"


@pytest.mark.anyio
@pytest.mark.parametrize("last_seq", [1, 99])
async def test_a_gateway_is_sent_everything_when_what_it_missed_is_merged_away(
    stage: Stage, last_seq: int
) -> None:
    stage.document.write("one ")
    stage.document.commit()
    stage.document.write("two")
    stage.document.commit()
    stage.document.merged_away = last_seq == 1
    back = FakePeer()
    assert stage.hub.join(back, last_seq)
    await stage.hub.catch_up(back, last_seq)
    (_, (kind, seq, update)) = back.told()
    fresh: Doc[Text] = Doc()
    fresh.apply_update(update)
    assert (kind, seq, str(fresh.get("text", type=Text))) == (Kind.BROADCAST, 2, "one two")


def test_a_gateway_that_missed_nothing_is_sent_nothing(stage: Stage) -> None:
    back = FakePeer()
    assert not stage.hub.join(back, 0)
    assert back.kinds() == [Kind.WELCOME]


def test_calls_that_wait_at_a_gateway_are_known(stage: Stage) -> None:
    seen = [stage.hub.waiting]
    for payload in (b"\x01", b"\x00", b"\x01"):
        stage.hub.receive(stage.peer, Frame(Kind.WAITING, payload))
        seen.append(stage.hub.waiting)
    stage.hub.leave(stage.peer)
    assert [*seen, stage.hub.waiting] == [False, True, False, True, False]


@pytest.mark.parametrize("kind", [Kind.WELCOME, Kind.KICK, 0, 99])
def test_frames_no_gateway_sends_are_refused(stage: Stage, kind: int) -> None:
    with pytest.raises(MalformedMessage):
        stage.hub.receive(stage.peer, Frame(kind, b"\x01"))


@given(st.sampled_from(Kind), st.binary(max_size=60))
def test_a_hostile_link_cannot_break_the_hub(kind: Kind, payload: bytes) -> None:
    stage = Stage()
    try:
        stage.hub.receive(stage.peer, Frame(kind, payload))
    except MalformedMessage:
        stage.hub.leave(stage.peer)
    other = FakePeer()
    stage.hub.join(other, None)
    editor = Editor(stage.hub, other, 1)
    editor.open()
    editor.update(editor.type("still here"))
    stage.document.commit()
    assert Kind.BROADCAST in other.kinds()


def test_the_document_is_asked_before_a_link_reads_on(stage: Stage) -> None:
    stage.document.write("x")
    stage.document.backlogged = True
    woken: list[bool] = []
    stage.hub.when_ready(lambda: woken.append(stage.hub.backlogged))
    assert (stage.hub.backlogged, woken) == (True, [])
    stage.document.backlogged = False
    stage.document.commit()
    assert woken == [False]


def test_a_fault_of_ours_ends_one_session(stage: Stage) -> None:
    payload = encode_session(Kind.STEP1, 2, b"")[5:]
    stage.hub.fail(stage.peer, Frame(Kind.STEP1, payload))
    ((kind, number, body),) = stage.peer.told()
    assert (kind, number, decode_control(body, Kick).code) == (Kind.KICK, 2, close_codes.FAILED)


@pytest.mark.anyio
async def test_a_gateway_that_missed_numbers_but_no_update_is_sent_none(
    stage: Stage,
) -> None:
    stage.document.write("one")
    stage.document.commit()
    stage.document.seq = 2  # numbers were used up by batches that left nothing
    back = FakePeer()
    assert stage.hub.join(back, 1)
    await stage.hub.catch_up(back, 1)
    assert back.kinds() == [Kind.WELCOME]
