"""The main job, told as it happens: people and an agent in one living document.

    python -m gateway.demo [--once] [--file FILE]

Everything is real: a server process with its own Ray and SQLite files, clients over real sockets,
and a kill -9 in the middle. A step that does not hold ends the demo with exit code 1. Without
`--once` the server then stays up, and how to connect is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.abc
import httpx

from gateway.client.blocks import append_paragraph, first_paragraph, texts, type_at_end
from gateway.client.editor_client import EditorClient
from gateway.commands.client import RestClient
from gateway.demo_parties import (
    PATIENCE_S,
    Agent,
    NodeEditor,
    StoryError,
    agent,
    node_editor,
    server,
    until,
)
from gateway.owner_token import read_owner_token
from shared.errors import DocactorError
from shared.markdown.join import join

README: Final = Path(__file__).parent.parent / "README.md"
STARTED: Final = time.monotonic()


def main() -> int:
    """Tell the story; 0 when every step held."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--once", action="store_true", help="end after the story")
    options.add_argument("--file", type=Path, default=README, help="the document to start from")
    given = options.parse_args()
    data = Path(tempfile.mkdtemp(prefix="docactor-demo-"))
    failures: list[BaseException] = []
    try:
        anyio.run(partial(demo, given.file, data, once=given.once))
    except* (StoryError, DocactorError, OSError, UnicodeError, httpx.HTTPError) as failed:
        failures = leaves(failed)
    finally:
        shutil.rmtree(data, ignore_errors=True)
    for failure in failures:
        say(f"FAILED: {str(failure) or type(failure).__name__}")
    return 1 if failures else 0


async def demo(file: Path, data: Path, *, once: bool) -> None:
    """The server, the story, and what to do next."""
    markdown = await anyio.Path(file).read_text(encoding="utf-8")
    hold(shutil.which("node") is not None, "node is on the PATH, for one of the editors")
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "gateway.cli", "serve", "--data", str(data)]
    say("step 0  a server: its own Ray, SQLite files, one gateway")
    began = time.monotonic()
    async with server([*command, "--port", str(port)], partial(is_ready, base), echo):
        say(f"        ready after {time.monotonic() - began:.1f} s")
        rest = RestClient(base, await anyio.to_thread.run_sync(read_owner_token, data))
        story = Story(base, rest, str(read_owner_token(data)), file.name, markdown)
        await story.tell()
        if once:
            say("done: every step held")
            return
        story.how_to_connect()
        await wait_for_ctrl_c()


class Story:
    """The steps, in order. Each says what each party saw, or raises StoryError."""

    def __init__(self, base: str, rest: RestClient, owner: str, name: str, markdown: str) -> None:
        self._base = base
        self._ws = base.replace("http", "ws", 1) + "/collab"
        self._rest = rest
        self._owner = owner
        self._name = name
        self._markdown = markdown
        self._agent_token = ""
        self._doc: dict[str, Any] = {}
        self._at = 0  # the paragraph everybody works on, by its place among the blocks

    async def tell(self) -> None:
        await self._create()
        doc = self._doc["doc_id"]
        async with (
            EditorClient(self._base, doc, self._owner) as ann,
            node_editor(self._ws, doc, self._owner) as bob,
            agent(f"{self._base}/mcp", self._agent_token, doc) as scribe,
        ):
            with anyio.fail_after(PATIENCE_S):
                await ann.wait_synced()
            await self._meet(ann, bob, scribe)
            await self._type_and_follow(ann, bob, scribe)
            await self._patch(ann, bob, scribe)
            await self._kill(ann, bob, scribe)
            await self._same(ann, bob, scribe)

    async def _create(self) -> None:
        made = await in_thread(self._rest.create, self._markdown, None, None)
        token = await in_thread(partial(self._rest.create_token, {"name": "scribe"}))
        self._doc, self._agent_token = made, token["token"]
        say(f"step 1  a document from {self._name}: {len(self._markdown):,} characters")
        say(
            f"        {made['doc_id']} has {len(made['blocks'])} blocks, each with an id of its own"
        )

    async def _meet(self, ann: EditorClient, bob: NodeEditor, scribe: Agent) -> None:
        self._at = await self._paragraph(ann, bob)
        read = await scribe.read()
        bobs = (await bob.ask("text"))["text"]
        hold(
            len(texts(ann.root)) == len(bobs) == len(scribe.mirror.order), "all see the same blocks"
        )
        say("step 2  ann (Python, pycrdt) and bob (Node, unmodified y-websocket) open it:")
        say(f"        each has its {len(bobs)} blocks")
        say(
            f"        the agent scribe reads once over MCP: {scribe.read_chars:,} characters, "
            f"cursor {read.cursor}"
        )

    async def _paragraph(self, ann: EditorClient, bob: NodeEditor) -> int:
        """A paragraph to type in. Not every file has one: then ann adds it."""
        found = first_paragraph(ann.root)
        if found is None:
            found = append_paragraph(ann.root, "A first sentence.")
            await until("the new paragraph at bob's", lambda: bob.texts == texts(ann.root) or None)
            say("        no paragraph to type in: ann adds one")
        return found

    async def _type_and_follow(self, ann: EditorClient, bob: NodeEditor, scribe: Agent) -> None:
        before = scribe.read_chars
        words = " — and ann was here"
        async with anyio.create_task_group() as tasks:
            waiting = Answer(tasks, partial(scribe.follow, wait_s=20))
            for letter in words:
                type_at_end(ann.root, self._at, letter)
                await anyio.sleep(0.01)
            began = time.monotonic()
            await until("ann's words at bob's", lambda: words in "".join(bob.texts) or None)
            took = (time.monotonic() - began) * 1000
            changes = await waiting.get()
        told = scribe.read_chars - before
        size = sum(map(len, scribe.mirror.texts.values()))
        hold(len(changes.blocks) == 1, "one block changed")
        hold(words.strip() in changes.blocks[0].text, "the agent reads ann's words")
        say(f"step 3  ann types {len(words)} letters; bob has the last one {took:.0f} ms later")
        say(
            f"        scribe's read_changes answers once: 1 block, by {changes.blocks[0].by[0]}, "
            f"{told:,} of {size:,} characters ({told / size:.1%})"
        )

    async def _patch(self, ann: EditorClient, bob: NodeEditor, scribe: Agent) -> None:
        mirror = scribe.mirror
        target = mirror.order[self._at]
        revised = mirror.texts[target] + " *Revised by scribe.*"
        text = join((mirror.texts | {target: revised})[block_id] for block_id in mirror.order)
        began = time.monotonic()
        result = await scribe.call(
            "patch", doc_id=self._doc["doc_id"], markdown=text, base=mirror.cursor
        )
        took = (time.monotonic() - began) * 1000
        hold((result["replaced"], result["deleted"]) == (1, 0), f"one block replaced: {result}")
        seen = "Revised by scribe."
        await until("the patch at ann's", lambda: seen in "".join(texts(ann.root)) or None)
        await until("the patch at bob's", lambda: seen in "".join(bob.texts) or None)
        mirror.cursor = result["cursor"]
        mirror.texts[target] = revised
        say(
            f"step 4  scribe patches one paragraph of {len(text):,} characters in {took:.0f} ms: "
            f"{result['replaced']} replaced, {result['charged']:,} characters charged"
        )
        say("        ann and bob see it without having done anything")

    async def _kill(self, ann: EditorClient, bob: NodeEditor, scribe: Agent) -> None:
        pid = await in_thread(self._pid)
        connections = bob.connections
        os.kill(pid, signal.SIGKILL)
        began = time.monotonic()
        words = "Typed while the actor was dead. "
        await bob.ask("type", block=self._at, at=0, text=words)
        await until("bob's words at ann's", lambda: words in "".join(texts(ann.root)) or None)
        took = (time.monotonic() - began) * 1000
        changes = await scribe.follow()
        hold(any(words in block.text for block in changes.blocks), "the agent goes on")
        again = await in_thread(self._pid)
        hold(again != pid, "another process has the document")
        stayed = (bob.connections, ann.connections) == (connections, 1)
        hold(stayed, "the editors' sockets stayed open")
        say(f"step 5  kill -9 of the document's actor (pid {pid}); bob types on")
        say(
            f"        ann has his words {took:.0f} ms later, from pid {again}; no socket was closed"
        )
        say(f"        scribe follows with the cursor it had: {len(changes.blocks)} block")

    async def _same(self, ann: EditorClient, bob: NodeEditor, scribe: Agent) -> None:
        while (await scribe.follow()).more:
            continue
        exported, _ = await in_thread(self._rest.export, self._doc["doc_id"])
        hold(scribe.mirror.markdown() == exported, "the agent's copy is the document")
        bobs = (await bob.ask("text"))["text"]
        hold(bobs == texts(ann.root), "both editors hold the same text")
        say(
            f"step 6  scribe's copy, kept by read_changes alone, is the document: "
            f"{len(exported):,} characters, equal"
        )
        say(f"        scribe read {scribe.read_chars:,} characters in all, {len(exported):,} once")

    def _pid(self) -> int:
        """The process that holds the document now."""
        for active in self._rest.status()["active"]:
            if active["doc_id"] == self._doc["doc_id"]:
                return int(active["pid"])
        raise StoryError("the document is not active")

    def how_to_connect(self) -> None:
        """What to paste where."""
        client = {
            "mcpServers": {
                "docactor": {
                    "type": "http",
                    "url": f"{self._base}/mcp",
                    "headers": {"Authorization": f"Bearer {self._agent_token}"},
                }
            }
        }
        say("")
        say("The server stays up; Ctrl-C ends it and removes its data.")
        say(f"  agents   {self._base}/mcp")
        say(f"  editors  {self._ws}/{self._doc['doc_id']}  (y-websocket)")
        say(f"           subprotocol docactor.{self._owner}")
        say(f"  REST     {self._base}/api/documents/{self._doc['doc_id']}")
        say(f"           described in {self._base}/api/openapi.json")
        say("  an MCP client's configuration:")
        say(json.dumps(client, indent=2))


class Answer:
    """A call that runs beside others; `get` waits for what it returns."""

    def __init__(self, tasks: anyio.abc.TaskGroup, call: Callable[[], Any]) -> None:
        self._done = anyio.Event()
        self._value: Any = None
        tasks.start_soon(self._run, call)

    async def _run(self, call: Callable[[], Any]) -> None:
        self._value = await call()
        self._done.set()

    async def get(self) -> Any:
        await self._done.wait()
        return self._value


async def in_thread(call: Callable[..., Any], *arguments: Any) -> Any:
    return await anyio.to_thread.run_sync(call, *arguments)


async def is_ready(base: str) -> bool:
    """Whether the server would open a document now."""
    try:
        async with httpx.AsyncClient() as http:
            return (await http.get(f"{base}/readyz")).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


async def wait_for_ctrl_c() -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            return


def hold(holds: bool, what: str) -> None:
    """Raises StoryError when a step did not hold."""
    if not holds:
        raise StoryError(f"did not hold: {what}")


def say(line: str) -> None:
    print(f"{time.monotonic() - STARTED:6.1f}s  {line}" if line else "", flush=True)


def echo(line: str) -> None:
    """A line of the server's."""
    print(f"        | {line}", flush=True)


def leaves(group: BaseExceptionGroup[Any]) -> list[BaseException]:
    found: list[BaseException] = []
    for error in group.exceptions:
        found += leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
