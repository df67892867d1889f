"""What is broken in a running server, and how to see who serves what."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec
import psutil

from bench.agent import Agent, RefusedError
from shared.feed.mirror import Mirror
from shared.protocol import ReadChangesResult, ReadDocumentResult
from tests.acceptance.editors import Editor, until
from tests.acceptance.server import Server

AGAIN_S: Final = 0.02
AGAIN_FOR_S: Final = 40.0


def holder(server: Server, doc: str) -> psutil.Process:
    """The process that has the document's file open."""

    def find() -> psutil.Process | None:
        for process in server.actors():
            try:
                if any(Path(file.path).stem == doc for file in process.open_files()):
                    return process
            except psutil.Error:
                continue
        return None

    return until(f"a process that holds {doc}", find)


def kill(process: psutil.Process) -> None:
    os.kill(process.pid, signal.SIGKILL)


def kill_everything(server: Server) -> None:
    """kill -9 of all processes of a server, as when a machine loses power."""
    family = server.family()
    kill(psutil.Process(server.process.pid))
    for process in family:
        process.kill()
    server.process.wait()
    server.finish()


def directory(server: Server) -> psutil.Process:
    return until("a Directory", lambda: server.named("ray::DirectoryActor"))[0]


def gateway_of(server: Server, editor: Editor) -> psutil.Process:
    """The gateway that an editor's socket ends at."""
    ours = {peer.laddr for peer in psutil.Process(editor._process.pid).net_connections("tcp")}
    for gateway in server.gateways():
        if ours & {peer.raddr for peer in gateway.net_connections("tcp")}:
            return gateway
    raise AssertionError("the editor is connected to nobody")


def agent(server: Server) -> Agent:
    return Agent(f"{server.url}/mcp", server.token)


def known(call: Callable[[], tuple[float, dict[str, Any]]]) -> dict[str, Any]:
    """The answer of a call that may be repeated, repeated until it is known."""
    deadline = time.monotonic() + AGAIN_FOR_S
    while True:
        try:
            return call()[1]
        except RefusedError as error:
            if not error.retryable or time.monotonic() > deadline:
                raise
        except OSError:
            if time.monotonic() > deadline:
                raise
        time.sleep(AGAIN_S)


def append(by: Agent, doc: str, text: str) -> dict[str, Any]:
    """A paragraph at the end, under a key, until it is told saved."""
    return known(lambda: by.call("insert", doc_id=doc, markdown=text, idempotency_key=text))


class Copy:
    """An agent's copy of a document, kept by `read_changes` alone."""

    def __init__(self, by: Agent, doc: str) -> None:
        self._agent = by
        self._doc = doc
        self._mirror = self._read()

    def follow(self) -> list[str]:
        """The text of each block, when the feed has no more to say."""
        while True:
            changes = known(
                lambda: self._agent.call(
                    "read_changes", doc_id=self._doc, cursor=self._mirror.cursor
                )
            )
            answer = msgspec.convert(changes, ReadChangesResult)
            self._mirror.apply(answer)
            if not answer.blocks and not answer.removed:
                return [self._mirror.texts[block] for block in self._mirror.order]

    @property
    def ids(self) -> list[str]:
        return list(self._mirror.order)

    def present(self) -> list[str]:
        """The text of each block as the document is now, read anew."""
        read = self._read()
        return [read.texts[block] for block in read.order]

    def _read(self) -> Mirror:
        answer = known(lambda: self._agent.call("read_document", doc_id=self._doc, format="blocks"))
        return Mirror(msgspec.convert(answer, ReadDocumentResult))
