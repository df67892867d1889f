"""What REST takes: the query parameters and bodies of the verbs, as Structs.

They are read strictly: a wrong type or an unknown name is refused. The description of the interface
(`gateway.rest.openapi`) is made from the same Structs.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from shared.calls import WriteVerb
from shared.limits import (
    DEFAULT_READ_CHARS,
    DEFAULT_SETTLE_S,
    MAX_FIND_CHARS,
    MAX_IDEMPOTENCY_KEY,
    MAX_READ_CHARS,
    MAX_SAFE_INTEGER,
    MAX_SETTLE_S,
    MAX_TEXT_EDITS,
    MAX_WAIT_S,
)
from shared.protocol import FeedFormat, Mode, OnConflict, ReadFormat

Ref = Annotated[str, Meta(description="A block's id or anchor")]
Where = Annotated[str, Meta(description='"start", "end", or a block\'s id or anchor')]
Number = Annotated[int, Meta(ge=0, le=MAX_SAFE_INTEGER, description="A cursor an answer gave")]
Chars = Annotated[int, Meta(ge=1, le=MAX_READ_CHARS)]
Key = Annotated[str, Meta(max_length=MAX_IDEMPOTENCY_KEY)]


class ReadQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of GET /api/documents/{doc}."""

    format: ReadFormat = "markdown"
    section_id: Ref | None = None
    find: Annotated[str, Meta(max_length=MAX_FIND_CHARS)] | None = None
    outline: bool = False
    max_chars: Chars = DEFAULT_READ_CHARS


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


BODIES: dict[WriteVerb, type[WriteBody]] = {
    "patch": PatchBody,
    "insert": InsertBody,
    "replace": ReplaceBody,
    "delete": DeleteBody,
    "move": MoveBody,
    "replace_text": ReplaceTextBody,
}
