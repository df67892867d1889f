from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import InvalidCursor
from shared.feed.cursor import CURSOR_BITS, MAX_SEQ, TAG_BITS, Cursor, CursorCodec

CODEC = CursorCodec(b"secret of one document file")
CURSORS = st.builds(Cursor, st.integers(0, MAX_SEQ), st.booleans(), st.booleans())


@given(CURSORS)
def test_a_cursor_comes_back_as_it_went_and_fits_a_json_number(cursor: Cursor) -> None:
    number = CODEC.encode(cursor)
    assert 0 <= number < 2**CURSOR_BITS
    assert int(float(number)) == number
    assert CODEC.decode(number, head=cursor.seq) == cursor


@given(CURSORS)
def test_the_number_is_seq_cut_part_and_a_tag_of_16_bits(cursor: Cursor) -> None:
    number = CODEC.encode(cursor)
    assert number >> 18 == cursor.seq
    assert number >> 17 & 1 == cursor.cut
    assert number >> 16 & 1 == cursor.part


@given(CURSORS.filter(lambda cursor: cursor.seq > 0))
def test_a_cursor_from_the_future_is_refused(cursor: Cursor) -> None:
    with pytest.raises(InvalidCursor):
        CODEC.decode(CODEC.encode(cursor), head=cursor.seq - 1)


@given(CURSORS)
def test_one_more_and_one_less_are_refused(cursor: Cursor) -> None:
    number = CODEC.encode(cursor)
    for wrong in (number + 1, number - 1):
        if wrong >> TAG_BITS == number >> TAG_BITS:  # the neighbour has the same body
            with pytest.raises(InvalidCursor):
                CODEC.decode(wrong, head=MAX_SEQ)


@given(st.integers(0, MAX_SEQ), st.booleans(), st.booleans())
def test_the_flags_are_under_the_tag(seq: int, cut: bool, part: bool) -> None:
    number = CODEC.encode(Cursor(seq, cut, part))
    twins = [number ^ 1 << 16, number ^ 1 << 17, number ^ 3 << 16]
    refused = 0
    for twin in twins:
        try:
            CODEC.decode(twin, head=MAX_SEQ)
        except InvalidCursor:
            refused += 1
    assert refused >= 2  # each passes once in 65,536


def test_cursors_of_another_document_pass_once_in_65_536() -> None:
    other = CursorCodec(b"secret of another file")
    passed = 0
    for seq in range(2_000):
        try:
            CODEC.decode(other.encode(Cursor(seq)), head=MAX_SEQ)
            passed += 1
        except InvalidCursor:
            pass
    assert passed <= 3


@pytest.mark.parametrize("value", [-1, -(2**60), 2**CURSOR_BITS, 10**30, 1.5, True, "12", None])
def test_what_is_no_whole_number_of_the_right_size_is_refused(value: object) -> None:
    with pytest.raises(InvalidCursor, match=r"^cursor: "):
        CODEC.decode(value, head=MAX_SEQ)  # type: ignore[arg-type]


def test_zero_is_no_cursor_unless_the_document_gave_it() -> None:
    assert CODEC.decode(CODEC.encode(Cursor(0)), head=0) == Cursor(0)
    with pytest.raises(InvalidCursor):
        CODEC.decode(0, head=0)


def test_a_sequence_that_no_longer_fits_is_an_error_not_a_wrong_cursor() -> None:
    with pytest.raises(ValueError, match="fit"):
        CODEC.encode(Cursor(MAX_SEQ + 1))
