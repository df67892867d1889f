"""P9: how long nobody can write after a document's actor was killed."""

from __future__ import annotations

import contextlib
import random
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Final

from bench import pool
from bench.agent import Agent
from bench.results import Row, alone
from bench.soak_server import SoakServer
from bench.soak_writer import Writer, until_known

DOCUMENTS: Final = 3
AGENTS: Final = 2
BAR_MS: Final = 200.0


def rows(folder: Path, *, kills: int) -> list[Row]:
    """Kills (-9) with a warm slot at hand, until the next write is told saved; agents write on."""
    rng = random.Random(kills)
    stop, hold = Event(), Event()
    taken = []
    with contextlib.ExitStack() as stack:
        running = stack.enter_context(SoakServer(folder))
        server = running.server
        docs = [server.create(f"# Recovery {number}") for number in range(DOCUMENTS)]

        def writer(name: str) -> Writer:
            agent = stack.enter_context(Agent(server.mcp, server.token))
            return Writer(agent, name, docs, random.Random(rng.random()))

        prober = writer("prober")
        threads = stack.enter_context(ThreadPoolExecutor(AGENTS))
        stack.callback(stop.set)
        working = [
            threads.submit(writer(f"agent {number}").run, stop, hold) for number in range(AGENTS)
        ]
        for _ in range(kills):
            until_known(lambda: pool.wait_warm(server))
            doc = rng.choice(docs)
            victim = running.holder(doc)
            if victim is None:
                continue
            killed = time.perf_counter()
            running.kill_one(victim)
            prober.write(doc)
            taken.append((time.perf_counter() - killed) * 1000)
        stop.set()
        for one in working:
            one.result()
    taken.sort()
    return [
        alone("P9", "next_acknowledged_write_p50_ms", statistics.median(taken), BAR_MS),
        alone("P9", "next_acknowledged_write_p99_ms", taken[len(taken) * 99 // 100]),
    ]
