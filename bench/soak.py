"""Kills document actors under load, again and again, and counts what was lost.

`python -m bench.soak [--kills 200]` writes `bench/results/soak.json`.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Final, NamedTuple

import msgspec
import psutil

from bench.agent import Agent, RefusedError
from bench.mirror import Follower, read
from bench.results import FOLDER
from bench.scratch import scratch
from bench.servers import Server, docactor
from bench.soak_writer import Writer

DOCUMENTS: Final = 4
WRITERS_PER_DOCUMENT: Final = 2
BETWEEN_KILLS_S: Final = (0.5, 3.0)
CHECK_EVERY: Final = 10  # kills
RECOVERY_DEADLINE_S: Final = 60.0


class Recovery(msgspec.Struct, frozen=True):
    """From a kill to the first acknowledgement of a write begun after it, in milliseconds."""

    p50: float
    p99: float


class Soaked(msgspec.Struct, frozen=True):
    """What a soak found.

    Attributes:
        lost: Blocks told saved that are not there as told, or told deleted that are there.
        mirror_differences: Times a copy kept by `read_changes` was not the document.
        damaged: Documents that could not be read, at the end or after a restart.
    """

    seconds: float
    acknowledged: int
    kills: int
    lost: int
    mirror_differences: int
    damaged: int
    recovery_ms: Recovery


class Bench(NamedTuple):
    """One document under soak."""

    doc: str
    writers: list[Writer]
    follower: Follower


def holder(server: Server, doc: str) -> psutil.Process | None:
    """The process that has the document's file open: whoever that is, it is the one to kill."""
    for process in server.process.children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if any(Path(file.path).name == f"{doc}.sqlite3" for file in process.open_files()):
                return process
    return None


class Endured(NamedTuple):
    """What came out of the kills, before anything is compared with what was told."""

    benches: list[Bench]
    differences: int
    recoveries_ms: list[float]


def endure(server: Server, kills: int, rng: random.Random) -> Endured:
    """Raises whatever a writer ended with: a refusal here is a finding."""
    stop, hold = Event(), Event()
    differences, recoveries = 0, []
    with contextlib.ExitStack() as agents:
        benches = [_bench(server, agents, rng) for _ in range(DOCUMENTS)]
        writers = [writer for bench in benches for writer in bench.writers]
        with ThreadPoolExecutor(len(writers)) as threads:
            running = [threads.submit(writer.run, stop, hold) for writer in writers]
            try:
                for number in range(1, kills + 1):
                    time.sleep(rng.uniform(*BETWEEN_KILLS_S))
                    recoveries.append(_kill_one(server, rng.choice(benches), running))
                    if number % CHECK_EVERY == 0 or number == kills:
                        differences += _check(benches, hold)
                        print(f"{number} kills, {differences} mirror differences", flush=True)
            finally:
                stop.set()
        for ended in running:
            ended.result()
    return Endured(benches, differences, sorted(recoveries))


def _bench(server: Server, agents: contextlib.ExitStack, rng: random.Random) -> Bench:
    def agent() -> Agent:
        return agents.enter_context(Agent(server.mcp, server.token))

    doc = server.create("# Soak")
    writers = [
        Writer(agent(), doc, f"writer {number}", random.Random(rng.random()))
        for number in range(WRITERS_PER_DOCUMENT)
    ]
    return Bench(doc, writers, Follower(agent(), doc))


def _kill_one(server: Server, bench: Bench, running: Sequence[Future[None]]) -> float:
    """Milliseconds until a write begun after the kill was acknowledged."""
    victim = None
    while victim is None:
        victim = holder(server, bench.doc)
    killed = time.monotonic()
    victim.kill()
    while time.monotonic() - killed < RECOVERY_DEADLINE_S:
        for writer in bench.writers:
            later = [ack for ack in writer.acknowledged[-3:] if ack.begun > killed]
            if later:
                return (later[0].told - killed) * 1000
        for ended in running:
            if ended.done():
                ended.result()
        time.sleep(0.005)
    msg = f"no write to {bench.doc} within {RECOVERY_DEADLINE_S:g} s of a kill"
    raise TimeoutError(msg)


def _check(benches: Sequence[Bench], hold: Event) -> int:
    """How many copies differ, once the writers have paused."""
    hold.set()
    try:
        time.sleep(1)
        return sum(bench.follower.differs() for bench in benches)
    finally:
        hold.clear()


def _verify(server: Server, benches: Sequence[Bench]) -> tuple[int, int]:
    """Blocks lost and documents damaged, as this server shows them."""
    lost = damaged = 0
    with Agent(server.mcp, server.token) as agent:
        for bench in benches:
            try:
                present = read(agent, bench.doc).texts
            except RefusedError as error:
                print(error)
                damaged += 1
                continue
            for writer in bench.writers:
                lost += sum(present.get(block) != text for block, text in writer.saved.items())
                lost += sum(block in present for block in writer.gone)
    return lost, damaged


def soak(folder: Path, kills: int, rng: random.Random) -> Soaked:
    """The kills, then a count on the same server and another after a restart."""
    started = time.monotonic()
    with _server(folder) as server:
        endured = endure(server, kills, rng)
        lost, damaged = _verify(server, endured.benches)
    with _server(folder) as server:
        lost_later, damaged_later = _verify(server, endured.benches)
    recoveries = endured.recoveries_ms
    return Soaked(
        seconds=round(time.monotonic() - started, 1),
        acknowledged=sum(
            len(writer.acknowledged) for bench in endured.benches for writer in bench.writers
        ),
        kills=kills,
        lost=max(lost, lost_later),
        mirror_differences=endured.differences,
        damaged=max(damaged, damaged_later),
        recovery_ms=Recovery(
            round(statistics.median(recoveries), 1),
            round(recoveries[len(recoveries) * 99 // 100], 1),
        ),
    )


@contextlib.contextmanager
def _server(folder: Path) -> Iterator[Server]:
    """Without budgets: a soak writes more than anybody may."""
    plenty = {"DOCACTOR_WRITES_PER_MINUTE": "1000000", "DOCACTOR_CHARS_PER_HOUR": "1000000000"}
    with docactor(folder, plenty) as server:
        yield server


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    asked = parser.parse_args()
    print(f"seed {asked.seed}")
    with scratch() as folder:
        soaked = soak(folder, asked.kills, random.Random(asked.seed))
    text = msgspec.json.format(msgspec.json.encode(soaked), indent=2)
    print(text.decode())
    if asked.kills >= parser.get_default("kills"):
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / "soak.json").write_bytes(text + b"\n")
    if soaked.lost or soaked.mirror_differences or soaked.damaged:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
