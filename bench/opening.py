"""P5: how long a document of 1,000 blocks takes that has no actor."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from bench import pool
from bench.agent import Agent
from bench.processes import wait_until_quiet
from bench.results import Row, alone
from bench.servers import Server, docactor
from bench.typist import Typist

BLOCKS: Final = 1_000
WARM_SLOTS: Final = 8
BAR_MS: Final = 60.0
BAR_REFILLING_MS: Final = 90.0
ENVIRONMENT: Final = {"DOCACTOR_IDLE_S": "1", "DOCACTOR_WARM_SLOTS": str(WARM_SLOTS)}


def rows(folder: Path, *, opens: int) -> list[Row]:
    """`opens` of each kind, each of another document."""
    with docactor(folder, ENVIRONMENT) as server:
        markdown = "\n\n".join(
            f"Paragraph {n}, which says as much as others." for n in range(BLOCKS)
        )
        docs = [server.create(markdown) for _ in range(opens)]
        read = _measure(server, docs, _read, refilling=False)
        synced = _measure(server, docs, _sync, refilling=False)
        refilling = _measure(server, docs, _sync, refilling=True)
    return [
        alone("P5", "read_document_warm_p50_ms", statistics.median(read), BAR_MS),
        alone("P5", "first_sync_warm_p50_ms", statistics.median(synced), BAR_MS),
        alone("P5", "first_sync_refilling_p50_ms", statistics.median(refilling), BAR_REFILLING_MS),
    ]


def _measure(
    server: Server,
    docs: Sequence[str],
    open_one: Callable[[Server, Agent, str], float],
    *,
    refilling: bool,
) -> list[float]:
    """Milliseconds of each; while refilling, one after another and each as the pool is short."""
    pool.wait_passive(server)
    pool.wait_warm(server)
    taken = []
    with Agent(server.mcp, server.token) as agent:
        agent.call("list_documents", limit=1)  # the connection is there, and so is the token
        for doc in docs[: WARM_SLOTS - 1] if refilling else docs:
            if not refilling:
                pool.wait_warm(server)
                wait_until_quiet(server.process)  # the last one is put away
            taken.append(open_one(server, agent, doc))
    return taken


def _read(_server: Server, agent: Agent, doc: str) -> float:
    """Over the control road: an agent asks for the headings."""
    return agent.call("read_document", doc_id=doc, outline=True)[0]


def _sync(server: Server, _agent: Agent, doc: str) -> float:
    """From an editor's connecting to its first sync."""
    started = time.perf_counter()
    with Typist(server, doc):
        return (time.perf_counter() - started) * 1000
