"""What gateways and the Directory say to each other, beside `shared.protocol`."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from shared.budget import Allowance
from shared.limits import ACTIVATE_DEADLINE_S, DRAIN_S, IDLE_S, REPORT_S, SLOT_REUSES, WARM_SLOTS
from shared.protocol import AnchorOnly, Scope

DIRECTORY_NAME: Final = "directory"  # the actor's, in our namespace

DirectoryMethod = Literal[
    "resolve",
    "describe",
    "locate",
    "list_documents",
    "create_document",
    "delete_document",
    "undelete_document",
    "metrics",
    "report_gateway",
    "drain_node",
    "undrain_node",
    "create_token",
    "list_tokens",
    "revoke_token",
    "invalid_tokens",
    "audit",
    "authenticate",
    "wait_for_notice",
    "status",
    "drain",
    "document_ids",
    "back_up_catalog",
    "check_catalog",
]


DocumentState = Literal["creating", "ready", "deleted"]


class Created(msgspec.Struct, frozen=True):
    """A document that is on disk, with its first cursor and the anchors of its blocks."""

    doc_id: str
    slug: str
    title: str
    cursor: int
    blocks: tuple[AnchorOnly, ...]
    expires_at: int | None = None


class DocumentRow(msgspec.Struct, frozen=True):
    """A document as the catalog knows it. Times in milliseconds since 1970."""

    doc_id: str
    slug: str
    title: str
    state: DocumentState
    created_at: int
    updated_at: int
    owner: str
    expires_at: int | None = None
    deleted_at: int | None = None


class DocumentRows(msgspec.Struct, frozen=True):
    """A page of the catalog, last changed first; `next` goes into the next call's `before`."""

    rows: tuple[DocumentRow, ...]
    next: str | None


class TokenRow(msgspec.Struct, frozen=True):
    """A token without its secret. Times in milliseconds since 1970."""

    id: str
    name: str
    person: str
    principal: str
    agent: bool
    scopes: frozenset[Scope]
    created: int
    expires: int | None
    last_used: int | None
    revoked: int | None
    allowance: Allowance = Allowance()
    documents: frozenset[str] | None = None  # ids of those it is limited to


class AuditRow(msgspec.Struct, frozen=True):
    """A line of the audit log: when (milliseconds since 1970), who, what, to which id."""

    at: int
    who: str
    what: str
    about: str


class NewToken(msgspec.Struct, frozen=True):
    """`token` is shown once and stored nowhere."""

    token: str
    row: TokenRow


class NodeStatus(msgspec.Struct, frozen=True):
    """One node as the Directory sees it."""

    node_id: str
    blank: int
    starting: int
    active: int
    max_active: int
    refused: str = ""  # why its slots are not used
    draining: bool = False  # its documents are closed and none comes any more


class ActiveDocument(msgspec.Struct, frozen=True):
    """A document that has an actor, and the process it is in."""

    doc_id: str
    epoch: int
    node_id: str
    pid: int
    sessions: int
    state: str = "active"  # of its slot; see actors.life


class DirectoryStatus(msgspec.Struct, frozen=True):
    """What `/readyz` and `docactor status` show. `active`: the documents that have an actor."""

    ready: bool
    draining: bool
    documents: int
    waiting: int
    nodes: tuple[NodeStatus, ...]
    active: tuple[ActiveDocument, ...] = ()


class DirectorySettings(msgspec.Struct, frozen=True):
    """How the Directory runs. Seconds where it says `_s`; None: computed from the node."""

    data: str
    idle_s: float = IDLE_S
    beat_s: float = REPORT_S
    warm_slots: int = WARM_SLOTS
    max_active: int | None = None
    slot_reuses: int = SLOT_REUSES
    activate_deadline_s: float = ACTIVATE_DEADLINE_S
    drain_s: float = DRAIN_S
