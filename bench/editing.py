"""Runs the load generator against one server and measures what the server spends on it."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple

from bench.processes import cpu_seconds, wait_until_quiet
from bench.servers import NPM, Server

BETWEEN_PHASES_S: Final = 240.0
HANDS: Final = 4  # documents are made by so many at once


class Work(NamedTuple):
    """Editors at work.

    Attributes:
        every_ms: Between two edits of one editor.
        seconds: How long they type.
        generators: Processes that play the editors. A Yjs client needs a third of a millisecond for
            50 deliveries, so that one process playing 50 editors mostly measures itself.
    """

    id: str
    documents: int
    editors: int
    every_ms: int
    seconds: float
    generators: int = 1

    @property
    def edits(self) -> int:
        return max(1, round(self.seconds * 1000 / self.every_ms))


class Measured(NamedTuple):
    """One run of one work on one server; latencies are from keystroke to every other editor.

    Attributes:
        cpu_s: CPU seconds of all the server's processes while the load ran.
        generator_cpu: Of the busiest generator, in cores; near 1.0 it measures itself.
    """

    p50_ms: float
    p99_ms: float
    deliveries: int
    seconds: float
    cpu_s: float
    generator_cpu: float
    first_sync_ms: float


def run(work: Work, server: Server) -> Measured:
    """Raises RuntimeError when an edit did not reach somebody or the copies differ."""
    with ThreadPoolExecutor(HANDS) as hands:
        documents = list(hands.map(server.create, [""] * work.documents))
    with _generators(work, server, documents) as generators:
        _collect(generators, "ready")
        wait_until_quiet(server.process)
        before = cpu_seconds(server.process)
        _go_on(generators)
        done = _collect(generators, "done")
        spent = cpu_seconds(server.process) - before
        _go_on(generators)
    return _summary(work, done, spent)


def _summary(work: Work, done: Sequence[dict[str, Any]], spent: float) -> Measured:
    missing = sum(part["expected"] - part["received"] for part in done)
    copies = {copy for part in done for copy in part["copies"]}
    if missing or len(copies) != work.documents:
        msg = f"{work.id}: {missing} deliveries missing, {len(copies)} copies differ"
        raise RuntimeError(msg)
    latencies = sorted(latency for part in done for latency in part["latencies_us"])
    return Measured(
        p50_ms=latencies[len(latencies) // 2] / 1000,
        p99_ms=latencies[len(latencies) * 99 // 100] / 1000,
        deliveries=len(latencies),
        seconds=max(part["seconds"] for part in done),
        cpu_s=spent,
        generator_cpu=max(part["cpu"] for part in done),
        first_sync_ms=max(part["first_sync_ms"] for part in done),
    )


Generator = subprocess.Popen[str]


@contextlib.contextmanager
def _generators(work: Work, server: Server, documents: list[str]) -> Iterator[list[Generator]]:
    options = {
        "--wire": server.wire,
        "--url": server.url,
        "--documents": ",".join(documents),
        "--editors": str(work.editors),
        "--edits": str(work.edits),
        "--every": str(work.every_ms),
        "--token": server.token,
    }
    flat = [f"{key}={value}" for key, value in options.items()]
    started = [
        subprocess.Popen(
            ["node", "load.mjs", *flat, f"--share={number}/{work.generators}"],
            cwd=NPM,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(work.generators)
    ]
    try:
        yield started
        for process in started:
            process.wait(BETWEEN_PHASES_S)
    finally:
        for process in started:
            process.kill()
            process.communicate()


def _collect(generators: Sequence[Generator], phase: str) -> list[dict[str, Any]]:
    answers = []
    for process in generators:
        assert process.stdout is not None
        line = process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {}
        if answer.get("phase") != phase:
            msg = f"the load generator ended before {phase!r}; see its message above"
            raise RuntimeError(msg)
        answers.append(answer)
    return answers


def _go_on(generators: Sequence[Generator]) -> None:
    for process in generators:
        assert process.stdin is not None
        process.stdin.write("go on\n")
        process.stdin.flush()
