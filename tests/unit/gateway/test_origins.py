"""Websockets of strangers' pages, against the whole application."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.types import Message, Scope

from gateway.app import create_app
from gateway.settings import Settings
from shared.wire import close_codes
from tests.unit.gateway.fakes import FakeRouter

pytestmark = pytest.mark.anyio


async def connect(
    app: Starlette,
    headers: dict[str, str],
    *,
    answers: bool = False,
    again: tuple[str, str] | None = None,
    kind: str = "websocket",
) -> list[Message]:
    """What a client that opens a websocket and says nothing is sent. `again`: a header more."""
    scope: Scope = {
        "type": kind,
        "method": "GET",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": "ws",
        "path": "/collab/nothing",
        "raw_path": b"/collab/nothing",
        "query_string": b"",
        "root_path": "",
        "headers": [
            (name.encode(), value.encode())
            for name, value in [
                *{"host": "127.0.0.1:8000", **headers}.items(),
                *((again,) if again else ()),
            ]
        ],
        "client": ("127.0.0.1", 5),
        "server": ("127.0.0.1", 8000),
        "subprotocols": [],
        "extensions": {"websocket.http.response": {}} if answers else {},
    }
    sent: list[Message] = []
    first = {"type": "websocket.connect"} if kind == "websocket" else {"type": "http.request"}
    messages = iter([first])

    async def receive() -> Message:
        return next(messages, {"type": "websocket.disconnect", "code": 1006})

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"host": "evil.example"},
    ],
)
async def test_a_strangers_page_opens_no_socket(
    router: FakeRouter, headers: dict[str, str]
) -> None:
    app = create_app(Settings(no_auth=True), router)
    (answer,) = await connect(app, headers)
    assert answer["type"] == "websocket.close"
    start, *body = await connect(app, headers, answers=True)
    assert start["type"] == "websocket.http.response.start"
    assert start["status"] == (421 if "host" in headers else 403)
    assert [message["type"] for message in body] == ["websocket.http.response.body"]


@pytest.mark.parametrize("kind", ["websocket", "http"])
@pytest.mark.parametrize(
    "first, again, status",
    [
        ({}, ("host", "evil.example"), 421),
        ({}, ("Host", "127.0.0.1:8000"), 421),
        ({"origin": "http://127.0.0.1:8000"}, ("origin", "https://evil.example"), 403),
    ],
)
async def test_what_is_said_twice_is_refused(
    router: FakeRouter, kind: str, first: dict[str, str], again: tuple[str, str], status: int
) -> None:
    app = create_app(Settings(no_auth=True), router)
    start, *_ = await connect(app, first, answers=True, again=again, kind=kind)
    assert start["type"].endswith("http.response.start" if kind == "websocket" else "start")
    assert start["status"] == status


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "http://127.0.0.1:8000"},
        {"origin": "http://localhost:3000"},
        {"origin": "https://docs.example"},
    ],
)
async def test_others_get_as_far_as_the_document(
    router: FakeRouter, headers: dict[str, str]
) -> None:
    settings = Settings(no_auth=True, allowed_origins=("https://docs.example",))
    accepted, closed = await connect(create_app(settings, router), headers)
    assert accepted["type"] == "websocket.accept"
    assert closed["code"] == close_codes.NOT_FOUND


async def test_the_public_address_is_one_of_ours(router: FakeRouter) -> None:
    settings = Settings(public_url="https://docs.example", behind_proxy=True)
    headers = {"host": "docs.example", "origin": "https://docs.example"}
    accepted, closed = await connect(create_app(settings, router), headers)
    assert accepted["type"] == "websocket.accept"
    assert closed["code"] == close_codes.UNAUTHENTICATED
