"""SQL lives in `.sql` files, reviewed there; this reads it.

`schema.sql` has sections `-- ==== name ====`; query files statements `-- name: statement_name`.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

SCHEMA: Final = (Path(__file__).parents[2] / "schema.sql").read_text(encoding="utf-8")

_SECTION = re.compile(r"^-- ==== (\w+) ====$", re.MULTILINE)
_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


def section(text: str, name: str) -> str:
    """One section of a schema text. Raises KeyError when there is none of that name."""
    return _split(_SECTION, text)[name]


def load_queries(file_name: str) -> Mapping[str, str]:
    """The named statements of a query file beside this module."""
    text = (Path(__file__).parent / file_name).read_text(encoding="utf-8")
    return MappingProxyType({k: v.strip() for k, v in _split(_NAME, text).items()})


def statements(script: str) -> list[str]:
    """The statements of a script, for a transaction: `executescript` would commit it."""
    found, gathered = [], ""
    for line in script.splitlines(keepends=True):
        gathered += line
        if sqlite3.complete_statement(gathered):
            found.append(gathered)
            gathered = ""
    return found


def _split(marker: re.Pattern[str], text: str) -> dict[str, str]:
    parts = marker.split(text)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))
