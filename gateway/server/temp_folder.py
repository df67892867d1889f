"""The private folder of an embedded cluster: sockets, Ray's session, nothing that must stay.

Every process that uses it holds a shared lock on a file in it. Who leaves and can turn its lock
into an exclusive one was the last, and removes the folder. A folder that nobody holds was left by
a machine that stopped, or by processes that were all killed: the next start removes it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from actors.document.socket_folder import TEMP_ENV

PREFIX: Final = "docactor-"
LOCK_FILE: Final = "in-use"
UNBORN: Final = "docactor.new-"  # until its lock is held, so that nobody takes it for stale
LINGER_S: Final = 0.5  # what a process wrote in the instant it was killed
LINGER_POLL_S: Final = 0.1
ABANDONED_S: Final = 60.0  # without a lock file for so long: made once more by a process of Ray's


class TempFolder:
    """This process's hold on the folder. `leave` ends it, and so does the end of the process."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self._handle = handle

    @classmethod
    def create(cls, base: Path = Path("/tmp")) -> Self:  # noqa: S108  Ray's sockets need short paths
        """A new one, mode 0700. Paths of sockets may have 107 bytes and Ray uses 68 of them."""
        remove_stale(base)
        unborn = Path(tempfile.mkdtemp(prefix=UNBORN, dir=base))
        folder = cls.join(unborn)
        folder.path = unborn.rename(base / unborn.name.replace(UNBORN, PREFIX))
        return folder

    @classmethod
    def join(cls, path: Path) -> Self:
        """Another process of the same server. Raises FileNotFoundError when it is gone."""
        handle = os.open(path / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(handle, fcntl.LOCK_SH)
        return cls(path, handle)

    def leave(self, *, in_order: bool = False) -> bool:
        """Lets go, and removes the folder if nobody else holds it; whether it did.

        Args:
            in_order: Ray has been stopped. Else its processes that live on are killed: its agents
                stay for a minute, and a worker just starting makes its folders again.
        """
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        else:
            if not in_order:
                _kill_inhabitants(self.path)
            _remove(self.path, 0.0 if in_order else LINGER_S)
            return True
        finally:
            os.close(self._handle)


def remove_stale(base: Path) -> None:
    """Removes the folders that no process holds."""
    for path in base.glob(f"{PREFIX}*"):
        try:
            if path.lstat().st_uid == os.getuid():
                _remove_if_stale(path)
        except OSError:
            continue  # somebody else removed it just now


def _remove_if_stale(path: Path) -> None:
    try:
        handle = os.open(path / LOCK_FILE, os.O_RDWR)
    except FileNotFoundError:
        old = time.time() - path.stat().st_mtime > ABANDONED_S
        if old and [entry.name for entry in path.iterdir()] == ["ray"]:
            _remove(path, 0.0)
    else:
        TempFolder(path, handle).leave()


def _kill_inhabitants(path: Path) -> None:
    """Kills the processes that were started with this folder as theirs, and nobody else."""
    mark = f"{TEMP_ENV}={path}".encode()
    for process in Path("/proc").iterdir():
        if not process.name.isdigit() or int(process.name) == os.getpid():
            continue
        with suppress(OSError):  # it has ended, or is another account's
            if mark in (process / "environ").read_bytes().split(b"\0"):
                os.kill(int(process.name), signal.SIGKILL)


def _remove(path: Path, linger_s: float) -> None:
    deadline = time.monotonic() + linger_s
    while True:
        shutil.rmtree(path, ignore_errors=True)
        if time.monotonic() >= deadline:
            return
        time.sleep(LINGER_POLL_S)
