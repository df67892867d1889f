"""The Ray cluster behind a server: one of our own, or one we join.

Import it only when Ray's environment is set (`gateway.ray_environment`).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import anyio
import ray

from actors.directory_actor import DIRECTORY_OPTIONS, RemoteDirectoryActor
from actors.ray_slots import start_actor
from gateway.ray_environment import NAMESPACE
from gateway.ray_messages import silence
from gateway.router import Router
from shared.directory_protocol import DirectorySettings

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
        """
        silence()
        context: Any = ray.init(
            address="local",
            namespace=NAMESPACE,
            num_cpus=os.cpu_count(),
            include_dashboard=False,
            log_to_driver=False,
            configure_logging=False,
            object_store_memory=OBJECT_STORE_BYTES,
            _temp_dir=str(temp / "ray"),
        )
        return cls(context.address_info["gcs_address"], embedded=True)

    @classmethod
    def join(cls, address: str) -> Cluster:
        """A cluster that runs. Raises ConnectionError."""
        silence()
        context: Any = ray.init(
            address=address, namespace=NAMESPACE, log_to_driver=False, configure_logging=False
        )
        return cls(context.address_info["gcs_address"], embedded=False)

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


def _kill(name: str) -> None:
    try:
        ray.kill(ray.get_actor(name, namespace=NAMESPACE), no_restart=True)
    except ValueError:
        return  # it went by itself
