"""The people of the soak: unmodified y-websocket clients that type in every document."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import time
from collections import defaultdict
from collections.abc import Sequence
from threading import Condition, Thread
from typing import Any, Final

from bench.servers import ROOT, Server

NPM: Final = ROOT / "tests" / "acceptance" / "npm"
CLIENTS: Final = ("y-websocket", "y-websocket-2", "y-websocket-1", "y-websocket")
NAMES: Final = ("ann", "ben", "cat", "dan")
EVERY_MS: Final = 250  # a word of each
PATIENCE_S: Final = 60.0
WORD: Final = re.compile(r"\b[a-z]+\d+x\d+\b")


class Editors:
    """Four processes, each with every document open.

    A word is acknowledged when it was typed by one and reached another from the server: nothing is
    broadcast before it is on disk.
    """

    def __init__(self, server: Server, docs: Sequence[str]) -> None:
        self._server = server
        self._docs = tuple(docs)
        self._generation = 0
        self._processes: list[subprocess.Popen[str]] = []
        self._readers: list[Thread] = []
        self._changed = Condition()
        self._ready = 0
        self._seen: defaultdict[str, set[str]] = defaultdict(set)
        self._typed: defaultdict[str, set[str]] = defaultdict(set)
        self._copies: list[dict[str, list[str]]] = []

    def start(self) -> None:
        """Returns when every editor has every document."""
        self._generation += 1
        self._ready = 0
        self._typed.clear()
        for name, client in zip(NAMES, CLIENTS, strict=True):
            options = {
                "--url": self._server.url,
                "--docs": ",".join(self._docs),
                "--token": self._server.token,
                "--name": f"{name}{self._generation}",
                "--every": str(EVERY_MS),
                "--client": client,
            }
            process = subprocess.Popen(
                ["node", "typist.mjs", *(part for pair in options.items() for part in pair)],
                cwd=NPM,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            reader = Thread(target=self._read, args=(process,))
            self._processes.append(process)
            self._readers.append(reader)
            reader.start()
        with self._changed:
            if not self._changed.wait_for(lambda: self._ready == len(NAMES), PATIENCE_S):
                msg = f"{self._ready} of {len(NAMES)} editors have all documents"
                raise TimeoutError(msg)

    def kill(self) -> None:
        """All at once: what only they hold is gone with them. What they said is still heard."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()
        for reader in self._readers:
            reader.join()
        for process in self._processes:
            with contextlib.suppress(BrokenPipeError):
                process.communicate()
        self._processes.clear()
        self._readers.clear()

    def pause(self) -> None:
        self._tell("pause")

    def go_on(self) -> None:
        self._tell("go on")

    def acknowledged(self, doc: str) -> frozenset[str]:
        """Words that came from the server to somebody else than their typist."""
        with self._changed:
            return frozenset(self._seen[doc])

    def typed(self, doc: str) -> frozenset[str]:
        """All words of the editors that run now: they hold them, acknowledged or not."""
        with self._changed:
            return frozenset(self._typed[doc])

    def copies(self) -> list[dict[str, list[str]]]:
        """What each editor has, block by block."""
        with self._changed:
            self._copies.clear()
            self._tell("copies")
            self._changed.wait_for(lambda: len(self._copies) == len(NAMES), PATIENCE_S)
            return list(self._copies)

    def wait_until_alike(self) -> bool:
        """Whether all come to have the same, with every word they typed; while they pause."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            first, *others = self.copies()
            if others and all(copy == first for copy in others) and self._all_in(first):
                return True
            time.sleep(0.2)
        return False

    def _all_in(self, copy: dict[str, list[str]]) -> bool:
        return all(self.typed(doc) <= words(copy[doc]) for doc in self._docs)

    def _tell(self, line: str) -> None:
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write(line + "\n")
            process.stdin.flush()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            with contextlib.suppress(json.JSONDecodeError):  # cut short by a kill
                self._take(json.loads(line))

    def _take(self, said: dict[str, Any]) -> None:
        with self._changed:
            match said["event"]:
                case "typed":
                    self._typed[said["doc"]].add(said["word"])
                case "seen":
                    self._seen[said["doc"]].update(said["words"])
                case "copies":
                    self._copies.append(said["copies"])
                case "ready":
                    self._ready += 1
            self._changed.notify_all()


def words(texts: Sequence[str]) -> frozenset[str]:
    """Every word that an editor of a soak could have typed."""
    return frozenset(word for text in texts for word in WORD.findall(text))
