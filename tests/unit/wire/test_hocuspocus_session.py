"""A Hocuspocus socket as values: who may speak, what waits, and what nobody should send."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.limits import (
    MAX_FRAME_BYTES,
    MAX_SOCKET_DOCUMENTS,
    MAX_WAITING_BYTES,
    MAX_WAITING_FRAMES,
)
from shared.wire import close_codes
from shared.wire.frames import UpdateKind
from shared.wire.hocuspocus_protocol import (
    PING,
    PONG,
    addressed,
    permission_denied_message,
    stateless_message,
)
from shared.wire.hocuspocus_session import (
    Authenticate,
    Event,
    HocuspocusSession,
    Left,
    Reply,
    Said,
)
from shared.wire.lib0 import var_string
from shared.wire.sync_session import Apply, Close, QueryAwareness, Step1, Value
from shared.wire.y_protocol import query_awareness_message, step1_message, update_message

STEP1 = step1_message(b"\x00")
DETACH = b"\x07"


def token(text: str = "t") -> bytes:
    return b"\x02\x00" + var_string(text)


@pytest.fixture
def session() -> HocuspocusSession:
    return HocuspocusSession()


def ask(session: HocuspocusSession, address: str = "doc", text: str = "t") -> int:
    (asked,) = session.receive(addressed(address, token(text)))
    assert isinstance(asked, Authenticate)
    assert (asked.address, asked.token) == (address, text)
    return asked.ticket


def admit(session: HocuspocusSession, address: str, ticket: int) -> list[Value]:
    """What waited."""
    found = []
    while (value := session.next_waiting(address)) is not None:
        found.append(value)
    assert session.admitted(address, ticket)
    return found


def update(text: bytes) -> Apply:
    return Apply(UpdateKind.UPDATE, text)


def test_frames_wait_in_order_for_their_document(session: HocuspocusSession) -> None:
    ticket = ask(session)
    assert session.receive(addressed("doc", STEP1)) == []
    assert session.receive(addressed("doc", update_message(b"one"))) == []
    assert session.next_waiting("doc") == Step1(b"\x00")
    assert session.receive(addressed("doc", update_message(b"two"))) == []
    assert admit(session, "doc", ticket) == [update(b"one"), update(b"two")]
    assert session.receive(addressed("doc", STEP1)) == [Said("doc", Step1(b"\x00"))]


def test_a_document_is_asked_for_by_its_name_alone(session: HocuspocusSession) -> None:
    (asked,) = session.receive(addressed("Übung\x00abc", token("")))
    assert isinstance(asked, Authenticate)
    assert (asked.address, asked.ref, asked.token) == ("Übung\x00abc", "Übung", "")
    assert "secret" not in repr(session.receive(addressed("doc", token("secret"))))


def test_documents_do_not_wait_for_each_other(session: HocuspocusSession) -> None:
    first, second = ask(session, "a"), ask(session, "b")
    session.receive(addressed("a", STEP1))
    assert admit(session, "b", second) == []
    assert session.receive(addressed("b", STEP1)) == [Said("b", Step1(b"\x00"))]
    assert admit(session, "a", first) == [Step1(b"\x00")]


@pytest.mark.parametrize("message", [STEP1, DETACH, query_awareness_message()])
def test_what_comes_without_a_token_is_dropped(session: HocuspocusSession, message: bytes) -> None:
    assert session.receive(addressed("doc", message)) == []
    assert session.documents == 0


def test_after_a_refusal_the_document_may_be_asked_for_again(session: HocuspocusSession) -> None:
    ticket = ask(session, text="wrong")
    session.receive(addressed("doc", STEP1))
    assert session.refused("doc", ticket)
    assert session.receive(addressed("doc", STEP1)) == []
    assert session.documents == 0
    assert admit(session, "doc", ask(session)) == []


def test_an_answer_that_was_overtaken_means_nothing(session: HocuspocusSession) -> None:
    old = ask(session)
    session.receive(addressed("doc", STEP1))
    new = ask(session, text="another")
    assert not session.admitted("doc", old)
    assert not session.refused("doc", old)
    assert admit(session, "doc", new) == [Step1(b"\x00")]


def test_a_new_token_makes_frames_wait_again(session: HocuspocusSession) -> None:
    admit(session, "doc", ask(session))
    ticket = ask(session, text="newer")
    assert session.receive(addressed("doc", STEP1)) == []
    assert admit(session, "doc", ticket) == [Step1(b"\x00")]


def test_who_detaches_is_gone_whether_let_in_or_not(session: HocuspocusSession) -> None:
    ticket = ask(session)
    assert session.receive(addressed("doc", DETACH)) == [Left("doc")]
    assert not session.admitted("doc", ticket)
    admit(session, "doc", ask(session))
    assert session.receive(addressed("doc", DETACH)) == [Left("doc")]
    assert session.receive(addressed("doc", STEP1)) == []


def test_a_session_that_the_server_ended_begins_with_a_token(session: HocuspocusSession) -> None:
    admit(session, "doc", ask(session))
    session.ended("doc")
    assert session.receive(addressed("doc", STEP1)) == []
    ask(session)


@pytest.mark.parametrize("name", ["", "  ", "\x00abc", " \x00abc"])
def test_a_document_without_a_name_is_refused(session: HocuspocusSession, name: str) -> None:
    denied = addressed(name, permission_denied_message("doc_not_found"))
    assert session.receive(addressed(name, token())) == [Reply(denied)]


def test_a_socket_takes_so_many_documents(session: HocuspocusSession) -> None:
    for number in range(MAX_SOCKET_DOCUMENTS):
        ask(session, f"doc{number}")
    (refused,) = session.receive(addressed("one more", token()))
    assert isinstance(refused, Reply)
    session.receive(addressed("doc0", DETACH))
    ask(session, "one more")


def test_what_waits_is_bounded_in_bytes_for_all_documents_together(
    session: HocuspocusSession,
) -> None:
    big = update_message(bytes(MAX_WAITING_BYTES // 2))
    first, _ = ask(session, "a"), ask(session, "b")
    assert session.receive(addressed("a", big)) == []
    assert admit(session, "a", first) == [update(bytes(MAX_WAITING_BYTES // 2))]
    for _ in range(3):
        assert session.receive(addressed("a", big)) == [
            Said("a", update(bytes(MAX_WAITING_BYTES // 2)))
        ]
    assert session.receive(addressed("b", big)) == []
    (closed,) = session.receive(addressed("b", big))
    assert isinstance(closed, Close)
    assert closed.code == close_codes.TRY_AGAIN


def test_what_waits_is_bounded_in_frames(session: HocuspocusSession) -> None:
    ask(session)
    told: list[Event] = []
    for _ in range(MAX_WAITING_FRAMES + 1):
        told += session.receive(addressed("doc", query_awareness_message()))
    (closed,) = told
    assert isinstance(closed, Close)
    assert closed.code == close_codes.TRY_AGAIN


def test_pings_are_answered_and_pongs_are_not(session: HocuspocusSession) -> None:
    assert session.receive(PING) == [Reply(PONG)]
    assert session.receive(PONG) == []


@pytest.mark.parametrize("message", [stateless_message("hi"), b"\x06\x02hi", b"\x63\x01"])
def test_what_is_not_known_costs_nothing(session: HocuspocusSession, message: bytes) -> None:
    admit(session, "doc", ask(session))
    assert session.receive(addressed("doc", message)) == []
    assert session.receive(addressed("doc", STEP1)) == [Said("doc", Step1(b"\x00"))]


@pytest.mark.parametrize(
    "data, code",
    [
        (b"", close_codes.MALFORMED),
        (b"\x03do", close_codes.MALFORMED),
        (addressed("doc", b"\x00\x07\x00"), close_codes.MALFORMED),
        (addressed("doc", update_message(bytes(MAX_FRAME_BYTES + 1))), close_codes.TOO_BIG),
    ],
    ids=["empty", "cut", "step", "big"],
)
def test_a_broken_protocol_ends_the_socket(
    session: HocuspocusSession, data: bytes, code: int
) -> None:
    admit(session, "doc", ask(session))
    (closed,) = session.receive(data)
    assert isinstance(closed, Close)
    assert closed.code == code
    assert session.text().code == close_codes.NOT_ACCEPTABLE


ADDRESSES = st.sampled_from(["a", "b", "a\x00s"])
MESSAGES = st.sampled_from([token(), STEP1, update_message(b"u"), DETACH, stateless_message("s")])


@given(st.lists(st.binary(max_size=80) | st.builds(addressed, ADDRESSES, MESSAGES), max_size=20))
def test_random_frames_give_events_and_never_an_exception(frames: list[bytes]) -> None:
    session = HocuspocusSession()
    for frame in frames:
        for event in session.receive(frame):
            assert isinstance(event, Authenticate | Said | Left | Reply | Close)


@given(st.builds(addressed, ADDRESSES, MESSAGES), st.data())
def test_a_damaged_frame_gives_events_and_never_an_exception(
    frame: bytes, data: st.DataObject
) -> None:
    damaged = bytearray(frame)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    session = HocuspocusSession()
    admit(session, "a", ask(session, "a"))
    session.receive(bytes(damaged))


STEPS = st.lists(
    st.tuples(ADDRESSES, st.sampled_from(["token", "update", "detach", "admit", "refuse"])),
    max_size=60,
)


@given(STEPS)
def test_every_frame_of_an_admitted_document_comes_out_once_and_in_order(
    steps: list[tuple[str, str]],
) -> None:
    """Against a model: what was sent since a document's token, until it is refused or left."""
    session = HocuspocusSession()
    tickets: dict[str, int] = {}
    due: dict[str, deque[Value]] = {}
    for number, (address, step) in enumerate(steps):
        if step == "token":
            tickets[address] = ask(session, address)
            due.setdefault(address, deque())
        elif step == "detach":
            left = session.receive(addressed(address, DETACH))
            assert left == ([Left(address)] if address in due else [])
            tickets.pop(address, None), due.pop(address, None)
        elif step == "update":
            value = update(b"%d" % number)
            said = session.receive(addressed(address, update_message(value.update)))
            if address in tickets:
                assert said == []
                due[address].append(value)
            else:
                assert said == ([Said(address, value)] if address in due else [])
        elif address in tickets:
            ticket = tickets.pop(address)
            if step == "admit":
                assert admit(session, address, ticket) == list(due[address])
                due[address].clear()
            else:
                assert session.refused(address, ticket)
                del due[address]
        assert session.documents == len(due)


def test_a_query_waits_like_any_frame(session: HocuspocusSession) -> None:
    ticket = ask(session)
    session.receive(addressed("doc", query_awareness_message()))
    assert admit(session, "doc", ticket) == [QueryAwareness()]
