"""Calls that wait for a change at a gateway: what they cost the document, over a real socket."""

from __future__ import annotations

import anyio
import pytest
from pycrdt import Doc, Text

from actors.document.document_port import Peer
from actors.document.link_server import ServerLink
from shared.wire.frames import Frame, Kind
from tests.integration.wire.actor import Stage, staged, until
from tests.unit.wire.fakes import ANNA

pytestmark = pytest.mark.anyio


async def test_hundreds_who_wait_send_one_frame_and_are_woken_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with staged() as stage:
        await _wait_and_wake(stage, monkeypatch)


async def _wait_and_wake(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    doc: Doc[Text] = Doc()
    doc["text"] = Text("x")
    link = await stage.link()
    received, sent = list[int](), list[int]()
    receive, send = stage.actor.hub.receive, ServerLink.send

    def heard(peer: Peer, frame: Frame) -> None:
        received.append(frame.kind)
        receive(peer, frame)

    def told(self: ServerLink, frame: bytes) -> None:
        if frame[4] != Kind.PONG:
            sent.append(frame[4])
        send(self, frame)

    monkeypatch.setattr(stage.actor.hub, "receive", heard)
    monkeypatch.setattr(ServerLink, "send", told)
    woken = list[bool]()

    async def wait() -> None:
        woken.append(await link.wait_beyond(0, 30))

    async with anyio.create_task_group() as tasks:
        for _ in range(500):
            tasks.start_soon(wait)
        await until(lambda: stage.actor.hub.waiting)
        assert (received, sent) == ([Kind.WAITING], [])
        stage.document.apply(doc.get_update(), ANNA)
        stage.document.commit()
    assert woken == [True] * 500
    assert sent == [Kind.NOTICE]
    await until(lambda: not stage.actor.hub.waiting)
    assert received == [Kind.WAITING, Kind.WAITING]
