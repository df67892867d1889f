"""What a check of stored documents finds, and what a backup consists of, as values."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

ProblemCode = Literal[
    "unreadable",
    "locked",
    "newer_schema",
    "integrity",
    "meta",
    "wal_damaged",
    "update_damaged",
    "log_gap",
    "does_not_apply",
    "checkpoint_damaged",
    "checkpoint_differs",
    "index_misfit",
    "change_rows",
    "foreign_children",
    "file_missing",
    "row_missing",
    "creating_left",
]
CATALOG: Final = "catalog"  # stands where a document's id stands


class Problem(msgspec.Struct, frozen=True):
    """One thing that is not as it must be. `text` says what and where, for a person."""

    code: ProblemCode
    text: str


class Checkup(msgspec.Struct, frozen=True):
    """What a check of one document, or of the catalog, found.

    Attributes:
        doc_id: The document's; `catalog` for the catalog.
        updates, checkpoints, blocks: How many there are, as far as they could be read.
    """

    doc_id: str
    problems: tuple[Problem, ...] = ()
    updates: int = 0
    checkpoints: int = 0
    blocks: int = 0


class Repaired(msgspec.Struct, frozen=True):
    """What a repair did.

    Attributes:
        done: What was mended, in the order it was.
        lost: What could not be kept; empty when nothing is missing from the document.
        aside: Where the file as it was is kept; "" when there was none to keep.
        left: Problems that are still there.
    """

    doc_id: str
    done: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    aside: str = ""
    left: tuple[Problem, ...] = ()


class CheckRequest(msgspec.Struct, frozen=True):
    """Asks an open document to check its file, which must be that of `doc_id`."""

    doc_id: str


class BackUpRequest(msgspec.Struct, frozen=True):
    """Asks an open document for a copy of its file.

    Attributes:
        path: The copy, on a folder that the document's node sees. What is there is replaced.
    """

    path: str


class Copied(msgspec.Struct, frozen=True):
    """A file that was copied and is on disk. `digest`: BLAKE2b-256 in hex digits."""

    size: int
    digest: str


class CatalogCopy(msgspec.Struct, frozen=True):
    """The catalog's copy, and the documents that were ready in it."""

    copied: Copied
    ready: tuple[str, ...]
