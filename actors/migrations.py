"""How files of earlier versions become files of this one.

`schema.sql` is what a new file gets. A table that changes there gets a step here, and the version
goes up by one: `MIGRATIONS[n]` takes a file from version n to n + 1. All steps a file needs run in
one transaction with the new version number, so a crash leaves the old file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Final

from actors.sql import load_queries, statements

_SQL: Final = load_queries("migrations_document.sql")

MIGRATIONS: Final[Mapping[int, str]] = {
    int(name.removeprefix("from_")): script for name, script in _SQL.items()
}
FIRST_VERSION: Final = 1
SCHEMA_VERSION: Final = FIRST_VERSION + len(MIGRATIONS)


class NewerSchemaError(Exception):
    """The file was written by a later version of docactor; its version is in `args[0]`."""


def migrate(db: sqlite3.Connection) -> None:
    """Brings an open file up to this version; does nothing when it is.

    Raises NewerSchemaError, sqlite3.Error (the file is then as it was).
    """
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version == SCHEMA_VERSION:
        return
    if not FIRST_VERSION <= version < SCHEMA_VERSION:
        raise NewerSchemaError(version)
    db.execute("BEGIN IMMEDIATE")
    try:
        for step in range(version, SCHEMA_VERSION):
            for statement in statements(MIGRATIONS[step]):
                db.execute(statement)
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
