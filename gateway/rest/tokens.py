"""REST for access: tokens made, listed and revoked, and the audit log. All of it for `admin`."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.mcp import arguments
from gateway.rest.handlers import Handlers
from gateway.rest.requests import argument, check_parameters, ordered, queried
from gateway.rest.responses import answered, json_response, unkept
from shared.access import scopes_of
from shared.budget import Allowance
from shared.directory_protocol import AuditRow, NewToken, TokenRow
from shared.limits import DEFAULT_AUDIT, MAX_AUDIT

_SCOPE: Final = "One or more of read, comment, suggest, write, admin; each brings what it needs"


class TokenOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Body of POST /api/tokens.

    `person`: whose it is; null: of whoever asks. `agent` false: the person's own, whatever `name`.
    `expires`: milliseconds since 1970, a duration such as 30d, or a time with its offset.
    `documents`: ids, slugs or URLs of the only ones it is for; null: all. A budget that is null is
    as the server's settings say.
    """

    name: str
    person: str | None = None
    scope: Annotated[str, Meta(description=_SCOPE)] = "write"
    agent: bool = True
    expires: int | str | None = None
    documents: tuple[str, ...] | None = None
    writes_per_minute: int | None = None
    chars_per_hour: int | None = None
    reads_per_minute: int | None = None


class AuditQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of GET /api/audit."""

    limit: Annotated[int, Meta(ge=1, le=MAX_AUDIT)] = DEFAULT_AUDIT


class TokenList(msgspec.Struct, frozen=True):
    """Every token there was, without its secret. Times in milliseconds since 1970."""

    tokens: tuple[TokenRow, ...]


class Revoked(msgspec.Struct, frozen=True):
    id: str


class AuditLog(msgspec.Struct, frozen=True):
    """Its last lines, the newest first."""

    rows: tuple[AuditRow, ...]


class TokensRest(Handlers):
    """The handlers. `routes` goes into the application."""

    def routes(self) -> list[Route]:
        return [
            Route("/api/tokens", answered(self.create), methods=["POST"]),
            Route("/api/tokens", answered(self.tokens), methods=["GET"]),
            Route("/api/tokens/{id}", answered(self.revoke), methods=["DELETE"]),
            Route("/api/audit", answered(self.audit), methods=["GET"]),
        ]

    async def create(self, request: Request) -> Response:
        """A token in the name of whoever asks; its text is in this answer and nowhere else."""
        caller = await self._caller(request, "admin")
        order = await ordered(request, TokenOrder)
        made: NewToken = await self._directory(
            "create_token",
            order.person or caller.person or caller.principal,
            arguments.clean("name", order.name),
            scopes_of(order.scope),
            order.agent,
            order.expires,
            Allowance(order.writes_per_minute, order.chars_per_hour, order.reads_per_minute),
            await self._ids(order.documents),
            caller.principal,
        )
        return unkept(made, 201)

    async def tokens(self, request: Request) -> Response:
        """Every token, also those that no longer count."""
        await self._caller(request, "admin")
        check_parameters(request, ())
        return json_response(TokenList(await self._directory("list_tokens")))

    async def revoke(self, request: Request) -> Response:
        """Ends a token: what goes on under it is closed, on every gateway."""
        caller = await self._caller(request, "admin")
        check_parameters(request, ())
        token_id = request.path_params["id"]
        await self._directory("revoke_token", token_id, caller.principal)
        return json_response(Revoked(token_id))

    async def audit(self, request: Request) -> Response:
        """Who gave, took and deleted what."""
        await self._caller(request, "admin")
        query = queried(request, AuditQuery)
        return json_response(AuditLog(await self._directory("audit", query.limit)))

    async def _ids(self, documents: tuple[str, ...] | None) -> frozenset[str] | None:
        if documents is None:
            return None
        refs = [argument("documents", ref, arguments.document) for ref in documents]
        return frozenset([await self._directory("resolve", ref) for ref in refs])
