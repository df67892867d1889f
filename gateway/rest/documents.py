"""REST of documents, in and out as Markdown, and of whether this server is ready."""

from __future__ import annotations

from typing import Annotated, Final

import anyio
import msgspec
from msgspec import UNSET, Meta
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.mcp import arguments
from gateway.mcp.context import read_markdown
from gateway.rest.handlers import Handlers, document_of
from gateway.rest.requests import (
    TEXT_TYPES,
    argument,
    check_parameters,
    content_type,
    markdown_body,
    ordered,
)
from gateway.rest.responses import (
    UNKEPT,
    answered,
    cursor_headers,
    fidelity_of,
    json_response,
    markdown_headers,
    unkept,
)
from gateway.times import iso
from shared.directory_protocol import Created, DirectoryStatus, DocumentRows
from shared.errors import DocactorError, InvalidArgument
from shared.limits import DEFAULT_LIST, MAX_DOCUMENT_BYTES, MAX_LIST, READY_S
from shared.protocol import (
    DocumentPage,
    FidelityNote,
    ReadDocumentRequest,
    ReadDocumentResult,
    to_json_value,
)

_CREATE_PARAMETERS: Final = {"title", "slug", "idempotency_key", "expires"}


class NewDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Body of POST /api/documents as JSON; with a Markdown body these are query parameters."""

    markdown: str = ""
    title: str | None = None
    slug: str | None = None
    idempotency_key: str | None = None
    expires: str | None = None


class ListQuery(msgspec.Struct, frozen=True):
    """Of a page of documents."""

    query: str = ""
    limit: Annotated[int, Meta(ge=1, le=MAX_LIST)] = DEFAULT_LIST
    before: str | None = None
    deleted: bool = False


class FidelityList(msgspec.Struct, frozen=True):
    """What the Markdown of a whole document leaves out, at the instant of `cursor`."""

    cursor: int
    fidelity: tuple[FidelityNote, ...]


class DocumentsRest(Handlers):
    """What there is, and what it says."""

    def routes(self) -> list[Route]:
        return [
            Route("/healthz", self.healthz, methods=["GET"]),
            Route("/readyz", answered(self.readyz), methods=["GET"]),
            Route("/api/documents", answered(self.create), methods=["POST"]),
            Route("/api/documents", answered(self.documents), methods=["GET"]),
            Route("/api/documents/{doc}.md", answered(self.export), methods=["GET"]),
            Route("/api/documents/{doc}/fidelity", answered(self.fidelity), methods=["GET"]),
            Route("/api/status", answered(self.status), methods=["GET"]),
        ]

    async def healthz(self, _request: Request) -> Response:
        """This process answers."""
        return json_response({"status": "ok"})

    async def readyz(self, _request: Request) -> Response:
        """A document could be opened now: 200, else 503."""
        try:
            with anyio.fail_after(READY_S):
                status: DirectoryStatus = await self._directory("status")
        except (TimeoutError, DocactorError):
            return json_response({"status": "no directory"}, 503)
        ready = status.ready and not status.draining
        said = "ready" if ready else "draining" if status.draining else "no room"
        return json_response({"status": said}, 200 if ready else 503)

    async def create(self, request: Request) -> Response:
        caller = await self._caller(request, "write")
        order = await _new_document(request)
        parsed = await read_markdown(order.markdown, framed=False)
        made: Created = await self._directory(
            "create_document",
            caller,
            order.title,
            order.slug,
            parsed.blocks,
            order.idempotency_key,
            order.expires,
        )
        told = to_json_value(self._context.created(made, parsed))
        if made.expires_at is not None:
            told["expires_at"] = iso(made.expires_at)
        answer = json_response(told, 201)
        answer.headers["Location"] = f"/api/documents/{made.doc_id}.md"
        return answer

    async def documents(self, request: Request) -> Response:
        query = request.query_params
        caller = await self._caller(request, "read")
        check_parameters(request, ListQuery.__struct_fields__)
        deleted = argument("deleted", query.get("deleted"), arguments.flag) or False
        limit = argument("limit", query.get("limit"), _limit) or DEFAULT_LIST
        rows: DocumentRows = await self._directory(
            "list_documents", caller, query.get("query", ""), limit, query.get("before"), deleted
        )
        summary = self._context.deleted if deleted else self._context.summary
        summaries = tuple(summary(row, caller) for row in rows.rows)
        return json_response(DocumentPage(summaries, UNSET if rows.next is None else rows.next))

    async def export(self, request: Request) -> Response:
        """The whole document as Markdown, with the cursor of that instant in a header.

        With `suggestions=critic` what is suggested in it stands there in CriticMarkup.
        `Docactor-Fidelity` counts what Markdown leaves out; `Link` says where that is listed.
        """
        check_parameters(request, ("suggestions",))
        shown = argument("suggestions", request.query_params.get("suggestions"), _critic)
        ref, result = await self._whole(request, critic=shown is not None)
        text = "" if result.markdown is UNSET else result.markdown
        headers = {**markdown_headers(ref, result), **UNKEPT}
        return Response(text.encode(), 200, headers, "text/markdown")

    async def fidelity(self, request: Request) -> Response:
        """What the Markdown of the whole document leaves out."""
        check_parameters(request, ())
        _, result = await self._whole(request)
        return unkept(
            FidelityList(result.cursor, fidelity_of(result)), headers=cursor_headers(result.cursor)
        )

    async def _whole(
        self, request: Request, *, critic: bool = False
    ) -> tuple[str, ReadDocumentResult]:
        caller = await self._visitor(request)
        ref = document_of(request)
        asked = ReadDocumentRequest(format="markdown", max_chars=MAX_DOCUMENT_BYTES, critic=critic)
        return ref, await self._context.router.call(ref, "read_document", caller, asked)

    async def status(self, request: Request) -> Response:
        await self._caller(request, "read")
        check_parameters(request, ())
        status: DirectoryStatus = await self._directory("status")
        return json_response(status)


async def _new_document(request: Request) -> NewDocument:
    kind = content_type(request)
    if kind == "application/json":
        return await ordered(request, NewDocument)
    if kind not in TEXT_TYPES:
        raise InvalidArgument("Content-Type: send text/markdown or application/json.")
    check_parameters(request, _CREATE_PARAMETERS)
    return NewDocument(markdown_body(await request.body()), **request.query_params)


def _critic(value: object) -> str:
    return arguments.choice(value, ("critic",))


def _limit(value: object) -> int:
    return arguments.whole(value, 1, MAX_LIST)
