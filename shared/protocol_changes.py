"""The types of what changed: what is asked, what a document finds, and the shapes callers get."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from shared.history.changes import ChangeCounts, Changes, Status
from shared.history.people import Editor

Detail = Literal["sections", "blocks"]


class GetChangesRequest(msgspec.Struct, frozen=True):
    """From when on; none of the three: since the caller last left.

    Attributes:
        since: Milliseconds since 1970.
        since_version: A version's name or number.
        since_cursor: The caller's number as it came; the document checks it.
    """

    since: int | None = None
    since_version: str | None = None
    since_cursor: int | None = None
    detail: Detail = "sections"


class FoundChanges(msgspec.Struct, frozen=True):
    """What a document answers. Times in milliseconds since 1970.

    Attributes:
        since: Where the window begins.
        from_last_left: That is when the caller last left.
        compared_at: When the state compared with was made; None: there was none yet.
        head_at: The last commit that changed text or structure; None: there was none.
        editors: Who edited in the window, by the first thing each did.
    """

    since: int
    from_last_left: bool
    compared_at: int | None
    head_at: int | None
    changes: Changes = Changes()
    editors: tuple[Editor, ...] = ()


class ChangedSection(msgspec.Struct, frozen=True):
    """`words_added`, `words_removed` null: only how it looks changed, or where it stands."""

    section_id: str
    status: Status
    words_added: int | None
    words_removed: int | None
    url: str


class ChangedBlockRow(msgspec.Struct, frozen=True):
    """A block without its text. `section_id` null: it stands before the first heading."""

    block_id: str
    section_id: str | None
    status: Status
    words_added: int | None
    words_removed: int | None


class GetChangesResult(msgspec.Struct, frozen=True):
    """Holds no text that people wrote, and not the document's id. Times are ISO 8601."""

    slug: str
    since: str
    head_at: str | None
    from_last_left: bool
    changed: bool
    counts: ChangeCounts
    sections: tuple[ChangedSection, ...]
    blocks: tuple[ChangedBlockRow, ...] | UnsetType = UNSET


class DocumentChanges(msgspec.Struct, frozen=True):
    """A document that changed, in a digest."""

    slug: str
    since: str
    head_at: str | None
    from_last_left: bool
    counts: ChangeCounts
    url: str


class UnreadDocument(msgspec.Struct, frozen=True):
    """A document that could not be asked, and why."""

    slug: str
    code: str


class ListChangesResult(msgspec.Struct, frozen=True):
    """What changed in the caller's documents; those that did not are counted.

    Attributes:
        never_opened: Documents the caller has not read in an editor, and gave no `since` for.
        more: There are more documents than are looked at in one call.
    """

    documents: tuple[DocumentChanges, ...]
    unchanged: int
    never_opened: int
    failed: tuple[UnreadDocument, ...]
    more: bool
