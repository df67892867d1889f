"""The hub's order of things: nothing is told before it is on disk, nothing is told twice."""

from __future__ import annotations

import msgspec
import pytest
from pycrdt import Doc, Text

from actors.document.editor_hub import EditorHub
from shared.limits import MAX_SESSIONS_PER_DOCUMENT, MAX_STEP2_REQUESTS
from shared.protocol import Caller
from shared.wire import close_codes
from shared.wire.close_codes import FORBIDDEN, NOT_FOUND
from shared.wire.frames import (
    Ack,
    Kick,
    Kind,
    Notice,
    Open,
    UpdateKind,
    decode_control,
    pack,
)
from shared.wire.y_protocol import (
    EMPTY_STATE_VECTOR,
    EMPTY_UPDATE,
)
from tests.unit.wire.fakes import ANNA, BEN, FakeDocument
from tests.unit.wire.stage import Editor, FakePeer, Stage


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_a_session_is_asked_at_once_for_what_it_has() -> None:
    document = FakeDocument()
    document.write("not on disk")
    hub, peer = EditorHub(document, "abcdefghijkl"), FakePeer()
    hub.join(peer, None)
    Editor(hub, peer, 1).open()
    assert (Kind.STEP1, 1, document.doc.get_state()) in peer.told()


def test_a_step_2_holds_what_was_there_and_waits_until_that_is_on_disk(stage: Stage) -> None:
    stage.document.write("one ")
    stage.anna.frame(Kind.STEP1, EMPTY_STATE_VECTOR)
    stage.document.write("two")
    assert stage.peer.told() == []
    stage.document.commit()
    answers = [body for kind, n, body in stage.peer.told() if (kind, n) == (Kind.STEP2, 1)]
    assert len(answers) == 1
    stage.anna.doc.apply_update(answers[0])
    assert str(stage.anna.text) == "one "


def test_a_step_2_is_sent_at_once_when_everything_is_on_disk(stage: Stage) -> None:
    stage.anna.frame(Kind.STEP1, EMPTY_STATE_VECTOR)
    assert stage.peer.told() == [(Kind.STEP2, 1, EMPTY_UPDATE)]


def test_a_step_2_whose_batch_failed_is_dropped_and_made_anew(stage: Stage) -> None:
    stage.document.write("lost")
    stage.anna.frame(Kind.STEP1, EMPTY_STATE_VECTOR)
    stage.document.fail()
    told = stage.peer.told()
    assert (Kind.STEP2, 1, EMPTY_UPDATE) in told
    assert [n for kind, n, _ in told if kind is Kind.STEP1] == [1, 2]


def test_a_state_vector_that_is_none_ends_its_session_alone(stage: Stage) -> None:
    stage.anna.frame(Kind.STEP1, b"\xff\xff")
    ((kind, number, body),) = stage.peer.told()
    assert (kind, number) == (Kind.KICK, 1)
    assert decode_control(body, Kick).code == close_codes.MALFORMED
    assert stage.hub.sessions == 1


def test_an_update_is_broadcast_once_per_link_and_then_acknowledged(stage: Stage) -> None:
    other = FakePeer()
    stage.hub.join(other, None)
    Editor(stage.hub, other, 1).open()
    other.told()
    first, second = stage.anna.type("a"), stage.anna.type("b")
    stage.anna.update(first)
    stage.anna.update(second)
    assert stage.peer.told() == other.told() == []
    stage.document.commit()
    told = stage.peer.told()
    assert [kind for kind, _, _ in told] == [Kind.BROADCAST, Kind.NOTICE, Kind.ACK, Kind.ACK]
    fresh: Doc[Text] = Doc()
    fresh.apply_update(told[0][2])
    assert str(fresh.get("text", type=Text)) == "ab"
    assert told[0][1] == 1
    assert other.kinds() == [Kind.BROADCAST, Kind.NOTICE]


def test_a_link_without_sessions_gets_the_notice_alone(stage: Stage) -> None:
    other = FakePeer()
    stage.hub.join(other, None)
    other.told()
    stage.document.write("x", "agent:a")
    stage.document.commit()
    ((kind, payload),) = other.frames()
    assert (kind, decode_control(payload, Notice)) == (
        Kind.NOTICE,
        Notice(1, frozenset({"agent:a"})),
    )


def test_a_link_that_comes_back_misses_nothing_before_its_sessions_are_opened(stage: Stage) -> None:
    """Its editors do not know that they moved, so nobody asks for what was told meanwhile."""
    other = FakePeer()
    assert not stage.hub.join(other, stage.document.seq)
    other.told()
    stage.document.write("x")
    stage.document.commit()
    assert Kind.BROADCAST in other.kinds()
    Editor(stage.hub, other, 1).open()
    other.told()
    stage.hub.leave(other)
    stage.document.write("y")
    stage.document.commit()
    assert other.kinds() == []


@pytest.mark.anyio
async def test_nor_does_one_that_had_to_catch_up(stage: Stage) -> None:
    stage.document.write("one ")
    stage.document.commit()
    other = FakePeer()
    assert stage.hub.join(other, 0)
    await stage.hub.catch_up(other, 0)
    stage.document.write("two")
    stage.document.commit()
    reader: Doc[Text] = Doc()
    for kind, _, body in other.told():
        if kind is Kind.BROADCAST:
            reader.apply_update(body)
    assert str(reader.get("text", type=Text)) == "one two"


def test_an_update_of_a_failed_batch_is_never_acknowledged_but_asked_for_again(
    stage: Stage,
) -> None:
    stage.anna.update(stage.anna.type("a"))
    stage.document.fail()
    told = stage.peer.told()
    assert (Kind.ACK, 1, bytes((Ack.ASKED_AGAIN,))) in told
    assert not any(kind is Kind.BROADCAST for kind, _, _ in told)
    stage.anna.step2()
    stage.anna.step2()  # to the first question, and to the one after the failure
    stage.document.commit()
    assert stage.acks() == [(1, Ack.ASKED_AGAIN), (1, Ack.SAVED)]
    assert str(stage.document.text) == "a"


def test_an_answer_to_what_a_lost_document_asked_saves_nothing(stage: Stage) -> None:
    stage.anna.step2()
    stage.anna.update(stage.anna.type("a"))
    stage.anna.frame(Kind.STEP1, EMPTY_STATE_VECTOR)
    asked = [body for kind, n, body in stage.peer.told() if (kind, n) == (Kind.STEP1, 1)]
    stage.document.fail()
    answer = stage.anna.doc.get_update(asked[-1])  # it held the letter: nothing to send
    stage.peer.told()
    stage.anna.update(answer, UpdateKind.STEP_2)
    assert stage.acks() == [(1, Ack.ASKED_AGAIN)]
    stage.anna.step2()
    stage.document.commit()
    assert stage.acks() == [(1, Ack.SAVED)]
    assert str(stage.document.text) == "a"


def test_a_client_that_counts_is_asked_whenever_it_begins_anew(stage: Stage) -> None:
    quiet = Editor(stage.hub, stage.peer, 3)
    quiet.open(acks=False)
    asked: list[list[int]] = []
    for _ in range(2):
        for one in (stage.anna, quiet):
            one.step2()
            one.frame(Kind.STEP1, EMPTY_STATE_VECTOR)
            one.frame(Kind.STEP1, EMPTY_STATE_VECTOR)
        asked.append([n for kind, n, _ in stage.peer.told() if kind is Kind.STEP1])
    assert asked == [[3, 1], [1]]


def test_an_update_that_changes_nothing_waits_for_its_first_copy(stage: Stage) -> None:
    update = stage.anna.type("a")
    stage.anna.update(update)
    stage.ben.update(update)
    assert stage.peer.told() == []
    stage.document.commit()
    assert stage.acks() == [(1, Ack.SAVED), (2, Ack.SAVED)]


def test_a_gap_is_asked_for_once_however_many_updates_build_on_it(stage: Stage) -> None:
    stage.anna.step2()
    stage.peer.told()
    stage.anna.type("never sent ")
    for _ in range(10):
        stage.anna.update(stage.anna.type("x"))
    told = stage.peer.told()
    assert [n for kind, n, _ in told if kind is Kind.STEP1] == [1]
    assert [body[0] for kind, _, body in told if kind is Kind.ACK] == [Ack.ASKED_AGAIN] * 10
    stage.anna.step2()
    stage.document.commit()
    assert str(stage.document.text) == "never sent " + "x" * 10
    assert stage.acks() == [(1, Ack.SAVED)]


def test_a_session_that_never_sends_what_is_missing_is_closed(stage: Stage) -> None:
    stage.anna.type("never sent")
    gap = stage.anna.type("x")
    for _ in range(MAX_STEP2_REQUESTS):
        stage.anna.update(gap, UpdateKind.STEP_2)
        assert Kind.STEP1 in stage.peer.kinds()
    stage.anna.update(gap, UpdateKind.STEP_2)
    kicks = [(n, body) for kind, n, body in stage.peer.told() if kind is Kind.KICK]
    assert [(n, decode_control(body, Kick).code) for n, body in kicks] == [
        (1, close_codes.TRY_AGAIN)
    ]
    assert stage.hub.sessions == 1


def test_what_was_sent_after_all_is_not_held_against_a_session(stage: Stage) -> None:
    for _ in range(MAX_STEP2_REQUESTS + 2):
        stage.anna.step2()
        stage.anna.type("lost on the way ")
        stage.anna.update(stage.anna.type("x"))
        stage.document.commit()
    assert stage.hub.sessions == 2


def test_after_a_refusal_a_session_is_refused_until_it_begins_again(stage: Stage) -> None:
    stage.document.refuse = "this editor cannot hold a drawing"
    stage.anna.update(stage.anna.type("a"))
    stage.document.refuse = None
    second = stage.anna.type("b")
    stage.anna.update(second)
    told = stage.peer.told()
    assert [(n, body) for kind, n, body in told if kind is Kind.ACK] == [
        (1, b"\x00this editor cannot hold a drawing")
    ] * 2
    assert second not in stage.document.applied
    stage.anna.frame(Kind.STEP1, EMPTY_STATE_VECTOR)
    assert Kind.STEP1 in stage.peer.kinds()
    stage.anna.step2()
    stage.document.commit()
    assert str(stage.document.text) == "ab"


def test_a_session_without_acks_hears_of_refusals_alone(stage: Stage) -> None:
    quiet = Editor(stage.hub, stage.peer, 3)
    quiet.open(acks=False)
    stage.peer.told()
    quiet.update(quiet.type("a"))
    stage.document.commit()
    assert Kind.ACK not in stage.peer.kinds()
    stage.document.refuse = "no"
    quiet.update(quiet.type("b"))
    assert stage.acks() == [(3, Ack.REFUSED)]


def test_a_reader_may_not_edit_and_is_told(stage: Stage) -> None:
    reader = Editor(stage.hub, stage.peer, 3)
    reader.open(read_only=True)
    reader.update(reader.type("a"))
    assert stage.acks() == [(3, Ack.REFUSED)]
    assert stage.document.applied == []


def test_a_reader_in_sync_may_answer_a_step_1(stage: Stage) -> None:
    stage.document.write("some text")
    del stage.document.text[2:5]
    stage.document.commit()
    reader = Editor(stage.hub, stage.peer, 3)
    reader.open(read_only=True)
    reader.doc.apply_update(stage.document.doc.get_update())
    reader.update(reader.doc.get_update(stage.document.doc.get_state()), UpdateKind.STEP_2)
    reader.step2()
    assert stage.acks() == [(3, Ack.SAVED)] * 2
    assert stage.document.applied == []


def test_frames_of_a_session_that_is_gone_mean_nothing(stage: Stage) -> None:
    stage.anna.frame(Kind.SHUT)
    stage.anna.update(stage.anna.type("a"))
    stage.anna.frame(Kind.STEP1, EMPTY_STATE_VECTOR)
    stage.anna.present(1)
    stage.anna.frame(Kind.QUERY_AWARENESS)
    stage.anna.frame(Kind.SHUT)
    assert stage.peer.told() == []
    assert stage.document.applied == []


def test_a_session_gone_before_its_answers_were_on_disk_is_sent_none(stage: Stage) -> None:
    stage.anna.update(stage.anna.type("a"))
    stage.anna.frame(Kind.STEP1, EMPTY_STATE_VECTOR)
    stage.anna.frame(Kind.SHUT)
    stage.document.commit()
    assert all(number != 1 or kind is Kind.BROADCAST for kind, number, _ in stage.peer.told())


def test_a_document_takes_so_many_sessions(stage: Stage) -> None:
    for number in range(3, MAX_SESSIONS_PER_DOCUMENT + 1):
        Editor(stage.hub, stage.peer, number).open()
    stage.peer.told()
    Editor(stage.hub, stage.peer, 10_000).open()
    ((kind, number, body),) = stage.peer.told()
    assert (kind, number) == (Kind.KICK, 10_000)
    assert decode_control(body, Kick).code == close_codes.TRY_AGAIN
    assert stage.hub.sessions == MAX_SESSIONS_PER_DOCUMENT


def test_while_the_document_loads_again_nothing_is_lost(stage: Stage) -> None:
    stage.document.unavailable = True
    late = Editor(stage.hub, stage.peer, 3)
    late.open()
    late.frame(Kind.STEP1, EMPTY_STATE_VECTOR)
    stage.anna.update(stage.anna.type("a"))
    assert stage.acks() == [(1, Ack.ASKED_AGAIN)]
    stage.document.unavailable = False
    stage.document.reloaded()
    told = stage.peer.told()
    assert [n for kind, n, _ in told if kind is Kind.STEP1] == [1, 2, 3]
    assert (Kind.STEP2, 3, EMPTY_UPDATE) in told


def test_who_was_refused_is_not_asked_when_the_document_was_loaded_again(stage: Stage) -> None:
    stage.document.refuse = "it broke the document"
    stage.anna.update(stage.anna.type("a"))
    stage.document.refuse = None
    stage.peer.told()
    stage.document.reloaded()
    assert [n for kind, n, _ in stage.peer.told() if kind is Kind.STEP1] == [2]


@pytest.mark.parametrize(
    "caller, code",
    [
        (msgspec.structs.replace(ANNA, documents=frozenset({"another one!"})), NOT_FOUND),
        (msgspec.structs.replace(ANNA, scopes=frozenset()), FORBIDDEN),
        (msgspec.structs.replace(ANNA, scopes=frozenset({"write"})), FORBIDDEN),
    ],
)
def test_who_may_not_read_gets_no_session_whatever_the_gateway_says(
    caller: Caller, code: int
) -> None:
    hub, peer = EditorHub(FakeDocument(), "abcdefghijkl"), FakePeer()
    hub.join(peer, None)
    peer.told()
    Editor(hub, peer, 1).open(caller)
    ((kind, number, body),) = peer.told()
    assert (kind, number, decode_control(body, Kick).code) == (Kind.KICK, 1, code)
    assert hub.sessions == 0


def test_who_may_only_read_is_refused_edits_whatever_the_gateway_says() -> None:
    document = FakeDocument()
    hub, peer = EditorHub(document, "abcdefghijkl"), FakePeer()
    hub.join(peer, None)
    editor = Editor(hub, peer, 1, "words")
    editor.open(msgspec.structs.replace(ANNA, scopes=frozenset({"read"})), read_only=False)
    editor.frame(Kind.UPDATE, bytes([UpdateKind.UPDATE]), editor.doc.get_update())
    assert document.applied == []


def recast(editor: Editor, caller: Caller, *, read_only: bool = False) -> None:
    editor.frame(Kind.RECAST, pack(Open(caller, read_only, acks=True)))


def test_a_role_taken_back_and_given_again_counts_without_a_new_session(stage: Stage) -> None:
    stage.anna.update(stage.anna.type("kept "))
    recast(stage.anna, msgspec.structs.replace(ANNA, role="viewer"))
    stage.anna.update(stage.anna.type("refused "))
    stage.document.commit()
    assert stage.acks() == [(1, Ack.SAVED), (1, Ack.REFUSED)]
    assert str(stage.document.text) == "kept "
    recast(stage.anna, msgspec.structs.replace(ANNA, role="editor"))
    # What was refused is asked for: it comes without a new edit.
    assert stage.peer.kinds() == [Kind.STEP1]
    stage.anna.step2()
    stage.document.commit()
    assert str(stage.document.text) == "kept refused "
    recast(stage.anna, ANNA)  # nothing that matters changed
    assert Kind.STEP1 not in stage.peer.kinds()


def test_the_last_role_taken_back_ends_the_session(stage: Stage) -> None:
    for number, caller, code in (
        (1, msgspec.structs.replace(ANNA, role=None), close_codes.NOT_FOUND),
        (2, msgspec.structs.replace(BEN, scopes=frozenset()), close_codes.FORBIDDEN),
    ):
        editor = stage.anna if number == 1 else stage.ben
        recast(editor, caller)
        ((kind, told, body),) = [told for told in stage.peer.told() if told[0] is Kind.KICK]
        assert (kind, told, decode_control(body, Kick).code) == (Kind.KICK, number, code)
        recast(editor, ANNA)  # it is gone: this means nothing
        editor.update(editor.type("late"))
    stage.document.commit()
    assert str(stage.document.text) == ""


def test_a_session_is_guarded_until_it_has_brought_something(stage: Stage) -> None:
    typed = stage.anna.type("abc")
    stage.anna.update(EMPTY_UPDATE)
    stage.anna.update(typed)
    stage.anna.update(stage.anna.type("d"))
    assert stage.document.guarded == [True, True, False]
    again = Editor(stage.hub, stage.peer, 9)
    again.frame(Kind.OPEN, pack(Open(ANNA, inserted=True)))
    again.update(again.type("e"))
    assert stage.document.guarded[-1] is False
