"""Tiptap editors as published, many in one Node program: see `npm/tiptap.mjs`."""

from __future__ import annotations

import json
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, Self

from tests.acceptance.editors import NPM
from tests.unit.documents import ANN, Bench

EMPTY: Final = b"\x00"  # the state vector of a document that has nothing


class Answer(NamedTuple):
    """What an editor said to an act.

    Attributes:
        sent: The updates it made of its own since the last act.
        text: The plain text of each block as it has it now.
        shown: Its document as ProseMirror prints it, for messages.
    """

    sent: list[bytes]
    vector: bytes
    text: list[str]
    shown: str


class Tiptap:
    """The program; `ask` one thing at a time."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            ["node", "tiptap.mjs"],
            cwd=NPM,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._editors = 0
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()

    def ask(self, act: str, editor: int, **arguments: Any) -> Answer:
        """What the editor answers. Fails when it could not do it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = json.dumps({"do": act, "editor": editor, **arguments})
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "error" not in answer, (line[:200], answer["error"])
        sent = [b64decode(update) for update in answer["sent"]]
        vector = b64decode(answer.get("vector", ""))
        return Answer(sent, vector, answer.get("text", []), answer.get("shown", ""))

    @contextmanager
    def opened(self, state: bytes) -> Iterator[tuple[Desk, Answer]]:
        """An editor on a document in this state, and what opening it made it say."""
        desk = self._desk()
        answer = desk.ask("open", state=b64encode(state).decode())
        try:
            yield desk, answer
        finally:
            desk.ask("close")

    @contextmanager
    def connected(self, url: str, doc: str, token: str) -> Iterator[tuple[Desk, Answer]]:
        """An editor on a server's document, over y-websocket."""
        desk = self._desk()
        answer = desk.ask("connect", url=url, doc=doc, token=token)
        try:
            yield desk, answer
        finally:
            desk.ask("close")

    def _desk(self) -> Desk:
        self._editors += 1
        return Desk(self, self._editors)


class Desk(NamedTuple):
    """One editor."""

    tiptap: Tiptap
    number: int

    def ask(self, act: str, **arguments: Any) -> Answer:
        return self.tiptap.ask(act, self.number, **arguments)


class Person:
    """An editor at a document in memory: what one does the other has at once."""

    def __init__(self, bench: Bench, desk: Desk) -> None:
        self.bench = bench
        self._desk = desk

    @classmethod
    @contextmanager
    def at(cls, bench: Bench, tiptap: Tiptap) -> Iterator[Person]:
        with tiptap.opened(bench.document.diff(EMPTY)) as (desk, answer):
            assert answer.sent == [], answer.shown
            yield cls(bench, desk)

    def do(self, act: str, **arguments: Any) -> Answer:
        answer = self._desk.ask(act, **arguments)
        for update in answer.sent:
            applied = self.bench.document.apply(update, ANN)
            assert applied.verdict in ("applied", "unchanged"), applied
        return answer

    def pull(self) -> Answer:
        """Takes in what others did. The answer's `sent` was not passed on."""
        missing = self.bench.document.diff(self._desk.ask("look").vector)
        return self._desk.ask("apply", update=b64encode(missing).decode())
