"""What is left after many documents were opened and left: memory, files, sockets, processes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

import psutil

from bench import pool
from bench.results import Row, alone
from bench.servers import Server, docactor
from bench.typist import Typist

AT_ONCE: Final = 64
WARM_SLOTS: Final = 4
HANDS: Final = 4  # documents are made by so many at once
MEMORY_BAR: Final = 1.1
SETTLE_S: Final = 2.0  # closed sockets are gone from the kernel's tables
ENVIRONMENT: Final = {
    "DOCACTOR_IDLE_S": "2",
    "DOCACTOR_HEARTBEAT_S": "1",
    "DOCACTOR_WARM_SLOTS": str(WARM_SLOTS),
    "DOCACTOR_MAX_ACTIVE": str(AT_ONCE),
}


class Held(NamedTuple):
    """What all processes of a server hold together.

    Attributes:
        private_mb: Memory that no other process shares.
    """

    processes: int
    private_mb: float
    files: int
    sockets: int


def rows(folder: Path, *, documents: int) -> list[Row]:
    """Before and after `documents` were opened by an editor each, so many at a time, and left."""
    with docactor(folder, ENVIRONMENT) as server:
        before, after = opened_and_left(server, documents, AT_ONCE)
    print(f"  before {before}\n  after  {after}")
    memory = after.private_mb / before.private_mb
    return [
        alone("documents", f"{documents}_opened_and_left_memory_ratio", memory, MEMORY_BAR),
        # Which of Ray's own connections are open differs by one from slot to slot.
        alone("documents", "more_files_than_before", after.files - before.files, WARM_SLOTS),
        alone("documents", "more_sockets_than_before", after.sockets - before.sockets, WARM_SLOTS),
        alone("documents", "more_processes_than_before", after.processes - before.processes, 0),
    ]


def opened_and_left(server: Server, documents: int, at_once: int) -> tuple[Held, Held]:
    """What is held before and after; the first slots are used once before anything is counted."""
    _open(server, create(server, 2 * WARM_SLOTS))
    pool.wait_settled(server, WARM_SLOTS)
    time.sleep(SETTLE_S)
    before = held(server.process)
    docs = create(server, documents)
    for start in range(0, documents, at_once):
        _open(server, docs[start : start + at_once])
    pool.wait_settled(server, WARM_SLOTS)
    time.sleep(SETTLE_S)
    return before, held(server.process)


def held(top: psutil.Process) -> Held:
    """Of a process and all below it."""
    processes = private = files = sockets = 0
    for process in [top, *top.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            private += process.memory_full_info().uss
            files += process.num_fds()
            sockets += len(process.net_connections("all"))
            processes += 1
    return Held(processes, round(private / 2**20, 1), files, sockets)


def create(server: Server, documents: int) -> list[str]:
    """So many small documents, several made at once."""
    with ThreadPoolExecutor(HANDS) as hands:
        return list(hands.map(server.create, ["# One\n\nof many."] * documents))


def _open(server: Server, docs: Sequence[str]) -> None:
    """An editor in each of them at the same time; then all leave."""
    with contextlib.ExitStack() as editors:
        for doc in docs:
            editors.enter_context(Typist(server, doc)).type(1, " More.")
