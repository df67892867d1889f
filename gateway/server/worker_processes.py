"""The gateway processes of a server: started on one listening socket, replaced when they die."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import anyio
from anyio.abc import Process, TaskGroup

log = logging.getLogger("docactor.supervisor")

SOON_S: Final = 30.0  # a worker that fails sooner than this has perhaps never served
PAUSE_S: Final = 1.0  # before such a one is started again
MAX_SOON: Final = 3  # such failures in a row: it cannot work, say so instead of going on
STDERR: Final = 2


class WorkersFailedError(Exception):
    """Gateway processes die as soon as they are started; why is in the log."""


class WorkerProcesses:
    """Keeps `count` gateways running until `stop`.

    Args:
        order: What the numbered worker is told on its standard input, as JSON; see
            `gateway.worker`. It may take its time: workers get ready meanwhile.
        fd: The listening socket, inherited by each.
    """

    def __init__(self, count: int, order: Callable[[int], Awaitable[bytes]], fd: int) -> None:
        self._count = count
        self._order = order
        self._fd = fd
        self._processes: set[Process] = set()
        self._stopping = False

    def is_stopping(self) -> bool:
        return self._stopping

    def start(self, group: TaskGroup) -> None:
        """Starts them. Raises WorkersFailedError in `group` when they cannot work."""
        for number in range(self._count):
            group.start_soon(self._keep, number)

    async def stop(self, patience_s: float) -> None:
        """SIGTERM, so that requests in flight are answered; SIGKILL for who takes too long."""
        self._stopping = True
        self._signal(signal.SIGTERM)
        with anyio.move_on_after(patience_s):
            await self._all_gone()
        self.kill()
        with anyio.CancelScope(shield=True):
            await self._all_gone()

    def kill(self) -> None:
        self._stopping = True
        self._signal(signal.SIGKILL)

    async def _all_gone(self) -> None:
        for process in tuple(self._processes):
            await process.wait()

    def _signal(self, number: signal.Signals) -> None:
        for process in self._processes:
            with suppress(ProcessLookupError):
                process.send_signal(number)

    async def _keep(self, number: int) -> None:
        soon = 0
        while not self.is_stopping():
            born = anyio.current_time()
            code = await self._run(number)
            if self.is_stopping():
                return
            log.warning("gateway %d ended with %s and is started again", number, code)
            # Killed is not failed: code is the negative signal then.
            failed = code > 0 and anyio.current_time() - born < SOON_S
            soon = soon + 1 if failed else 0
            if soon >= MAX_SOON:
                raise WorkersFailedError(f"gateway {number} ends as soon as it starts ({code})")
            if soon:
                await anyio.sleep(PAUSE_S)

    async def _run(self, number: int) -> int:
        # A session of its own: Ctrl-C reaches us alone, and we stop it in order.
        process = await anyio.open_process(
            [sys.executable, "-m", "gateway.worker"],
            stdin=subprocess.PIPE,
            stdout=STDERR,
            stderr=None,
            pass_fds=(self._fd,),
            start_new_session=True,
        )
        self._processes.add(process)
        try:
            await self._tell(process, await self._order(number))
            return await process.wait()
        finally:
            self._processes.discard(process)

    async def _tell(self, process: Process, order: bytes) -> None:
        assert process.stdin is not None
        with suppress(anyio.BrokenResourceError):  # it has ended; its exit code says why
            await process.stdin.send(order)
            await process.stdin.aclose()
