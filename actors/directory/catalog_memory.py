"""The catalog in memory: the double of `actors.directory.catalog.SqliteCatalog`, for tests.

Fault switches: `fail_next` is raised, once, by the next method that writes; `failing` by every
method for as long as it is set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from actors.ports import NOBODY, Access, Assignment, Creation, Holder, Who
from shared.access import best
from shared.checkup import CatalogCopy, Copied
from shared.directory_protocol import AuditRow, DocumentRow, DocumentState, Member, TokenRow
from shared.errors import DocactorError
from shared.protocol import LinkRole, Role


class MemoryCatalog:
    """Keeps what the real one keeps, as long as the object lives."""

    def __init__(self) -> None:
        self.fail_next: DocactorError | None = None
        self.failing: DocactorError | None = None
        self.lookups = 0  # of ready documents
        self._documents: dict[str, DocumentRow] = {}
        self._creations: dict[tuple[str, str], Creation] = {}
        self._assignments: dict[str, Assignment] = {}
        self._tokens: dict[bytes, TokenRow] = {}
        self._numbers: dict[str, int] = {}
        self._secrets: dict[str, bytes] = {}
        self._members: dict[str, dict[str, Member]] = {}
        self._notes: list[AuditRow] = []
        self._drained: set[str] = set()
        self._left: dict[tuple[str, str], int] = {}
        self.copies: dict[Path, tuple[DocumentRow, ...]] = {}

    async def document(self, ref: str) -> DocumentRow | None:
        self._may_answer()
        self.lookups += 1
        return self._find(ref)

    async def access(self, asked: Sequence[tuple[str, Who]]) -> tuple[Access | None, ...]:
        self._may_answer()
        self.lookups += len(asked)
        found = [(self._find(ref), who) for ref, who in asked]
        return tuple(
            None if row is None else Access(row, self._roles(row.doc_id, who)) for row, who in found
        )

    def _find(self, ref: str) -> DocumentRow | None:
        ready = [row for row in self._documents.values() if row.state == "ready"]
        by_id = [row for row in ready if row.doc_id == ref]
        return next(iter(by_id + [row for row in ready if row.slug == ref]), None)

    async def reserve(self, row: DocumentRow, creation: Creation | None, now: int) -> bool:
        self._may_fail()
        del now
        if self._is_taken(row.slug):
            return False
        self._documents[row.doc_id] = msgspec.structs.replace(row, state="creating")
        owner = row.owner if ":" in row.owner else f"person:{row.owner}"
        member = Member(owner, "owner", row.created_at, "server")
        self._members[row.doc_id] = {owner: member}
        if creation is not None:
            self._creations[creation.principal, creation.key] = creation
        return True

    async def make_ready(self, doc_id: str, answer: bytes) -> None:
        self._may_fail()
        self._change(doc_id, state="ready")
        for place, creation in self._creations.items():
            if creation.doc_id == doc_id:
                self._creations[place] = msgspec.structs.replace(creation, answer=answer)

    async def forget(self, doc_id: str) -> None:
        self._may_fail()
        if doc_id in self._documents and self._documents[doc_id].state == "creating":
            self._remove(doc_id)

    async def creating(self) -> tuple[str, ...]:
        self._may_answer()
        return tuple(d.doc_id for d in self._documents.values() if d.state == "creating")

    async def creation(self, principal: str, key: str) -> Creation | None:
        self._may_answer()
        return self._creations.get((principal, key))

    async def delete_document(self, doc_id: str, now: int, note: AuditRow) -> bool:
        self._may_fail()
        row = self._documents.get(doc_id)
        if row is None or row.state != "ready":
            return False
        self._change(doc_id, state="deleted", deleted_at=now)
        self._notes.append(note)
        return True

    async def deleted_document(self, ref: str) -> DocumentRow | None:
        self._may_answer()
        rows = self._deleted()
        by_id = [row for _, row in rows if row.doc_id == ref]
        return next(iter(by_id + [row for _, row in reversed(rows) if row.slug == ref]), None)

    async def deleted_page(
        self, query: str, before: tuple[int, str] | None, limit: int, who: Who, *, all_of: bool
    ) -> tuple[DocumentRow, ...]:
        self._may_answer()
        found = [
            row
            for place, row in reversed(self._deleted())
            if _contains(row, query)
            and (before is None or place < before)
            and (all_of or "owner" in self._roles(row.doc_id, who))
        ]
        return tuple(found[:limit])

    async def undelete(
        self, doc_id: str, slug: str, expires_at: int | None, note: AuditRow
    ) -> bool:
        self._may_fail()
        row = self._documents.get(doc_id)
        if row is None or row.state != "deleted" or self._is_taken(slug):
            return False
        self._change(doc_id, state="ready", slug=slug, expires_at=expires_at, deleted_at=None)
        self._notes.append(note)
        return True

    async def expired(self, now: int, limit: int) -> tuple[str, ...]:
        self._may_answer()
        due = [
            (row.expires_at, row.doc_id)
            for row in self._documents.values()
            if row.state == "ready" and row.expires_at is not None and row.expires_at <= now
        ]
        return tuple(doc_id for _, doc_id in sorted(due)[:limit])

    async def purgeable(
        self, until: int, after: tuple[int, str], limit: int
    ) -> tuple[tuple[int, str], ...]:
        self._may_answer()
        places = [place for place, _ in self._deleted() if place[0] <= until and place > after]
        return tuple(places[:limit])

    async def purge(self, doc_id: str, note: AuditRow) -> None:
        self._may_fail()
        if doc_id in self._documents and self._documents[doc_id].state == "deleted":
            self._remove(doc_id)
            self._notes.append(note)

    async def counts(self) -> dict[DocumentState, int]:
        self._may_answer()
        return dict(Counter(row.state for row in self._documents.values()))

    async def drained(self) -> frozenset[str]:
        self._may_answer()
        return frozenset(self._drained)

    async def set_drained(self, node_id: str, at: int | None) -> None:
        self._may_fail()
        if at is None:
            self._drained.discard(node_id)
        else:
            self._drained.add(node_id)

    async def page(
        self, query: str, before: tuple[int, str] | None, limit: int, who: Who, *, all_of: bool
    ) -> tuple[DocumentRow, ...]:
        self._may_answer()
        found = [
            msgspec.structs.replace(row, role=best(self._roles(row.doc_id, who)))
            for row in self._documents.values()
            if row.state == "ready"
            and (all_of or self._roles(row.doc_id, who))
            and _contains(row, query)
            and (before is None or (row.updated_at, row.doc_id) < before)
        ]
        found.sort(key=lambda row: (row.updated_at, row.doc_id), reverse=True)
        return tuple(found[:limit])

    async def report(
        self, doc_id: str, title: str, updated_at: int, left: Mapping[str, int] = NOBODY
    ) -> None:
        self._may_fail()
        row = self._documents.get(doc_id)
        if row is not None and row.state == "ready":
            at = max(row.updated_at, updated_at)
            self._change(doc_id, title=title or row.title, updated_at=at)
        if row is not None:
            for person, left_at in left.items():
                place = (person, doc_id)
                self._left[place] = max(left_at, self._left.get(place, 0))

    async def last_left(self, person: str) -> dict[str, int]:
        self._may_answer()
        return {
            doc_id: at
            for (one, doc_id), at in self._left.items()
            if one == person and doc_id in self._documents
        }

    async def assignment(self, doc_id: str) -> Assignment | None:
        self._may_answer()
        return self._assignments.get(doc_id)

    async def held(self) -> tuple[Assignment, ...]:
        self._may_answer()
        return tuple(a for a in self._assignments.values() if a.holder is not None)

    async def raise_epoch(self, doc_id: str, holder: Holder, least: int, now: int) -> int:
        self._may_fail()
        del now
        before = self._assignments.get(doc_id)
        epoch = max(before.epoch + 1 if before else 1, least)
        sleeping_at = before.sleeping_at if before else None
        self._assignments[doc_id] = Assignment(doc_id, epoch, holder, sleeping_at)
        return epoch

    async def fall_asleep(self, doc_id: str, epoch: int, gateway: str) -> None:
        self._may_fail()
        if (held := self._assignments.get(doc_id)) and held.epoch == epoch:
            self._assignments[doc_id] = msgspec.structs.replace(held, sleeping_at=gateway)

    async def hand_back(
        self, doc_id: str, epoch: int, now: int, sleeping_at: str | None = None
    ) -> None:
        self._may_fail()
        del now
        if (held := self._assignments.get(doc_id)) and held.epoch == epoch:
            self._assignments[doc_id] = Assignment(doc_id, epoch, None, sleeping_at)

    async def members(self, doc_id: str) -> tuple[Member, ...]:
        self._may_answer()
        rows = self._members.get(doc_id, {}).values()
        return tuple(sorted(rows, key=lambda row: (row.at, row.principal)))

    async def set_member(self, doc_id: str, member: Member, note: AuditRow) -> bool:
        self._may_fail()
        members = {**self._members.get(doc_id, {}), member.principal: member}
        return self._own(doc_id, members, note)

    async def remove_member(self, doc_id: str, principal: str, note: AuditRow) -> bool:
        self._may_fail()
        members = dict(self._members.get(doc_id, {}))
        if members.pop(principal, None) is None:
            return bool(members)
        return self._own(doc_id, members, note)

    def _own(self, doc_id: str, members: dict[str, Member], note: AuditRow) -> bool:
        if all(member.role != "owner" for member in members.values()):
            return False
        self._members[doc_id] = members
        self._notes.append(note)
        return True

    async def set_link_role(self, doc_id: str, role: LinkRole | None, note: AuditRow) -> None:
        self._may_fail()
        if doc_id in self._documents and self._documents[doc_id].state == "ready":
            self._change(doc_id, link_role=role)
            self._notes.append(note)

    async def add_token(self, row: TokenRow, token_hash: bytes, note: AuditRow) -> None:
        self._may_fail()
        self._tokens[token_hash] = row
        self._notes.append(note)

    async def token(self, token_hash: bytes) -> TokenRow | None:
        self._may_answer()
        return self._tokens.get(token_hash)

    async def token_of(self, token_id: str) -> TokenRow | None:
        self._may_answer()
        return next((row for row in self._tokens.values() if row.id == token_id), None)

    async def tokens(self) -> tuple[TokenRow, ...]:
        self._may_answer()
        return tuple(sorted(self._tokens.values(), key=lambda row: (row.created, row.id)))

    async def revoke_token(self, token_id: str, now: int, note: AuditRow) -> bool:
        self._may_fail()
        for token_hash, row in self._tokens.items():
            if row.id == token_id and row.revoked is None:
                self._tokens[token_hash] = msgspec.structs.replace(row, revoked=now)
                self._notes.append(note)
                return True
        return False

    async def token_used(self, token_id: str, now: int) -> None:
        self._may_fail()
        for token_hash, row in self._tokens.items():
            if row.id == token_id:
                self._tokens[token_hash] = msgspec.structs.replace(row, last_used=now)

    async def notes(self, limit: int) -> tuple[AuditRow, ...]:
        self._may_answer()
        return tuple(self._notes[::-1][:limit])

    async def number(self, key: str) -> int:
        self._may_answer()
        return self._numbers.get(key, 0)

    async def set_number(self, key: str, value: int) -> None:
        self._may_fail()
        self._numbers[key] = value

    async def secret(self, key: str, fresh: bytes) -> bytes:
        self._may_fail()
        return self._secrets.setdefault(key, fresh)

    async def states(self) -> dict[str, DocumentState]:
        self._may_answer()
        return {doc_id: row.state for doc_id, row in sorted(self._documents.items())}

    async def back_up(self, target: Path) -> CatalogCopy:
        self._may_fail()
        self.copies[target] = tuple(self._documents.values())
        ready = tuple(d for d, state in (await self.states()).items() if state == "ready")
        return CatalogCopy(Copied(0, ""), ready)

    async def integrity(self) -> tuple[str, ...]:
        self._may_answer()
        return ()

    async def close(self) -> None:
        pass

    def _deleted(self) -> list[tuple[tuple[int, str], DocumentRow]]:
        rows = [row for row in self._documents.values() if row.state == "deleted"]
        return sorted(((row.deleted_at or 0, row.doc_id), row) for row in rows)

    def _roles(self, doc_id: str, who: Who) -> tuple[Role, ...]:
        members = self._members.get(doc_id, {})
        ids = {who.principal, who.person}
        return tuple(member.role for name, member in members.items() if name in ids)

    def _is_taken(self, slug: str) -> bool:
        return any(d.slug == slug and d.state != "deleted" for d in self._documents.values())

    def _remove(self, doc_id: str) -> None:
        del self._documents[doc_id]
        self._assignments.pop(doc_id, None)
        self._members.pop(doc_id, None)
        self._creations = {k: c for k, c in self._creations.items() if c.doc_id != doc_id}

    def _change(self, doc_id: str, **fields: object) -> None:
        self._documents[doc_id] = msgspec.structs.replace(self._documents[doc_id], **fields)

    def _may_answer(self) -> None:
        if self.failing is not None:
            raise self.failing

    def _may_fail(self) -> None:
        self._may_answer()
        if self.fail_next is not None:
            error, self.fail_next = self.fail_next, None
            raise error


def _contains(row: DocumentRow, query: str) -> bool:
    return query.casefold() in row.title.casefold() or query.casefold() in row.slug
