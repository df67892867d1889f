"""Tokens: made, listed, revoked, and turned into callers."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Final, get_args

import msgspec

from actors.directory.members import PERSON
from actors.directory.notices import Notices
from actors.ports import Catalog
from shared.budget import Allowance
from shared.directory_protocol import AuditRow, NewToken, TokenRow
from shared.errors import InvalidArgument
from shared.expiry import expiry
from shared.ids import ALPHABET
from shared.limits import MAX_NAME_CHARS, REVOKED_TOLD_MS
from shared.protocol import Caller, Scope
from shared.slugs import single_line
from shared.tokens import TOKEN_BYTES, TOKEN_PREFIX, hash_token

TOKEN_ID_LENGTH: Final = 8
SERVER: Final = "server"  # in the audit log: nobody asked for it
USED_EVERY_MS: Final = 60_000  # `last_used` is kept to the minute: no write per request
AS_SET: Final = Allowance()  # budgets as the server's settings say
SCOPES: Final = frozenset[Scope](get_args(Scope))


class TokenRegister:
    """The catalog's tokens. Every revocation is told to the gateways by a notice."""

    def __init__(self, catalog: Catalog, notices: Notices, *, now_ms: Callable[[], int]) -> None:
        self._catalog = catalog
        self._notices = notices
        self._now_ms = now_ms

    async def create(
        self,
        owner: str,
        name: str,
        scopes: frozenset[Scope],
        *,
        agent: bool,
        expires: int | str | None = None,
        allowance: Allowance = AS_SET,
        documents: frozenset[str] | None = None,
        by: str = SERVER,
    ) -> NewToken:
        """A new token of `owner`. An agent's token is a principal of its own.

        Args:
            owner: The person, by name or principal.
            scopes: What it may be used for.
            agent: Whether it is an agent's token; else the person's own.
            name: The agent's name; shown as the author of what it does. Ignored for a person.
            expires: Milliseconds since 1970, or as `shared.expiry` reads it; None: never.
            allowance: Budgets of its own.
            documents: Ids of the only ones it is for; None: all.
            by: Who asks for it.

        Raises:
            InvalidArgument: An empty name, no scope or an unknown one, a time gone by, a negative
                budget, no document.
        """
        owner = single_line(owner, MAX_NAME_CHARS).removeprefix(PERSON)
        name = single_line(name, MAX_NAME_CHARS)
        now = self._now_ms()
        if not owner or not name:
            raise InvalidArgument("name: must not be empty.")
        until = _expiry(expires, now)
        _check(scopes, documents, allowance)
        token_id = "".join(secrets.choice(ALPHABET) for _ in range(TOKEN_ID_LENGTH))
        person = PERSON + owner
        row = TokenRow(
            id=token_id,
            name=name if agent else owner,
            person=person,
            principal=f"agent:{owner}:{name}" if agent else person,
            agent=agent,
            scopes=scopes,
            created=now,
            expires=until,
            last_used=None,
            revoked=None,
            allowance=allowance,
            documents=documents,
        )
        token = TOKEN_PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
        note = AuditRow(now, by, "token.create", token_id)
        await self._catalog.add_token(row, hash_token(token), note)
        return NewToken(token, row)

    async def list(self) -> tuple[TokenRow, ...]:
        return await self._catalog.tokens()

    async def invalid(self, ids: frozenset[str]) -> frozenset[str]:
        """Those of these tokens that are revoked, have expired or are not known.

        And every other that was revoked in the last REVOKED_TOLD_MS: a call it let in before may
        be on its way.
        """
        now = self._now_ms()
        rows = await self._catalog.tokens()
        lately = {row.id for row in rows if row.revoked and row.revoked > now - REVOKED_TOLD_MS}
        return ids - {row.id for row in rows if _is_valid(row, now)} | lately

    async def revoke(self, token_id: str, by: str = SERVER) -> None:
        """Raises InvalidArgument when there is no valid token of this id."""
        now = self._now_ms()
        note = AuditRow(now, by, "token.revoke", token_id)
        if not await self._catalog.revoke_token(token_id, now, note):
            raise InvalidArgument(f"id: no valid token {token_id[:64]!r}.")
        self._notices.of_tokens()

    async def authenticate(self, token_hash: bytes) -> Caller | None:
        """Who sent the token; None for one that is unknown, revoked or has expired."""
        row = await self._catalog.token(token_hash)
        now = self._now_ms()
        if row is None or not _is_valid(row, now):
            return None
        if row.last_used is None or now - row.last_used >= USED_EVERY_MS:
            await self._catalog.token_used(row.id, now)
        return _caller(row)

    async def caller(self, token_id: str) -> Caller | None:
        """Whom the token of this id stands for; None when it does not count any more."""
        row = await self._catalog.token_of(token_id)
        return _caller(row) if row is not None and _is_valid(row, self._now_ms()) else None


def _caller(row: TokenRow) -> Caller:
    return Caller(
        *(row.principal, row.name, row.person, row.agent, row.scopes, row.allowance),
        *(row.documents, row.id, row.expires),
    )


def _is_valid(row: TokenRow, now: int) -> bool:
    return row.revoked is None and (row.expires is None or row.expires > now)


def _expiry(expires: int | str | None, now: int) -> int | None:
    """Raises InvalidArgument: it is no time, or one gone by."""
    at = expiry(expires, now) if isinstance(expires, str) else expires
    if at is not None and at <= now:
        raise InvalidArgument("expires: this time has gone by.")
    return at


def _check(
    scopes: frozenset[Scope], documents: frozenset[str] | None, allowance: Allowance
) -> None:
    """Raises InvalidArgument: no token may be so."""
    if not scopes or scopes - SCOPES:
        raise InvalidArgument(f"scopes: one or more of {' '.join(sorted(SCOPES))}.")
    if documents is not None and (not documents or "admin" in scopes):
        raise InvalidArgument("documents: name some, and not with the scope admin.")
    for field, budget in msgspec.structs.asdict(allowance).items():
        if budget is not None and budget < 0:
            raise InvalidArgument(f"{field}: must not be negative.")
