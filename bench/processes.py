"""Processes a benchmark starts: started, watched and ended as whole trees."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import psutil

START_DEADLINE_S: Final = 60.0
STOP_DEADLINE_S: Final = 30.0
QUIET_DEADLINE_S: Final = 20.0
QUIET_CORES: Final = 0.6  # fifty idle documents use 0.4, a process that starts uses a whole one
QUIET_LOOK_S: Final = 0.5
QUIET_LOOKS: Final = 2  # in a row


def free_port() -> int:
    """A port nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def end_on_sigterm() -> None:
    """Makes a benchmark that is told to stop end the servers it started, as Ctrl-C does."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


@contextlib.contextmanager
def running(
    command: list[str],
    *,
    cwd: Path,
    log: Path,
    environment: dict[str, str] | None = None,
) -> Iterator[psutil.Process]:
    """A process tree that is gone when the block ends: asked to stop first, killed at last."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | (environment or {}),
        )
    tree = psutil.Process(process.pid)
    try:
        yield tree
    finally:
        family = [tree, *_descendants(tree)]
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_DEADLINE_S)
        for member in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                member.kill()
        process.wait()


def _descendants(process: psutil.Process) -> list[psutil.Process]:
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.children(recursive=True)
    return []


def cpu_seconds(process: psutil.Process) -> float:
    """User and system time of a process and all below it, so far."""
    total = 0.0
    for member in [process, *_descendants(process)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            times = member.cpu_times()
            total += times.user + times.system
    return total


def idle_cpu_per_second(process: psutil.Process, seconds: float) -> float:
    """CPU seconds a process tree uses in a second when nobody asks anything of it."""
    before = cpu_seconds(process)
    started = time.monotonic()
    time.sleep(seconds)
    return (cpu_seconds(process) - before) / (time.monotonic() - started)


def wait_until(ready: Callable[[], bool], process: psutil.Process, log: Path) -> None:
    """Returns when `ready()` is true.

    Raises:
        RuntimeError: the process ended or took too long; with the end of its log.
    """
    end = time.monotonic() + START_DEADLINE_S
    while not ready():
        if process.status() == psutil.STATUS_ZOMBIE or time.monotonic() > end:
            tail = log.read_text(errors="replace")[-2_000:]
            msg = f"{log.stem}: not ready\n{tail}"
            raise RuntimeError(msg)
        time.sleep(0.05)


def is_listening(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def wait_until_quiet(process: psutil.Process) -> None:
    """Returns when a process tree does no more work of its own, as filling a pool of processes.

    Called before a load, of whichever server: what it costs to open is measured elsewhere.
    """
    end = time.monotonic() + QUIET_DEADLINE_S
    quiet = 0
    while quiet < QUIET_LOOKS and time.monotonic() < end:
        quiet = quiet + 1 if idle_cpu_per_second(process, QUIET_LOOK_S) < QUIET_CORES else 0
