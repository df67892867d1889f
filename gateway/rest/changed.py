"""REST for what changed since somebody last looked: the tools `get_changes` and `list_changes`."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.digest import Digest
from gateway.mcp import arguments
from gateway.rest.handlers import Handlers, document_of
from gateway.rest.orders import Number
from gateway.rest.requests import argument, queried
from gateway.rest.responses import answered, unkept
from gateway.what_changed import get_changes
from shared.protocol_changes import (
    Detail,
    GetChangesRequest,
    GetChangesResult,
    ListChangesResult,
)

Moment = Annotated[str, Meta(max_length=64, description="ISO 8601 with offset")]
VersionName = Annotated[str, Meta(min_length=1, max_length=200)]


class ChangedQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of GET /api/documents/{doc}/changed: one start at most; none: since the caller last left."""

    since: Moment | None = None
    since_version: VersionName | None = None
    since_cursor: Number | None = None
    detail: Detail = "sections"


class DigestQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of GET /api/changed."""

    since: Moment | None = None


class ReadableChanges(GetChangesResult, frozen=True, kw_only=True):
    """`text`: the same to read, with headings, passages and names that people wrote."""

    text: str


class ReadableDigest(ListChangesResult, frozen=True, kw_only=True):
    """`titles`: of the documents that changed, by slug, as people wrote them."""

    titles: dict[str, str]


class ChangedRest(Handlers):
    """The handlers. `routes` goes into the application."""

    def routes(self) -> list[Route]:
        return [
            Route("/api/documents/{doc}/changed", answered(self.changed), methods=["GET"]),
            Route("/api/changed", answered(self.digest), methods=["GET"]),
        ]

    async def changed(self, request: Request) -> Response:
        """The tool `get_changes`."""
        caller = await self._visitor(request)
        ref = document_of(request)
        query = queried(request, ChangedQuery)
        asked = GetChangesRequest(
            argument("since", query.since, arguments.moment),
            query.since_version,
            query.since_cursor,
            query.detail,
        )
        told = await get_changes(self._context, ref, caller, asked)
        fields = msgspec.structs.asdict(told.result)
        return unkept(ReadableChanges(**fields, text=told.text))

    async def digest(self, request: Request) -> Response:
        """The tool `list_changes`."""
        caller = await self._caller(request, "read")
        since = argument("since", queried(request, DigestQuery).since, arguments.moment)
        found = await Digest.of(self._context, caller, since)
        fields = msgspec.structs.asdict(found.result())
        return unkept(ReadableDigest(**fields, titles=found.titles))
