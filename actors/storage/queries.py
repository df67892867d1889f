"""The statements on a document's file, by name."""

from __future__ import annotations

from typing import Final

from actors.storage.sql import load_queries

Q: Final = load_queries("queries_document.sql")
