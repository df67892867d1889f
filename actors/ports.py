"""What the Directory needs of the world, as ports: the catalog and the slots.

Real ones: `actors.directory.catalog.SqliteCatalog` and `actors.directory.ray_slots.RaySlots`,
doubles: `actors.directory.catalog_memory.MemoryCatalog` and the slots of the tests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

import msgspec

from actors.folder_lock import LockProof
from shared.checkup import CatalogCopy
from shared.directory_protocol import (
    AuditRow,
    DocumentRow,
    DocumentState,
    Member,
    TokenRow,
)
from shared.protocol import Activated, Activation, LinkRole, Report, Role, RouteKey, Whoami

NOBODY: Final[Mapping[str, int]] = {}


class SlotLostError(Exception):
    """The slot's process is gone."""


class SlotSilentError(Exception):
    """The slot did not answer in time; its process may live."""


class Holder(msgspec.Struct, frozen=True):
    """A slot's process: enough to find it and to kill it, and nothing that came after it.

    Attributes:
        started: Clock ticks since boot (`actors.processes.start_time`).
    """

    actor: str
    node_id: str
    pid: int
    started: int


class Assignment(msgspec.Struct, frozen=True):
    """Who holds, or last held, a document.

    Attributes:
        holder: None: handed back cleanly.
        sleeping_at: The gateway that has its sessions, or is about to have them; see
            docs/decisions/0008-hibernation.md.
    """

    doc_id: str
    epoch: int
    holder: Holder | None
    sleeping_at: str | None = None


class Creation(msgspec.Struct, frozen=True):
    """A create_document call with an idempotency key; `answer` None: not finished."""

    principal: str
    key: str
    arguments: bytes
    doc_id: str
    answer: bytes | None = None


class Who(msgspec.Struct, frozen=True):
    """Whose roles count: a principal's own and those of the person behind."""

    principal: str
    person: str


class Access(msgspec.Struct, frozen=True):
    """A ready document, and the roles on it by name."""

    row: DocumentRow
    roles: tuple[Role, ...]


class NodeInfo(msgspec.Struct, frozen=True):
    """A living node. `memory` in bytes."""

    node_id: str
    cores: float
    memory: int


class Beat(msgspec.Struct, frozen=True):
    """A slot's answer to the Directory's heartbeat.

    Attributes:
        report: What its document has to tell; None while blank.
        busy: A session, a call or an activation is going on.
        idle_s: Seconds since it was last busy.
        sole_gateway: The one gateway that all its sessions and waiting calls are at, while nothing
            else is going on; empty: there is no such.
        still_s: Seconds since anybody edited, came or called.
    """

    whoami: Whoami
    report: Report | None
    busy: bool
    idle_s: float
    sole_gateway: str = ""
    still_s: float = 0.0


class Catalog(Protocol):
    """Documents, assignments, tokens and roles. Each method is one transaction, on disk on return.

    An act that the audit log tells of takes its line: both are there, or neither is.
    """

    async def document(self, ref: str) -> DocumentRow | None:
        """A ready document by id, then by slug."""

    async def access(self, asked: Sequence[tuple[str, Who]]) -> tuple[Access | None, ...]:
        """For each id or slug: the ready document, with the roles that somebody has on it."""

    async def reserve(self, row: DocumentRow, creation: Creation | None, now: int) -> bool:
        """Adds a document in state `creating`, its owner, and the call that creates it.

        False: the slug is taken.
        """

    async def make_ready(self, doc_id: str, answer: bytes) -> None:
        """The document is on disk; `answer` is what its creation's repetitions get."""

    async def forget(self, doc_id: str) -> None:
        """Removes a document that is still `creating`, its slug and its creation."""

    async def creating(self) -> tuple[str, ...]:
        """Documents whose creation did not finish."""

    async def creation(self, principal: str, key: str) -> Creation | None:
        """An earlier create_document call under this key."""

    async def delete_document(self, doc_id: str, now: int, note: AuditRow) -> bool:
        """Marks it deleted and frees its slug; False: there is none."""

    async def deleted_document(self, ref: str) -> DocumentRow | None:
        """A deleted document by id, then the last one deleted under this slug."""

    async def deleted_page(
        self, query: str, before: tuple[int, str] | None, limit: int, who: Who, *, all_of: bool
    ) -> tuple[DocumentRow, ...]:
        """As `page`, of deleted documents that `who` owned, last deleted first."""

    async def undelete(
        self, doc_id: str, slug: str, expires_at: int | None, note: AuditRow
    ) -> bool:
        """A deleted document is ready again, under this slug; False: the slug is taken."""

    async def expired(self, now: int, limit: int) -> tuple[str, ...]:
        """Ready documents whose time has come, the first to expire first."""

    async def purgeable(
        self, until: int, after: tuple[int, str], limit: int
    ) -> tuple[tuple[int, str], ...]:
        """When and which documents were deleted up to `until`, in this order, beyond `after`."""

    async def purge(self, doc_id: str, note: AuditRow) -> None:
        """Removes the row of a deleted document and all that hangs on it."""

    async def counts(self) -> dict[DocumentState, int]:
        """How many documents are in each state there is one in."""

    async def drained(self) -> frozenset[str]:
        """Nodes that are to get no documents."""

    async def set_drained(self, node_id: str, at: int | None) -> None:
        """`at` None: it may have documents again."""

    async def page(
        self, query: str, before: tuple[int, str] | None, limit: int, who: Who, *, all_of: bool
    ) -> tuple[DocumentRow, ...]:
        """Ready documents whose title or slug contains `query`, last changed first.

        Those that somebody has a role on by name, or with `all_of` all of them; either way with
        that role.
        """

    async def report(
        self, doc_id: str, title: str, updated_at: int, left: Mapping[str, int] = NOBODY
    ) -> None:
        """Title (empty: unchanged) and last change as the document tells them.

        `left`: when people last left it, by person; never earlier than was told before.
        """

    async def last_left(self, person: str) -> dict[str, int]:
        """When a person last left each document, by document; those never read are not in it."""

    async def assignment(self, doc_id: str) -> Assignment | None:
        """Who holds, or last held, the document."""

    async def held(self) -> tuple[Assignment, ...]:
        """Assignments that were not handed back."""

    async def raise_epoch(self, doc_id: str, holder: Holder, least: int, now: int) -> int:
        """Assigns the document to `holder` under a new epoch, at least `least`; returns it."""

    async def fall_asleep(self, doc_id: str, epoch: int, gateway: str) -> None:
        """The holder of this epoch is about to leave the sessions to a gateway."""

    async def hand_back(
        self, doc_id: str, epoch: int, now: int, sleeping_at: str | None = None
    ) -> None:
        """The holder of this epoch has closed the file; `sleeping_at`: who has its sessions."""

    async def members(self, doc_id: str) -> tuple[Member, ...]:
        """Roles granted by name, the first one first."""

    async def set_member(self, doc_id: str, member: Member, note: AuditRow) -> bool:
        """Grants a role; False, and nothing is done: nobody would own the document."""

    async def remove_member(self, doc_id: str, principal: str, note: AuditRow) -> bool:
        """Takes the role back; False, and nothing is done: nobody would own the document."""

    async def set_link_role(self, doc_id: str, role: LinkRole | None, note: AuditRow) -> None:
        """What everybody with the link may do with a ready document."""

    async def add_token(self, row: TokenRow, token_hash: bytes, note: AuditRow) -> None: ...

    async def token(self, token_hash: bytes) -> TokenRow | None: ...

    async def token_of(self, token_id: str) -> TokenRow | None: ...

    async def tokens(self) -> tuple[TokenRow, ...]: ...

    async def revoke_token(self, token_id: str, now: int, note: AuditRow) -> bool:
        """False: unknown, or revoked before."""

    async def token_used(self, token_id: str, now: int) -> None: ...

    async def notes(self, limit: int) -> tuple[AuditRow, ...]:
        """The last lines of the audit log, the newest first."""

    async def number(self, key: str) -> int:
        """A number kept under a name; 0 when there is none."""

    async def set_number(self, key: str, value: int) -> None: ...

    async def secret(self, key: str, fresh: bytes) -> bytes:
        """A secret kept under a name: `fresh`, where there is none yet."""

    async def states(self) -> dict[str, DocumentState]:
        """Every document there is a row of."""

    async def back_up(self, target: Path) -> CatalogCopy:
        """A copy of the whole catalog in a file. Raises StorageUnavailable."""

    async def integrity(self) -> tuple[str, ...]:
        """What is wrong with the catalog's file; empty for a sound one."""

    async def close(self) -> None:
        """Frees the file. Idempotent."""


class Slots(Protocol):
    """The slots: every call may raise SlotLostError or SlotSilentError."""

    async def nodes(self) -> tuple[NodeInfo, ...]:
        """The living nodes."""

    async def start(self, node_id: str) -> Holder:
        """A new blank slot on this node, once it answers."""

    async def names(self) -> tuple[str, ...]:
        """Every living slot of the namespace, whoever started it."""

    async def whoami(self, actor: str) -> Whoami: ...

    async def beat(self, actor: str) -> Beat: ...

    async def activate(self, actor: str, activation: Activation) -> Activated:
        """Hands the slot a document. A DocactorError leaves the slot blank."""

    async def passivate(self, actor: str, key: RouteKey, idle_s: float | None) -> bool:
        """Takes the document back; False: it is busy, or not idle for `idle_s` (None: at once)."""

    async def hibernate(self, actor: str, key: RouteKey, gateway: str, still_s: float) -> bool:
        """Takes the document back and leaves its sessions to their gateway; False: not now."""

    async def shares_folder(self, actor: str, lock: LockProof) -> bool:
        """Whether the slot's node sees the Directory's lock on this file."""

    async def kill(self, holder: Holder, helper: str | None) -> None:
        """SIGKILL on its node (`helper`: a living slot there), returning when it is gone."""
