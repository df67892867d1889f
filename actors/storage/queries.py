"""The statements on a document's file, by name."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection
from typing import Any, Final, TypeVar

from actors.storage.sql import load_queries

T = TypeVar("T")

Q: Final = load_queries("queries_document.sql")


def put(
    db: sqlite3.Connection, query: str, rows: Collection[T], values: Callable[[T], tuple[Any, ...]]
) -> None:
    """Runs a statement for each row. A keystroke has no rows for most: they cost it nothing."""
    if rows:
        db.executemany(Q[query], map(values, rows))
