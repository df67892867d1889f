"""What gateways and the Directory say to each other, beside `shared.protocol`."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from shared.budget import Allowance
from shared.limits import (
    ACTIVATE_DEADLINE_S,
    DRAIN_S,
    HIBERNATE_S,
    IDLE_S,
    REPORT_S,
    SLOT_REUSES,
    WARM_SLOTS,
)
from shared.protocol import AnchorOnly, LinkRole, Role, Route, Scope

DIRECTORY_NAME: Final = "directory"  # the actor's, in our namespace

DirectoryMethod = Literal[
    "resolve",
    "describe",
    "locate",
    "list_documents",
    "last_left",
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
    "wait_for_wakes",
    "woken",
    "awake",
    "admit",
    "members",
    "set_member",
    "set_link_role",
    "create_ticket",
    "redeem",
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
    link_role: LinkRole | None = None
    role: Role | None = None  # of whoever asked; in pages alone


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


class Admitted(msgspec.Struct, frozen=True):
    """What somebody may do with a document: roles by name and by link."""

    doc_id: str
    role: Role | None
    link_role: LinkRole | None


class Member(msgspec.Struct, frozen=True):
    """A role on one document, granted by name. `at`: milliseconds since 1970."""

    principal: str
    role: Role
    at: int
    by: str


class Members(msgspec.Struct, frozen=True):
    """Who may do what with a document. `link_role`: everybody who has the link; null: nobody."""

    doc_id: str
    link_role: LinkRole | None
    members: tuple[Member, ...]


class News(msgspec.Struct, frozen=True):
    """What gateways have to look at again since the notice they saw last.

    Attributes:
        number: The newest notice.
        documents: Those whose roles, slugs or state changed; None: any.
        tokens: Tokens were revoked.
    """

    number: int
    documents: frozenset[str] | None
    tokens: bool


class Ticket(msgspec.Struct, frozen=True):
    """Stands for whoever asked for it, on one document, until `expires_at` (ms since 1970)."""

    ticket: str
    doc_id: str
    expires_at: int


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
    """What `/readyz` and `docactor status` show.

    Attributes:
        documents: How many are active.
        active: Those that have an actor.
        hibernated: Documents without one whose sessions are open, as gateways last told.
        merged: Old updates of documents that became part of others since the Directory began.
    """

    ready: bool
    draining: bool
    documents: int
    waiting: int
    nodes: tuple[NodeStatus, ...]
    active: tuple[ActiveDocument, ...] = ()
    hibernated: int = 0
    merged: int = 0


class Wake(msgspec.Struct, frozen=True):
    """A document that slept at the gateway told has an actor; `route` None: it has been deleted."""

    doc_id: str
    route: Route | None


class WakeNews(msgspec.Struct, frozen=True):
    """What a gateway's mailbox holds; see actors.directory.wakes.

    Attributes:
        mailbox: Another one than before: look at everything that sleeps, something may be missing.
        number: Of the last of `wakes`, to ask on from.
    """

    mailbox: str
    number: int
    wakes: tuple[Wake, ...]


class DirectorySettings(msgspec.Struct, frozen=True):
    """How the Directory runs. Seconds where it says `_s`; None: computed from the node."""

    data: str
    idle_s: float = IDLE_S
    hibernate_s: float = HIBERNATE_S
    beat_s: float = REPORT_S
    warm_slots: int = WARM_SLOTS
    max_active: int | None = None
    slot_reuses: int = SLOT_REUSES
    activate_deadline_s: float = ACTIVATE_DEADLINE_S
    drain_s: float = DRAIN_S
