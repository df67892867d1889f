"""An agent that writes blocks of its own and remembers what it was told is saved."""

from __future__ import annotations

import http.client
import random
import time
from collections.abc import Callable, Sequence
from functools import partial
from threading import Event, Lock
from typing import Any, Final, NamedTuple, TypeVar

from bench.agent import Agent, RefusedError
from bench.mirror import WHOLE, Follower
from shared.markdown.join import anchored

PACE_S: Final = 0.1  # between two writes
AGAIN_S: Final = 0.02  # between two tries of one call
GIVE_UP_S: Final = 60.0
OWN_BLOCKS: Final = 20  # per document; then more is deleted than inserted, and it stops growing
FOLLOWED: Final = 0.3  # share of writes after which the writer takes in what changed

T = TypeVar("T")


class Told(NamedTuple):
    """What one writer was told about one document, as of an instant.

    Attributes:
        saved: Text by block.
        gone: Blocks told deleted.
        touched: Blocks a write is under way on: what they hold is not known.
    """

    saved: dict[str, str]
    gone: frozenset[str]
    touched: frozenset[str]


class Book:
    """One writer's account of one document; read from other threads."""

    def __init__(self) -> None:
        self.anchors: dict[str, str] = {}
        self._saved: dict[str, str] = {}
        self._gone: set[str] = set()
        self._touched: set[str] = set()
        self._lock = Lock()

    def told(self) -> Told:
        with self._lock:
            return Told(dict(self._saved), frozenset(self._gone), frozenset(self._touched))

    def touch(self, block: str) -> None:
        with self._lock:
            self._touched.add(block)

    def take_in(self, answer: dict[str, Any], text: str) -> None:
        """The answer of a successful write that made `text`."""
        with self._lock:
            for removed in answer["removed"]:
                self.anchors.pop(removed)
                self._saved.pop(removed)
                self._gone.add(removed)
            for block in answer["blocks"]:
                written = block["anchor"].partition("-")[0]
                self.anchors[written] = block["anchor"]
                self._saved[written] = text
            self._touched.clear()


class Writer:
    """Inserts, replaces, patches and deletes blocks nobody else touches.

    Every write has an idempotency key and is repeated until its outcome is known, so that its books
    hold exactly what the server said. A copy of each document is kept by `read_changes`.
    """

    def __init__(self, agent: Agent, name: str, docs: Sequence[str], rng: random.Random) -> None:
        self._agent = agent
        self._name = name
        self._rng = rng
        self._number = 0
        self.books = {doc: Book() for doc in docs}
        self._copies = {doc: until_known(partial(Follower, agent, doc)) for doc in docs}
        self.acknowledged = 0

    def run(self, stop: Event, hold: Event) -> None:
        """Writes until `stop`; not while `hold` is set."""
        while not stop.wait(PACE_S):
            if not hold.is_set():
                doc = self._rng.choice(sorted(self.books))
                self.write(doc)
                if self._rng.random() < FOLLOWED:
                    until_known(self._copies[doc].follow)

    def differs(self) -> list[str]:
        """Documents whose copy is not what they are. Not while `run` writes."""
        return [doc for doc, copy in self._copies.items() if until_known(copy.differs)]

    def write(self, doc: str) -> None:
        """One write, until it is acknowledged."""
        self._number += 1
        text = f"{self._name} wrote number {self._number}"
        book = self.books[doc]
        grow = self._rng.random() < (0.6 if len(book.anchors) < OWN_BLOCKS else 0.3)
        if grow or not book.anchors:
            answer = self._call("insert", doc, markdown=text)
        else:
            mine = self._rng.choice(sorted(book.anchors))
            anchor = book.anchors[mine]
            book.touch(mine)
            match self._rng.choice(("delete", "replace", "patch")):
                case "delete":
                    answer = self._call("delete", doc, blocks=[anchor])
                case "replace":
                    answer = self._call("replace", doc, markdown=text, **{"from": anchor})
                case _:
                    answer = self._patch(doc, mine, text)
        book.take_in(answer, text)
        self.acknowledged += 1

    def _patch(self, doc: str, mine: str, text: str) -> dict[str, Any]:
        """Sends the whole document as read, with one block changed: people type on meanwhile."""
        asked: dict[str, Any] = {"doc_id": doc, "format": "blocks", "max_chars": WHOLE}
        seen = until_known(lambda: self._agent.call("read_document", **asked)[1])
        pairs = [(block["anchor"], block["text"]) for block in seen["blocks"]]
        whole = anchored(
            (anchor, text if anchor.startswith(mine) else known) for anchor, known in pairs
        )
        answer = self._call("patch", doc, markdown=whole, base=seen["cursor"])
        written = [block["anchor"].partition("-")[0] for block in answer["blocks"]]
        if written != [mine]:
            msg = f"a patch of {mine} wrote {answer}"
            raise RuntimeError(msg)
        return answer

    def _call(self, tool: str, doc: str, **arguments: Any) -> dict[str, Any]:
        key = f"{self._name}-{self._number}"
        return until_known(
            lambda: self._agent.call(tool, doc_id=doc, idempotency_key=key, **arguments)[1]
        )


def until_known(call: Callable[[], T]) -> T:
    """Repeats a call that may be repeated until it succeeds.

    Raises:
        RefusedError: For good, or for a minute.
        OSError, http.client.HTTPException: Nobody answered for a minute.
    """
    deadline = time.monotonic() + GIVE_UP_S
    while True:
        try:
            return call()
        except RefusedError as error:
            known = not error.retryable and error.code != "outcome_unknown"
            if known or time.monotonic() > deadline:
                raise
        except (OSError, http.client.HTTPException):
            if time.monotonic() > deadline:
                raise
        time.sleep(AGAIN_S)
