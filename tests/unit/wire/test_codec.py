"""lib0 and y-protocols, against bytes made by the JavaScript originals."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.wire import y_protocol
from shared.wire.lib0 import (
    MAX_VAR_UINT,
    Decoder,
    MalformedMessage,
    var_bytes,
    var_string,
    var_uint,
)
from shared.wire.y_protocol import (
    AwarenessEntry,
    check_states,
    decode_awareness,
    encode_awareness,
)

VECTORS: Final[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "data" / "y_wire_vectors.json").read_text()
)
ENTRIES: Final = st.lists(
    st.builds(
        AwarenessEntry,
        client=st.integers(0, 2**53 - 1),
        clock=st.integers(0, 2**32 - 1),
        state=st.none()
        | st.dictionaries(st.text(), st.text() | st.integers()).map(
            lambda state: json.dumps(state).encode()
        ),
    ),
    max_size=20,
)


@pytest.mark.parametrize("case", VECTORS["var_uint"], ids=lambda case: str(case["value"]))
def test_var_uints_are_those_of_lib0(case: dict[str, Any]) -> None:
    data = bytes.fromhex(case["bytes"])
    assert var_uint(case["value"]) == data
    decoder = Decoder(data)
    assert (decoder.var_uint(), decoder.done) == (case["value"], True)


@pytest.mark.parametrize("case", VECTORS["var_string"], ids=lambda case: ascii(case["value"][:9]))
def test_var_strings_are_those_of_lib0(case: dict[str, Any]) -> None:
    data = bytes.fromhex(case["bytes"])
    assert var_string(case["value"]) == data
    decoder = Decoder(data)
    assert (decoder.var_string(), decoder.done) == (case["value"], True)


@pytest.mark.parametrize("case", VECTORS["var_bytes"], ids=lambda case: str(len(case["bytes"])))
def test_byte_arrays_are_those_of_lib0(case: dict[str, Any]) -> None:
    data, value = bytes.fromhex(case["bytes"]), bytes.fromhex(case["value"])
    assert var_bytes(value) == data
    assert Decoder(data).var_bytes() == value


@pytest.mark.parametrize(
    "name,encode",
    [
        ("step1", y_protocol.step1_message),
        ("step1_empty", y_protocol.step1_message),
        ("step2", y_protocol.step2_message),
        ("step2_empty", y_protocol.step2_message),
        ("update", y_protocol.update_message),
    ],
)
def test_sync_messages_are_those_of_y_protocols(name: str, encode: Any) -> None:
    case = VECTORS["messages"][name]
    assert encode(bytes.fromhex(case["body"])) == bytes.fromhex(case["bytes"])


def test_other_messages_are_those_of_y_protocols() -> None:
    denied = VECTORS["messages"]["permission_denied"]
    query = VECTORS["messages"]["query_awareness"]
    assert y_protocol.permission_denied_message(denied["body"]).hex() == denied["bytes"]
    assert y_protocol.query_awareness_message().hex() == query["bytes"]


@pytest.mark.parametrize("case", VECTORS["awareness"], ids=lambda case: case["update"][:12])
def test_awareness_updates_are_those_of_y_protocols(case: dict[str, Any]) -> None:
    update = bytes.fromhex(case["update"])
    expected = [
        AwarenessEntry(
            entry["client"],
            entry["clock"],
            None if entry["state"] is None else entry["state"].encode(),
        )
        for entry in case["entries"]
    ]
    entries = decode_awareness(update, 10)
    check_states(entries)
    assert entries == expected
    assert encode_awareness(entries) == update
    assert y_protocol.awareness_message(update).hex() == case["message"]


@given(st.integers(0, MAX_VAR_UINT))
def test_a_var_uint_survives_the_trip(value: int) -> None:
    assert Decoder(var_uint(value)).var_uint() == value


@given(st.text(), st.binary())
def test_strings_and_bytes_survive_the_trip(text: str, data: bytes) -> None:
    decoder = Decoder(var_string(text) + var_bytes(data) + b"rest")
    assert (decoder.var_string(), decoder.var_bytes(), decoder.rest()) == (text, data, b"rest")
    assert decoder.done


@given(ENTRIES)
def test_awareness_survives_the_trip(entries: list[AwarenessEntry]) -> None:
    assert decode_awareness(encode_awareness(entries), 20) == entries


@given(ENTRIES.filter(bool), st.data())
def test_no_prefix_of_an_awareness_update_is_one(
    entries: list[AwarenessEntry], data: st.DataObject
) -> None:
    update = encode_awareness(entries)
    cut = data.draw(st.integers(0, len(update) - 1))
    with pytest.raises(MalformedMessage):
        decode_awareness(update[:cut], 20)


@given(st.binary(max_size=200))
def test_random_bytes_are_read_or_refused(data: bytes) -> None:
    for read in (Decoder.var_uint, Decoder.var_string, Decoder.var_bytes, Decoder.byte):
        with contextlib.suppress(MalformedMessage):
            read(Decoder(data))
    with contextlib.suppress(MalformedMessage):
        check_states(decode_awareness(data, 100))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80",
        b"\xff" * 9,
        b"\xff" * 10,
        b"\xff" * 9 + b"\x02",
        b"\x80" * 10_000 + b"\x01",
    ],
)
def test_numbers_that_end_early_or_are_huge_are_refused(data: bytes) -> None:
    with pytest.raises(MalformedMessage):
        Decoder(data).var_uint()


def test_the_largest_number_is_sixty_four_bits() -> None:
    assert Decoder(b"\xff" * 9 + b"\x01").var_uint() == 2**64 - 1


def test_a_claimed_length_is_checked_before_anything_is_cut() -> None:
    with pytest.raises(MalformedMessage, match="beyond"):
        Decoder(b"\xff\xff\xff\xff\x0f").var_bytes()


def test_a_string_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(MalformedMessage, match="UTF-8"):
        Decoder(b"\x02\xc3\x28").var_string()


def test_an_awareness_update_with_too_many_entries_is_refused_unread() -> None:
    with pytest.raises(MalformedMessage, match="too many"):
        decode_awareness(var_uint(1_000_000), 1_000)


@pytest.mark.parametrize(
    "state",
    [b"", b"5", b'"x"', b"[]", b"{", b"{'a': 1}", b'{"a": NaN}', b'{"a": "\xff"}', b"[" * 60_000],
)
def test_a_state_that_would_break_other_clients_is_refused(state: bytes) -> None:
    with pytest.raises(MalformedMessage):
        check_states([AwarenessEntry(1, 1, state)])


@pytest.mark.parametrize("state", [b'{"name": "half \\ud83d"}', b'{"n": 1e400}', b" {} "])
def test_what_javascript_parses_is_a_state(state: bytes) -> None:
    check_states([AwarenessEntry(1, 1, state)])
