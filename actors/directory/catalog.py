"""The Directory's catalog in SQLite: the only module that speaks SQL to it.

Each method is one function on aiosqlite's thread: one hop, one transaction, on disk on return.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import aiosqlite
import anyio
import msgspec

from actors.ports import NOBODY, Access, Assignment, Creation, Holder, Who
from actors.storage.copying import copy_database, is_damage
from actors.storage.migrations import CATALOG, NewerSchemaError, NoSchemaError
from actors.storage.sql import SCHEMA, load_queries, section
from shared.access import best
from shared.budget import Allowance
from shared.checkup import CatalogCopy
from shared.directory_protocol import (
    AuditRow,
    DocumentRow,
    DocumentState,
    Member,
    TokenRow,
)
from shared.errors import StorageUnavailable
from shared.limits import IDEMPOTENCY_TTL_MS, TAKEOVER_S
from shared.protocol import LinkRole

LOCKED_POLL_S: Final = 0.1  # how often a file locked by a Directory about to die is tried again
Q: Final = load_queries("queries_catalog.sql")
T = TypeVar("T")
_COLUMNS: Final = len(DocumentRow.__struct_fields__) - 1  # all but the role

_PRAGMAS: Final = """
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA foreign_keys = ON;
PRAGMA busy_timeout = 0;
"""


class SqliteCatalog:
    """The catalog of one data folder, held exclusively from `open` to `close`."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection
        self._closed = False

    @classmethod
    async def open(cls, path: Path, takeover_s: float = TAKEOVER_S) -> SqliteCatalog:
        """Opens or creates it, waiting up to `takeover_s` for a former Directory to let go.

        Raises:
            StorageUnavailable: It stays locked, cannot be read, or is of a newer schema.
        """
        deadline = anyio.current_time() + takeover_s
        while True:
            try:
                return await cls._open(path)
            except sqlite3.OperationalError as error:
                locked = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
                if not locked or anyio.current_time() > deadline:
                    raise StorageUnavailable(f"The catalog cannot be opened: {error}.") from error
            except sqlite3.DatabaseError as error:
                raise StorageUnavailable(f"The catalog cannot be read: {error}.") from error
            await anyio.sleep(LOCKED_POLL_S)

    @classmethod
    async def _open(cls, path: Path) -> SqliteCatalog:
        catalog = cls(await aiosqlite.connect(path, isolation_level=None))
        try:
            await catalog._hop(_prepare)
        except BaseException:
            # A connection left open keeps the interpreter from ending.
            await catalog.close()
            raise
        return catalog

    async def document(self, ref: str) -> DocumentRow | None:
        return await self._find(ref, "by_id", "by_slug")

    async def _find(self, ref: str, *queries: str) -> DocumentRow | None:
        return await self._run(lambda db: _found(db, ref, *queries))

    async def access(self, asked: Sequence[tuple[str, Who]]) -> tuple[Access | None, ...]:
        def one(db: sqlite3.Connection, ref: str, who: Who) -> Access | None:
            row = _found(db, ref, "by_id", "by_slug")
            # Asked also of what there is not, so that it takes as long.
            doc_id = "" if row is None else row.doc_id
            roles = db.execute(Q["roles"], (doc_id, who.principal, who.person)).fetchall()
            return None if row is None else Access(row, tuple(role for (role,) in roles))

        return await self._run(lambda db: tuple(one(db, *each) for each in asked))

    async def reserve(self, row: DocumentRow, creation: Creation | None, now: int) -> bool:
        def work(db: sqlite3.Connection) -> bool:
            if db.execute(Q["slug_taken"], (row.slug,)).fetchone():
                return False
            db.execute(
                Q["add_document"],
                (
                    *(row.doc_id, row.slug, row.title, row.created_at, row.updated_at),
                    *(row.owner, row.expires_at),
                ),
            )
            add_owner(db, row.doc_id, row.owner, row.created_at)
            if creation is not None:
                c = creation
                db.execute(Q["drop_creations"], (now - IDEMPOTENCY_TTL_MS,))
                db.execute(Q["add_creation"], (c.principal, c.key, c.arguments, c.doc_id, now))
            return True

        return await self._write(work)

    async def make_ready(self, doc_id: str, answer: bytes) -> None:
        def work(db: sqlite3.Connection) -> None:
            db.execute(Q["document_ready"], (doc_id,))
            db.execute(Q["creation_done"], (answer, doc_id))

        await self._write(work)

    async def forget(self, doc_id: str) -> None:
        await self._write(lambda db: db.execute(Q["remove_creating"], (doc_id,)))

    async def creating(self) -> tuple[str, ...]:
        return await self._run(lambda db: tuple(row[0] for row in db.execute(Q["creating"])))

    async def creation(self, principal: str, key: str) -> Creation | None:
        def work(db: sqlite3.Connection) -> Creation | None:
            row = db.execute(Q["creation"], (principal, key)).fetchone()
            return Creation(principal, key, *row) if row else None

        return await self._run(work)

    async def delete_document(self, doc_id: str, now: int, note: AuditRow) -> bool:
        return await self._noted(note, Q["delete_document"], (now, doc_id))

    async def deleted_document(self, ref: str) -> DocumentRow | None:
        return await self._find(ref, "deleted_by_id", "deleted_by_slug")

    async def undelete(
        self, doc_id: str, slug: str, expires_at: int | None, note: AuditRow
    ) -> bool:
        values = {"doc_id": doc_id, "slug": slug, "expires_at": expires_at}

        def work(db: sqlite3.Connection) -> bool:
            if db.execute(Q["slug_taken"], (slug,)).fetchone():
                return False
            return _noted(db, note, Q["undelete"], values)

        return await self._write(work)

    async def expired(self, now: int, limit: int) -> tuple[str, ...]:
        return await self._run(
            lambda db: tuple(row[0] for row in db.execute(Q["expired"], (now, limit)))
        )

    async def purgeable(
        self, until: int, after: tuple[int, str], limit: int
    ) -> tuple[tuple[int, str], ...]:
        at, doc_id = after
        values = {"until": until, "after_at": at, "after_id": doc_id, "limit": limit}
        return await self._run(lambda db: tuple(db.execute(Q["purgeable"], values)))

    async def purge(self, doc_id: str, note: AuditRow) -> None:
        await self._noted(note, Q["purge"], (doc_id,))

    async def counts(self) -> dict[DocumentState, int]:
        return await self._run(lambda db: dict(db.execute(Q["counts"]).fetchall()))

    async def drained(self) -> frozenset[str]:
        return await self._run(lambda db: frozenset(row[0] for row in db.execute(Q["drained"])))

    async def set_drained(self, node_id: str, at: int | None) -> None:
        if at is None:
            await self._write(lambda db: db.execute(Q["undrain"], (node_id,)))
        else:
            await self._write(lambda db: db.execute(Q["drain"], (node_id, at)))

    async def page(
        self, query: str, before: tuple[int, str] | None, limit: int, who: Who, *, all_of: bool
    ) -> tuple[DocumentRow, ...]:
        asked: dict[str, str | bool] = {"principal": who.principal, "person": who.person}
        asked["all"] = all_of
        return await self._page("page", query, before, limit, **asked)

    async def deleted_page(
        self, query: str, before: tuple[int, str] | None, limit: int, who: Who, *, all_of: bool
    ) -> tuple[DocumentRow, ...]:
        asked: dict[str, str | bool] = {"principal": who.principal, "person": who.person}
        asked["all"] = all_of
        return await self._page("deleted_page", query, before, limit, **asked)

    async def _page(
        self,
        name: str,
        query: str,
        before: tuple[int, str] | None,
        limit: int,
        **asked: str | bool,
    ) -> tuple[DocumentRow, ...]:
        at, doc_id = before or (2**62, "")
        values = {
            "query": query.casefold(),
            "before_at": at,
            "before_id": doc_id,
            "limit": limit,
            **asked,
        }
        return await self._run(lambda db: tuple(_row(*row) for row in db.execute(Q[name], values)))

    async def report(
        self, doc_id: str, title: str, updated_at: int, left: Mapping[str, int] = NOBODY
    ) -> None:
        values = {"doc_id": doc_id, "title": title, "at": updated_at}
        rows = [{"doc_id": doc_id, "person": one, "at": at} for one, at in left.items()]

        def work(db: sqlite3.Connection) -> None:
            db.execute(Q["report"], values)
            db.executemany(Q["note_left"], rows)

        await self._write(work)

    async def last_left(self, person: str) -> dict[str, int]:
        return await self._run(lambda db: dict(db.execute(Q["last_left"], (person,)).fetchall()))

    async def assignment(self, doc_id: str) -> Assignment | None:
        def work(db: sqlite3.Connection) -> Assignment | None:
            row = db.execute(Q["assignment"], (doc_id,)).fetchone()
            return _assignment(row) if row else None

        return await self._run(work)

    async def held(self) -> tuple[Assignment, ...]:
        return await self._run(lambda db: tuple(_assignment(row) for row in db.execute(Q["held"])))

    async def raise_epoch(self, doc_id: str, holder: Holder, least: int, now: int) -> int:
        values = {
            "doc_id": doc_id,
            "least": least,
            "actor": holder.actor,
            "node": holder.node_id,
            "pid": holder.pid,
            "started": holder.started,
            "at": now,
        }
        return await self._write(lambda db: int(db.execute(Q["raise_epoch"], values).fetchone()[0]))

    async def fall_asleep(self, doc_id: str, epoch: int, gateway: str) -> None:
        values = {"doc_id": doc_id, "epoch": epoch, "gateway": gateway}
        await self._write(lambda db: db.execute(Q["fall_asleep"], values))

    async def hand_back(
        self, doc_id: str, epoch: int, now: int, sleeping_at: str | None = None
    ) -> None:
        values = {"doc_id": doc_id, "epoch": epoch, "at": now, "sleeping_at": sleeping_at}
        await self._write(lambda db: db.execute(Q["hand_back"], values))

    async def members(self, doc_id: str) -> tuple[Member, ...]:
        return await self._run(
            lambda db: tuple(Member(*row) for row in db.execute(Q["members"], (doc_id,)))
        )

    async def set_member(self, doc_id: str, member: Member, note: AuditRow) -> bool:
        values = {"doc_id": doc_id, **msgspec.structs.asdict(member)}
        return await self._owned(note, "set_member", values)

    async def remove_member(self, doc_id: str, principal: str, note: AuditRow) -> bool:
        return await self._owned(note, "remove_member", {"doc_id": doc_id, "principal": principal})

    async def set_link_role(self, doc_id: str, role: LinkRole | None, note: AuditRow) -> None:
        await self._noted(note, Q["set_link_role"], (role, doc_id))

    async def _owned(self, note: AuditRow, query: str, values: dict[str, Any]) -> bool:
        """Does what leaves the document an owner, and nothing else."""

        def work(db: sqlite3.Connection) -> None:
            _noted(db, note, Q[query], values)
            if not db.execute(Q["owned"], values).fetchone():
                raise _NoOwnerError

        try:
            await self._write(work)
        except _NoOwnerError:
            return False
        return True

    async def add_token(self, row: TokenRow, token_hash: bytes, note: AuditRow) -> None:
        scopes = " ".join(sorted(row.scopes))
        budgets = msgspec.structs.astuple(row.allowance)
        documents = None if row.documents is None else " ".join(sorted(row.documents))
        values: tuple[Any, ...] = (row.id, token_hash, row.name, row.person, row.principal)
        values += (row.agent, scopes)
        values += (row.created, row.expires, *budgets, documents)
        await self._noted(note, Q["add_token"], values)

    async def token(self, token_hash: bytes) -> TokenRow | None:
        return await self._one_token("token_by_hash", token_hash)

    async def token_of(self, token_id: str) -> TokenRow | None:
        return await self._one_token("token_by_id", token_id)

    async def _one_token(self, query: str, key: bytes | str) -> TokenRow | None:
        def work(db: sqlite3.Connection) -> TokenRow | None:
            row = db.execute(Q[query], (key,)).fetchone()
            return _token(row) if row else None

        return await self._run(work)

    async def tokens(self) -> tuple[TokenRow, ...]:
        return await self._run(lambda db: tuple(_token(row) for row in db.execute(Q["tokens"])))

    async def revoke_token(self, token_id: str, now: int, note: AuditRow) -> bool:
        return await self._noted(note, Q["revoke_token"], (now, token_id))

    async def token_used(self, token_id: str, now: int) -> None:
        await self._write(lambda db: db.execute(Q["token_used"], (now, token_id)))

    async def notes(self, limit: int) -> tuple[AuditRow, ...]:
        return await self._run(
            lambda db: tuple(AuditRow(*row) for row in db.execute(Q["notes"], (limit,)))
        )

    async def number(self, key: str) -> int:
        def work(db: sqlite3.Connection) -> int:
            row = db.execute(Q["get_meta"], (key,)).fetchone()
            return int(row[0]) if row else 0

        return await self._run(work)

    async def set_number(self, key: str, value: int) -> None:
        await self._write(lambda db: db.execute(Q["set_meta"], (key, value)))

    async def secret(self, key: str, fresh: bytes) -> bytes:
        def work(db: sqlite3.Connection) -> bytes:
            if (row := db.execute(Q["get_meta"], (key,)).fetchone()) is not None:
                return bytes(row[0])
            db.execute(Q["set_meta"], (key, fresh))
            return fresh

        return await self._write(work)

    async def states(self) -> dict[str, DocumentState]:
        return await self._run(_states)

    async def back_up(self, target: Path) -> CatalogCopy:
        def work(db: sqlite3.Connection) -> CatalogCopy:
            # One hop, and nobody else writes: the copy holds exactly these documents.
            copied = copy_database(db, target)
            return CatalogCopy(copied, tuple(d for d, s in _states(db).items() if s == "ready"))

        return await self._run(work)

    async def integrity(self) -> tuple[str, ...]:
        def work(db: sqlite3.Connection) -> tuple[str, ...]:
            try:
                said = [str(row[0]) for row in db.execute("PRAGMA integrity_check")]
            except sqlite3.DatabaseError as error:
                if not is_damage(error):
                    raise
                return (str(error),)  # so broken that it cannot even be checked
            return tuple(text for text in said if text != "ok")

        return await self._run(work)

    async def close(self) -> None:
        self._closed = True
        with anyio.CancelScope(shield=True):
            await self._connection.close()

    async def _noted(self, note: AuditRow, query: str, values: Any) -> bool:
        return await self._write(lambda db: _noted(db, note, query, values))

    async def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def transaction(db: sqlite3.Connection) -> T:
            db.execute("BEGIN IMMEDIATE")
            try:
                result = work(db)
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:  # SQLite may have rolled back by itself, on a full disk
                    db.execute("ROLLBACK")
                raise
            return result

        return await self._run(transaction, "written")

    async def _run(self, work: Callable[[sqlite3.Connection], T], what: str = "read") -> T:
        """One hop. Raises StorageUnavailable, whatever SQLite says."""
        try:
            return await self._hop(work)
        except sqlite3.Error as error:
            raise StorageUnavailable(f"The catalog cannot be {what}: {error}.") from error
        except ValueError as error:
            if self._closed:  # meanwhile: aiosqlite knows no error of its own for that
                raise StorageUnavailable("The catalog has just been closed.") from error
            raise

    async def _hop(self, work: Callable[[sqlite3.Connection], T]) -> T:
        # aiosqlite has no public way to run several statements in one hop to its thread. Shielded:
        # a cancelled call may still land, and nobody would know.
        connection = self._connection
        with anyio.CancelScope(shield=True):
            execute: Callable[..., Awaitable[T]] = connection._execute  # noqa: SLF001
            result: T = await execute(lambda: work(connection._conn))  # noqa: SLF001
        return result


def _prepare(db: sqlite3.Connection) -> None:
    db.executescript(_PRAGMAS)
    db.create_function("casefold", 1, str.casefold, deterministic=True)
    if db.execute("PRAGMA user_version").fetchone()[0] == 0 and not _has_tables(db):
        # executescript commits on its own: the script brings its own transaction.
        mark = f"PRAGMA user_version = {CATALOG.version};"
        db.executescript(f"BEGIN IMMEDIATE; {section(SCHEMA, 'catalog')} {mark} COMMIT;")
        return
    try:
        CATALOG.migrate(db)
    except NewerSchemaError as error:
        raise StorageUnavailable(
            f"The catalog has schema {error.args[0]}; this server knows {CATALOG.version}.",
            retryable=False,
        ) from error
    except NoSchemaError as error:
        raise StorageUnavailable("The catalog is of no known schema.", retryable=False) from error
    db.executescript("BEGIN IMMEDIATE; COMMIT;")  # takes the lock now, not at the first write


def _has_tables(db: sqlite3.Connection) -> bool:
    return db.execute("SELECT 1 FROM sqlite_schema").fetchone() is not None


def add_owner(db: sqlite3.Connection, doc_id: str, owner: str, at: int) -> None:
    """Whoever a document was made for owns it. `at` in milliseconds since 1970."""
    principal = owner if ":" in owner else f"person:{owner}"
    member = {"principal": principal, "role": "owner", "at": at, "by": "server"}
    db.execute(Q["set_member"], {"doc_id": doc_id, **member})


class _NoOwnerError(Exception):
    """Nobody would own the document any more."""


def _noted(db: sqlite3.Connection, note: AuditRow, query: str, values: Any) -> bool:
    """Whether the act changed anything; then the audit log tells of it."""
    if db.execute(query, values).rowcount <= 0:
        return False
    db.execute(Q["note"], msgspec.structs.astuple(note))
    return True


def _found(db: sqlite3.Connection, ref: str, *queries: str) -> DocumentRow | None:
    found = [row for query in queries if (row := db.execute(Q[query], (ref,)).fetchone())]
    return DocumentRow(*found[0]) if found else None


def _row(*values: Any) -> DocumentRow:
    """A row of a page; what comes last are the roles of whoever asks."""
    if len(values) == _COLUMNS:
        return DocumentRow(*values)
    roles: Any = (values[-1] or "").split()
    return msgspec.structs.replace(DocumentRow(*values[:-1]), role=best(tuple(roles)))


def _states(db: sqlite3.Connection) -> dict[str, DocumentState]:
    return dict(db.execute(Q["states"]).fetchall())


def _assignment(row: tuple[str, int, str | None, str, int, int, str | None]) -> Assignment:
    doc_id, epoch, actor, node, pid, started, sleeping_at = row
    holder = None if actor is None else Holder(actor, node, pid, started)
    return Assignment(doc_id, epoch, holder, sleeping_at)


def _token(row: tuple[Any, ...]) -> TokenRow:
    token_id, name, person, principal, agent, scopes = row[:6]
    created, expires, last_used, revoked, documents, *budgets = row[6:]
    return TokenRow(
        token_id,
        name,
        person,
        principal,
        bool(agent),
        frozenset(scopes.split()),
        created,
        expires,
        last_used,
        revoked,
        Allowance(*budgets),
        None if documents is None else frozenset(documents.split()),
    )
