"""The types of a document's history: what is asked, and the exact shapes that callers get.

A *point* names a state: a cursor (a number), the name or number of a version, or an ISO 8601 time
with its offset.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from shared.ids import BlockRef
from shared.limits import DEFAULT_READ_CHARS, DEFAULT_VERSIONS
from shared.protocol import WriteOptions, WriteResult
from shared.stored import VersionKind

Point = int | str
ComparedAs = Literal["added", "removed", "changed", "moved"]


class ListVersionsRequest(msgspec.Struct, frozen=True):
    """`before`: the version whose predecessors are wanted; None: the newest ones."""

    before: str | None = None
    limit: int = DEFAULT_VERSIONS


class ReadVersionRequest(msgspec.Struct, frozen=True):
    version: str
    max_chars: int = DEFAULT_READ_CHARS


class CompareRequest(msgspec.Struct, frozen=True):
    """`until` None: the document as it is now. `section_id`: a heading with all under it."""

    since: Point
    until: Point | None = None
    section_id: BlockRef | None = None
    max_chars: int = DEFAULT_READ_CHARS


class SaveVersionRequest(msgspec.Struct, frozen=True):
    """`version`: the one that gets the name; None: the document as it is now."""

    name: str
    version: str | None = None


class RestoreRequest(msgspec.Struct, frozen=True):
    version: str
    options: WriteOptions = WriteOptions()


class RestoreResult(WriteResult, frozen=True):
    """What `restore` answers.

    Attributes:
        version: The version it made; absent: there was nothing to do.
        undo: The version of what was there before; restoring that takes it back.
    """

    version: str | UnsetType = UNSET
    undo: str | UnsetType = UNSET


class Version(msgspec.Struct, frozen=True):
    """A version as it is listed.

    Attributes:
        at: When its last change was made, ISO 8601.
        by: Who named it, or whose write it stands before or is; absent: it came by itself.
        restored: The version that it put back.
    """

    version: str
    at: str
    kind: VersionKind
    name: str | UnsetType = UNSET
    by: str | UnsetType = UNSET
    restored: str | UnsetType = UNSET


class ListVersionsResult(msgspec.Struct, frozen=True):
    """The newest first; `next`: what to pass as `before` for older ones."""

    versions: tuple[Version, ...]
    next: str | UnsetType = UNSET


class ReadVersionResult(msgspec.Struct, frozen=True):
    """`markdown` ends at a block's end; `truncated`: there is more of it."""

    version: str
    at: str
    markdown: str
    total_chars: int
    truncated: bool
    name: str | UnsetType = UNSET
    next_step: str | UnsetType = UNSET


class ComparedState(msgspec.Struct, frozen=True):
    """A state that was compared: the one at or right before what was asked for."""

    at: str
    version: str | UnsetType = UNSET


class ComparedBlock(msgspec.Struct, frozen=True):
    """A block that is not what, or where, it was.

    Attributes:
        words_added, words_removed: None: nothing that is counted, as when only marks changed.
        diff: Its Markdown with `{++added++}` and `{--removed--}` words; absent: the answer is cut.
    """

    block_id: str
    change: ComparedAs
    words_added: int | None = None
    words_removed: int | None = None
    diff: str | UnsetType = UNSET


class CompareCounts(msgspec.Struct, frozen=True):
    added: int
    removed: int
    changed: int
    moved: int
    words_added: int
    words_removed: int


class CompareResult(
    msgspec.Struct, frozen=True, rename={"since": "from", "until": "to"}, kw_only=True
):
    """In document order, a removed block where it was. `counts` count all, listed or not."""

    since: ComparedState
    until: ComparedState
    counts: CompareCounts
    blocks: tuple[ComparedBlock, ...]
    truncated: bool
    next_step: str | UnsetType = UNSET
