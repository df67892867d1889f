"""REST of a document's history: its versions, what differs between two states, going back."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.mcp import arguments
from gateway.rest.handlers import Handlers
from gateway.rest.orders import (
    CompareQuery,
    RestoreBody,
    SaveVersionBody,
    VersionQuery,
    VersionsQuery,
)
from gateway.rest.requests import argument, ordered, queried
from gateway.rest.responses import answered
from shared.protocol import WriteOptions
from shared.protocol_history import (
    CompareRequest,
    ListVersionsRequest,
    ReadVersionRequest,
    RestoreRequest,
    SaveVersionRequest,
)


class HistoryRest(Handlers):
    """The handlers. `routes` goes into the application.

    Whoever comes by a link without a token reads the document and not what was taken out of it.
    """

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
        body = await ordered(request, SaveVersionBody)
        version = argument("version", body.version, arguments.version)
        order = SaveVersionRequest(arguments.clean("name", body.name), version)
        return await self._answer(request, "save_version", caller, order, 201)

    async def restore(self, request: Request) -> Response:
        """The tool `restore`."""
        caller = await self._caller(request, "write")
        body = await ordered(request, RestoreBody)
        options = WriteOptions(
            body.base, dry_run=body.dry_run, idempotency_key=body.idempotency_key
        )
        order = RestoreRequest(argument("version", body.version, arguments.version), options)
        return await self._answer(request, "restore", caller, order)
