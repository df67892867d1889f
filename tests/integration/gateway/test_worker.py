"""A gateway process around its server: the order, Ray's handlers, the stop."""

from __future__ import annotations

import io
import os
import random
import signal
import threading

import anyio
import httpx
import msgspec
import pytest

from gateway.app import create_app
from gateway.server.serving import GatewayServer, server_config
from gateway.settings import Settings
from gateway.worker import WorkerOrder, join_ray, read_order
from tests.acceptance.editors import until
from tests.in_process import served
from tests.unit.gateway.fakes import OWNER, FakeRouter


def test_the_order_comes_on_standard_input() -> None:
    order = WorkerOrder(
        settings=Settings(port=1, allowed_hosts=("a.example",)),
        fd=3,
        gateway_id="g",
        ray_address="127.0.0.1:6379",
        namespace="docactor",
        parent=1,
    )
    assert read_order(io.BytesIO(msgspec.json.encode(order))) == order


def test_without_an_order_a_gateway_ends() -> None:
    """Its supervisor was killed while Ray started: the stream ends with it."""
    assert read_order(io.BytesIO()) is None


def test_joining_ray_leaves_the_handler_of_sigterm() -> None:
    asked: dict[str, object] = {}

    def rude(**kwargs: object) -> None:
        asked.update(kwargs)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def mine(_number: int, _frame: object) -> None:
        """Never called."""

    before = signal.signal(signal.SIGTERM, mine)
    try:
        join_ray("127.0.0.1:6379", "docactor", rude)
        assert signal.getsignal(signal.SIGTERM) is mine
        assert asked["address"] == "127.0.0.1:6379"
        assert asked["namespace"] == "docactor"
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.anyio
async def test_a_gateway_whose_parent_is_gone_stops(rng: random.Random) -> None:
    app = create_app(Settings(), FakeRouter(rng.choice))
    server = GatewayServer(server_config(app, Settings()), app, parent=os.getppid() + 1)
    with anyio.fail_after(5):
        await server.watch_parent()
    assert server.should_exit


@pytest.mark.anyio
async def test_a_gateway_whose_parent_lives_goes_on(rng: random.Random) -> None:
    app = create_app(Settings(), FakeRouter(rng.choice))
    server = GatewayServer(server_config(app, Settings()), app, parent=os.getppid())
    with anyio.move_on_after(0.05):
        await server.watch_parent()
    assert not server.should_exit


def test_a_stop_answers_who_waits(rng: random.Random) -> None:
    router = FakeRouter(rng.choice)
    made = anyio.run(router.directory, "create_document", OWNER, "Plan", None, (), None)
    answers: list[httpx.Response] = []

    def wait(url: str) -> None:
        arguments = {"doc_id": "plan", "cursor": made.cursor, "wait_s": 50}
        params = {"name": "read_changes", "arguments": arguments}
        answers.append(
            httpx.post(
                f"{url}/mcp",
                json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
                headers={
                    "Authorization": "Bearer reader-token",
                    "Accept": "application/json, text/event-stream",
                },
                timeout=30,
            )
        )

    with served(router) as url:
        reader = threading.Thread(target=wait, args=(url,))
        reader.start()
        link = router.document("plan").link
        until("somebody waits", lambda: link.waiting)
    reader.join()
    (answer,) = answers
    assert answer.status_code == 200
    assert answer.json()["result"]["structuredContent"]["blocks"] == []
