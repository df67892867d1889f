"""The catalog of a stopped server: checked, and put together again from the documents' files."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from actors.directory.catalog import add_owner
from actors.storage.copying import copy_database, sync_folder
from actors.storage.document_files import DocumentFiles
from actors.storage.file_content import copy_in_memory
from actors.storage.migrations import CATALOG, NewerSchemaError, NoSchemaError
from actors.storage.sql import SCHEMA, load_queries, section
from actors.storage.wal import wal_of
from actors.upkeep.catalog_check import checked_catalog
from actors.upkeep.repair import finish_exchange, opened, title_of
from shared.checkup import CATALOG as NAME
from shared.checkup import Checkup, Problem, Repaired
from shared.directory_protocol import DocumentState
from shared.slugs import is_usable, slugify, with_suffix

Q: Final = load_queries("queries_catalog.sql")
OWNER: Final = "person:owner"  # whoever runs the server: that of documents whose owner is not known


class CatalogDoctor:
    """The catalog in a data folder that no server uses.

    Call `check` before `repair`.
    """

    def __init__(self, data: Path) -> None:
        self._path = data / "catalog.sqlite3"
        self._files = DocumentFiles(data)

    def check(self) -> Checkup:
        """Whether it is sound, and of the same documents as the files."""
        if not self._path.exists():
            text = "There is no catalog, but there are documents."
            there = bool(self._files.stored())
            return Checkup(NAME, (Problem("unreadable", text),) if there else ())
        try:
            with opened(self._path) as db:
                copy = copy_in_memory(db)
            try:
                CATALOG.migrate(copy)
                broken = [str(row[0]) for row in copy.execute("PRAGMA integrity_check")]
                states: Mapping[str, DocumentState] = dict(copy.execute(Q["states"]).fetchall())
            finally:
                copy.close()
        except NewerSchemaError as error:
            text = f"The catalog has schema {error.args[0]}; this version knows {CATALOG.version}."
            return Checkup(NAME, (Problem("newer_schema", text),))
        except (sqlite3.Error, NoSchemaError) as error:
            return Checkup(NAME, (Problem("unreadable", f"It cannot be read: {error}."),))
        return checked_catalog(states, self._files.stored(), (b for b in broken if b != "ok"))

    def repair(self, checkup: Checkup, now: int) -> Repaired:
        """Repairs what `check` found. `now` is in milliseconds since 1970."""
        codes = {problem.code for problem in checkup.problems}
        if not codes or "newer_schema" in codes:
            return Repaired(NAME, left=checkup.problems)
        done: list[str] = []
        aside = ""
        if "unreadable" in codes:
            aside = self._start_anew(now)
            done.append("A new catalog was made; tokens have to be made again.")
        db = sqlite3.connect(self._path, isolation_level=None)
        try:
            db.execute("BEGIN IMMEDIATE")
            states = dict(db.execute(Q["states"]).fetchall())
            done += self._drop_unfinished(db, states, now)
            done += self._finish(states)
            done += self._take_in(db, states, now)
            db.execute("COMMIT")
        finally:
            db.close()
        if "integrity" in codes:
            aside = self._rebuild(now)
            done.append("The catalog's file was written anew.")
        lost = ("Slugs, owners and tokens.",) if "unreadable" in codes else ()
        return Repaired(NAME, tuple(done), lost, aside, self.check().problems)

    def _start_anew(self, now: int) -> str:
        aside = self._keep_aside(now) if self._path.exists() else ""
        db = sqlite3.connect(self._path, isolation_level=None)
        try:
            mark = f"PRAGMA user_version = {CATALOG.version};"
            db.executescript(f"BEGIN; {section(SCHEMA, 'catalog')} {mark} COMMIT;")
        finally:
            db.close()
        return aside

    def _rebuild(self, now: int) -> str:
        fresh = self._path.with_name(self._path.name + ".repaired")
        db = sqlite3.connect(self._path, isolation_level=None)
        try:
            copy_database(db, fresh)
        finally:
            db.close()
        aside = self._keep_aside(now)
        fresh.rename(self._path)
        sync_folder(self._path.parent)
        return aside

    def _keep_aside(self, now: int) -> str:
        aside = self._path.with_name(f"{self._path.name}.broken-{now}")
        self._path.rename(aside)
        if wal_of(self._path).exists():
            wal_of(self._path).rename(wal_of(aside))
        self._path.with_name(self._path.name + "-shm").unlink(missing_ok=True)
        return str(aside)

    def _drop_unfinished(
        self, db: sqlite3.Connection, states: Mapping[str, str], now: int
    ) -> list[str]:
        """Nobody was told of these documents; a file that was begun is kept aside."""
        unfinished = [doc_id for doc_id, state in states.items() if state == "creating"]
        for doc_id in unfinished:
            path = Path(self._files.path(doc_id))
            if path.exists():
                path.rename(path.with_name(f"{path.name}.broken-{now}"))
            db.execute(Q["remove_creating"], (doc_id,))
        return [f"The unfinished document {doc_id} was taken out." for doc_id in unfinished]

    def _finish(self, states: Mapping[str, str]) -> list[str]:
        there = self._files.stored()
        return [
            f"The repaired file of document {doc_id} was put in its place."
            for doc_id in states
            if doc_id not in there and finish_exchange(Path(self._files.path(doc_id)))
        ]

    def _take_in(self, db: sqlite3.Connection, states: Mapping[str, str], now: int) -> list[str]:
        """Rows for files that have none."""
        done = []
        for doc_id in sorted(self._files.stored() - states.keys()):
            path = Path(self._files.path(doc_id))
            title = title_of(path)
            slug = slugify(title)
            while not is_usable(slug) or db.execute(Q["slug_taken"], (slug,)).fetchone():
                slug = with_suffix(slugify(title), secrets.choice)
            db.execute(Q["add_document"], (doc_id, slug, title, now, now, OWNER, None))
            db.execute(Q["document_ready"], (doc_id,))
            add_owner(db, doc_id, OWNER, now)
            done.append(f"Document {doc_id} was taken in as {slug}.")
        return done
