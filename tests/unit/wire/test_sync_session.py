"""A y-websocket session as values, fed by clients that mean well and by others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.limits import (
    MAX_AWARENESS_ENTRIES,
    MAX_AWARENESS_FRAME_BYTES,
    MAX_FRAME_BYTES,
    MAX_STEP2_BYTES,
)
from shared.wire import close_codes
from shared.wire.frames import Ack, UpdateKind
from shared.wire.lib0 import var_bytes, var_uint
from shared.wire.sync_session import (
    Apply,
    Awareness,
    Close,
    QueryAwareness,
    Step1,
    SyncSession,
    Value,
)
from shared.wire.y_protocol import (
    AwarenessEntry,
    awareness_message,
    encode_awareness,
    query_awareness_message,
    step1_message,
    step2_message,
    update_message,
)

ENTRY = AwarenessEntry(77, 3, b'{"name":"Ben"}')
PRESENCE = encode_awareness([ENTRY])
MESSAGES: list[tuple[bytes, Value]] = [
    (step1_message(b"\x00"), Step1(b"\x00")),
    (step2_message(b"\x00\x00"), Apply(UpdateKind.STEP_2, b"\x00\x00")),
    (update_message(b"abc"), Apply(UpdateKind.UPDATE, b"abc")),
    (awareness_message(PRESENCE), Awareness((ENTRY,), PRESENCE)),
    (query_awareness_message(), QueryAwareness()),
]


@pytest.mark.parametrize("data,value", MESSAGES)
def test_each_message_is_read(data: bytes, value: Value) -> None:
    assert SyncSession().receive(data) == [value]


@given(st.lists(st.sampled_from(MESSAGES), min_size=1, max_size=8))
def test_several_messages_in_one_frame_are_read_in_order(
    messages: list[tuple[bytes, Value]],
) -> None:
    frame = b"".join(data for data, _ in messages)
    assert SyncSession().receive(frame) == [value for _, value in messages]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00",
        b"\x00\x00",
        b"\x00\x02",
        b"\x00\x02\xff\xff\xff\xff\x0f",
        b"\x00\x05\x00",
        b"\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\xff" * 20,
        b"\x01",
        b"\x01\x00",
        b"\x01\x02\x01\x01",
        awareness_message(PRESENCE + b"\x00"),
    ],
    ids=lambda data: data.hex(),
)
def test_malformed_frames_end_the_session(data: bytes) -> None:
    (value,) = SyncSession().receive(data)
    assert isinstance(value, Close)
    assert value.code == close_codes.MALFORMED


@pytest.mark.parametrize("data", [b"\x05\x01", b"\x63", b"\x66\x01\x02", b"\x02\x00\x02no"])
def test_unknown_types_are_ignored(data: bytes) -> None:
    assert SyncSession().receive(data) == []


def test_what_came_before_a_malformed_message_counts() -> None:
    first, second = SyncSession().receive(update_message(b"abc") + b"\x00\x09\x00")
    assert first == Apply(UpdateKind.UPDATE, b"abc")
    assert isinstance(second, Close)


def test_a_text_frame_ends_the_session() -> None:
    assert SyncSession().text().code == close_codes.NOT_ACCEPTABLE


def test_an_update_has_a_smaller_limit_than_a_step_2() -> None:
    big = bytes(MAX_FRAME_BYTES + 1)
    (refused,) = SyncSession().receive(update_message(big))
    assert isinstance(refused, Close)
    assert refused.code == close_codes.TOO_BIG
    assert SyncSession().receive(step2_message(big)) == [Apply(UpdateKind.STEP_2, big)]


def test_a_step_2_has_a_limit_too() -> None:
    (value,) = SyncSession().receive(step2_message(bytes(MAX_STEP2_BYTES + 1)))
    assert isinstance(value, Close)
    assert value.code == close_codes.TOO_BIG


def test_a_million_awareness_entries_end_the_session() -> None:
    entry = b"\x01\x01\x04null"
    for update in (var_uint(1_000_000), var_uint(1_000_000) + entry * 1_000_000):
        (value,) = SyncSession().receive(b"\x01" + var_bytes(update))
        assert isinstance(value, Close)
        assert value.code in {close_codes.MALFORMED, close_codes.TOO_BIG}


def test_a_client_may_send_back_the_states_of_a_full_room() -> None:
    state = b'{"pad":"' + b"x" * 900 + b'"}'
    room = encode_awareness([AwarenessEntry(n, 1, state) for n in range(MAX_AWARENESS_ENTRIES)])
    assert len(room) <= MAX_AWARENESS_FRAME_BYTES
    (value,) = SyncSession().receive(awareness_message(room))
    assert isinstance(value, Awareness)
    assert len(value.entries) == MAX_AWARENESS_ENTRIES


@given(st.binary(max_size=300))
def test_random_bytes_give_values_and_never_an_exception(data: bytes) -> None:
    values = SyncSession().receive(data)
    assert not any(isinstance(value, Close) for value in values[:-1])


@given(st.sampled_from(MESSAGES), st.data())
def test_a_damaged_message_gives_values_and_never_an_exception(
    message: tuple[bytes, Value], data: st.DataObject
) -> None:
    damaged = bytearray(message[0])
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    SyncSession().receive(bytes(damaged))


def test_only_a_refusal_is_told_on_this_wire() -> None:
    session = SyncSession()
    assert session.acknowledge(Ack.SAVED, "") == []
    assert session.acknowledge(Ack.ASKED_AGAIN, "") == []
    assert session.acknowledge(Ack.REFUSED, "no") == [b"\x02\x00\x02no"]


def test_what_the_document_sends_is_one_message_per_frame() -> None:
    session = SyncSession()
    assert session.step1(b"\x00") == b"\x00\x00\x01\x00"
    assert session.step2(b"\x00\x00") == b"\x00\x01\x02\x00\x00"
    assert session.update(b"abc") == b"\x00\x02\x03abc"
    assert session.awareness(b"\x00") == b"\x01\x01\x00"
    assert session.query_awareness() == b"\x03"
