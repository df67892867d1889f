"""A lock by which nodes prove that they see the same data folder, and that locks hold there.

Two processes that both believe to hold a document's file alone ruin it. SQLite's protection is a
POSIX lock, so this is one too: where it is not refused to a second process, no actor may run.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from pathlib import Path

import msgspec

_NONCE_LENGTH = 32


class LockProof(msgspec.Struct, frozen=True):
    """What a node is given: the locked file, and what must be in it."""

    path: str
    nonce: str


class FolderLock:
    """Held by the Directory's process until it ends. Never take it twice in one process."""

    def __init__(self, handle: int, proof: LockProof) -> None:
        self._handle = handle
        self.proof = proof

    @classmethod
    def take(cls, path: Path) -> FolderLock:
        """Raises BlockingIOError while another process holds it."""
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            raise
        nonce = secrets.token_hex(_NONCE_LENGTH // 2)
        os.pwrite(handle, nonce.encode(), 0)
        return cls(handle, LockProof(str(path), nonce))

    def release(self) -> None:
        os.close(self._handle)


def shares_folder(proof: LockProof) -> bool:
    """Whether this process, which is not the Directory's, sees the lock and is refused it."""
    try:
        handle = os.open(proof.path, os.O_RDWR)
    except OSError:
        return False
    try:
        if os.pread(handle, _NONCE_LENGTH, 0).decode(errors="replace") != proof.nonce:
            return False
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return True
    else:
        return False
    finally:
        os.close(handle)
