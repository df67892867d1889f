"""Kills parts of the server under load, again and again, and counts what was lost.

`python -m bench.soak [--kills 200] [--seconds 600]` writes `bench/results/soak.json`.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Final, NamedTuple

import msgspec

from bench.agent import Agent
from bench.results import FOLDER
from bench.scratch import scratch
from bench.soak_checks import Checker, Found, file_is_sound
from bench.soak_editors import Editors
from bench.soak_faults import Faults, Struck
from bench.soak_server import SoakServer
from bench.soak_writer import Writer

DOCUMENTS: Final = 5
AGENTS: Final = 3
CHECK_ALL_EVERY: Final = 20  # kills; the other times only what was hit is looked at
ONE_AFTER_ANOTHER: Final = ("actor", "directory and actor", "gateway", "everybody", "server")


class Plan(NamedTuple):
    """How long: at least so many kills and so many seconds.

    Attributes:
        pause_s: The least and the most time between two kills.
        first: Faults made before the random ones, so that a short soak has one of each.
    """

    kills: int
    seconds: float
    pause_s: tuple[float, float]
    first: Sequence[str] = ONE_AFTER_ANOTHER


class Recovery(msgspec.Struct, frozen=True):
    """From the kill of a document's actor to the acknowledgement of a write begun after it, ms."""

    p50: float
    p99: float


class Soaked(msgspec.Struct, frozen=True):
    """What a soak found.

    Attributes:
        acknowledged: Writes of agents told saved, and words of editors that reached another one.
        lost: Of those, not there as told; and words that an editor which lived on still held.
        mirror_differences: Times a copy kept by `read_changes` was not the document.
        damaged: Documents that could not be read, fail their checks, or hold something twice.
    """

    seconds: float
    acknowledged: int
    kills: int
    lost: int
    mirror_differences: int
    damaged: int
    recovery_ms: Recovery


class Scene(NamedTuple):
    """Everybody at work on one server."""

    server: SoakServer
    docs: Sequence[str]
    writers: Sequence[Writer]
    prober: Writer
    editors: Editors
    checker: Checker


def soak(folder: Path, plan: Plan, rng: random.Random) -> Soaked:
    """The kills with their checks, then everything once more on a server without editors.

    Raises whatever a writer ended with: a refusal here is a finding.
    """
    started = time.monotonic()
    with _scene(folder, rng) as scene:
        found, struck = _endure(scene, plan, rng)
        found = found.plus(_settle(scene))
        scene.server.kill(all_of_it=True)  # nobody is left who could bring anything back
        scene.server.start()
        texts = {}
        for doc in scene.docs:
            found = found.plus(scene.checker.check(doc))
            texts[doc] = scene.checker.texts(doc)
        scene.server.stop()
        sound = [file_is_sound(scene.server.file(doc), texts[doc], folder) for doc in scene.docs]
    _print_recoveries(struck)
    recoveries = sorted(one.recovery_ms for one in struck if one.fault == "actor")
    return Soaked(
        seconds=round(time.monotonic() - started, 1),
        acknowledged=sum(len(scene.editors.acknowledged(doc)) for doc in scene.docs)
        + sum(writer.acknowledged for writer in (*scene.writers, scene.prober)),
        kills=len(struck),
        lost=found.lost,
        mirror_differences=found.differences,
        damaged=found.damaged + sound.count(False),
        recovery_ms=Recovery(
            round(statistics.median(recoveries), 1),
            round(recoveries[len(recoveries) * 99 // 100], 1),
        ),
    )


@contextlib.contextmanager
def _scene(folder: Path, rng: random.Random) -> Iterator[Scene]:
    with contextlib.ExitStack() as stack:
        running = stack.enter_context(SoakServer(folder))
        docs = [running.server.create(f"# Soak {number}") for number in range(DOCUMENTS)]

        def agent() -> Agent:
            return stack.enter_context(Agent(running.server.mcp, running.server.token))

        def writer(name: str) -> Writer:
            return Writer(agent(), name, docs, random.Random(rng.random()))

        writers = [writer(f"agent {number}") for number in range(AGENTS)]
        prober = writer("prober")
        editors = Editors(running.server, docs)
        stack.callback(editors.kill)
        editors.start()
        checker = Checker(agent(), docs, [*writers, prober], editors)
        yield Scene(running, docs, writers, prober, editors, checker)


def _endure(scene: Scene, plan: Plan, rng: random.Random) -> tuple[Found, list[Struck]]:
    stop, hold = Event(), Event()
    found = Found()
    struck: list[Struck] = []
    faults = Faults(scene.server, scene.editors, scene.prober, scene.docs, rng)
    first = list(plan.first)
    end = time.monotonic() + plan.seconds
    with ThreadPoolExecutor(len(scene.writers)) as threads:
        running = [threads.submit(writer.run, stop, hold) for writer in scene.writers]
        try:
            while len(struck) < plan.kills or time.monotonic() < end:
                time.sleep(rng.uniform(*plan.pause_s))
                struck.append(faults.strike(first.pop(0) if first else None))
                _raise_what_ended(running)
                everything = len(struck) % CHECK_ALL_EVERY == 0
                for doc in scene.docs if everything else struck[-1].docs:
                    found = found.plus(scene.checker.check(doc))
                if everything:
                    print(f"{len(struck)} kills, {found}", flush=True)
        finally:
            stop.set()
    _raise_what_ended(running)
    return found, struck


def _settle(scene: Scene) -> Found:
    """With everybody quiet: all copies are alike, and hold every word anybody typed."""
    scene.editors.pause()
    found = Found()
    if not scene.editors.wait_until_alike():
        print("the editors did not come to have the same", flush=True)
        found = found.plus(Found(lost=1))
    for writer in (*scene.writers, scene.prober):
        found = found.plus(Found(differences=len(writer.differs())))
    for doc in scene.docs:
        found = found.plus(scene.checker.check(doc))
    scene.editors.kill()
    return found


def _raise_what_ended(running: Sequence[Future[None]]) -> None:
    for ended in running:
        if ended.done():
            ended.result()


def _print_recoveries(struck: Sequence[Struck]) -> None:
    by_fault: defaultdict[str, list[float]] = defaultdict(list)
    for one in struck:
        by_fault[one.fault].append(one.recovery_ms)
    for fault, recoveries in by_fault.items():
        middle, most = statistics.median(recoveries), max(recoveries)
        print(f"{fault:>20}: {len(recoveries):3} times, median {middle:.0f} ms, most {most:.0f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    asked = parser.parse_args()
    print(f"seed {asked.seed}")
    plan = Plan(asked.kills, asked.seconds, (0.3, 3.0))
    with scratch() as folder:
        soaked = soak(folder, plan, random.Random(asked.seed))
    text = msgspec.json.format(msgspec.json.encode(soaked), indent=2)
    print(text.decode())
    if asked.kills >= parser.get_default("kills") and asked.seconds >= 600:
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / "soak.json").write_bytes(text + b"\n")
    if soaked.lost or soaked.mirror_differences or soaked.damaged:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
