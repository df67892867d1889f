"""The Python editor's channel: what of the Hocuspocus wire reaches pycrdt's provider, and back."""

from __future__ import annotations

from collections import deque

import pytest
from httpx_ws import WebSocketDisconnect, WebSocketNetworkError
from pycrdt import Channel, Doc, Text, handle_sync_message

from gateway.client.document_channel import DocumentChannel
from shared.wire.hocuspocus_protocol import (
    KEEP_ALIVE,
    PING,
    PONG,
    SYNC_REFUSED,
    SYNC_SAVED,
    TOKEN_REQUEST,
    addressed,
    authenticated_message,
    close_message,
    permission_denied_message,
    stateless_message,
)
from shared.wire.lib0 import var_string
from shared.wire.y_protocol import (
    EMPTY_STATE_VECTOR,
    EMPTY_UPDATE,
    awareness_message,
    query_awareness_message,
    step1_message,
    step2_message,
    update_message,
)

pytestmark = pytest.mark.anyio

NAME = "Übung"
TOKEN = b"\x02\x00" + var_string("secret")


class Wire(Channel):
    """A socket's two ends: what is sent stands in `sent`; `frames`, then `end`, is received."""

    def __init__(self, end: Exception) -> None:
        self.sent: list[bytes] = []
        self.frames: deque[bytes] = deque()
        self.broken = False
        self._end = end

    @property
    def path(self) -> str:
        return "ws://nowhere"

    async def send(self, message: bytes) -> None:
        if self.broken:
            raise WebSocketNetworkError
        self.sent.append(message)

    async def recv(self) -> bytes:
        if self.frames:
            return self.frames.popleft()
        raise self._end


class Heard:
    """What the channel told, in order."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def opened(self, *, read_only: bool) -> None:
        self.told.append("readonly" if read_only else "read-write")

    def edit_saved(self) -> None:
        self.told.append("saved")

    def edit_refused(self) -> None:
        self.told.append("refused")

    def states_told(self, update: bytes) -> None:
        self.told.append(update)

    def presence_asked(self) -> None:
        self.told.append("who?")


class Stage:
    """A channel between a wire and a document that is changed on both sides."""

    def __init__(self, end: Exception | None = None) -> None:
        self.wire = Wire(end or WebSocketDisconnect(1012))
        self.heard = Heard()
        self.channel = DocumentChannel(self.wire, NAME, "secret", self.heard)
        self.doc: Doc[Text] = Doc()
        self.text = self.doc.get("t", type=Text)
        self.changes: list[bytes] = []  # as the provider's stream has them
        self.remote: list[bool] = []
        self._subscription = self.doc.observe(lambda event: self._changed(event.update))

    def _changed(self, update: bytes) -> None:
        self.remote.append(self.channel.observed(update))
        self.changes.append(update)

    async def receive(self, *messages: bytes, to: str = NAME) -> None:
        """Has the provider take in all of them."""
        self.wire.frames.extend(addressed(to, message) for message in messages)
        async for message in self.channel:
            handle_sync_message(message[1:], self.doc)

    async def send_changes(self) -> list[bytes]:
        """Has the provider send what changed; what of it reached the wire."""
        before = len(self.wire.sent)
        for update in self.changes:
            await self.channel.send(update_message(update))
        self.changes.clear()
        return self.wire.sent[before:]


def typed_elsewhere(words: str) -> bytes:
    doc: Doc[Text] = Doc()
    doc["t"] = Text(words)
    return doc.get_update()


async def test_the_token_goes_first_and_again_when_asked_for() -> None:
    stage = Stage()
    await stage.channel.authenticate()
    await stage.receive(TOKEN_REQUEST, authenticated_message(read_only=False))
    assert stage.wire.sent == [addressed(NAME, TOKEN)] * 2
    assert stage.heard.told == ["read-write"]
    assert stage.channel.refusal is None


async def test_a_refusal_is_the_end_and_says_why() -> None:
    stage = Stage()
    await stage.receive(permission_denied_message("doc_not_found"), update_message(EMPTY_UPDATE))
    assert stage.channel.refusal == "doc_not_found"
    assert stage.channel.ended.is_set()
    assert len(stage.wire.frames) == 1


async def test_what_came_from_the_server_is_not_sent_back() -> None:
    stage = Stage()
    await stage.receive(step2_message(typed_elsewhere("theirs")))
    stage.text += " and mine"
    assert stage.remote == [True, False]
    mine = stage.changes[1]
    assert await stage.send_changes() == [addressed(NAME, update_message(mine))]


async def test_saved_is_said_when_the_last_of_all_edits_is() -> None:
    stage = Stage()
    await stage.channel.send(step1_message(EMPTY_STATE_VECTOR))
    stage.text += "one"
    stage.text += "two"
    assert len(await stage.send_changes()) == 2
    await stage.receive(SYNC_SAVED, SYNC_SAVED)
    assert stage.heard.told == []
    await stage.receive(SYNC_SAVED)
    assert stage.heard.told == ["saved"]


async def test_what_was_typed_and_not_sent_yet_is_not_saved() -> None:
    stage = Stage()
    await stage.channel.send(step1_message(EMPTY_STATE_VECTOR))
    stage.text += "typed while the answer was under way"
    await stage.receive(SYNC_SAVED)
    assert stage.heard.told == []
    await stage.send_changes()
    await stage.receive(SYNC_SAVED)
    assert stage.heard.told == ["saved"]


async def test_what_was_typed_before_the_sync_is_saved_with_it() -> None:
    stage = Stage()
    stage.text += "typed offline"
    await stage.channel.send(step1_message(EMPTY_STATE_VECTOR))
    await stage.receive(SYNC_SAVED)
    assert stage.heard.told == ["saved"]


async def test_a_refused_edit_is_never_called_saved() -> None:
    stage = Stage()
    await stage.channel.send(step1_message(EMPTY_STATE_VECTOR))
    stage.text += "not mine to write"
    await stage.send_changes()
    await stage.receive(SYNC_REFUSED, SYNC_SAVED)
    assert stage.heard.told == ["refused"]


async def test_presence_and_questions_about_it_are_told_and_the_rest_passed_over() -> None:
    stage = Stage()
    await stage.receive(
        awareness_message(b"\x00"), query_awareness_message(), stateless_message("x"), b"\x63"
    )
    assert stage.heard.told == [b"\x00", "who?"]


async def test_frames_of_others_are_signs_of_life_and_a_ping_is_answered() -> None:
    stage = Stage()
    await stage.receive(permission_denied_message("unauthenticated"), to="another")
    stage.wire.frames.extend((KEEP_ALIVE, PONG, PING))
    await stage.receive()
    assert stage.wire.sent == [PONG]
    assert stage.channel.refusal is None


@pytest.mark.parametrize(
    "end, code",
    [(WebSocketDisconnect(4503), 4503), (WebSocketNetworkError(), None), (OSError(), None)],
)
async def test_an_end_of_the_socket_ends_the_channel(end: Exception, code: int | None) -> None:
    stage = Stage(end)
    await stage.receive()
    assert stage.channel.ended.is_set()
    assert stage.channel.code == code


@pytest.mark.parametrize("frame", [b"", b"\xff", addressed(NAME, b""), addressed(NAME, b"\x02")])
async def test_what_no_server_of_this_wire_sends_ends_the_channel(frame: bytes) -> None:
    stage = Stage()
    stage.wire.frames.append(frame)
    await stage.receive()
    assert stage.channel.ended.is_set()
    assert stage.channel.code is None


async def test_a_document_that_the_server_closes_ends_the_channel() -> None:
    stage = Stage()
    await stage.receive(close_message("bye"), update_message(EMPTY_UPDATE))
    assert len(stage.wire.frames) == 1


async def test_sending_over_a_broken_socket_ends_the_channel_and_raises_nothing() -> None:
    stage = Stage()
    stage.wire.broken = True
    stage.text += "kept in the document"
    await stage.send_changes()
    assert stage.channel.ended.is_set()
