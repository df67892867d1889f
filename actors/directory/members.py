"""Who may do what with which document: asked for, granted and taken back."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, get_args

from actors.directory.notices import Notices
from actors.ports import Access, Catalog, Who
from shared.access import best, is_operator, require_owner, with_role
from shared.directory_protocol import Admitted, AuditRow, Member, Members
from shared.errors import DocumentNotFound, InvalidArgument
from shared.limits import MAX_MEMBERS, MAX_PRINCIPAL_CHARS
from shared.protocol import Caller, LinkRole, Role
from shared.slugs import single_line

PERSON: Final = "person:"
_PRINCIPAL: Final = re.compile(r"(person|agent):\S(.*\S)?")
_LINK_ROLES: Final = get_args(LinkRole)
_ROLES: Final = get_args(Role)


def who(caller: Caller) -> Who:
    """Whose roles count for a caller: an agent has those of the person it belongs to."""
    return Who(caller.principal, caller.person or caller.principal)


def principal_of(text: str) -> str:
    """The id of a person or an agent as people write it; a name alone is a person's.

    Raises InvalidArgument.
    """
    name = single_line(text, MAX_PRINCIPAL_CHARS + 1)
    principal = name if ":" in name else PERSON + name
    if len(principal) > MAX_PRINCIPAL_CHARS or not _PRINCIPAL.fullmatch(principal):
        raise InvalidArgument(
            "principal: a person's name, person:<name>, or agent:<person>:<name>.",
            field="principal",
        )
    return principal


class RoleRegister:
    """The catalog's roles. Every change is told to the gateways by a notice.

    Args:
        now_ms: Milliseconds since 1970.
    """

    def __init__(self, catalog: Catalog, notices: Notices, now_ms: Callable[[], int]) -> None:
        self._catalog = catalog
        self._notices = notices
        self._now_ms = now_ms

    async def admit(self, asked: Sequence[tuple[str, Caller]]) -> tuple[Admitted | None, ...]:
        """For each id or slug what its caller may do there; None: there is none for it.

        One that is private, deleted or expired takes exactly as long as one that never was.
        """
        now = self._now_ms()
        found = await self._catalog.access([(ref, who(caller)) for ref, caller in asked])
        return tuple(
            _admitted(access, caller, now) for access, (_, caller) in zip(found, asked, strict=True)
        )

    async def members(self, caller: Caller, ref: str) -> Members:
        """Who has a role there. For an owner.

        Raises:
            DocumentNotFound: There is none that the caller may read.
            CapabilityDenied: The caller is no owner.
        """
        there = await self.owned(caller, ref)
        return Members(there.doc_id, there.link_role, await self._catalog.members(there.doc_id))

    async def set(self, caller: Caller, ref: str, principal: str, role: Role | None) -> Members:
        """Grants a role, or with None takes back the one there is. For an owner.

        Raises:
            InvalidArgument: No such role or principal, too many members, or nobody would own the
                document any more.
            DocumentNotFound, CapabilityDenied: As `members`.
        """
        if role is not None and role not in _ROLES:
            raise InvalidArgument(f"role: one of {', '.join(_ROLES)}.", field="role")
        named = principal_of(principal)
        there = await self.owned(caller, ref)
        doc_id, by = there.doc_id, caller.principal
        before = await self._catalog.members(doc_id)
        if role is None:
            if all(member.principal != named for member in before):
                raise InvalidArgument(f"principal: {named} is no member.", field="principal")
            note = self._note(by, "member.remove", f"{doc_id} {named}")
            done = await self._catalog.remove_member(doc_id, named, note)
        else:
            if len({named, *(member.principal for member in before)}) > MAX_MEMBERS:
                raise InvalidArgument(f"principal: a document has {MAX_MEMBERS} members at most.")
            note = self._note(by, "member.set", f"{doc_id} {named} {role}")
            member = Member(named, role, note.at, by)
            done = await self._catalog.set_member(doc_id, member, note)
        if not done:
            raise InvalidArgument(
                f"principal: {named} is the only owner.",
                next_step="Make somebody else an owner first.",
            )
        self._notices.of_document(doc_id)
        return Members(doc_id, there.link_role, await self._catalog.members(doc_id))

    async def set_link(self, caller: Caller, ref: str, role: LinkRole | None) -> Members:
        """What everybody with the link may do; None: nothing. For an owner.

        Raises: InvalidArgument, DocumentNotFound, CapabilityDenied.
        """
        if role is not None and role not in _LINK_ROLES:
            raise InvalidArgument(f"role: one of {', '.join(_LINK_ROLES)}.", field="role")
        doc_id = (await self.owned(caller, ref)).doc_id
        note = self._note(caller.principal, "link.set", f"{doc_id} {role or 'none'}")
        await self._catalog.set_link_role(doc_id, role, note)
        self._notices.of_document(doc_id)
        return Members(doc_id, role, await self._catalog.members(doc_id))

    async def owned(self, caller: Caller, ref: str) -> Admitted:
        """A document whose owner the caller is, in person.

        Raises: DocumentNotFound, CapabilityDenied; as `members`.
        """
        (there,) = await self.admit([(ref, caller)])
        if there is None:
            raise DocumentNotFound.for_document(ref)
        require_owner(with_role(caller, there.role, there.link_role))
        return there

    async def require_former_owner(self, caller: Caller, doc_id: str, ref: str) -> None:
        """Refuses whoever did not own a deleted document: for them `ref` has never been one.

        Raises: DocumentNotFound, CapabilityDenied.
        """
        asks = who(caller)
        members = await self._catalog.members(doc_id)
        held = tuple(m.role for m in members if m.principal in (asks.principal, asks.person))
        role = "owner" if is_operator(caller) else best(held)
        if role != "owner" or (caller.documents is not None and doc_id not in caller.documents):
            raise DocumentNotFound.for_document(ref)
        require_owner(with_role(caller, role, None))

    def _note(self, by: str, what: str, about: str) -> AuditRow:
        return AuditRow(self._now_ms(), by, what, about)


def _admitted(access: Access | None, caller: Caller, now: int) -> Admitted | None:
    if access is None:
        return None
    row = access.row
    if row.expires_at is not None and row.expires_at <= now:
        return None
    if caller.documents is not None and row.doc_id not in caller.documents:
        return None
    role = "owner" if is_operator(caller) else best(access.roles)
    if role is None and row.link_role is None:
        return None
    return Admitted(row.doc_id, role, row.link_role)
