"""REST that writes a document: a whole Markdown file sent back."""

from __future__ import annotations

import re
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.mcp import arguments
from gateway.mcp.arguments import Unfit
from gateway.mcp.context import read_markdown
from gateway.rest.handlers import Handlers, document_of
from gateway.rest.requests import (
    TEXT_TYPES,
    argument,
    check_parameters,
    content_type,
    markdown_body,
)
from gateway.rest.responses import answered, cursor_headers, json_response
from shared.access import require, to_write
from shared.errors import InvalidArgument
from shared.limits import MAX_IDEMPOTENCY_KEY, MAX_SUGGESTION_NOTE
from shared.protocol import PatchRequest, WriteOptions, WriteResult
from shared.suggestions.critic import accepted, notes

_PARAMETERS: Final = (
    *("on_conflict", "dry_run", "allow_large_delete", "idempotency_key"),
    "suggestions",
)
_ON_CONFLICT: Final = ("merge", "reject")
_TAG: Final = re.compile(r'(?:W/)?"([^"]*)"\Z')


class WritingRest(Handlers):
    """The handlers. `routes` goes into the application."""

    def routes(self) -> list[Route]:
        return [Route("/api/documents/{doc}.md", answered(self.put), methods=["PUT"])]

    async def put(self, request: Request) -> Response:
        """Makes the document read as the body: the tool `patch`, with the same refusals.

        `If-Match` is the tag a GET gave: the instant the body was made from. What others changed
        since is merged, as everywhere, so an older tag is no failed precondition. With
        `suggestions=critic` what the body has in CriticMarkup is suggested, and nothing changes.
        """
        caller = await self._caller(request, "suggest")
        options = _options(request)
        require(caller, to_write(options.mode))
        ref = document_of(request)
        kind = content_type(request)
        if kind not in TEXT_TYPES:
            raise InvalidArgument("Content-Type: send text/markdown.")
        text = markdown_body(await request.body())
        if options.mode == "suggest":
            said = "\n".join(notes(text))[:MAX_SUGGESTION_NOTE]
            options, text = msgspec.structs.replace(options, note=said), accepted(text)
        parsed = await read_markdown(text, framed=False)
        order = PatchRequest(parsed.blocks, options=options, fidelity=parsed.fidelity)
        result: WriteResult = await self._context.router.call(ref or "", "patch", caller, order)
        answer = json_response(result)
        answer.headers["Cache-Control"] = "no-store"
        if result.cursor is not None:
            answer.headers.update(cursor_headers(result.cursor))
        return answer


def _options(request: Request) -> WriteOptions:
    check_parameters(request, _PARAMETERS)
    query = request.query_params
    critic = argument("suggestions", query.get("suggestions"), _critic)
    return WriteOptions(
        mode="apply" if critic is None else "suggest",
        base=argument("If-Match", request.headers.get("if-match"), _base),
        on_conflict=argument("on_conflict", query.get("on_conflict"), _conflict),
        dry_run=argument("dry_run", query.get("dry_run"), arguments.flag) or False,
        allow_large_delete=argument(
            "allow_large_delete", query.get("allow_large_delete"), arguments.flag
        )
        or False,
        idempotency_key=argument("idempotency_key", query.get("idempotency_key"), _key),
    )


def _base(value: object) -> int | None:
    """The cursor in a tag; `*`, any state at all, is none."""
    given = str(value).strip()
    if given == "*":
        return None
    match = _TAG.match(given)
    if match is None:
        raise Unfit(f"must be one tag as a GET answered it, not {arguments.shown(given)}.")
    return arguments.cursor(match[1])


def _conflict(value: object) -> str:
    return arguments.choice(value, _ON_CONFLICT)


def _critic(value: object) -> str:
    return arguments.choice(value, ("critic",))


def _key(value: object) -> str:
    return arguments.words(value, MAX_IDEMPOTENCY_KEY)
