"""Checking and repairing the file of a document that nobody has open.

Nothing is ever destroyed: the repaired file is made beside the old one, checked, and put in its
place only when it is sound; the old one is kept as `<name>.broken-<time>` with its log.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from actors.storage.annotating import write_annotations
from actors.storage.copying import copy_database, sync_folder
from actors.storage.file_content import FileContent, copy_in_memory, read_content
from actors.storage.migrations import DOCUMENT, NewerSchemaError, NoSchemaError
from actors.storage.sql import SCHEMA, load_queries, section, statements
from actors.storage.stored import author_row, checkpoint_row, reader_row, update_row, version_row
from actors.storage.wal import damaged_wal_of, lost_commits, readable_frames, wal_of
from actors.upkeep.examine import examine
from actors.upkeep.mend import BeyondRepairError, mend
from actors.upkeep.replay import first_words
from actors.upkeep.walk import Walk
from shared.checkup import Checkup, Problem, Repaired
from shared.ids import mint_block_id
from shared.slugs import UNTITLED

Q: Final = load_queries("queries_document.sql")
LOCK_WAIT_S: Final = 5.0  # a server that has just been killed still holds its files
_HEADER: Final = b"SQLite format 3\0"


def check_file(path: Path) -> Checkup:
    """Checks a document's file without changing it or its log."""
    doc_id = path.stem
    problems = _log_problems(path)
    try:
        with opened(path) as db:
            found = examine(copy_in_memory(db), doc_id)
    except sqlite3.OperationalError as error:
        locked = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
        text = "Another process has the file open." if locked else f"It cannot be read: {error}."
        return Checkup(doc_id, (*problems, Problem("locked" if locked else "unreadable", text)))
    except sqlite3.DatabaseError as error:
        problems.append(Problem("unreadable", f"The file cannot be read: {error}."))
        return Checkup(doc_id, tuple(problems))
    return Checkup(
        doc_id, (*problems, *found.problems), found.updates, found.checkpoints, found.blocks
    )


def repair_file(path: Path, checkup: Checkup, now: int) -> Repaired:
    """Repairs what a check has found in a document's file.

    `now` is in milliseconds since 1970. Raises OSError when the folder takes no files.
    """
    doc_id = path.stem
    codes = {problem.code for problem in checkup.problems}
    if not codes or codes & {"locked", "newer_schema"}:
        return Repaired(doc_id, left=checkup.problems)
    try:
        content = _salvaged(path)
        mended = mend(content, doc_id, now, _mint, secrets.token_bytes(16))
    except (sqlite3.Error, BeyondRepairError, NoSchemaError, NewerSchemaError) as error:
        text = f"Nothing can be recovered: {error} Restore a backup."
        return Repaired(doc_id, left=(*checkup.problems, Problem("unreadable", text)))
    if "wal_damaged" in codes:
        mended.lost += [p.text for p in checkup.problems if p.code == "wal_damaged"]
        mended.content.meta["secret"] = secrets.token_bytes(16)  # numbers are given out again
        mended.content.views = {}
    repaired = path.with_name(path.name + ".repaired")
    with _built(mended.content) as db:
        left = examine(copy_in_memory(db), doc_id).problems
        if left:
            return Repaired(doc_id, tuple(mended.done), tuple(mended.lost), left=left)
        copy_database(db, repaired)
    aside = _exchange(path, repaired, now)
    return Repaired(doc_id, tuple(mended.done), tuple(mended.lost), str(aside))


def finish_exchange(path: Path) -> bool:
    """Puts a repaired file in its place when the repair was interrupted right before that."""
    repaired = path.with_name(path.name + ".repaired")
    if path.exists() or wal_of(path).exists() or not repaired.exists():
        return False
    repaired.replace(path)
    sync_folder(path.parent)
    return True


def _log_problems(path: Path) -> list[Problem]:
    kept = damaged_wal_of(path)
    if kept.exists():
        frames = kept.read_bytes()
    elif wal_of(path).exists():
        frames = wal_of(path).read_bytes()
    else:
        return []
    lost = lost_commits(frames, readable_frames(frames))
    if not lost:
        return []
    text = f"At least {lost} commits behind a damaged place of the log cannot be read."
    return [Problem("wal_damaged", text)]


def title_of(path: Path) -> str:
    """The title of the document in a file that nobody has open; "Untitled" when none is found."""
    try:
        with opened(path) as db:
            copy = copy_in_memory(db)
        try:
            DOCUMENT.migrate(copy)
            content = read_content(copy)
        finally:
            copy.close()
    except (sqlite3.Error, NoSchemaError, NewerSchemaError):
        return UNTITLED
    given = content.meta.get("title")
    return given if isinstance(given, str) else first_words(Walk(content).replay)


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Read-only, so that the log stays as it is; leaves no file behind."""
    beside = (path.with_name(path.name + "-shm"), wal_of(path))
    ours = [name for name in beside if not name.exists()]
    db = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None, timeout=LOCK_WAIT_S
    )
    try:
        # Copying waits for a locked file without end; reading gives up.
        db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        yield db
    finally:
        db.close()
        for name in ours:
            name.unlink(missing_ok=True)


def _salvaged(path: Path) -> FileContent:
    """What can be read of a file, even of one that is cut off. Raises sqlite3.Error."""
    work = path.with_name(path.name + ".salvage")
    try:
        shutil.copyfile(path, work)
        if wal_of(path).exists():
            shutil.copyfile(wal_of(path), wal_of(work))
        _fill_up(work)
        db = sqlite3.connect(work, isolation_level=None)
        try:
            copy = copy_in_memory(db)
        finally:
            db.close()
    finally:
        for name in (work, wal_of(work), work.with_name(work.name + "-shm")):
            name.unlink(missing_ok=True)
    try:
        DOCUMENT.migrate(copy)
        return read_content(copy)
    finally:
        copy.close()


def _fill_up(path: Path) -> None:
    """Gives a file that was cut off its length back: the pages that are there can be read then."""
    with path.open("rb+") as file:
        header = file.read(100)
        if len(header) < 100 or not header.startswith(_HEADER):
            return
        page, pages = struct.unpack_from(">H", header, 16)[0], struct.unpack_from(">I", header, 28)
        size = (65536 if page == 1 else page) * pages[0]
        if file.seek(0, os.SEEK_END) < size:
            file.truncate(size)


@contextmanager
def _built(content: FileContent) -> Iterator[sqlite3.Connection]:
    """A database in memory with this content."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    try:
        db.execute("BEGIN")
        for statement in statements(section(SCHEMA, "document")):
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {DOCUMENT.version}")
        db.executemany(Q["set_meta"], content.meta.items())
        db.executemany(Q["add_update"], map(update_row, content.updates))
        db.executemany(Q["add_checkpoint"], map(checkpoint_row, content.checkpoints))
        rows = ((r.seq, r.block_id, r.kind, r.principal, r.at) for r in content.rows)
        db.executemany(Q["add_change"], rows)
        db.executemany(Q["set_principal"], content.principals.items())
        db.executemany(Q["set_view"], content.views.items())
        answers = (
            (a.principal, a.verb, a.key, a.arguments, a.answer, a.at) for a in content.answers
        )
        db.executemany(Q["add_answer"], answers)
        budgets = ((b.principal, b.data, b.at) for b in content.budgets)
        db.executemany(Q["set_budget"], budgets)
        db.executemany(Q["set_reader"], map(reader_row, content.readers))
        db.executemany(Q["set_person"], content.people.items())
        db.executemany(Q["add_version"], map(version_row, content.versions))
        write_annotations(db, content.annotations)
        db.executemany(Q["add_author"], (author_row(*one) for one in content.authors))
        db.execute("COMMIT")
        yield db
    finally:
        db.close()


def _exchange(path: Path, repaired: Path, now: int) -> Path:
    """Puts the repaired file in the place of the old one, which is kept with its log.

    The old log goes before the new file comes: it would be read into it. Interrupted in between,
    the document has no file and is refused, and the next repair finishes (`finish_exchange`).
    """
    aside = path.with_name(f"{path.name}.broken-{now}")
    path.rename(aside)
    if wal_of(path).exists():
        wal_of(path).rename(wal_of(aside))
    if damaged_wal_of(path).exists():
        damaged_wal_of(path).rename(damaged_wal_of(aside))
    path.with_name(path.name + "-shm").unlink(missing_ok=True)
    sync_folder(path.parent)
    repaired.rename(path)
    sync_folder(path.parent)
    return aside


def _mint() -> str:
    return mint_block_id(secrets.choice, ())
