"""REST, as the command line uses it: documents in and out, tokens, status.

Answers are the result Structs as JSON, errors are problem details. Handlers raise domain errors;
`answered` is their border.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Annotated, Any, Final, TypeVar

import anyio
import msgspec
from msgspec import UNSET, Meta
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.auth import Authenticator
from gateway.mcp import arguments
from gateway.mcp.arguments import Unfit
from gateway.mcp.context import ToolContext, read_markdown
from gateway.mcp.errors import unexpected
from gateway.rest.problems import problem
from gateway.times import iso
from shared.access import require
from shared.directory_protocol import Created, DirectoryStatus, DocumentRows
from shared.errors import DocactorError, InvalidArgument, UnsupportedMarkup
from shared.limits import DEFAULT_LIST, MAX_DOCUMENT_BYTES, MAX_LIST, READY_S
from shared.protocol import (
    Caller,
    DocumentPage,
    FidelityNote,
    ReadDocumentRequest,
    ReadDocumentResult,
    Scope,
    to_json_value,
)

T = TypeVar("T")
Q = TypeVar("Q", bound=msgspec.Struct)
Handler = Callable[[Request], Awaitable[Response]]

TEXT_TYPES: Final = ("", "text/markdown", "text/plain", "application/octet-stream")
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


class Rest:
    """The handlers. `routes` goes into the application."""

    def __init__(self, context: ToolContext, authenticator: Authenticator) -> None:
        self._context = context
        self._authenticator = authenticator

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
                status: DirectoryStatus = await self._context.router.directory("status")
        except (TimeoutError, DocactorError):
            return json_response({"status": "no directory"}, 503)
        ready = status.ready and not status.draining
        said = "ready" if ready else "draining" if status.draining else "no room"
        return json_response({"status": said}, 200 if ready else 503)

    async def create(self, request: Request) -> Response:
        caller = await self._caller(request, "write")
        order = await _new_document(request)
        parsed = await read_markdown(order.markdown, framed=False)
        made: Created = await self._context.router.directory(
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
        rows: DocumentRows = await self._context.router.directory(
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
        headers = {**markdown_headers(ref, result), "Cache-Control": "no-store"}
        return Response(text.encode(), 200, headers, "text/markdown")

    async def fidelity(self, request: Request) -> Response:
        """What the Markdown of the whole document leaves out."""
        check_parameters(request, ())
        _, result = await self._whole(request)
        answer = json_response(FidelityList(result.cursor, _notes(result)))
        answer.headers.update({**cursor_headers(result.cursor), "Cache-Control": "no-store"})
        return answer

    async def _whole(
        self, request: Request, *, critic: bool = False
    ) -> tuple[str, ReadDocumentResult]:
        caller = await visitor(self._authenticator, request)
        ref: str = argument("doc", request.path_params["doc"], arguments.document)
        asked = ReadDocumentRequest(format="markdown", max_chars=MAX_DOCUMENT_BYTES, critic=critic)
        return ref, await self._context.router.call(ref, "read_document", caller, asked)

    async def status(self, request: Request) -> Response:
        await self._caller(request, "read")
        check_parameters(request, ())
        status: DirectoryStatus = await self._context.router.directory("status")
        return json_response(status)

    async def _caller(self, request: Request, scope: Scope) -> Caller:
        caller = await self._authenticator.of_header(request.headers.get("authorization"))
        require(caller, scope)
        return caller


async def visitor(authenticator: Authenticator, request: Request) -> Caller:
    """Who wants to read: somebody with a token, or anybody, as the document's link allows."""
    caller = await authenticator.of_visitor(request.headers.get("authorization"))
    require(caller, "read")
    return caller


def answered(handler: Handler) -> Handler:
    """`handler` with its exceptions as problem details."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except DocactorError as error:
            return problem(error)
        except Exception as error:  # noqa: BLE001  the border: told an id, logged in full
            return problem(unexpected(error, request.url.path))

    return answer


def _notes(result: ReadDocumentResult) -> tuple[FidelityNote, ...]:
    return () if result.fidelity is UNSET else result.fidelity


def markdown_headers(ref: str, result: ReadDocumentResult) -> dict[str, str]:
    """Of a whole document's Markdown: its instant, what it leaves out, and where that is listed."""
    notes = _notes(result)
    headers = {**cursor_headers(result.cursor), "Docactor-Fidelity": str(len(notes))}
    if notes:
        headers["Link"] = f'</api/documents/{ref}/fidelity>; rel="describedby"'
    return headers


def cursor_headers(cursor: int) -> dict[str, str]:
    """The cursor of an answer, by its own name and as the tag HTTP clients send back."""
    return {"Docactor-Cursor": str(cursor), "ETag": f'"{cursor}"'}


def json_response(value: Any, status: int = 200) -> Response:
    """A Struct or plain values as a JSON answer."""
    return Response(msgspec.json.encode(value), status, media_type="application/json")


async def _new_document(request: Request) -> NewDocument:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        return await ordered(request, NewDocument)
    if kind not in TEXT_TYPES:
        raise InvalidArgument("Content-Type: send text/markdown or application/json.")
    check_parameters(request, _CREATE_PARAMETERS)
    return NewDocument(markdown_body(await request.body()), **request.query_params)


def check_parameters(request: Request, known: Collection[str]) -> None:
    """Refuse query parameters that are not `known`: a misspelt one would go unnoticed."""
    unknown = sorted(set(request.query_params) - set(known))
    if unknown:
        raise InvalidArgument(f"{unknown[0][:64]}: no such parameter.")


def markdown_body(body: bytes) -> str:
    """A body that is Markdown. Raises UnsupportedMarkup where it is no UTF-8."""
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise UnsupportedMarkup(f"body: not UTF-8 at byte {error.start}.") from error


def queried(request: Request, kind: type[Q]) -> Q:
    """The query parameters as a Struct; numbers and flags are read from their words."""
    given = request.query_params
    try:
        query = msgspec.convert(dict(given), kind, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidArgument(f"query: {error}.") from error
    for field in msgspec.structs.fields(kind):
        if field.encode_name in given and getattr(query, field.name) is None:
            raise InvalidArgument(f"{field.encode_name}: null is no value; leave it out.")
    return query


async def ordered(request: Request, kind: type[T]) -> T:
    """A JSON body as a Struct, of a request that takes no parameters beside it."""
    check_parameters(request, ())
    return decoded(await request.body(), kind)


def decoded(body: bytes, kind: type[T]) -> T:
    """A JSON body as a Struct."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidArgument(f"body: {error}.") from error


def argument(name: str, value: str | None, read: Callable[[object], Any]) -> Any:
    """A parameter read as the tools read it; None when it is absent."""
    if value is None:
        return None
    try:
        return read(value)
    except Unfit as error:
        raise error.kind(f"{name}: {error.text}", field=name) from error


def _critic(value: object) -> str:
    return arguments.choice(value, ("critic",))


def _limit(value: object) -> int:
    return arguments.whole(value, 1, MAX_LIST)
