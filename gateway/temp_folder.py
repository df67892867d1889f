"""The private folder of an embedded cluster: sockets, Ray's session, nothing that must stay.

Every process that uses it holds a shared lock on a file in it. Who leaves and can turn its lock
into an exclusive one was the last, and removes the folder. A folder that nobody holds was left by
a machine that stopped, or by processes that were all killed: the next start removes it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Final, Self

PREFIX: Final = "docactor-"
LOCK_FILE: Final = "in-use"
LINGER_S: Final = 2.5  # processes of Ray's that were just starting make their folders again
LINGER_POLL_S: Final = 0.1
ABANDONED_S: Final = 60.0  # without a lock file for so long: such folders, made once more


class TempFolder:
    """This process's hold on the folder. `leave` ends it, and so does the end of the process."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self._handle = handle

    @classmethod
    def create(cls, base: Path = Path("/tmp")) -> Self:  # noqa: S108  Ray's sockets need short paths
        """A new one, mode 0700. Paths of sockets may have 107 bytes and Ray uses 68 of them."""
        remove_stale(base)
        return cls.join(Path(tempfile.mkdtemp(prefix=PREFIX, dir=base)))

    @classmethod
    def join(cls, path: Path) -> Self:
        """Another process of the same server. Raises FileNotFoundError when it is gone."""
        handle = os.open(path / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(handle, fcntl.LOCK_SH)
        return cls(path, handle)

    def leave(self, linger_s: float = LINGER_S) -> bool:
        """Lets go, and removes the folder if nobody else holds it; whether it did.

        Args:
            linger_s: How long to look after it, because Ray was not stopped in order.
        """
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        else:
            _remove(self.path, linger_s)
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
        TempFolder(path, handle).leave(0.0)


def _remove(path: Path, linger_s: float) -> None:
    deadline = time.monotonic() + linger_s
    while True:
        shutil.rmtree(path, ignore_errors=True)
        if time.monotonic() >= deadline:
            return
        time.sleep(LINGER_POLL_S)
