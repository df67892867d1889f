"""What the Directory is asked about access: tokens, tickets, roles, and what is new of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actors.directory.members import RoleRegister
from actors.directory.notices import Notices
from actors.directory.tickets import Tickets
from actors.directory.token_register import AS_SET, SERVER, TokenRegister
from actors.ports import Catalog
from shared.budget import Allowance
from shared.directory_protocol import (
    Admitted,
    AuditRow,
    Members,
    News,
    NewToken,
    Ticket,
    TokenRow,
)
from shared.errors import DocumentNotFound
from shared.protocol import Caller, LinkRole, Role, Scope


class AccessVerbs:
    """Verbs of the Directory; every one may raise StorageUnavailable when the catalog fails."""

    def __init__(self, catalog: Catalog, notices: Notices, now_ms: Callable[[], int]) -> None:
        self._catalog = catalog
        self._notices = notices
        self._tokens = TokenRegister(catalog, notices, now_ms=now_ms)
        self._roles = RoleRegister(catalog, notices, now_ms)
        self._tickets = Tickets(catalog, self._tokens, now_ms=now_ms)

    async def create_token(
        self,
        owner: str,
        name: str,
        scopes: frozenset[Scope],
        agent: bool = True,
        expires: int | str | None = None,
        allowance: Allowance = AS_SET,
        documents: frozenset[str] | None = None,
        by: str = SERVER,
    ) -> NewToken:
        """A new token; its text is in the answer and nowhere else. See TokenRegister.create."""
        given: dict[str, Any] = {
            "expires": expires,
            "allowance": allowance,
            "documents": documents,
            "by": by,
        }
        return await self._tokens.create(owner, name, scopes, agent=agent, **given)

    async def list_tokens(self) -> tuple[TokenRow, ...]:
        return await self._tokens.list()

    async def revoke_token(self, token_id: str, by: str = SERVER) -> None:
        """Raises InvalidArgument when there is no valid token of this id."""
        await self._tokens.revoke(token_id, by)

    async def invalid_tokens(self, ids: frozenset[str]) -> frozenset[str]:
        """Those of these tokens that no longer count, and all revoked lately."""
        return await self._tokens.invalid(ids)

    async def audit(self, limit: int) -> tuple[AuditRow, ...]:
        """The last lines of the audit log, the newest first."""
        return await self._catalog.notes(limit)

    async def authenticate(self, token_hash: bytes) -> Caller | None:
        """Who sent the token with this hash (`shared.tokens.hash_token`); None: nobody we know."""
        return await self._tokens.authenticate(token_hash)

    async def create_ticket(self, caller: Caller, ref: str) -> Ticket:
        """A ticket for one document. Raises DocumentNotFound when the caller may not read it."""
        (there,) = await self._roles.admit([(ref, caller)])
        if there is None:
            raise DocumentNotFound.for_document(ref)
        return await self._tickets.create(caller, there.doc_id)

    async def redeem(self, ticket: str) -> Caller | None:
        """Who comes with a ticket; None: it does not count."""
        return await self._tickets.redeem(ticket)

    async def admit(self, asked: tuple[tuple[str, Caller], ...]) -> tuple[Admitted | None, ...]:
        """What each caller may do with a document; see RoleRegister.admit."""
        return await self._roles.admit(asked)

    async def members(self, caller: Caller, ref: str) -> Members:
        """Who has a role on a document; see RoleRegister.members."""
        return await self._roles.members(caller, ref)

    async def set_member(
        self, caller: Caller, ref: str, principal: str, role: Role | None
    ) -> Members:
        """Grants a role, or takes it back; see RoleRegister.set."""
        return await self._roles.set(caller, ref, principal, role)

    async def set_link_role(self, caller: Caller, ref: str, role: LinkRole | None) -> Members:
        """What everybody with the link may do; see RoleRegister.set_link."""
        return await self._roles.set_link(caller, ref, role)

    async def wait_for_notice(self, seen: int, seconds: float) -> News:
        """Returns when something is new since notice `seen`; see Notices."""
        return await self._notices.wait(seen, seconds)
