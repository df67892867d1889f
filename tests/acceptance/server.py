"""A whole server as its operator starts it: `docactor serve` in a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import httpx
import psutil

READY_WITHIN_S: Final = 90  # the machine may be busy; how fast a start is, is measured elsewhere
# Budgets: tests ask and write more often than anybody who thinks in between.
PLENTY: Final = {
    f"DOCACTOR_{budget}": "1000000"
    for budget in ("WRITES_PER_MINUTE", "CHARS_PER_HOUR", "READS_PER_MINUTE")
}


class Server:
    """Started by entering, ended by leaving; in between tests do to it what they like.

    Attributes:
        lines: What it has written to its standard output.
        url, token: What it said when it was ready.
    """

    def __init__(self, data: Path, *flags: str) -> None:
        self.data = data
        self.lines: list[str] = []
        self.url = self.token = ""
        self.environment = dict(PLENTY)  # beyond what the machine has, but for Ray's
        self._flags = flags
        self._ready = threading.Event()
        self._seen: dict[int, psutil.Process] = {}

    def start(self) -> Self:
        # Not our own Ray settings: it makes its own.
        ours = {k: v for k, v in os.environ.items() if not k.startswith(("RAY_", "DOCACTOR_"))}
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "gateway.cli", "serve"),
                *("--port", "0", "--data", str(self.data), *self._flags),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=ours | self.environment,
            text=True,
            start_new_session=True,
        )
        self._readers = [
            threading.Thread(target=self._read_out),
            threading.Thread(target=self._read_err),
        ]
        self.errors: list[str] = []
        for reader in self._readers:
            reader.start()
        return self

    def wait_ready(self) -> Self:
        deadline = time.monotonic() + READY_WITHIN_S
        while not self._ready.wait(0.05):
            assert self.process.poll() is None, f"ended: {self.lines} {self.errors}"
            assert time.monotonic() < deadline, f"not ready: {self.lines} {self.errors}"
        return self

    def __enter__(self) -> Self:
        return self.start().wait_ready()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.stop()
        for process in self._seen.values():
            if process.is_running():
                process.kill()
        self.finish()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Signals it, waits for its end and returns its exit code."""
        self.family()
        self.process.send_signal(number)
        code = self.process.wait(60)
        self.finish()
        return code

    def finish(self) -> None:
        for reader in self._readers:
            reader.join()
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    def family(self) -> list[psutil.Process]:
        """Every process that it has started so far, however deep, and that still runs."""
        if self.process.poll() is None:
            for child in psutil.Process(self.process.pid).children(recursive=True):
                self._seen.setdefault(child.pid, child)
        return [process for process in self._seen.values() if is_running(process)]

    def named(self, part: str) -> list[psutil.Process]:
        """Those whose command line contains `part`."""
        return [p for p in self.family() if part in command(p)]

    def gateways(self) -> list[psutil.Process]:
        return self.named("gateway.worker")

    def actors(self) -> list[psutil.Process]:
        return self.named("ray::DocumentActor")

    def ray_address(self) -> str:
        """HOST:PORT of its cluster."""
        (raylet,) = self.named("raylet/raylet")
        found = re.search(r"--gcs-address=([^\s\"]+)", command(raylet))
        assert found is not None
        return found[1]

    def request(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.request(method, self.url + path, headers=headers, timeout=30, **arguments)

    def create(self, markdown: str) -> str:
        made = self.request("POST", "/api/documents", json={"markdown": markdown})
        assert made.status_code == 201, made.text
        doc_id: str = made.json()["doc_id"]
        return doc_id

    def read(self, doc_id: str) -> str:
        answer = self.request("GET", f"/api/documents/{doc_id}.md")
        assert answer.status_code == 200, answer.text
        return answer.text

    def create_token(
        self, name: str, scope: str = "write", *, agent: bool = True, **budgets: int
    ) -> str:
        order = {"name": name, "scope": scope, "agent": agent, **budgets}
        made = self.request("POST", "/api/tokens", json=order)
        assert made.status_code == 201, made.text
        token: str = made.json()["token"]
        return token

    def tool(self, name: str, token: str | None = None, **arguments: Any) -> dict[str, Any]:
        """An MCP tool's structured result, called as the owner. Fails when it is refused."""
        answer = httpx.post(
            self.mcp,
            headers={
                "Authorization": f"Bearer {self.token if token is None else token}",
                "Accept": "application/json, text/event-stream",
            },
            json={
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": name, "arguments": arguments},
            },
            timeout=60,
        )
        assert answer.status_code == 200, answer.text
        result = answer.json()["result"]
        assert not result.get("isError"), result["content"]
        structured: dict[str, Any] = result["structuredContent"]
        return structured

    def kill_actor(self, doc_id: str) -> None:
        """kill -9 of the process that holds the document now."""
        (pid,) = (
            active["pid"]
            for active in self.request("GET", "/api/status").json()["active"]
            if active["doc_id"] == doc_id
        )
        os.kill(pid, signal.SIGKILL)

    @property
    def collab(self) -> str:
        """Where editors connect, without the document."""
        return self.url.replace("http", "ws", 1) + "/collab"

    @property
    def hocuspocus(self) -> str:
        """Where Hocuspocus providers connect."""
        return self.url.replace("http", "ws", 1) + "/hocuspocus"

    def editors(self, client: str) -> str:
        """Where a client of this npm package connects."""
        return self.hocuspocus if "hocuspocus" in client else self.collab

    @property
    def mcp(self) -> str:
        """Where agents connect."""
        return self.url + "/mcp"

    def temp_folder(self) -> Path:
        """The private folder of its cluster."""
        (gateway, *_) = self.gateways()
        return Path(gateway.environ()["DOCACTOR_TEMP"])

    def _read_out(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            if match := re.match(r"Ready after [0-9.]+ s: (http\S+?)(?:/#(\S+))?$", line):
                self.url, self.token = match[1], match[2] or ""
                self._ready.set()

    def _read_err(self) -> None:
        assert self.process.stderr is not None
        self.errors.extend(self.process.stderr)


def command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def is_running(process: psutil.Process) -> bool:
    """A zombie has ended: who inherits it has not looked yet."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
