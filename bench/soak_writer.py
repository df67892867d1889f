"""An agent that writes blocks of its own and remembers what it was told is saved."""

from __future__ import annotations

import http.client
import random
import time
from threading import Event
from typing import Any, Final, NamedTuple

from bench.agent import Agent, RefusedError

PACE_S: Final = 0.1  # between two writes
AGAIN_S: Final = 0.05  # between two tries of one write
GIVE_UP_S: Final = 60.0
OWN_BLOCKS: Final = 60  # then it deletes more than it inserts, and the document stops growing


class Acknowledged(NamedTuple):
    """When a write was begun and when its success was told; monotonic seconds."""

    begun: float
    told: float


class Writer:
    """Inserts, replaces and deletes blocks nobody else touches.

    Every write has an idempotency key and is repeated until its outcome is known, so that `saved`
    is exactly what the server said.
    """

    def __init__(self, agent: Agent, doc: str, name: str, rng: random.Random) -> None:
        self._agent = agent
        self._doc = doc
        self._name = name
        self._rng = rng
        self._number = 0
        self._anchors: dict[str, str] = {}
        self.saved: dict[str, str] = {}
        self.gone: set[str] = set()
        self.acknowledged: list[Acknowledged] = []

    def run(self, stop: Event, hold: Event) -> None:
        """Writes until `stop`; not while `hold` is set."""
        while not stop.wait(PACE_S):
            if not hold.is_set():
                self._write()

    def _write(self) -> None:
        self._number += 1
        text = f"{self._name} wrote number {self._number}"
        grow = self._rng.random() < (0.6 if len(self._anchors) < OWN_BLOCKS else 0.3)
        if grow or not self._anchors:
            answer = self._until_known("insert", markdown=text)
        else:
            mine = self._rng.choice(sorted(self._anchors))
            if self._rng.random() < 0.5:
                answer = self._until_known("delete", blocks=[self._anchors[mine]])
            else:
                anchors = {"from": self._anchors[mine]}
                answer = self._until_known("replace", markdown=text, **anchors)
        self._take_in(answer, text)

    def _take_in(self, answer: dict[str, Any], text: str) -> None:
        for block in answer["blocks"]:
            written = block["anchor"].partition("-")[0]
            self._anchors[written] = block["anchor"]
            self.saved[written] = text
        for removed in answer["removed"]:
            self._anchors.pop(removed)
            self.saved.pop(removed)
            self.gone.add(removed)

    def _until_known(self, tool: str, **arguments: Any) -> dict[str, Any]:
        key = f"{self._name}-{self._number}"
        begun = time.monotonic()
        while True:
            try:
                answer = self._agent.call(tool, doc_id=self._doc, idempotency_key=key, **arguments)[
                    1
                ]
            except RefusedError as error:
                known = not error.retryable and error.code != "outcome_unknown"
                if known or time.monotonic() - begun > GIVE_UP_S:
                    raise
            except (OSError, http.client.HTTPException):
                if time.monotonic() - begun > GIVE_UP_S:
                    raise
            else:
                self.acknowledged.append(Acknowledged(begun, time.monotonic()))
                return answer
            time.sleep(AGAIN_S)
