"""REST of a document's suggestions: making, listing and deciding them."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.mcp import arguments
from gateway.rest.handlers import Handlers
from gateway.rest.orders import EditBody, Key, Name, Number
from gateway.rest.requests import argument, ordered, queried
from gateway.rest.responses import answered
from shared.limits import (
    DEFAULT_SUGGESTIONS,
    MAX_SUGGESTION_NOTE,
    MAX_SUGGESTIONS,
    MAX_TEXT_EDITS,
)
from shared.protocol import TextEdit, WriteOptions
from shared.protocol_suggestions import (
    DecideRequest,
    ListSuggestionsRequest,
    StatusAsked,
    SuggestRequest,
    Verdict,
)


class SuggestBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Edits of quoted text, each a suggestion."""

    edits: Annotated[tuple[EditBody, ...], Meta(min_length=1, max_length=MAX_TEXT_EDITS)]
    note: Annotated[str, Meta(max_length=MAX_SUGGESTION_NOTE)] = ""
    base: Number | None = None
    dry_run: bool = False
    idempotency_key: Key | None = None


class DecisionBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One suggestion by `id`, or all that are open of a `group`: one of the two."""

    decision: Verdict
    id: Name | None = None
    group: Name | None = None
    base: Number | None = None
    dry_run: bool = False


class SuggestionsQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of GET /api/documents/{doc}/suggestions. `after`: the id to go on behind."""

    status: StatusAsked = "open"
    limit: Annotated[int, Meta(ge=1, le=MAX_SUGGESTIONS)] = DEFAULT_SUGGESTIONS
    after: Name | None = None


class SuggestionsRest(Handlers):
    """The handlers. `routes` goes into the application."""

    def routes(self) -> list[Route]:
        one = "/api/documents/{doc}"
        return [
            Route(f"{one}/suggest", answered(self.suggest), methods=["POST"]),
            Route(f"{one}/suggestions", answered(self.suggestions), methods=["GET"]),
            Route(f"{one}/suggestions/decide", answered(self.decide), methods=["POST"]),
        ]

    async def suggest(self, request: Request) -> Response:
        """The tool `suggest`."""
        caller = await self._caller(request, "suggest")
        body = await ordered(request, SuggestBody)
        edits = (
            TextEdit(e.old_text, e.new_text, argument("edits", e.anchor, arguments.block))
            for e in body.edits
        )
        options = WriteOptions(
            body.base, dry_run=body.dry_run, idempotency_key=body.idempotency_key
        )
        order = SuggestRequest(tuple(edits), body.note, options)
        return await self._answer(request, "suggest", caller, order)

    async def suggestions(self, request: Request) -> Response:
        """The tool `list_suggestions`."""
        caller = await self._caller(request, "read")
        query = queried(request, SuggestionsQuery)
        order = ListSuggestionsRequest(query.status, query.limit, query.after)
        return await self._answer(request, "list_suggestions", caller, order)

    async def decide(self, request: Request) -> Response:
        """The tool `decide_suggestion`."""
        caller = await self._caller(request, "suggest")
        body = await ordered(request, DecisionBody)
        order = DecideRequest(
            body.decision, body.id, body.group, WriteOptions(body.base, dry_run=body.dry_run)
        )
        return await self._answer(request, "decide_suggestion", caller, order)
