"""REST of a document's history: its versions, what differs between two states, going back."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.auth import Authenticator
from gateway.mcp import arguments
from gateway.mcp.context import ToolContext
from gateway.rest.orders import (
    CompareQuery,
    RestoreBody,
    SaveVersionBody,
    VersionQuery,
    VersionsQuery,
)
from gateway.rest.routes import (
    answered,
    argument,
    check_parameters,
    decoded,
    json_response,
    queried,
)
from shared.access import require
from shared.calls import HistoryVerb
from shared.protocol import Caller, Scope, WriteOptions
from shared.protocol_history import (
    CompareRequest,
    ListVersionsRequest,
    ReadVersionRequest,
    RestoreRequest,
    SaveVersionRequest,
)


class HistoryRest:
    """The handlers. `routes` goes into the application.

    Whoever comes by a link without a token reads the document and not what was taken out of it.
    """

    def __init__(self, context: ToolContext, authenticator: Authenticator) -> None:
        self._context = context
        self._authenticator = authenticator

    def routes(self) -> list[Route]:
        one = "/api/documents/{doc}"
        versions = f"{one}/versions"
        return [
            Route(versions, answered(self.versions), methods=["GET"]),
            Route(versions, answered(self.save), methods=["POST"]),
            Route(f"{versions}/{{version}}", answered(self.version), methods=["GET"]),
            Route(f"{one}/compare", answered(self.compare), methods=["GET"]),
            Route(f"{one}/restore", answered(self.restore), methods=["POST"]),
        ]

    async def versions(self, request: Request) -> Response:
        """The tool `list_versions`."""
        caller = await self._caller(request, "read")
        query = queried(request, VersionsQuery)
        before = argument("before", query.before, arguments.version)
        order = ListVersionsRequest(before, query.limit)
        return await self._answer(request, "list_versions", caller, order)

    async def version(self, request: Request) -> Response:
        """The tool `read_version`."""
        caller = await self._caller(request, "read")
        name = argument("version", request.path_params["version"], arguments.version)
        order = ReadVersionRequest(name, queried(request, VersionQuery).max_chars)
        return await self._answer(request, "read_version", caller, order)

    async def compare(self, request: Request) -> Response:
        """The tool `compare`."""
        caller = await self._caller(request, "read")
        query = queried(request, CompareQuery)
        order = CompareRequest(
            argument("from", query.since, arguments.point),
            argument("to", query.until, arguments.point),
            argument("section_id", query.section_id, arguments.block),
            query.max_chars,
        )
        return await self._answer(request, "compare", caller, order)

    async def save(self, request: Request) -> Response:
        """The tool `save_version`."""
        caller = await self._caller(request, "write")
        check_parameters(request, ())
        body = decoded(await request.body(), SaveVersionBody)
        version = argument("version", body.version, arguments.version)
        order = SaveVersionRequest(arguments.clean("name", body.name), version)
        return await self._answer(request, "save_version", caller, order, 201)

    async def restore(self, request: Request) -> Response:
        """The tool `restore`."""
        caller = await self._caller(request, "write")
        check_parameters(request, ())
        body = decoded(await request.body(), RestoreBody)
        options = WriteOptions(
            body.base, dry_run=body.dry_run, idempotency_key=body.idempotency_key
        )
        order = RestoreRequest(argument("version", body.version, arguments.version), options)
        return await self._answer(request, "restore", caller, order)

    async def _answer(
        self,
        request: Request,
        verb: HistoryVerb,
        caller: Caller,
        order: msgspec.Struct,
        status: int = 200,
    ) -> Response:
        ref: str = argument("doc", request.path_params["doc"], arguments.document)
        result: Any = await self._context.router.call(ref, verb, caller, order)
        answer = json_response(result, status)
        answer.headers["Cache-Control"] = "no-store"
        return answer

    async def _caller(self, request: Request, scope: Scope) -> Caller:
        caller = await self._authenticator.of_header(request.headers.get("authorization"))
        require(caller, scope)
        return caller
