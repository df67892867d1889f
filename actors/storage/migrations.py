"""How files of earlier versions become files of this one: documents' and the catalog.

`schema.sql` is what a new file gets. A table that changes there gets a step here, and the version
goes up by one: the step `from_n` takes a file from version n to n + 1. All steps a file needs run
in one transaction with the new version number, so a crash leaves the old file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Final

from actors.storage.sql import load_queries, statements

FIRST_VERSION: Final = 1


class NewerSchemaError(Exception):
    """The file was written by a later version of docactor; its version is in `args[0]`."""


class NoSchemaError(Exception):
    """The file is a database without our tables: cut off, or not ours."""


class Migrations:
    """The steps of one kind of file.

    Args:
        steps: Scripts by the version they start from, from FIRST_VERSION on without a gap.
    """

    def __init__(self, steps: Mapping[int, str]) -> None:
        self._steps = steps
        self.version = FIRST_VERSION + len(steps)

    @classmethod
    def read(cls, file_name: str) -> Migrations:
        """The steps of a file beside this module."""
        queries = load_queries(file_name)
        return cls({int(name.removeprefix("from_")): script for name, script in queries.items()})

    def migrate(self, db: sqlite3.Connection) -> None:
        """Brings an open file up to this version; does nothing when it is.

        Raises:
            NewerSchemaError, NoSchemaError, sqlite3.Error: The file is as it was.
        """
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version == self.version:
            return
        if version < FIRST_VERSION:
            raise NoSchemaError(version)
        if version > self.version:
            raise NewerSchemaError(version)
        db.execute("BEGIN IMMEDIATE")
        try:
            for step in range(version, self.version):
                for statement in statements(self._steps[step]):
                    db.execute(statement)
            db.execute(f"PRAGMA user_version = {self.version}")
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise


DOCUMENT: Final = Migrations.read("migrations_document.sql")
CATALOG: Final = Migrations.read("migrations_catalog.sql")
