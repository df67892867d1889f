"""What a backup is, and how a stopped server's data folder becomes what a backup holds.

DIR/manifest.json                       written last: without it the backup is not finished
DIR/catalog.sqlite3
DIR/documents/<first two>/<doc_id>.sqlite3
"""

from __future__ import annotations

import re
import secrets
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from actors.storage.copying import copy_file, make_folder, settled, sync_folder
from actors.storage.migrations import CATALOG, NewerSchemaError, NoSchemaError
from actors.storage.sql import load_queries
from shared.checkup import Copied
from shared.errors import InvalidArgument

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
CATALOG_FILE: Final = "catalog.sqlite3"
DOCUMENTS: Final = "documents"
UNFINISHED: Final = "restore-unfinished"  # in a data folder that is neither old nor restored
_STAGING: Final = "restoring"
_NAME = re.compile(r"documents/[0-9a-z]{2}/[0-9a-z]{12}\.sqlite3\Z")
_DOCUMENT_SQL: Final = load_queries("queries_document.sql")
_CATALOG_SQL: Final = load_queries("queries_catalog.sql")


class Manifest(msgspec.Struct, frozen=True):
    """What a finished backup consists of.

    Attributes:
        made_at: Milliseconds since 1970.
        files: Size and digest by path under the backup's folder.
        missing: Documents that could not be copied, and why.
    """

    format: int
    made_at: int
    files: dict[str, Copied]
    missing: dict[str, str] = {}


class Restored(msgspec.Struct, frozen=True):
    """What was restored. `replaced`: where what was there before is kept; "" when nothing was."""

    documents: int
    made_at: int
    replaced: str


def document_file(doc_id: str) -> str:
    """A document's file under the backup's folder."""
    return f"{DOCUMENTS}/{doc_id[:2]}/{doc_id}.sqlite3"


def new_folder(folder: Path) -> None:
    """Makes the folder of a new backup, for its owner alone. Raises InvalidArgument, OSError."""
    if not folder.is_absolute():
        raise InvalidArgument("folder: an absolute path is needed.")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise InvalidArgument(f"folder: {folder} is not empty.")


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Finishes a backup. Raises OSError."""
    path = folder / MANIFEST
    fresh = path.with_suffix(".part")
    fresh.write_bytes(msgspec.json.format(msgspec.json.encode(manifest)) + b"\n")
    settled(fresh)
    fresh.replace(path)
    sync_folder(folder)


def verified(folder: Path, progress: Callable[[int, int], None]) -> Manifest:
    """The manifest of a backup whose files are all as they were written.

    Raises InvalidArgument: The backup is not finished, damaged, or of a later version.
    """
    try:
        text = (folder / MANIFEST).read_bytes()
        manifest = msgspec.json.decode(text, type=Manifest)
    except FileNotFoundError:
        raise InvalidArgument(f"DIR: {folder} holds no finished backup.") from None
    except msgspec.MsgspecError as error:
        raise InvalidArgument(f"DIR: {MANIFEST} cannot be read: {error}.") from error
    if manifest.format != FORMAT:
        raise InvalidArgument(f"DIR: the backup has format {manifest.format}, not {FORMAT}.")
    if CATALOG_FILE not in manifest.files:
        raise InvalidArgument("DIR: the backup has no catalog.")
    for number, (name, copied) in enumerate(manifest.files.items()):
        progress(number, len(manifest.files))
        if name != CATALOG_FILE and _NAME.match(name) is None:
            raise InvalidArgument(f"DIR: {MANIFEST} names {name[:100]!r}, which is no document.")
        if not (folder / name).is_file() or settled(folder / name) != copied:
            raise InvalidArgument(f"DIR: {name} is missing or not as it was written.")
    return manifest


def restore(
    data: Path, folder: Path, now: int, progress: Callable[[int, int], None] = lambda *_: None
) -> Restored:
    """Puts a backup in the place of a stopped server's documents and catalog.

    What was there is kept in `<data>/replaced-<now>`, with its logs: a log left beside a restored
    file would be read into it. Cursors given out before are refused afterwards, because change
    numbers are given out again. `now` is in milliseconds since 1970.

    Raises InvalidArgument, OSError: nothing was replaced, or the restore has to be run again;
    until then no server starts on the folder.
    """
    manifest = verified(folder, progress)
    staging = data / _STAGING
    shutil.rmtree(staging, ignore_errors=True)
    for number, name in enumerate(manifest.files):
        progress(number, len(manifest.files))
        copy_file(folder / name, staging / name)
        _freshen(staging / name)
    make_folder(staging / DOCUMENTS)
    (data / UNFINISHED).write_text("Run 'docactor restore' again.\n", encoding="utf-8")
    sync_folder(data)
    replaced = _put_aside(data, now)
    for name in (DOCUMENTS, CATALOG_FILE):
        (staging / name).rename(data / name)
    sync_folder(data)
    (data / UNFINISHED).unlink()
    staging.rmdir()
    sync_folder(data)
    return Restored(len(manifest.files) - 1, manifest.made_at, replaced)


def _freshen(path: Path) -> None:
    """A document gets a new cursor secret; the catalog's documents are in nobody's hands.

    A catalog of an earlier version is brought up to this one, whose statements are used on it.
    """
    db = sqlite3.connect(path, isolation_level=None)
    try:
        if path.name == CATALOG_FILE:
            CATALOG.migrate(db)
            db.execute(_CATALOG_SQL["hand_back_all"])
        else:
            db.execute(_DOCUMENT_SQL["set_meta"], ("secret", secrets.token_bytes(16)))
    except sqlite3.Error as error:
        raise InvalidArgument(f"DIR: {path.name} cannot be used: {error}.") from error
    except (NewerSchemaError, NoSchemaError) as error:
        raise InvalidArgument(
            f"DIR: {path.name} has schema {error.args[0]}; this version knows {CATALOG.version}."
        ) from error
    finally:
        db.close()


def _put_aside(data: Path, now: int) -> str:
    names = [DOCUMENTS, *(CATALOG_FILE + end for end in ("", "-wal", "-shm"))]
    there = [name for name in names if (data / name).exists()]
    if not there:
        return ""
    replaced = data / f"replaced-{now}"
    replaced.mkdir(mode=0o700, exist_ok=True)
    for name in there:
        (data / name).rename(replaced / name)
    sync_folder(replaced)
    return str(replaced)
