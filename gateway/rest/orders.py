"""What REST takes: the query parameters and bodies of the verbs, as Structs.

They are read strictly: a wrong type or an unknown name is refused. The description of the interface
(`gateway.rest.openapi`) is made from the same Structs.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from shared.calls import WriteVerb
from shared.events.cursor import MAX_CURSOR_CHARS
from shared.limits import (
    DEFAULT_READ_CHARS,
    DEFAULT_SETTLE_S,
    DEFAULT_VERSIONS,
    MAX_FIND_CHARS,
    MAX_IDEMPOTENCY_KEY,
    MAX_READ_CHARS,
    MAX_SAFE_INTEGER,
    MAX_SETTLE_S,
    MAX_STATUS_CHARS,
    MAX_TEXT_EDITS,
    MAX_VERSION_NAME,
    MAX_VERSIONS,
    MAX_WAIT_S,
)
from shared.protocol import FeedFormat, Mode, OnConflict, ReadFormat, WhoseSuggestions
from shared.protocol_chat import ShownThreads

Ref = Annotated[str, Meta(description="A block's id or anchor")]
Where = Annotated[str, Meta(description='"start", "end", or a block\'s id or anchor')]
Number = Annotated[int, Meta(ge=0, le=MAX_SAFE_INTEGER, description="A cursor an answer gave")]
Name = Annotated[str, Meta(min_length=1, max_length=MAX_VERSION_NAME)]
Point = Annotated[
    str,
    Meta(min_length=1, max_length=MAX_VERSION_NAME, description="A cursor, a version, or a time"),
]
EventCursor = Annotated[
    str, Meta(min_length=1, max_length=MAX_CURSOR_CHARS, description="As events gave it")
]
Chars = Annotated[int, Meta(ge=1, le=MAX_READ_CHARS)]
Key = Annotated[str, Meta(max_length=MAX_IDEMPOTENCY_KEY)]


class ReadQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of GET /api/documents/{doc}."""

    format: ReadFormat = "markdown"
    section_id: Ref | None = None
    find: Annotated[str, Meta(max_length=MAX_FIND_CHARS)] | None = None
    outline: bool = False
    max_chars: Chars = DEFAULT_READ_CHARS
    threads: ShownThreads = "open"
    suggestions: WhoseSuggestions = "mine"


class ChangesQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of GET /api/documents/{doc}/changes. `wait`, `settle`: seconds."""

    cursor: Number | None = None
    wait: Annotated[float, Meta(ge=0, le=MAX_WAIT_S)] = 0.0
    settle: Annotated[float, Meta(ge=0, le=MAX_SETTLE_S)] = DEFAULT_SETTLE_S
    max_chars: Chars = DEFAULT_READ_CHARS
    exclude_self: bool = False
    format: FeedFormat = "blocks"


class WriteBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every write takes."""

    base: Number | None = None
    mode: Mode = "apply"
    on_conflict: OnConflict | None = None
    dry_run: bool = False
    idempotency_key: Key | None = None


class PatchBody(WriteBody, frozen=True, kw_only=True):
    """The document, or a section, as it should read."""

    markdown: str
    anchors: tuple[Ref, ...] = ()
    section_id: Ref | None = None
    allow_large_delete: bool = False


class InsertBody(WriteBody, frozen=True, kw_only=True):
    """New blocks at one place."""

    markdown: str
    after: Where = "end"


class ReplaceBody(WriteBody, frozen=True, kw_only=True, rename={"start": "from", "end": "to"}):
    """The block `from`, or the blocks `from` to `to`, become `markdown`."""

    start: Ref
    end: Ref | None = None
    markdown: str


class DeleteBody(WriteBody, frozen=True, kw_only=True):
    """Blocks that go."""

    blocks: Annotated[tuple[Ref, ...], Meta(min_length=1)]


class MoveBody(WriteBody, frozen=True, kw_only=True):
    """A block, or a heading with everything under it: one of the two."""

    after: Where
    block: Ref | None = None
    section_id: Ref | None = None


class EditBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`old_text` occurs once, in the scope of the call or in the block `anchor`."""

    old_text: str
    new_text: str
    anchor: Ref | None = None


class ReplaceTextBody(WriteBody, frozen=True, kw_only=True):
    """Edits of quoted text, all of them or none."""

    edits: Annotated[tuple[EditBody, ...], Meta(min_length=1, max_length=MAX_TEXT_EDITS)]
    section_id: Ref | None = None


class VersionsQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of GET /api/documents/{doc}/versions. `before`: a version such as v12."""

    before: Name | None = None
    limit: Annotated[int, Meta(ge=1, le=MAX_VERSIONS)] = DEFAULT_VERSIONS


class VersionQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of GET /api/documents/{doc}/versions/{version}."""

    max_chars: Chars = DEFAULT_READ_CHARS


class CompareQuery(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    rename={"since": "from", "until": "to"},
):
    """Of GET /api/documents/{doc}/compare. A cursor, a version, or an ISO 8601 time with offset."""

    since: Point
    until: Point | None = None
    section_id: Ref | None = None
    max_chars: Chars = DEFAULT_READ_CHARS


class EventsQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of GET /api/documents/{doc}/events. `types`: separated by commas. `wait`: seconds."""

    cursor: EventCursor | None = None
    types: Annotated[str, Meta(max_length=500)] | None = None
    wait: Annotated[float, Meta(ge=0, le=MAX_WAIT_S)] = 0.0


class JoinBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the agent is doing, for people to see."""

    status: Annotated[str, Meta(max_length=MAX_STATUS_CHARS)] = ""


class SaveVersionBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A name for the document as it is now, or for an earlier `version`."""

    name: Name
    version: Name | None = None


class RestoreBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The version that the document is to be again."""

    version: Name
    base: Number | None = None
    dry_run: bool = False
    idempotency_key: Key | None = None


BODIES: dict[WriteVerb, type[WriteBody]] = {
    "patch": PatchBody,
    "insert": InsertBody,
    "replace": ReplaceBody,
    "delete": DeleteBody,
    "move": MoveBody,
    "replace_text": ReplaceTextBody,
}
