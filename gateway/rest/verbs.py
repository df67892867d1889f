"""REST for programs that do what agents do: reading, following and the verbs that write."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.mcp import arguments
from gateway.mcp.context import read_markdown
from gateway.mcp.quoting_tools import move_request
from gateway.mcp.waiting import ChangesWait
from gateway.rest.handlers import Handlers, document_of
from gateway.rest.orders import (
    BODIES,
    ChangesQuery,
    DeleteBody,
    InsertBody,
    MoveBody,
    PatchBody,
    ReadQuery,
    ReplaceBody,
    ReplaceTextBody,
    WriteBody,
)
from gateway.rest.requests import argument, ordered, queried
from gateway.rest.responses import Handler, answered, cursor_headers, json_response, unkept
from shared.access import require, to_write
from shared.calls import WriteVerb
from shared.errors import InvalidCursor
from shared.events.cursor import is_cursor_of_events
from shared.ids import BlockRef
from shared.protocol import (
    DeleteRequest,
    InsertRequest,
    PatchRequest,
    Place,
    ReadChangesRequest,
    ReadDocumentRequest,
    ReadDocumentResult,
    ReplaceRequest,
    ReplaceTextRequest,
    TextEdit,
    WriteOptions,
    WriteRequest,
    WriteResult,
)


class VerbsRest(Handlers):
    """The handlers. `routes` goes into the application."""

    def routes(self) -> list[Route]:
        one = "/api/documents/{doc}"
        writes = [
            Route(f"{one}/{verb}", answered(self._writing(verb)), methods=["POST"])
            for verb in BODIES
        ]
        return [
            Route(one, answered(self.read), methods=["GET"]),
            Route(f"{one}/changes", answered(self.changes), methods=["GET"]),
            *writes,
        ]

    async def read(self, request: Request) -> Response:
        """The tool `read_document`."""
        caller, ref = await self._visitor(request), document_of(request)
        query = queried(request, ReadQuery)
        asked = ReadDocumentRequest(
            section_id=_block("section_id", query.section_id),
            find=query.find,
            outline=query.outline,
            format=query.format,
            max_chars=query.max_chars,
            threads=query.threads,
            suggestions=query.suggestions,
        )
        result: ReadDocumentResult = await self._context.router.call(
            ref, "read_document", caller, asked
        )
        return unkept(result, headers=cursor_headers(result.cursor))

    async def changes(self, request: Request) -> Response:
        """The tool `read_changes`."""
        caller, ref = await self._visitor(request), document_of(request)
        if is_cursor_of_events(request.query_params.get("cursor", "")):
            raise InvalidCursor("cursor: it is one of events; read_changes has its own.")
        query = queried(request, ChangesQuery)
        asked = ReadChangesRequest(
            cursor=query.cursor,
            max_chars=query.max_chars,
            exclude_self=query.exclude_self,
            format=query.format,
        )
        wait = ChangesWait(self._context.router, self._context.held, ref, caller, asked)
        return unkept(await wait.answer(query.wait, query.settle))

    def _writing(self, verb: WriteVerb) -> Handler:
        async def write(request: Request) -> Response:
            # The least that a write may need: its body says.
            caller, ref = await self._caller(request, "suggest"), document_of(request)
            body = await ordered(request, BODIES[verb])
            require(caller, to_write(body.mode))
            order = await write_request(body)
            result: WriteResult = await self._context.router.call(ref, verb, caller, order)
            return json_response(result)

        return write


async def write_request(body: WriteBody) -> WriteRequest:
    """The order of a body, its Markdown parsed.

    Raises InvalidArgument for a block that is none, UnsupportedMarkup, TooLarge.
    """
    options = WriteOptions(
        body.base,
        body.mode,
        body.on_conflict,
        body.dry_run,
        isinstance(body, PatchBody) and body.allow_large_delete,
        body.idempotency_key,
    )
    match body:
        case DeleteBody():
            return DeleteRequest(_blocks("blocks", body.blocks), options)
        case MoveBody():
            block = _block("block", body.block)
            section = _block("section_id", body.section_id)
            return move_request(block, section, _place(body.after), options)
        case ReplaceTextBody():
            edits = (
                TextEdit(e.old_text, e.new_text, _block("edits", e.anchor)) for e in body.edits
            )
            return ReplaceTextRequest(tuple(edits), _block("section_id", body.section_id), options)
        case PatchBody() | InsertBody() | ReplaceBody():
            return await _with_markdown(body, options)
    raise AssertionError(f"no verb takes {type(body).__name__}")


async def _with_markdown(
    body: PatchBody | InsertBody | ReplaceBody, options: WriteOptions
) -> WriteRequest:
    parsed = await read_markdown(body.markdown, framed=False)
    blocks, notes = parsed.blocks, parsed.fidelity
    match body:
        case PatchBody():
            anchors = _blocks("anchors", body.anchors)
            section = _block("section_id", body.section_id)
            return PatchRequest(blocks, anchors, section, options, notes)
        case InsertBody():
            return InsertRequest(blocks, _place(body.after), options, notes)
        case ReplaceBody():
            start: BlockRef = argument("from", body.start, arguments.block)
            return ReplaceRequest(start, _block("to", body.end), blocks, options, notes)


def _block(name: str, value: str | None) -> BlockRef | None:
    ref: BlockRef | None = argument(name, value, arguments.block)
    return ref


def _blocks(name: str, values: tuple[str, ...]) -> tuple[BlockRef, ...]:
    found: Any = [argument(name, value, arguments.block) for value in values]
    return tuple(found)


def _place(value: str) -> Place:
    place: Place = argument("after", value, arguments.place)
    return place
