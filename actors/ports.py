"""What the Directory needs of the world, as ports: the catalog and the slots.

Real ones: `actors.directory.catalog.SqliteCatalog` and `actors.directory.ray_slots.RaySlots`,
doubles: `actors.directory.catalog_memory.MemoryCatalog` and the slots of the tests.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import msgspec

from actors.folder_lock import LockProof
from shared.checkup import CatalogCopy
from shared.directory_protocol import AuditRow, DocumentRow, DocumentState, TokenRow
from shared.protocol import Activated, Activation, Report, RouteKey, Whoami


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
    """Who holds, or last held, a document. `holder` None: handed back cleanly."""

    doc_id: str
    epoch: int
    holder: Holder | None


class Creation(msgspec.Struct, frozen=True):
    """A create_document call with an idempotency key; `answer` None: not finished."""

    principal: str
    key: str
    arguments: bytes
    doc_id: str
    answer: bytes | None = None


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
    """

    whoami: Whoami
    report: Report | None
    busy: bool
    idle_s: float


class Catalog(Protocol):
    """Documents, assignments and tokens. Every method is one transaction, on disk on return."""

    async def document(self, ref: str) -> DocumentRow | None:
        """A ready document by id, then by slug."""

    async def reserve(self, row: DocumentRow, creation: Creation | None, now: int) -> bool:
        """Adds a document in state `creating`, and the call that creates it; False: slug taken."""

    async def make_ready(self, doc_id: str, answer: bytes) -> None:
        """The document is on disk; `answer` is what its creation's repetitions get."""

    async def forget(self, doc_id: str) -> None:
        """Removes a document that is still `creating`, its slug and its creation."""

    async def creating(self) -> tuple[str, ...]:
        """Documents whose creation did not finish."""

    async def creation(self, principal: str, key: str) -> Creation | None:
        """An earlier create_document call under this key."""

    async def delete_document(self, doc_id: str, now: int) -> bool:
        """Marks it deleted and frees its slug; False: there is none."""

    async def deleted_document(self, ref: str) -> DocumentRow | None:
        """A deleted document by id, then the last one deleted under this slug."""

    async def deleted_page(
        self, query: str, before: tuple[int, str] | None, limit: int
    ) -> tuple[DocumentRow, ...]:
        """As `page`, of deleted documents, last deleted first."""

    async def undelete(self, doc_id: str, slug: str, expires_at: int | None) -> bool:
        """A deleted document is ready again, under this slug; False: the slug is taken."""

    async def expired(self, now: int, limit: int) -> tuple[str, ...]:
        """Ready documents whose time has come, the first to expire first."""

    async def purgeable(
        self, until: int, after: tuple[int, str], limit: int
    ) -> tuple[tuple[int, str], ...]:
        """When and which documents were deleted up to `until`, in this order, beyond `after`."""

    async def purge(self, doc_id: str) -> None:
        """Removes the row of a deleted document and all that hangs on it."""

    async def counts(self) -> dict[DocumentState, int]:
        """How many documents are in each state there is one in."""

    async def drained(self) -> frozenset[str]:
        """Nodes that are to get no documents."""

    async def set_drained(self, node_id: str, at: int | None) -> None:
        """`at` None: it may have documents again."""

    async def page(
        self, query: str, before: tuple[int, str] | None, limit: int
    ) -> tuple[DocumentRow, ...]:
        """Ready documents whose title or slug contains `query`, last changed first."""

    async def report(self, doc_id: str, title: str, updated_at: int) -> None:
        """Title (empty: unchanged) and last change as the document tells them."""

    async def assignment(self, doc_id: str) -> Assignment | None:
        """Who holds, or last held, the document."""

    async def held(self) -> tuple[Assignment, ...]:
        """Assignments that were not handed back."""

    async def raise_epoch(self, doc_id: str, holder: Holder, least: int, now: int) -> int:
        """Assigns the document to `holder` under a new epoch, at least `least`; returns it."""

    async def hand_back(self, doc_id: str, epoch: int, now: int) -> None:
        """The holder of this epoch has closed the file."""

    async def add_token(self, row: TokenRow, token_hash: bytes) -> None: ...

    async def token(self, token_hash: bytes) -> TokenRow | None: ...

    async def tokens(self) -> tuple[TokenRow, ...]: ...

    async def revoke_token(self, token_id: str, now: int) -> bool:
        """False: unknown, or revoked before."""

    async def token_used(self, token_id: str, now: int) -> None: ...

    async def note(self, row: AuditRow) -> None:
        """Adds a line to the audit log."""

    async def notes(self, limit: int) -> tuple[AuditRow, ...]:
        """The last lines of the audit log, the newest first."""

    async def number(self, key: str) -> int:
        """A number kept under a name; 0 when there is none."""

    async def set_number(self, key: str, value: int) -> None: ...

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

    async def shares_folder(self, actor: str, lock: LockProof) -> bool:
        """Whether the slot's node sees the Directory's lock on this file."""

    async def kill(self, holder: Holder, helper: str | None) -> None:
        """SIGKILL on its node (`helper`: a living slot there), returning when it is gone."""
