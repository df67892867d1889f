"""The Ray cluster behind a server: one of our own, or one we join.

Import it only when Ray's environment is set (`gateway.server.ray_environment`).
"""

from __future__ import annotations

import logging
import os
import socket
from pathlib import Path
from typing import Any, Final

import anyio
import ray

from actors.directory.ray_slots import start_actor
from actors.directory_actor import DIRECTORY_OPTIONS, RemoteDirectoryActor
from gateway.router import Router
from gateway.server.ray_environment import NAMESPACE, RayStartError
from gateway.server.ray_messages import silence
from shared.directory_protocol import DirectorySettings

log = logging.getLogger("docactor.cluster")

REACH_S: Final = 5.0  # Ray itself goes on for many minutes at an address where nobody answers
OBJECT_STORE_BYTES: Final = 80 * 2**20  # Ray's least; what crosses is small


class Cluster:
    """Connected from the start. `end` takes an embedded one down, and only leaves one joined."""

    def __init__(self, address: str, *, embedded: bool) -> None:
        self.address = address
        self.router = Router(f"supervisor-{os.getpid()}")
        self._embedded = embedded

    @classmethod
    def start(cls, temp: Path) -> Cluster:
        """A cluster of our own on this machine. Blocks for some seconds.

        Ray must be started on a thread that lives as long as it: its processes die with that.

        Raises RayStartError.
        """
        try:
            address = _connect(
                address="local",
                num_cpus=os.cpu_count(),
                include_dashboard=False,
                object_store_memory=OBJECT_STORE_BYTES,
                _temp_dir=str(temp / "ray"),
            )
        except Exception as error:  # Ray raises that, and many kinds besides
            log.exception("Ray did not start")
            raise RayStartError(
                f"Ray did not start: {_first_sentence(error)} It needs about 1 GB of memory and a "
                "core that is not busy: start the server again when the machine has them."
            ) from error
        return cls(address, embedded=True)

    @classmethod
    def join(cls, address: str) -> Cluster:
        """A cluster that runs. Blocks for some seconds. Raises RayStartError."""
        try:
            _reach(address)
            joined = _connect(address=address)
        except Exception as error:  # Ray raises that, and many kinds besides
            log.exception("the Ray cluster at %s cannot be joined", address)
            raise RayStartError(
                f"ray_address: cannot join the cluster at {address}: {_first_sentence(error)} "
                "See that 'ray status' answers on this machine, with the same versions of Ray and "
                "Python and the same token."
            ) from error
        return cls(joined, embedded=False)

    async def start_directory(self, settings: DirectorySettings) -> None:
        """The Directory, once it answers; one that is there already is taken as it is.

        Raises:
            DocactorError: It cannot serve, for instance because its catalog cannot be read.
        """
        options = {**DIRECTORY_OPTIONS, "namespace": NAMESPACE}
        await anyio.to_thread.run_sync(start_actor, RemoteDirectoryActor, options, settings)
        await self.router.directory("status")

    def end(self) -> None:
        """Takes down what is ours: every actor of the namespace, and Ray with them."""
        if self._embedded:
            for entry in ray.util.list_named_actors(all_namespaces=True):
                if entry["namespace"] == NAMESPACE:
                    _kill(entry["name"])
        ray.shutdown()


def _connect(**options: Any) -> str:
    """The address of the cluster that Ray started or found."""
    silence()
    context: Any = ray.init(
        namespace=NAMESPACE, log_to_driver=False, configure_logging=False, **options
    )
    address: str = context.address_info["gcs_address"]
    return address


def _reach(address: str) -> None:
    """Raises OSError when nobody listens at HOST:PORT; other forms are for Ray to judge."""
    host, _, port = address.rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), REACH_S).close()


def _first_sentence(error: Exception) -> str:
    """What Ray says, without the logs it quotes."""
    text = str(error).strip().partition("\n")[0].partition(". ")[0].rstrip(".:")
    return f"{text or type(error).__name__}."


def _kill(name: str) -> None:
    try:
        ray.kill(ray.get_actor(name, namespace=NAMESPACE), no_restart=True)
    except ValueError:
        return  # it went by itself
