"""Growth with people: the editors of one document, and documents with two editors each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from bench.editing import Measured, Work, run
from bench.leaks import held
from bench.rounds import OURS
from bench.scratch import scratch
from bench.servers import docactor, hocuspocus

EDITORS: Final = (2, 10, 50, 100, 200)
DOCUMENTS: Final = (1, 25, 50, 100, 200)
SECONDS: Final = 5.0
# So slow that two generators can play 200 editors: 20,000 deliveries a second.
EDITORS_EVERY_MS: Final = 2_000
DOCUMENTS_EVERY_MS: Final = 1_000
# Documents of the size before are put away, and their processes taken for the next.
ENVIRONMENT: Final = {
    "DOCACTOR_MAX_ACTIVE": str(max(DOCUMENTS) + 20),
    "DOCACTOR_IDLE_S": "2",
}

Curve = list[tuple[float, float]]


def editors() -> dict[str, dict[str, Curve]]:
    """Delivery as a document gets more editors."""
    works = [Work(f"{n}", 1, n, EDITORS_EVERY_MS, SECONDS, 2) for n in EDITORS]
    return _latencies(works, EDITORS)


def documents() -> dict[str, dict[str, Curve]]:
    """Delivery as more documents are typed in at once, and the memory they take."""
    works = [Work(f"{n}", n, 2, DOCUMENTS_EVERY_MS, SECONDS) for n in DOCUMENTS]
    return _latencies(works, DOCUMENTS)


def _latencies(works: Sequence[Work], places: Sequence[int]) -> dict[str, dict[str, Curve]]:
    """Each work on each server, by ascending size."""
    p50: dict[str, Curve] = {}
    p99: dict[str, Curve] = {}
    memory: dict[str, Curve] = {}
    starts = {OURS: lambda folder: docactor(folder, ENVIRONMENT), "hocuspocus": hocuspocus}
    for name, start in starts.items():
        with scratch() as folder, start(folder) as server:
            for work, place in zip(works, places, strict=True):
                measured: Measured = run(work, server)
                print(f"  {name} {place}: {measured}", flush=True)
                p50.setdefault(name, []).append((place, measured.p50_ms))
                p99.setdefault(name, []).append((place, measured.p99_ms))
                memory.setdefault(name, []).append((place, held(server.process).private_mb))
    cores = os.cpu_count()
    return {
        f"delivery p50, ms ({cores} cores)": p50,
        "delivery p99, ms": p99,
        "private memory of all processes, MB": memory,
    }
