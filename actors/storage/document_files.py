"""Where documents' files are, and what the Directory does to them from outside.

The database itself is opened by the document's actor alone: here is nothing that opens it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

import anyio

from shared.errors import StorageUnavailable
from shared.ids import is_doc_id

T = TypeVar("T")


class Files(Protocol):
    """The Directory's port to the data folder; what waits raises StorageUnavailable."""

    def path(self, doc_id: str) -> str:
        """The document's SQLite file."""

    async def write_epoch(self, doc_id: str, epoch: int) -> None:
        """Who still holds the document under a lower epoch is to stop before its next commit.

        On disk when this returns.
        """

    async def remove(self, doc_id: str) -> None:
        """Removes the files of a document that nobody holds. Fine when there are none.

        They stay removed after a power cut.
        """

    async def ids(self) -> frozenset[str]:
        """The documents there is a file of."""


class DocumentFiles:
    """`<data>/documents/<first two>/<doc_id>.sqlite3`, and `<doc_id>.epoch` beside it."""

    def __init__(self, data: Path) -> None:
        self._folder = data / "documents"

    def path(self, doc_id: str) -> str:
        return str(self._folder / doc_id[:2] / f"{doc_id}.sqlite3")

    async def write_epoch(self, doc_id: str, epoch: int) -> None:
        path = Path(self.path(doc_id)).with_suffix(".epoch")
        await _in_thread(lambda: _replace(path, str(epoch).encode()))

    async def remove(self, doc_id: str) -> None:
        path = Path(self.path(doc_id))
        names = [path, path.with_suffix(".epoch")]
        names += [path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal")]
        await _in_thread(lambda: _remove(names))

    async def ids(self) -> frozenset[str]:
        return await _in_thread(self.stored)

    def stored(self) -> frozenset[str]:
        """As `ids`, for whoever has no loop."""
        names = (path.name.removesuffix(".sqlite3") for path in self._folder.glob("??/*.sqlite3"))
        return frozenset(name for name in names if is_doc_id(name))


async def _in_thread(work: Callable[[], T]) -> T:
    try:
        return await anyio.to_thread.run_sync(work)
    except OSError as error:
        raise StorageUnavailable(f"The data folder cannot be used: {error}.") from error


def _replace(path: Path, content: bytes) -> None:
    """Old content or new, never half of it, also after a power cut."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".epoch-new")
    with fresh.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    _sync(path.parent)


def _remove(names: list[Path]) -> None:
    there = [name for name in names if name.exists()]
    for name in there:
        name.unlink(missing_ok=True)
    if there:
        _sync(there[0].parent)


def _sync(folder: Path) -> None:
    """What was made, renamed and removed in a folder outlives a power cut."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
