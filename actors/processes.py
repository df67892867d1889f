"""Processes of this machine: told apart by pid and start time, killed for certain."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio

GONE_POLL_S: Final = 0.005
GONE_WAIT_S: Final = 3.0  # a process that survives SIGKILL for longer hangs in the kernel


def start_time(pid: int) -> int:
    """Clock ticks since boot at which the process started; 0 when there is none (or a zombie)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    # The name in parentheses may hold anything; the fields after it do not.
    fields = stat.rpartition(")")[2].split()
    return 0 if fields[0] in "ZX" else int(fields[19])


def is_alive(pid: int, started: int) -> bool:
    """Whether exactly this process, not a later one with its pid, is there."""
    return started != 0 and start_time(pid) == started


async def kill_for_certain(pid: int, started: int) -> bool:
    """SIGKILL, which a stopped process obeys too; True when the process is gone."""
    if not is_alive(pid, started):
        return True
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    with anyio.move_on_after(GONE_WAIT_S):
        while is_alive(pid, started):  # noqa: ASYNC110  # the kernel sets no event
            await anyio.sleep(GONE_POLL_S)
    return not is_alive(pid, started)
