"""Makes a slot a Ray actor, and does nothing else.

No concurrency groups: Ray gives each group of an async actor an event loop and a thread of its own,
and a document belongs to one thread. Reads and writes are kept apart in the slot instead.
"""

from __future__ import annotations

import asyncio
import os
from typing import Any, Final

import ray

from actors.json_log import log_to_file
from actors.processes import start_time
from actors.served_document import DocumentLinks, open_document
from actors.slots import Identity, Slot
from shared.checkup import BackUpRequest, CheckRequest
from shared.limits import SLOT_MEMORY_BYTES
from shared.protocol import (
    Caller,
    DeleteRequest,
    InsertRequest,
    MoveRequest,
    PatchRequest,
    ReadChangesRequest,
    ReadDocumentRequest,
    ReplaceRequest,
    ReplaceTextRequest,
    RouteKey,
)


class DocumentActor(Slot):
    """A slot in the process Ray started for it."""

    def __init__(self) -> None:
        log_to_file("document")
        super().__init__(_identity(), open_document, DocumentLinks, os._exit)
        self._watching = asyncio.get_running_loop().create_task(self.watch())

    async def read_document(
        self, key: RouteKey, caller: Caller, request: ReadDocumentRequest
    ) -> Any:
        return await self.call("read_document", key, caller, request)

    async def read_changes(self, key: RouteKey, caller: Caller, request: ReadChangesRequest) -> Any:
        return await self.call("read_changes", key, caller, request)

    async def patch(self, key: RouteKey, caller: Caller, request: PatchRequest) -> Any:
        return await self.call("patch", key, caller, request)

    async def insert(self, key: RouteKey, caller: Caller, request: InsertRequest) -> Any:
        return await self.call("insert", key, caller, request)

    async def replace(self, key: RouteKey, caller: Caller, request: ReplaceRequest) -> Any:
        return await self.call("replace", key, caller, request)

    async def delete(self, key: RouteKey, caller: Caller, request: DeleteRequest) -> Any:
        return await self.call("delete", key, caller, request)

    async def move(self, key: RouteKey, caller: Caller, request: MoveRequest) -> Any:
        return await self.call("move", key, caller, request)

    async def replace_text(self, key: RouteKey, caller: Caller, request: ReplaceTextRequest) -> Any:
        return await self.call("replace_text", key, caller, request)

    async def back_up(self, key: RouteKey, caller: Caller, request: BackUpRequest) -> Any:
        return await self.call("back_up", key, caller, request)

    async def check(self, key: RouteKey, caller: Caller, request: CheckRequest) -> Any:
        return await self.call("check", key, caller, request)


RemoteDocumentActor: Final = ray.remote(DocumentActor)

# Recovery is a new activation by the Directory, never a restart or a retry by Ray: a write that is
# retried behind our back is applied twice.
SLOT_OPTIONS: Final[dict[str, Any]] = {
    "lifetime": "detached",
    "num_cpus": 0,
    "memory": SLOT_MEMORY_BYTES,
    "max_restarts": 0,
    "max_task_retries": 0,
    "max_concurrency": 1000,
}


def _identity() -> Identity:
    node_id = ray.get_runtime_context().get_node_id()
    pid = os.getpid()
    # Not ray.util.get_node_ip_address: that is the way out to the internet, even in a cluster
    # that listens on loopback alone.
    nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    address = next(n["NodeManagerAddress"] for n in nodes if n["NodeID"] == node_id)
    return Identity(node_id, address, pid, os.getppid(), start_time(pid))
