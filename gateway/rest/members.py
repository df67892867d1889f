"""REST for roles on a document, and for tickets that open its sockets."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.mcp import arguments
from gateway.rest.handlers import Handlers, document_of
from gateway.rest.requests import argument, check_parameters, ordered, queried
from gateway.rest.responses import answered, json_response, unkept
from shared.access import require
from shared.limits import MAX_PRINCIPAL_CHARS
from shared.protocol import LinkRole, Role

Principal = Annotated[
    str,
    Meta(
        max_length=MAX_PRINCIPAL_CHARS,
        description="person:<name>, agent:<person>:<name>, or a person's name",
    ),
]


class MemberOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Body of PUT /api/documents/{doc}/members: the role somebody has from now on."""

    principal: Principal
    role: Role


class MemberQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of DELETE /api/documents/{doc}/members: whose role is taken back."""

    principal: Principal


class LinkOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Body of PUT /api/documents/{doc}/link: what everybody with the link may do; null: nothing."""

    role: LinkRole | None


class TicketOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Body of POST /api/tickets. `document`: id, slug or URL."""

    document: str


class MembersRest(Handlers):
    """The handlers. The catalog decides who may do this. `routes` goes into the application."""

    def routes(self) -> list[Route]:
        members, link = "/api/documents/{doc}/members", "/api/documents/{doc}/link"
        return [
            Route(members, answered(self.members), methods=["GET"]),
            Route(members, answered(self.set), methods=["PUT"]),
            Route(members, answered(self.remove), methods=["DELETE"]),
            Route(link, answered(self.set_link), methods=["PUT"]),
            Route("/api/tickets", answered(self.ticket), methods=["POST"]),
        ]

    async def members(self, request: Request) -> Response:
        """Who has a role on the document."""
        caller, ref = await self._caller(request), document_of(request)
        check_parameters(request, ())
        return json_response(await self._directory("members", caller, ref))

    async def set(self, request: Request) -> Response:
        """Gives somebody a role. What they have open goes on with it at once."""
        caller, ref = await self._caller(request), document_of(request)
        order = await ordered(request, MemberOrder)
        given = arguments.clean("principal", order.principal), order.role
        return json_response(await self._directory("set_member", caller, ref, *given))

    async def remove(self, request: Request) -> Response:
        """Takes somebody's role back. What they have open ends, unless the link lets them stay."""
        caller, ref = await self._caller(request), document_of(request)
        query = queried(request, MemberQuery)
        gone = arguments.clean("principal", query.principal)
        return json_response(await self._directory("set_member", caller, ref, gone, None))

    async def set_link(self, request: Request) -> Response:
        """Says what everybody with the link may do."""
        caller, ref = await self._caller(request), document_of(request)
        order = await ordered(request, LinkOrder)
        return json_response(await self._directory("set_link_role", caller, ref, order.role))

    async def ticket(self, request: Request) -> Response:
        """What a socket of this document is opened with where a token must not be seen."""
        caller = await self._caller(request)
        require(caller, "read")
        order = await ordered(request, TicketOrder)
        ref = argument("document", order.document, arguments.document)
        return unkept(await self._directory("create_ticket", caller, ref), 201)
