"""A gateway on a real socket, in a thread of the test's process."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.applications import Starlette

from gateway.app import create_app
from gateway.ports import RouterPort
from gateway.server.serving import GatewayServer, server_config
from gateway.settings import Settings

START_S = 20.0  # on a busy machine


class _Server(GatewayServer):
    """Says when it listens, or that it never will."""

    def __init__(self, app: Starlette, settings: Settings) -> None:
        super().__init__(server_config(app, settings), app, parent=0)
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        finally:
            self.ready.set()


@contextmanager
def served(router: RouterPort, settings: Settings | None = None) -> Iterator[str]:
    """Serve `router` on a free port of loopback; its address. Ends in order afterwards."""
    settings = settings or Settings()
    server = _Server(create_app(settings, router), settings)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            assert server.ready.wait(START_S)
            assert server.started
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
