"""Copies of databases and files that are on disk, whole, when they are said to be."""

from __future__ import annotations

import os
import shutil
import sqlite3
from hashlib import blake2b
from pathlib import Path
from typing import Final

from shared.checkup import Copied
from shared.errors import DocumentCorrupt, StorageUnavailable

DAMAGE: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def is_damage(error: sqlite3.Error) -> bool:
    """Whether SQLite says that the file itself is broken, not that it cannot be had now."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in DAMAGE


def copy_database(db: sqlite3.Connection, target: Path) -> Copied:
    """A compact copy of an open database, made through its one connection.

    A second opening of the file would drop this process's locks on it. Nobody writes through the
    connection meanwhile, so the copy is the state of one instant. What is at `target` is replaced
    in one step.

    Raises:
        DocumentCorrupt: The database cannot be read whole.
        StorageUnavailable: The copy cannot be written.
    """
    part = target.with_name(target.name + ".part")
    try:
        make_folder(target.parent)
        part.unlink(missing_ok=True)
        db.execute("VACUUM INTO ?", (str(part),))
        copied = settled(part)
        part.replace(target)
        sync_folder(target.parent)
    except sqlite3.Error as error:
        if is_damage(error):
            raise DocumentCorrupt(f"The database cannot be copied: {error}.") from error
        raise StorageUnavailable(f"The copy cannot be written: {error}.") from error
    except OSError as error:
        raise StorageUnavailable(f"The copy cannot be written: {error}.") from error
    return copied


def copy_file(source: Path, target: Path) -> None:
    """A copy of a file that nobody has open, on disk on return. Raises OSError."""
    make_folder(target.parent)
    shutil.copyfile(source, target)
    settled(target)
    sync_folder(target.parent)


def settled(path: Path) -> Copied:
    """Waits until a file is on disk; its size and digest."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
        digest = blake2b(digest_size=32)
        while chunk := file.read(2**20):
            digest.update(chunk)
    return Copied(path.stat().st_size, digest.hexdigest())


def make_folder(folder: Path) -> None:
    """The folder with its parents, on disk."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for path in reversed(missing):
        path.mkdir(exist_ok=True)
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """SQLite syncs its files, not the folders that name them."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
