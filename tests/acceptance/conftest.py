"""One server for all acceptance tests that do not need one of their own, and who talks to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.acceptance.editors import CLIENTS, Editor
from tests.acceptance.server import Server

OpenEditor = Callable[..., Editor]
"""`(doc, client="y-websocket", token=the owner's, *, synced=True, client_id=None)`: an `Editor`."""


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """`docactor serve` with two gateways. A test that ends it, or fills it, starts its own.

    Tests open more documents than people do: they are put away soon.
    """
    data = tmp_path_factory.mktemp("server") / "data"
    with Server(data, "--workers", "2", "--idle-s", "5") as running:
        yield running


@pytest.fixture
def editor(server: Server) -> Iterator[OpenEditor]:
    """Opens editors, which end with the test. Those of `synced=False` are not waited for."""
    with ExitStack() as stack:

        def open_editor(
            doc: str,
            client: str = CLIENTS[0],
            token: str | None = None,
            *,
            synced: bool = True,
            client_id: int | None = None,
        ) -> Editor:
            token = server.token if token is None else token
            editor = Editor(server.editors(client), doc, token, client, client_id)
            stack.callback(editor.kill)
            return editor.wait_synced() if synced else editor

        yield open_editor


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest) -> str:
    """Each version of either wire's client that people use."""
    name: str = request.param
    return name
