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
REMOVE_TRIES: Final = 20  # dying processes of Ray's may still write while we remove
REMOVE_PAUSE_S: Final = 0.05


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

    def leave(self) -> bool:
        """Lets go, and removes the folder if nobody else holds it; whether it did."""
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        else:
            _remove(self.path)
            return True
        finally:
            os.close(self._handle)


def remove_stale(base: Path) -> None:
    """Removes the folders that no process holds."""
    for path in base.glob(f"{PREFIX}*"):
        lock = path / LOCK_FILE
        try:
            if path.lstat().st_uid != os.getuid():
                continue
            handle = os.open(lock, os.O_RDWR)
        except OSError:
            continue  # not one of ours, or being made or removed just now
        TempFolder(path, handle).leave()


def _remove(path: Path) -> None:
    for _ in range(REMOVE_TRIES):
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return
        time.sleep(REMOVE_PAUSE_S)
