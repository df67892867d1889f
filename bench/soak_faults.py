"""What is killed, how, and how long nothing was acknowledged afterwards."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import psutil

from bench.soak_editors import Editors
from bench.soak_server import SoakServer
from bench.soak_writer import GIVE_UP_S, Writer

AGAIN_WITHIN_S: Final = 0.15  # a second kill falls into the first one's recovery
# How often each fault is drawn. A restart costs seconds, so the whole server dies now and then.
WEIGHTS: Final = {
    "actor": 66,
    "actor twice": 7,
    "blank": 3,
    "directory": 6,
    "directory and actor": 5,
    "gateway": 8,
    "everybody": 2,
    "serve": 1,
    "server": 2,
}


class Struck(NamedTuple):
    """One fault that was made.

    Attributes:
        docs: The documents that may have noticed.
        recovery_ms: From the kill to the acknowledgement of a write begun after it.
    """

    fault: str
    docs: Sequence[str]
    recovery_ms: float


class Faults:
    """Strikes at random. `prober` writes nothing but the first write after each kill."""

    def __init__(
        self,
        server: SoakServer,
        editors: Editors,
        prober: Writer,
        docs: Sequence[str],
        rng: random.Random,
    ) -> None:
        self._server = server
        self._editors = editors
        self._prober = prober
        self._docs = tuple(docs)
        self._rng = rng
        self._make: dict[str, Callable[[str], float]] = {
            "actor": self._kill_actor,
            "actor twice": self._kill_actor_twice,
            "blank": self._kill_blank,
            "directory": self._kill_directory,
            "directory and actor": self._kill_both,
            "gateway": self._kill_gateway,
            "everybody": self._kill_everybody,
            "serve": lambda _doc: self._kill_server(all_of_it=False),
            "server": lambda _doc: self._kill_server(all_of_it=True),
        }

    def strike(self, fault: str | None = None) -> Struck:
        """One fault, a random one when none is named."""
        if fault is None:
            (fault,) = self._rng.choices(tuple(WEIGHTS), tuple(WEIGHTS.values()))
        doc = self._rng.choice(self._docs)
        killed = self._make[fault](doc)
        self._prober.write(doc)
        recovery_ms = (time.monotonic() - killed) * 1000
        if fault == "everybody":
            self._editors.start()
        all_of_them = fault in {"everybody", "serve", "server"}
        return Struck(fault, self._docs if all_of_them else (doc,), recovery_ms)

    def _kill_actor(self, doc: str) -> float:
        victim = _until(lambda: self._server.holder(doc))
        killed = time.monotonic()
        self._server.kill_one(victim)
        return killed

    def _kill_actor_twice(self, doc: str) -> float:
        self._kill_actor(doc)
        time.sleep(self._rng.uniform(0, AGAIN_WITHIN_S))
        return self._kill_actor(doc)

    def _kill_blank(self, _doc: str) -> float:
        busy = {victim.pid for doc in self._docs if (victim := self._server.holder(doc))}
        blanks = [process for process in self._server.actors() if process.pid not in busy]
        if blanks:
            self._server.kill_one(self._rng.choice(blanks))
        return time.monotonic()

    def _kill_directory(self, _doc: str) -> float:
        victim = _until(self._server.directory)
        self._server.kill_one(victim)
        return time.monotonic()

    def _kill_both(self, doc: str) -> float:
        self._kill_directory(doc)
        return self._kill_actor(doc)

    def _kill_gateway(self, _doc: str) -> float:
        gateways = self._server.gateways()
        killed = time.monotonic()
        if gateways:  # none: they are being started again
            self._server.kill_one(self._rng.choice(gateways))
        return killed

    def _kill_everybody(self, _doc: str) -> float:
        """Editors too: what is there afterwards is what was stored, and nothing they bring back."""
        holders = [victim for one in self._docs if (victim := self._server.holder(one))]
        killed = time.monotonic()
        for victim in holders:
            self._server.kill_one(victim)
        self._editors.kill()
        return killed

    def _kill_server(self, *, all_of_it: bool) -> float:
        killed = time.monotonic()
        self._server.kill(all_of_it=all_of_it)
        self._server.start()
        return killed


def _until(find: Callable[[], psutil.Process | None]) -> psutil.Process:
    """Who is to be killed, once it is there: writers and editors call it back."""
    deadline = time.monotonic() + GIVE_UP_S
    while time.monotonic() < deadline:
        victim = find()
        if victim is not None:
            return victim
        time.sleep(0.002)
    msg = f"nobody to kill within {GIVE_UP_S:g} s"
    raise TimeoutError(msg)
