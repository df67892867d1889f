"""How a gateway process serves: uvicorn with our limits, and a stop that leaves nobody waiting."""

from __future__ import annotations

import logging
import os
import socket

import anyio
import uvicorn
from starlette.applications import Starlette

from gateway.editors.socket_protocol import EditorSocketProtocol
from gateway.settings import Settings
from shared.limits import PARENT_WATCH_S, SOCKET_GRACE_S, SOCKET_MESSAGE_BYTES, SOCKET_PING_S

log = logging.getLogger("docactor.worker")


class GatewayServer(uvicorn.Server):
    """Uvicorn that ends readers' waits before it waits for requests, and watches its parent."""

    def __init__(self, config: uvicorn.Config, app: Starlette, parent: int) -> None:
        super().__init__(config)
        self._app = app
        self._parent = parent

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.state.held.release()
        await super().shutdown(sockets)

    async def watch_parent(self) -> None:
        """Ask for a stop when the parent is not who it was."""
        while os.getppid() == self._parent:  # noqa: ASYNC110  no event tells of it
            await anyio.sleep(PARENT_WATCH_S)
        log.warning("the supervisor is gone: stopping")
        self.should_exit = True


def server_config(app: Starlette, settings: Settings) -> uvicorn.Config:
    """How uvicorn serves: our limits, no header that says more than it must."""
    return uvicorn.Config(
        app,
        loop="uvloop",
        http="httptools",
        ws=EditorSocketProtocol,
        ws_max_size=SOCKET_MESSAGE_BYTES,
        ws_per_message_deflate=False,  # updates are small; compressing one per editor is not
        ws_ping_interval=SOCKET_PING_S,
        ws_ping_timeout=SOCKET_GRACE_S,
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=settings.behind_proxy,
        forwarded_allow_ips="*" if settings.behind_proxy else None,
        timeout_graceful_shutdown=max(1, round(settings.drain_s)),
        ssl_certfile=settings.tls_cert,
        ssl_keyfile=settings.tls_key,
    )
