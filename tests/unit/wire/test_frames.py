"""The link's frames, however the stream is cut."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import Moved, WireError, from_wire
from shared.protocol import RouteKey
from shared.wire.frames import (
    PING_FRAME,
    PONG_FRAME,
    Ack,
    Frame,
    FrameReader,
    Hello,
    Kind,
    Open,
    decode_control,
    encode_ack,
    encode_control,
    encode_frame,
    encode_refusal,
    encode_session,
    split_session,
)
from shared.wire.lib0 import MalformedMessage, var_uint
from tests.unit.wire.fakes import ANNA

KEY = RouteKey("abcdefghijkl", 3, "secret")


def read_all(reader: FrameReader) -> list[Frame]:
    frames = []
    while (frame := reader.next()) is not None:
        frames.append(frame)
    return frames


@given(
    st.lists(st.tuples(st.sampled_from(Kind), st.binary(max_size=300)), max_size=20),
    st.lists(st.integers(1, 400), min_size=1, max_size=20),
)
def test_frames_come_out_as_they_went_in_however_the_stream_is_cut(
    frames: list[tuple[Kind, bytes]], cuts: list[int]
) -> None:
    stream = b"".join(encode_frame(kind, payload) for kind, payload in frames)
    reader = FrameReader(1_000)
    seen: list[Frame] = []
    at = turn = 0
    while at < len(stream):
        step = cuts[turn % len(cuts)]
        reader.feed(stream[at : at + step])
        if turn % 3:  # not every piece is read before the next one comes
            seen += read_all(reader)
        at, turn = at + step, turn + 1
    seen += read_all(reader)
    assert seen == [(kind, payload) for kind, payload in frames]
    assert all(type(frame.payload) is bytes for frame in seen)
    assert reader.buffered == 0


@pytest.mark.parametrize("length", [0, 101, 2**32 - 1])
def test_a_length_out_of_bounds_is_refused_before_the_frame_came(length: int) -> None:
    reader = FrameReader(100)
    reader.feed(length.to_bytes(4, "big"))
    with pytest.raises(MalformedMessage):
        reader.next()


def test_the_limit_may_be_raised_between_frames() -> None:
    reader = FrameReader(10)
    reader.feed(encode_frame(Kind.PING) + encode_frame(Kind.UPDATE, b"x" * 50))
    assert reader.next() == (Kind.PING, b"")
    reader.limit = 100
    assert reader.next() == (Kind.UPDATE, b"x" * 50)


def test_a_hello_keeps_its_route_key() -> None:
    hello = Hello(KEY, "gateway-1", 17)
    reader = FrameReader(1_000)
    reader.feed(encode_control(Kind.HELLO, hello))
    frame = reader.next()
    assert frame is not None
    assert frame.kind == Kind.HELLO
    assert decode_control(frame.payload, Hello) == hello


def test_a_session_frame_names_its_session() -> None:
    frame = encode_session(Kind.UPDATE, 300, b"\x02", b"update")
    assert split_session(frame[5:]) == (300, b"\x02update")
    acked = encode_ack(7, Ack.REFUSED, "read only ☹")
    assert split_session(acked[5:]) == (7, b"\x00" + "read only ☹".encode())


def test_an_error_crosses_as_the_error_it_was() -> None:
    refusal = encode_refusal(Moved("elsewhere", epoch=4).to_wire())
    error = from_wire(decode_control(refusal[5:], WireError))
    assert isinstance(error, Moved)
    assert (error.message, error.data) == ("elsewhere", {"epoch": 4})


@given(st.binary(max_size=100))
def test_random_control_payloads_are_read_or_refused(payload: bytes) -> None:
    for kind in (Hello, Open, WireError):
        with contextlib.suppress(MalformedMessage):
            decode_control(payload, kind)


def test_a_caller_crosses_whole() -> None:
    opened = Open(ANNA, read_only=True, acks=True)
    assert decode_control(encode_control(Kind.OPEN, opened)[5:], Open) == opened


def test_pings_are_frames_without_payload() -> None:
    reader = FrameReader(10)
    reader.feed(PING_FRAME + PONG_FRAME)
    assert read_all(reader) == [(Kind.PING, b""), (Kind.PONG, b"")]


def test_an_empty_data_frame_is_refused() -> None:
    with pytest.raises(MalformedMessage):
        split_session(b"")
    assert split_session(var_uint(5)) == (5, b"")
