"""Who may use a data folder: one server, or a tool while no server runs."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from actors.folder_lock import FolderLock
from actors.upkeep.backup import UNFINISHED
from shared.errors import InvalidArgument, StorageUnavailable


class ServerRunsError(Exception):
    """A server uses the folder."""


@contextmanager
def only_server_of(data: Path) -> Iterator[None]:
    """Two servers on one folder would fight for its documents: the second is refused at once.

    Raises InvalidArgument.
    """
    with (data / "serve.lock").open("a", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InvalidArgument(f"data: another server runs on {data}.") from None
        yield


def refuse_half_restored(data: Path) -> None:
    """Raises StorageUnavailable when a restore into the folder was interrupted."""
    if (data / UNFINISHED).exists():
        raise StorageUnavailable(
            f"A restore into {data} did not finish: run 'docactor restore' again.",
            retryable=False,
        )


@contextmanager
def no_server_on(data: Path) -> Iterator[None]:
    """Keeps servers off the folder while the scope lasts. Raises ServerRunsError.

    The first lock is an embedded server's, the second is held by the Directory of any.
    """
    try:
        with only_server_of(data):
            lock = FolderLock.take(data / "directory.lock")
            try:
                yield
            finally:
                lock.release()
    except (InvalidArgument, BlockingIOError) as error:
        if isinstance(error, InvalidArgument) and not error.message.startswith("data: another"):
            raise
        raise ServerRunsError(str(data)) from error
