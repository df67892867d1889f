"""The Hocuspocus wire, against bytes recorded from the real providers and the reference server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.limits import MAX_ADDRESS_BYTES
from shared.wire.frames import Ack, UpdateKind
from shared.wire.hocuspocus_document import HocuspocusDocument
from shared.wire.hocuspocus_protocol import (
    KEEP_ALIVE,
    PONG,
    SYNC_REFUSED,
    SYNC_SAVED,
    TOKEN_REQUEST,
    Detached,
    Stateless,
    Token,
    addressed,
    authenticated_message,
    close_message,
    document_of,
    permission_denied_message,
    read_frame,
    stateless_message,
)
from shared.wire.lib0 import MalformedMessage, var_string
from shared.wire.sync_session import Apply, Awareness, Step1
from shared.wire.y_protocol import (
    AwarenessEntry,
    query_awareness_message,
    step1_message,
    update_message,
)

VECTORS: Final[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "data" / "hocuspocus_vectors.json").read_text()
)
NAME: Final[str] = VECTORS["name"]
VECTOR: Final = bytes.fromhex(VECTORS["document"]["vector"])
UPDATE: Final = bytes.fromhex(VECTORS["document"]["update"])
PRESENT: Final = AwarenessEntry(77, 1, '{"user":{"name":"Zoë"}}'.encode())
TYPED: Final = bytes.fromhex("01014d04844d030520f09f988000")
MINE: Final = bytes.fromhex("01014d0004010474657874046d696e6500")


@pytest.mark.parametrize(
    "name, message",
    [
        ("authenticated", authenticated_message(read_only=False)),
        ("readonly", authenticated_message(read_only=True)),
        ("permission_denied", permission_denied_message("nicht erlaubt ☹")),
        ("token_request", TOKEN_REQUEST),
        ("step1", step1_message(VECTOR)),
        ("update", update_message(UPDATE)),
        ("query_awareness", query_awareness_message()),
        ("stateless", stateless_message("Größe: 5 €")),
        ("sync_status_1", SYNC_SAVED),
        ("sync_status_0", SYNC_REFUSED),
        ("close", close_message("zu spät")),
    ],
)
def test_what_is_sent_is_what_the_reference_server_sends(name: str, message: bytes) -> None:
    assert addressed(NAME, message).hex() == VECTORS["server"][name]


def test_a_document_sends_the_same_bytes() -> None:
    document, server = HocuspocusDocument(NAME), VECTORS["server"]
    document.began()
    document.passed_on(UpdateKind.UPDATE, sent=True)
    document.passed_on(UpdateKind.UPDATE, sent=True)
    assert document.authenticated(read_only=True).hex() == server["readonly"]
    assert document.step1(VECTOR).hex() == server["step1"]
    assert document.update(UPDATE).hex() == server["update"]
    assert document.query_awareness().hex() == server["query_awareness"]
    assert [m.hex() for m in document.acknowledge(Ack.SAVED, "")] == [server["sync_status_1"]]
    assert [m.hex() for m in document.acknowledge(Ack.REFUSED, "")] == [server["sync_status_0"]]
    assert document.acknowledge(Ack.ASKED_AGAIN, "") == []


@pytest.mark.parametrize("version", ["provider", "provider_3"])
def test_what_providers_send_is_read(version: str) -> None:
    frames = [bytes.fromhex(frame) for frame in VECTORS[version] if frame != PONG.hex()]
    read = [read_frame(frame) for frame in frames]
    assert {address for address, _ in read} == {NAME}
    awareness = [message for _, message in read if isinstance(message, Awareness)]
    assert [one.entries for one in awareness] == [
        (AwarenessEntry(77, 0, b"{}"),),
        (PRESENT,),
        (PRESENT,),
    ]
    assert [message for _, message in read if not isinstance(message, Awareness)] == [
        Token(VECTORS["token"]),
        Step1(bytes.fromhex("014d04")),
        Apply(UpdateKind.STEP_2, MINE),
        Apply(UpdateKind.UPDATE, TYPED),
        Stateless("Größe: 5 €"),
        Step1(bytes.fromhex("014d07")),
        Token(VECTORS["token"]),
        Detached(),
    ]


def test_an_address_with_a_session_comes_back_as_it_was() -> None:
    frames = [bytes.fromhex(frame) for frame in VECTORS["session_aware"]]
    (address,) = {read_frame(frame)[0] for frame in frames}
    assert address == f"{NAME}\x00abc123"
    assert document_of(address) == document_of(NAME) == NAME
    assert addressed(address, frames[0][len(var_string(address)) :]) == frames[0]


def test_a_sign_of_life_is_for_nobody_and_says_nothing() -> None:
    assert read_frame(KEEP_ALIVE) == ("", Awareness((), b"\x00"))


def test_a_token_is_not_shown_by_what_holds_it() -> None:
    assert "secret" not in repr(Token("secret"))


@given(st.text(max_size=50), st.text(max_size=50))
def test_names_and_texts_survive_the_trip(name: str, text: str) -> None:
    for message, value in (
        (b"\x02\x00" + var_string(text), Token(text)),
        (stateless_message(text), Stateless(text)),
        (step1_message(text.encode()), Step1(text.encode())),
    ):
        assert read_frame(addressed(name, message)) == (name, value)


@pytest.mark.parametrize("kind", [4, 6, 8, 9, 10, 11, 99])
def test_types_that_no_client_sends_mean_nothing(kind: int) -> None:
    assert read_frame(addressed(NAME, bytes((kind,)) + b"\x03abc")) == (NAME, None)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x05abc",
        b"\x02\xc3\x28\x00",
        var_string("a"),
        addressed("a", b"\x02"),
        addressed("a", b"\x02\x01\x00"),
        addressed("a", b"\x02\x00\x09short"),
        addressed("a", b"\x00\x02\xff\xff\xff\xff\x0f"),
        addressed("a", b"\x01\x02\x01\x01"),
        addressed("a", b"\x05"),
        addressed("a" * (MAX_ADDRESS_BYTES + 1), b"\x07"),
    ],
    ids=lambda data: data[:12].hex(),
)
def test_what_is_no_frame_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedMessage):
        read_frame(data)
