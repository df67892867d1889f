"""The parties of the demo: a server process, an editor, an agent. Real clients, all of them.

The editor is a Node program with the unmodified y-websocket client; the agent FastMCP's client over
HTTP. The other editor is `gateway.client.editor_client`.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio
import anyio.abc
import msgspec
from fastmcp import Client

from shared.feed.mirror import Mirror
from shared.protocol import ReadChangesResult, ReadDocumentResult

NODE_EDITOR: Final = Path(__file__).parent.parent / "tests/acceptance/npm/editor.mjs"
PATIENCE_S: Final = 15.0  # how long a party waits to see what another did
T = TypeVar("T")


class StoryError(Exception):
    """A step of the demo did not hold."""


async def until(what: str, see: Callable[[], T | None]) -> T:
    """Waits until `see` returns something. Raises StoryError with `what` after PATIENCE_S."""
    with anyio.move_on_after(PATIENCE_S):
        while True:
            seen = see()
            if seen is not None:
                return seen
            await anyio.sleep(0.002)
    raise StoryError(f"{what}: not seen within {PATIENCE_S:.0f} s")


class NodeEditor:
    """The Node program: told what to do on its stdin, says what it sees on its stdout."""

    def __init__(self, process: anyio.abc.Process) -> None:
        self._process = process
        self._answers: dict[int, dict[str, Any]] = {}
        self._asked = 0
        self.synced = anyio.Event()
        self.texts: list[str] = []
        self.connections = 0
        self.leaving = False

    async def ask(self, act: str, **arguments: Any) -> dict[str, Any]:
        """Raises StoryError when the editor could not do it."""
        self._asked += 1
        number = self._asked
        line = json.dumps({"id": number, "do": act, **arguments}) + "\n"
        assert self._process.stdin is not None
        await self._process.stdin.send(line.encode())
        answer = await until(f"{act} in the Node editor", lambda: self._answers.pop(number, None))
        if "error" in answer:
            raise StoryError(f"{act} in the Node editor: {answer['error']}")
        return answer

    async def listen(self) -> None:
        """Takes in what the program says. Raises StoryError when it ends unasked."""
        assert self._process.stdout is not None
        rest = b""
        async for part in self._process.stdout:
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                self._take(json.loads(line))
        if not self.leaving:
            raise StoryError("the Node editor ended by itself; `make demo` installs what it needs")

    def _take(self, said: dict[str, Any]) -> None:
        if "id" in said:
            self._answers[said["id"]] = said
        elif said["event"] == "status":
            self.connections = said["connections"]
        elif said["event"] == "change":
            self.texts = said["text"]
        elif said["event"] == "synced" and said["synced"]:
            self.synced.set()


@asynccontextmanager
async def node_editor(url: str, doc: str, token: str) -> AsyncIterator[NodeEditor]:
    """A Node editor that has synced. `url`: ws://…/collab."""
    command = ["node", str(NODE_EDITOR), "--url", url, "--doc", doc, "--token", token]
    async with (
        await anyio.open_process(command, stderr=None) as process,
        anyio.create_task_group() as tasks,
    ):
        editor = NodeEditor(process)
        tasks.start_soon(editor.listen)
        try:
            with anyio.fail_after(PATIENCE_S):
                await editor.synced.wait()
            yield editor
        finally:
            editor.leaving = True
            process.kill()


class Agent:
    """An agent that reads once and follows; `read_chars` counts all text it was ever sent."""

    def __init__(self, client: Client[Any], doc: str) -> None:
        self._client = client
        self._doc = doc
        self.mirror: Mirror
        self.read_chars = 0

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """A tool's structured result. Raises StoryError with the tool's text when it refuses."""
        called = await self._client.call_tool(tool, arguments, raise_on_error=False)
        if called.is_error:
            said = "; ".join(part.text for part in called.content if part.type == "text")
            raise StoryError(f"{tool}: {said}")
        result: dict[str, Any] = called.structured_content or {}
        return result

    async def read(self) -> ReadDocumentResult:
        """The whole document, from which the mirror starts."""
        answer = await self.call(
            "read_document", doc_id=self._doc, format="blocks", max_chars=1_000_000
        )
        read = msgspec.convert(answer, ReadDocumentResult)
        self.mirror = Mirror(read)
        self.read_chars += sum(map(len, self.mirror.texts.values()))
        return read

    async def follow(self, wait_s: int = 0) -> ReadChangesResult:
        """What changed since the last answer, taken into the mirror."""
        answer = await self.call(
            "read_changes",
            doc_id=self._doc,
            cursor=self.mirror.cursor,
            wait_s=wait_s,
            **({"settle_s": 1} if wait_s else {}),
        )
        changes = msgspec.convert(answer, ReadChangesResult)
        self.mirror.apply(changes)
        self.read_chars += sum(len(block.text) for block in changes.blocks)
        return changes


@asynccontextmanager
async def agent(url: str, token: str, doc: str) -> AsyncIterator[Agent]:
    """An agent over MCP. `url`: http://…/mcp."""
    async with Client(url, auth=token) as client:
        yield Agent(client, doc)


@asynccontextmanager
async def server(
    command: list[str], ready: Callable[[], Awaitable[bool]], say: Callable[[str], None]
) -> AsyncIterator[anyio.abc.Process]:
    """`docactor serve` as a process of its own, stopped at the end as Ctrl-C would."""
    async with (
        await anyio.open_process(
            command, stdout=subprocess.PIPE, stderr=None, start_new_session=True
        ) as process,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(_echo, process, say)
        try:
            while not await ready():
                if process.returncode is not None:
                    raise StoryError(f"the server ended with {process.returncode}")
                await anyio.sleep(0.05)
            yield process
        finally:
            with anyio.CancelScope(shield=True):
                if process.returncode is None:
                    process.terminate()
                await process.wait()
            tasks.cancel_scope.cancel()


async def _echo(process: anyio.abc.Process, say: Callable[[str], None]) -> None:
    assert process.stdout is not None
    rest = b""
    async for part in process.stdout:
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            say(line.decode(errors="replace"))
