"""Makes a slot a Ray actor, and does nothing else.

No concurrency groups: Ray gives each group of an async actor an event loop and a thread of its own,
and a document belongs to one thread. Reads and writes are kept apart in the slot instead.
"""

from __future__ import annotations

import asyncio
import os
from functools import partial
from typing import Any, Final

import ray

from actors.document.rehearsal import rehearse
from actors.document.served_document import DocumentLinks, open_document
from actors.json_log import log_to_file
from actors.processes import start_time
from actors.slots import Identity, Slot
from shared.calls import Verb, decode_call, encode_answer
from shared.limits import SLOT_MEMORY_BYTES


class DocumentActor(Slot):
    """A slot in the process Ray started for it."""

    def __init__(self) -> None:
        log_to_file("document")
        rehearse()
        super().__init__(_identity(), open_document, partial(DocumentLinks, self.serve), os._exit)
        self._watching = asyncio.get_running_loop().create_task(self.watch())

    async def serve(self, verb: Verb, call: bytes) -> bytes:
        """A call as `shared.calls` writes it; a domain error is an answer too."""
        return encode_answer(await self.call(verb, *decode_call(verb, call)))


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
