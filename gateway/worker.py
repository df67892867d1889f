"""A gateway process: joins Ray, serves the application on a socket it inherits, and stops in order.

The supervisor sends it the order below as JSON on its standard input, once Ray runs: until then it
imports what it needs, which takes as long. It stops at SIGTERM: waits of readers end, requests in
flight are answered, then the application closes. When its parent is gone it does the same by
itself, so that nothing of ours outlives the command that started it.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import anyio
import msgspec
import ray

from actors.document.socket_folder import TEMP_ENV
from gateway.app import create_app
from gateway.counts import GatewayCounts
from gateway.router import Router
from gateway.server.logs import configure_logging
from gateway.server.ray_messages import silence
from gateway.server.serving import GatewayServer, server_config
from gateway.server.temp_folder import TempFolder
from gateway.settings import Settings


class WorkerOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What a gateway process is told at its start.

    Attributes:
        settings: What is in force.
        fd: The listening socket, inherited.
        gateway_id: Names this process in logs and link hellos.
        ray_address: The cluster to join.
        namespace: Ray's namespace of ours.
        parent: Process id of the supervisor; another parent means that it is gone.
        log_file: Where log lines go; None: standard error.
    """

    settings: Settings
    fd: int
    gateway_id: str
    ray_address: str
    namespace: str
    parent: int
    log_file: str | None = None


def read_order(stream: BinaryIO) -> WorkerOrder | None:
    """Waits for the order; None: the supervisor ended before. Raises msgspec.DecodeError."""
    told = stream.read()
    return msgspec.json.decode(told, type=WorkerOrder) if told else None


def join_ray(address: str, namespace: str, connect: Callable[..., Any] = ray.init) -> None:
    """Connect this process to the cluster and keep our handler of SIGTERM.

    `ray.init` puts `sys.exit` in its place: a stop would drop requests in flight and never run the
    application's end.
    """
    silence()
    before = signal.getsignal(signal.SIGTERM)
    try:
        connect(address=address, namespace=namespace, log_to_driver=False, configure_logging=False)
    finally:
        signal.signal(signal.SIGTERM, before)


async def run(order: WorkerOrder) -> None:
    """Serve until told to stop."""
    counts = GatewayCounts(order.gateway_id)
    router = Router(order.gateway_id, counts=counts, visitors=order.settings.visitors)
    app = create_app(order.settings, router, counts)
    server = GatewayServer(server_config(app, order.settings), app, order.parent)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.watch_parent)
        tasks.start_soon(router.follow)
        await server.serve([socket.socket(fileno=order.fd)])
        tasks.cancel_scope.cancel()
    await router.close()


def main() -> None:
    """The process, from its order to its end."""
    order = read_order(sys.stdin.buffer)
    if order is None:
        return
    configure_logging(order.settings.log_level, Path(order.log_file) if order.log_file else None)
    folder = os.environ.get(TEMP_ENV)
    temp = TempFolder.join(Path(folder)) if folder else None
    try:
        join_ray(order.ray_address, order.namespace)
        anyio.run(run, order, backend_options={"use_uvloop": True})
    finally:
        # The last one removes it: that is us when the supervisor was killed. Before Ray's own
        # end, which takes the whole process with it when the cluster is gone already.
        if temp is not None:
            temp.leave()
    ray.shutdown()


if __name__ == "__main__":
    main()
