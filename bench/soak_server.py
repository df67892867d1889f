"""The server under soak: killed in part or whole, and started again on the same folder and port."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import Final, Self

import httpx
import psutil

from bench.processes import free_port, is_listening, running, wait_until
from bench.servers import DOCACTOR, ROOT, Server, make_token, server_at

GATEWAYS: Final = 2
OURS: Final = {"PYTHONPATH": str(ROOT)}


class SoakServer:
    """Use it in a `with` block; addresses and token stay the same over restarts.

    Attributes:
        data: Its data folder.
        server: How it is reached.
    """

    def __init__(self, folder: Path) -> None:
        self.data = folder / "docactor-data"
        self.server: Server
        self._folder = folder
        self._port = free_port()
        self._token = ""
        self._run = contextlib.ExitStack()
        self._process: psutil.Process

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Returns when a document could be opened."""
        log = self._folder / "docactor.log"
        listen = ["--host", "127.0.0.1", "--port", str(self._port), "--workers", str(GATEWAYS)]
        command = [str(DOCACTOR), "serve", "--data", str(self.data), *listen]
        started = running(command, cwd=self._folder, log=log, environment=OURS)
        self._process = self._run.enter_context(started)
        wait_until(self._is_ready, self._process, log)
        self._token = self._token or make_token(["--data", str(self.data)])
        self.server = server_at(self._process, self._port, self._token)

    def stop(self) -> None:
        """In order, as an operator would; at once what does not end."""
        self._run.close()

    def kill(self, *, all_of_it: bool) -> None:
        """Kill -9 of the process that was started, or of all its processes at once."""
        family = self._process.children(recursive=True) if all_of_it else []
        for process in (self._process, *family):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self._run.close()
        # Gateways that were not killed notice it within a second, and hold the port until then.
        while is_listening(self._port):
            time.sleep(0.05)

    def kill_one(self, process: psutil.Process) -> None:
        """Kill -9; a process that has ended by itself is fine too."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)

    def actors(self) -> list[psutil.Process]:
        """The processes that hold a document, or could."""
        return self._named("ray::DocumentActor")

    def gateways(self) -> list[psutil.Process]:
        return self._named("gateway.worker")

    def directory(self) -> psutil.Process | None:
        return next(iter(self._named("ray::DirectoryActor")), None)

    def holder(self, doc: str) -> psutil.Process | None:
        """The process that has the document's file open: whoever it is, it is the one to kill."""
        for process in self.actors():
            with contextlib.suppress(psutil.Error, OSError):
                if any(Path(file.path).stem == doc for file in process.open_files()):
                    return process
        return None

    def file(self, doc: str) -> Path:
        return self.data / "documents" / doc[:2] / f"{doc}.sqlite3"

    def _named(self, part: str) -> list[psutil.Process]:
        found = []
        with contextlib.suppress(psutil.NoSuchProcess):
            for process in self._process.children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    if part in " ".join(process.cmdline()):
                        found.append(process)
        return found

    def _is_ready(self) -> bool:
        with contextlib.suppress(httpx.TransportError):
            url = f"http://127.0.0.1:{self._port}/readyz"
            return httpx.get(url, timeout=5).status_code == httpx.codes.OK
        return False
