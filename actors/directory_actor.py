"""Makes the Directory a Ray actor, and does nothing else."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import time
from pathlib import Path
from typing import Any, Final, get_args

import anyio
import ray

from actors.directory.catalog import SqliteCatalog
from actors.directory.directory import Directory
from actors.directory.ray_slots import RaySlots
from actors.folder_lock import FolderLock
from actors.json_log import log_to_file
from actors.storage.document_files import DocumentFiles
from shared.directory_protocol import DIRECTORY_NAME, DirectoryMethod, DirectorySettings
from shared.errors import DocactorError, InternalError, StorageUnavailable

log = logging.getLogger(__name__)

METHODS: Final[frozenset[str]] = frozenset(get_args(DirectoryMethod))
RETRY_S: Final = 1.0  # a catalog that cannot be opened is tried again this often


class DirectoryActor:
    """Starts the Directory, waits for it with every call, and turns its errors into values."""

    def __init__(self, settings: DirectorySettings) -> None:
        log_to_file("directory")
        self._settings = settings
        self._directory: Directory | None = None
        self._settled = asyncio.Event()
        self._failed: DocactorError | None = None
        self._running = asyncio.get_running_loop().create_task(self._run())

    async def call(self, method: str, *args: Any) -> Any:
        """One method of the Directory; a domain error is a value (`WireError`)."""
        if method not in METHODS:
            return InternalError(f"The Directory has no method {method!r}.").to_wire()
        await self._settled.wait()
        if self._directory is None:
            assert self._failed is not None
            return self._failed.to_wire()
        try:
            return await getattr(self._directory, method)(*args)
        except DocactorError as error:
            return error.to_wire()
        except Exception:
            # A border: what is said to a caller is an id, what happened is in the log.
            error_id = secrets.token_hex(4)
            log.exception("%s failed, error %s", method, error_id)
            return InternalError("Something went wrong here.", error_id=error_id).to_wire()

    async def process(self) -> int:
        """The pid of the Directory."""
        return os.getpid()

    async def _run(self) -> None:
        while True:
            try:
                await self._serve()
            except DocactorError as error:
                log.exception("the Directory cannot serve")
                self._failed = error
            except Exception:
                # The border of a task: callers must hear that nothing is going to answer them.
                log.exception("the Directory failed")
                self._failed = InternalError("The Directory failed.")
            self._directory = None
            self._settled.set()
            await anyio.sleep(RETRY_S)

    async def _serve(self) -> None:
        data = Path(self._settings.data)
        catalog = await SqliteCatalog.open(data / "catalog.sqlite3")
        try:
            lock = _lock(data / "directory.lock")
            try:
                await self._serve_from(catalog, lock)
            finally:
                lock.release()
        finally:
            await catalog.close()

    async def _serve_from(self, catalog: SqliteCatalog, lock: FolderLock) -> None:
        slots = RaySlots(ray.get_runtime_context().namespace)
        files = DocumentFiles(Path(self._settings.data))
        running = Directory.running(
            catalog, slots, files, self._settings, lock=lock.proof, now_ms=_now_ms
        )
        async with running as directory:
            self._directory = directory
            self._settled.set()
            await anyio.sleep_forever()


RemoteDirectoryActor: Final = ray.remote(DirectoryActor)

# `max_restarts` without end: documents live on without it, and it finds them when it is back.
DIRECTORY_OPTIONS: Final[dict[str, Any]] = {
    "name": DIRECTORY_NAME,
    "lifetime": "detached",
    "get_if_exists": True,
    "num_cpus": 0,
    "max_restarts": -1,
    "max_task_retries": 0,
    "max_concurrency": 1000,
}


def _lock(path: Path) -> FolderLock:
    """Who holds the catalog gets the lock: a process that had both has gone."""
    try:
        return FolderLock.take(path)
    except OSError as error:
        raise StorageUnavailable(f"The data folder cannot be locked: {error}.") from error


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
