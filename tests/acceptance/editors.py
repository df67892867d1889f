"""Editors of people: Node programs with an unmodified client of either wire, each a process."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

NPM: Final = Path(__file__).parent / "npm"
Y_CLIENTS: Final = ("y-websocket", "y-websocket-2", "y-websocket-1")  # 3.1, 2.1, 1.5
HOCUSPOCUS_CLIENTS: Final = ("@hocuspocus/provider", "@hocuspocus/provider-3")  # 4.8, 3.4
CLIENTS: Final = Y_CLIENTS + HOCUSPOCUS_CLIENTS
PATIENCE_S: Final = 30.0  # for what happens in milliseconds, on a machine that may be busy
T = TypeVar("T")


def until(what: str, see: Callable[[], T | None], seconds: float = PATIENCE_S) -> T:
    """The first true value of `see`. Fails with `what` when none comes in time."""
    deadline = time.monotonic() + seconds
    while True:
        seen = see()
        if seen:
            return seen
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.01)


class Editor:
    """One editor. It connects at once; `synced` waits for its first sync.

    Attributes:
        said: All it has said on its own, in order: see `npm/editor.mjs`.
        present: The awareness states it knows, by client id; as of its last awareness event.
    """

    def __init__(
        self, url: str, doc: str, token: str, client: str = CLIENTS[0], client_id: int | None = None
    ) -> None:
        """`url`: ws://…/collab or …/hocuspocus. `client_id`: of Yjs; one drawn by lot if None."""
        self.said: list[dict[str, Any]] = []
        self.present: dict[str, Any] = {}
        self._answers: dict[int, dict[str, Any]] = {}
        self._asked = 0
        self._process = subprocess.Popen(
            [
                *("node", "editor.mjs", "--url", url, "--doc", doc),
                *("--token", token, "--client", client),
                *(() if client_id is None else ("--id", str(client_id))),
            ],
            cwd=NPM,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()

    def ask(self, act: str, **arguments: Any) -> dict[str, Any]:
        """What it answers. Fails when it could not do it."""
        self._asked += 1
        number = self._asked
        assert self._process.stdin is not None
        line = json.dumps({"id": number, "do": act, **arguments})
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        answer = until(f"an answer to {line[:200]}", lambda: self._answers.pop(number, None))
        assert "error" not in answer, (line[:200], answer)
        return answer

    def run(self, code: str) -> Any:
        """What a JavaScript function body returns, given the names `run` has in editor.mjs."""
        return self.ask("run", code=code).get("result")

    @property
    def texts(self) -> list[str]:
        """The plain text of each block, as this editor has it now."""
        found: list[str] = self.ask("text")["text"]
        return found

    @property
    def vector(self) -> str:
        """Its state vector: what it has of everybody's edits."""
        return str(self.ask("state")["vector"])

    @property
    def connections(self) -> int:
        """How often it has connected so far."""
        return int(self.ask("state")["connections"])

    @property
    def me(self) -> str:
        """Its client id."""
        return str(self.ask("who")["me"])

    def type(self, words: str, block: int = 0, at: int | None = None) -> None:
        """Types into a block, at its end or at a place in UTF-16 units."""
        self.ask("type", block=block, text=words, **({} if at is None else {"at": at}))

    def insert(self, text: str, at: int | None = None) -> None:
        """Adds a paragraph, at the end or before block `at`."""
        self.ask("insert", text=text, **({} if at is None else {"at": at}))

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [said for said in tuple(self.said) if said["event"] == kind]

    def wait_synced(self) -> Editor:
        until("synced", lambda: any(event["synced"] for event in self.events("synced")))
        return self

    def wait_texts(self, texts: list[str]) -> None:
        until(f"blocks {texts}, has {self.texts}", lambda: self.texts == texts)

    def wait_closed(self) -> int:
        """The code its socket was closed with first."""
        closed = until("a closed socket", lambda: self.events("closed"))
        return int(closed[0]["code"] or 0)

    @property
    def unsaved(self) -> int | None:
        """What a Hocuspocus client's counter of unsaved changes stands at."""
        counted = self.events("unsaved")
        return counted[-1]["number"] if counted else None

    def freeze(self) -> None:
        """The program stops where it is; its connection stays open and silent."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """It goes on."""
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """kill -9; the kernel closes the connection."""
        self._process.kill()
        self._process.wait()
        self._listener.join()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if not line.endswith("\n"):
                return  # it was killed while it spoke
            said = json.loads(line)
            if "id" in said:
                self._answers[said["id"]] = said
                continue
            if said["event"] == "awareness":
                self.present = said["states"]
            self.said.append(said)
