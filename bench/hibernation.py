"""Documents that are open in a tab in which nobody does a thing: what they cost, and to come back.

Beside it `idle`: many such tabs on one document.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from bench import pool
from bench.leaks import held
from bench.processes import cpu_seconds, wait_until_quiet
from bench.results import Row, alone
from bench.servers import NPM, Server, docactor
from bench.typist import Typist

WORK: Final = "hibernation"
IDLE: Final = "idle"
TABS: Final = 300  # what is promised; a full run does fewer, which take less time
IDLE_S: Final = 120.0  # likewise
BAR_MS: Final = 150.0
IDLE_BAR_CORES: Final = 0.03  # above the same server without sessions
IDLE_EDITORS: Final = 300
HANDS: Final = 4
ECHO_S: Final = 30.0
WARM_SLOTS: Final = 4
ENVIRONMENT: Final = {
    "DOCACTOR_HIBERNATE_S": "2",
    "DOCACTOR_IDLE_S": "1",
    "DOCACTOR_WARM_SLOTS": str(WARM_SLOTS),
}


def rows(folder: Path, *, documents: int) -> list[Row]:
    """So many documents with a tab each, asleep; then a keystroke in one after the other."""
    with contextlib.ExitStack() as tabs, docactor(folder, ENVIRONMENT) as server:
        with ThreadPoolExecutor(HANDS) as hands:
            docs = list(hands.map(server.create, ["# One\n\nof many."] * documents))
        pool.wait_settled(server, WARM_SLOTS)
        before = held(server.process)
        open_tabs = [tabs.enter_context(Typist(server, doc)) for doc in docs]
        pool.wait(server, "all asleep", lambda seen: seen["hibernated"] == documents)
        pool.wait_settled(server, WARM_SLOTS)
        active = pool.status(server)["documents"]
        asleep = held(server.process)
        taken = []
        for tab in open_tabs:
            pool.wait_warm(server)
            started = time.perf_counter()
            tab.type(1, " More.")
            tab.wait_echo(ECHO_S)
            taken.append((time.perf_counter() - started) * 1000)
    print(f"  before {before}\n  asleep {asleep}")
    taken.sort()
    return [
        alone(WORK, f"{documents}_open_tabs_active_actors", active, 0),
        alone(WORK, "keystroke_saved_and_echoed_p50_ms", statistics.median(taken), BAR_MS),
        alone(WORK, "keystroke_saved_and_echoed_p99_ms", taken[len(taken) * 99 // 100]),
        alone(
            WORK,
            "private_mb_per_open_tab",
            (asleep.private_mb - before.private_mb) / documents,
        ),
    ]


def idle_rows(folder: Path, *, seconds: float) -> list[Row]:
    """Many tabs of one document for so long, beside the same server without them."""
    with docactor(folder) as server:
        doc = server.create("# One\n\nof many readers.")
        pool.wait_warm(server)
        wait_until_quiet(server.process)
        without = _cores(server, seconds / 4)
        with _tabs(server, doc, IDLE_EDITORS) as tabs:
            wait_until_quiet(server.process)
            before = _ask(tabs)
            cores = _cores(server, seconds)
            after = _ask(tabs)
    print(f"  without {without:.4f}, with {cores:.4f} cores; {after}")
    if after["present"] != IDLE_EDITORS:
        msg = f"somebody knows of {after['present']} only"
        raise RuntimeError(msg)
    reconnects = after["connections"] - before["connections"]
    return [
        alone(IDLE, f"{IDLE_EDITORS}_tabs_reconnects", reconnects, 0),
        alone(IDLE, f"{IDLE_EDITORS}_tabs_cores_above_none", cores - without, IDLE_BAR_CORES),
    ]


def _cores(server: Server, seconds: float) -> float:
    before, began = cpu_seconds(server.process), time.monotonic()
    time.sleep(seconds)
    return (cpu_seconds(server.process) - before) / (time.monotonic() - began)


@contextlib.contextmanager
def _tabs(server: Server, doc: str, editors: int) -> Iterator[subprocess.Popen[str]]:
    command = ["node", "idle.mjs", "--url", server.url, "--document", doc]
    command += ["--editors", str(editors), "--token", server.token]
    with subprocess.Popen(
        command, cwd=NPM, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as tabs:
        try:
            assert _heard(tabs) == {"phase": "ready"}
            yield tabs
        finally:
            tabs.kill()


def _ask(tabs: subprocess.Popen[str]) -> dict[str, Any]:
    assert tabs.stdin is not None
    tabs.stdin.write("\n")
    tabs.stdin.flush()
    return _heard(tabs)


def _heard(tabs: subprocess.Popen[str]) -> dict[str, Any]:
    assert tabs.stdout is not None
    found: dict[str, Any] = json.loads(tabs.stdout.readline())
    return found
