"""Requests that are too long, or whose client has gone, against real ASGI calls."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from starlette.applications import Starlette
from starlette.types import Message, Receive, Scope, Send

from gateway.mcp.cancel import CancelOnDisconnect
from tests.unit.gateway.fakes import OWNER, FakeRouter

pytestmark = pytest.mark.anyio


class Call:
    """One ASGI request, message by message. What is not sent yet is waited for."""

    def __init__(self, method: str = "POST", path: str = "/", **headers: str) -> None:
        self.scope: Scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [
                (name.replace("_", "-").lower().encode(), value.encode())
                for name, value in {"host": "127.0.0.1:8000", **headers}.items()
            ],
            "client": ("127.0.0.1", 5),
            "server": ("127.0.0.1", 8000),
        }
        self.sent: list[Message] = []
        self._feed, self._messages = anyio.create_memory_object_stream[Message](10)

    def send_body(self, *parts: bytes) -> None:
        for number, part in enumerate(parts, 1):
            more = number < len(parts)
            self._feed.send_nowait({"type": "http.request", "body": part, "more_body": more})

    def leave(self) -> None:
        self._feed.send_nowait({"type": "http.disconnect"})

    async def receive(self) -> Message:
        return await self._messages.receive()

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    async def run(self, app: Any) -> None:
        with self._feed, self._messages:
            await app(self.scope, self.receive, self.send)

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])


class Recorder:
    """An application that keeps what it was given and then waits, or answers."""

    def __init__(self, *, waits: bool) -> None:
        self.waits = waits
        self.bodies: list[bytes] = []
        self.waiting = anyio.Event()
        self.cancelled = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.bodies.append((await receive())["body"])
        if self.waits:
            self.waiting.set()
            try:
                await receive()
            except anyio.get_cancelled_exc_class():
                self.cancelled = True
                raise
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"done"})


async def test_the_application_gets_the_whole_body_at_once() -> None:
    app = Recorder(waits=False)
    call = Call()
    call.send_body(b"one", b"", b"two")
    await call.run(CancelOnDisconnect(app))
    assert app.bodies == [b"onetwo"]
    assert call.sent[-1]["body"] == b"done"


async def test_a_client_that_leaves_cancels_its_request() -> None:
    app = Recorder(waits=True)
    call = Call()
    call.send_body(b"x")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call.run, CancelOnDisconnect(app))
        await app.waiting.wait()
        call.leave()
    assert app.cancelled
    assert call.sent == []


async def test_a_body_cut_half_way_never_reaches_the_application() -> None:
    app = Recorder(waits=False)
    call = Call()
    call._feed.send_nowait({"type": "http.request", "body": b"ha", "more_body": True})
    call.leave()
    await call.run(CancelOnDisconnect(app))
    assert app.bodies == []


@pytest.mark.parametrize("declared", [{}, {"content_length": "11"}, {"content_length": "9" * 40}])
async def test_a_body_over_the_limit_is_refused(declared: dict[str, str]) -> None:
    app = Recorder(waits=False)
    call = Call(**declared)
    call.send_body(b"12345", b"678901")
    await call.run(CancelOnDisconnect(app, limit=10))
    assert call.status == 413
    assert b"too_large" in call.sent[1]["body"]
    assert app.bodies == []


async def test_a_body_at_the_limit_is_taken() -> None:
    app = Recorder(waits=False)
    call = Call(content_length="10")
    call.send_body(b"1234567890")
    await call.run(CancelOnDisconnect(app, limit=10))
    assert call.status == 200


WIRES = {
    "2025-06-18": {"mcp_protocol_version": "2025-06-18"},
    "2026-07-28": {
        "mcp_protocol_version": "2026-07-28",
        "mcp_method": "tools/call",
        "mcp_name": "read_changes",
    },
}


@pytest.mark.parametrize("wire", WIRES)
async def test_a_waiting_tool_ends_when_its_client_leaves(
    app: Starlette, router: FakeRouter, wire: str
) -> None:
    made = await router.directory("create_document", OWNER, "Plan", None, (), None)
    link = router.document("plan").link
    body = (
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_changes",'
        f'"arguments":{{"doc_id":"plan","cursor":{made.cursor},"wait_s":50}},"_meta":{{'
        '"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
        '"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},'
        '"io.modelcontextprotocol/clientCapabilities":{}}}}'
    )
    call = Call(
        path="/mcp",
        authorization="Bearer reader-token",
        content_type="application/json",
        accept="application/json, text/event-stream",
        **WIRES[wire],
    )
    call.send_body(body.encode())
    async with app.router.lifespan_context(app), anyio.create_task_group() as tasks:
        tasks.start_soon(call.run, app)
        with anyio.fail_after(10):
            while not link.waiting:
                await anyio.lowlevel.checkpoint()
            call.leave()
            while link.waiting:
                await anyio.lowlevel.checkpoint()
    assert call.sent == []
