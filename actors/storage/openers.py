"""How a document's store is opened: at first, and again after a failed commit."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from actors.storage.store import NewFile, SqliteStore
from actors.storage.stored import DocumentStore
from shared.protocol import RouteKey


class Opener(Protocol):
    async def __call__(self) -> DocumentStore:
        """The store, held by nobody else.

        Raises:
            StorageUnavailable: It cannot be opened.
            StaleEpochError: It was opened under a higher epoch.
        """


class SqliteOpener:
    """Creates the file at the first call when it is given a cursor secret, opens it afterwards."""

    def __init__(self, path: Path, key: RouteKey, title: str | None, create: bytes | None) -> None:
        self._path = path
        self._key = key
        self._title = title
        self._create = create

    async def __call__(self) -> DocumentStore:
        if self._create is None:
            return await SqliteStore.open(self._path, self._key.epoch)
        new = NewFile(self._key.doc_id, self._key.epoch, self._create, self._title)
        store = await SqliteStore.create(self._path, new)
        self._create = None
        return store
