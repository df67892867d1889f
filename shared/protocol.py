"""The types of the control road: what gateways, Directory and document actors say to each other.

Requests carry values already parsed and checked by the gateway; results have the exact shapes that
agents and REST callers get (`msgspec.to_builtins` of a result, keys that are `UNSET` left out).
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from shared.budget import Allowance
from shared.ids import BlockRef
from shared.limits import DEFAULT_READ_CHARS
from shared.protocol_chat import ShownThreads, ThreadInfo
from shared.suggestions.info import SuggestionInfo
from shared.tree import Block, Fidelity

ReadFormat = Literal["anchored", "markdown", "blocks"]
WhoseSuggestions = Literal["mine", "none", "all"]
FeedFormat = Literal["blocks", "anchored"]
OnConflict = Literal["merge", "reject", "suggest"]
Mode = Literal["apply", "suggest"]
Scope = Literal["read", "comment", "suggest", "write", "admin"]
Role = Literal["viewer", "commenter", "suggester", "editor", "owner"]
LinkRole = Literal["viewer", "suggester", "editor"]


class Caller(msgspec.Struct, frozen=True):
    """Who calls. `principal` is the stable id rows are kept under, `name` what others are shown.

    Attributes:
        person: The person behind an agent's token; the principal itself for a person.
        scopes: What the token allows.
        allowance: How much of it: budgets the document keeps.
        documents: Ids of the only documents it allows; None: no such limit.
        token: The token's id, by which its end is told; empty: there is none.
        expires: When the token ends, in milliseconds since 1970.
        role: What was granted by name, to the principal or the person behind, on the document this
            is about; None: nothing, or it is not about one.
        link_role: What everybody with the link may do there.
    """

    principal: str
    name: str
    person: str | None = None
    agent: bool = False
    scopes: frozenset[Scope] = frozenset()
    allowance: Allowance = Allowance()
    documents: frozenset[str] | None = None
    token: str = ""
    expires: int | None = None
    role: Role | None = None
    link_role: LinkRole | None = None


class RouteKey(msgspec.Struct, frozen=True):
    """What every control call and link hello must name; anything else is answered `moved`."""

    doc_id: str
    epoch: int
    secret: str


class Route(msgspec.Struct, frozen=True):
    """Where an active document is: the Directory's answer to `locate`.

    Attributes:
        actor: Name of the detached actor in the namespace.
        link: `unix:<path>` (usable on the node `node_id` only) or `tcp:<host>:<port>`.
    """

    key: RouteKey
    actor: str
    node_id: str
    link: str
    link_tcp: str


class Activation(msgspec.Struct, frozen=True):
    """The Directory's order to a blank slot.

    Attributes:
        path: The document's SQLite file.
        seed: Blocks of a document being created; None for one that exists (its file must exist).
        title: The title it was created with; None: its first heading is its title.
        expires_at: When it goes by itself, in milliseconds since 1970; None: never.
    """

    key: RouteKey
    path: str
    seed: tuple[Block, ...] | None = None
    caller: Caller | None = None
    title: str | None = None
    expires_at: int | None = None


class Activated(msgspec.Struct, frozen=True):
    """A slot's answer: where its link listens, and for a seeded document its first cursor."""

    link: str
    link_tcp: str
    cursor: int
    blocks: tuple[AnchorOnly, ...] = ()


class AnchorOnly(msgspec.Struct, frozen=True):
    anchor: str


class Whoami(msgspec.Struct, frozen=True):
    """What a slot holds: `key` is None while blank.

    Attributes:
        started: When its process started, in clock ticks since boot: tells it from a later
            process with the same pid.
        link, link_tcp: Where its link listens, while it holds a document.
    """

    state: str
    key: RouteKey | None
    node_id: str
    pid: int
    started: int = 0
    link: str = ""
    link_tcp: str = ""


class CommitTotals(msgspec.Struct, frozen=True):
    """What a document has committed since it was opened.

    Attributes:
        commits: Transactions that are on disk; `failed` those that are not.
        log_bytes: What its log grew by.
        seconds: How long the transactions took, all together.
        buckets: How many of them took how long, by shared.metrics.COMMIT_BUCKETS.
        merged: Old updates that became part of others.
    """

    commits: int = 0
    failed: int = 0
    log_bytes: int = 0
    seconds: float = 0.0
    buckets: tuple[int, ...] = ()
    merged: int = 0


class Report(msgspec.Struct, frozen=True):
    """What an active document tells the Directory every few seconds and when it passivates.

    Attributes:
        left: When people last left it, in milliseconds since 1970, by person.
    """

    key: RouteKey
    title: str
    updated_at: int
    blocks: int
    sessions: int
    commits: CommitTotals = CommitTotals()
    left: dict[str, int] = {}


# --- requests ----------------------------------------------------------------------------------


class ReadDocumentRequest(msgspec.Struct, frozen=True):
    """`critic`: the Markdown of the whole document has what is suggested in it, in CriticMarkup."""

    section_id: BlockRef | None = None
    find: str | None = None
    outline: bool = False
    format: ReadFormat = "anchored"
    max_chars: int = DEFAULT_READ_CHARS
    threads: ShownThreads = "open"
    suggestions: WhoseSuggestions = "mine"
    critic: bool = False


class ReadChangesRequest(msgspec.Struct, frozen=True):
    """`cursor` is the caller's number as it came; the document checks it.

    `look`: the answer is for the gateway alone, the caller is shown nothing.
    """

    cursor: int | None = None
    max_chars: int = DEFAULT_READ_CHARS
    exclude_self: bool = False
    format: FeedFormat = "blocks"
    look: bool = False


class WriteOptions(msgspec.Struct, frozen=True):
    """What every write takes. `on_conflict` None means the verb's default.

    `note`: what its author says of what it suggests.
    """

    base: int | None = None
    mode: Mode = "apply"
    on_conflict: OnConflict | None = None
    dry_run: bool = False
    allow_large_delete: bool = False
    idempotency_key: str | None = None
    note: str = ""


class PatchRequest(msgspec.Struct, frozen=True):
    """`fidelity`, here and below: what parsing could not keep, by position in `blocks`."""

    blocks: tuple[Block, ...]
    anchors: tuple[BlockRef, ...] = ()
    section_id: BlockRef | None = None
    options: WriteOptions = WriteOptions()
    fidelity: tuple[Fidelity, ...] = ()


Place = BlockRef | Literal["start", "end"]  # right behind a block, or at an end of the document


class InsertRequest(msgspec.Struct, frozen=True):
    blocks: tuple[Block, ...]
    after: Place = "end"
    options: WriteOptions = WriteOptions()
    fidelity: tuple[Fidelity, ...] = ()


class ReplaceRequest(msgspec.Struct, frozen=True):
    """Blocks `start` to `end` (None: `start` alone) become `blocks`; no blocks: they go."""

    start: BlockRef
    end: BlockRef | None
    blocks: tuple[Block, ...]
    options: WriteOptions = WriteOptions()
    fidelity: tuple[Fidelity, ...] = ()


class DeleteRequest(msgspec.Struct, frozen=True):
    blocks: tuple[BlockRef, ...]
    options: WriteOptions = WriteOptions()


class MoveRequest(msgspec.Struct, frozen=True):
    """`section`: `block` is a heading, and everything under it goes with it."""

    block: BlockRef
    after: Place
    section: bool = False
    options: WriteOptions = WriteOptions()


class TextEdit(msgspec.Struct, frozen=True):
    """`old_text`, which occurs once in the block `anchor` or the call's scope, becomes `new_text`.

    Both are Markdown; what is not found so is looked for as plain text.
    """

    old_text: str
    new_text: str
    anchor: BlockRef | None = None


class ReplaceTextRequest(msgspec.Struct, frozen=True):
    edits: tuple[TextEdit, ...]
    section_id: BlockRef | None = None
    options: WriteOptions = WriteOptions()


WriteRequest = (
    PatchRequest | InsertRequest | ReplaceRequest | DeleteRequest | MoveRequest | ReplaceTextRequest
)


# --- results: the exact shapes callers get -------------------------------------------------------


class BlockText(msgspec.Struct, frozen=True, omit_defaults=True):
    anchor: str
    text: str | UnsetType = UNSET


class FidelityNote(msgspec.Struct, frozen=True):
    block_id: str
    what: str


class OutlineEntry(msgspec.Struct, frozen=True):
    section_id: str
    level: int
    title: str
    chars: int


class Hit(msgspec.Struct, frozen=True):
    anchor: str
    section_id: str | None
    snippet: str


class ReadDocumentResult(msgspec.Struct, frozen=True):
    """`markdown` or `blocks` by format; `anchored`: Markdown, a line `[anchor]` above each.

    `suggestions`: those that are open, as far as they were asked for.
    """

    title: str
    cursor: int
    total_chars: int
    truncated: bool
    markdown: str | UnsetType = UNSET
    blocks: tuple[BlockText, ...] | UnsetType = UNSET
    outline: tuple[OutlineEntry, ...] | UnsetType = UNSET
    hits: tuple[Hit, ...] | UnsetType = UNSET
    next_section_id: str | UnsetType = UNSET
    next_step: str | UnsetType = UNSET
    fidelity: tuple[FidelityNote, ...] | UnsetType = UNSET
    threads: tuple[ThreadInfo, ...] | UnsetType = UNSET
    suggestions: tuple[SuggestionInfo, ...] | UnsetType = UNSET


class ChangedBlock(msgspec.Struct, frozen=True):
    """`after` is the id of the block to put it behind, None for the first place."""

    anchor: str
    text: str
    change: Literal["added", "changed", "moved"]
    after: str | None
    by: tuple[str, ...]


class ReadChangesResult(msgspec.Struct, frozen=True):
    """`suggestions`: those made or decided since the cursor, as they are now."""

    blocks: tuple[ChangedBlock, ...]
    removed: tuple[str, ...]
    cursor: int
    truncated: bool
    more: bool
    reason: Literal["no_cursor", "too_old"] | UnsetType = UNSET
    next_step: str | UnsetType = UNSET
    threads: tuple[ThreadInfo, ...] | UnsetType = UNSET
    suggestions: tuple[SuggestionInfo, ...] | UnsetType = UNSET


class WrittenBlock(msgspec.Struct, frozen=True):
    """`text` only where what is stored is not byte for byte what was sent."""

    anchor: str
    after: str | None
    text: str | UnsetType = UNSET


class Conflict(msgspec.Struct, frozen=True):
    """`yours`/`theirs` None: that side deleted the block. `insist` says how to get one's way."""

    anchor: str
    yours: str | None
    theirs: str | None
    reason: str
    insist: str | UnsetType = UNSET


class Remaining(msgspec.Struct, frozen=True):
    """What the caller may still write to this document now."""

    writes: int
    chars: int


class WriteResult(msgspec.Struct, frozen=True):
    """What every write answers.

    Attributes:
        charged: Characters of Markdown it added, as sent.
        blocks: Every block written or moved.
        kept: Blocks the new text lacks and that stay because the caller has not seen them.
        cursor: Where to go on reading; None: read the document first.
        behind: Others wrote meanwhile: `cursor` is still the caller's own.
        suggestions: Ids of those it made; `group`: what they are called together.
    """

    ok: bool
    replaced: int
    inserted: int
    deleted: int
    moved: int
    charged: int
    blocks: tuple[WrittenBlock, ...]
    removed: tuple[str, ...]
    kept: tuple[str, ...]
    conflicts: tuple[Conflict, ...]
    cursor: int | None
    behind: bool
    remaining: Remaining | UnsetType = UNSET
    fidelity: tuple[FidelityNote, ...] | UnsetType = UNSET
    suggestions: tuple[str, ...] | UnsetType = UNSET
    group: str | UnsetType = UNSET


class CreatedDocument(msgspec.Struct, frozen=True):
    doc_id: str
    slug: str
    url: str
    cursor: int
    blocks: tuple[AnchorOnly, ...]
    fidelity: tuple[FidelityNote, ...] | UnsetType = UNSET


class DocumentSummary(msgspec.Struct, frozen=True):
    """Times are ISO 8601 with offset. `expires_at`: when the document is deleted by itself."""

    doc_id: str
    slug: str
    title: str
    url: str
    role: str
    public: bool
    updated_at: str
    expires_at: str | UnsetType = UNSET


class DocumentPage(msgspec.Struct, frozen=True):
    documents: tuple[DocumentSummary, ...]
    next: str | UnsetType = UNSET


def to_json_value(value: msgspec.Struct) -> dict[str, Any]:
    """A result as the JSON object callers get; UNSET keys are left out."""
    plain: dict[str, Any] = msgspec.to_builtins(value)
    return plain
