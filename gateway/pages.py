"""Pages for people's browsers: the list of documents, and each one to read.

A browser shows its token once: the address `docactor serve` prints carries it behind `#`, which is
never sent; a script hands it to `/api/session`, and from then on it travels in a cookie that no
script can read. The cookie counts for these pages alone, and they only show.
"""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable
from hashlib import sha256
from html import escape
from typing import Final

import anyio.to_thread
import msgspec
from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from gateway.auth import Authenticator
from gateway.mcp import arguments
from gateway.mcp.context import ToolContext
from gateway.mcp.errors import unexpected
from gateway.rest.problems import STATUS_BY_CODE, problem
from gateway.rest.requests import argument, check_parameters, ordered
from gateway.rest.responses import Handler, answered, json_response, markdown_headers
from shared.access import require
from shared.directory_protocol import DocumentRows
from shared.errors import DocactorError, Unauthenticated
from shared.ids import parse_ref
from shared.limits import DEFAULT_LIST, MAX_DOCUMENT_BYTES, PARSE_INLINE_CHARS
from shared.markdown.parse import parse
from shared.page_html import block_html
from shared.protocol import (
    BlockText,
    Caller,
    ReadDocumentRequest,
    ReadDocumentResult,
    ReadFormat,
)

HTML: Final = "text/html"
COOKIE: Final = "docactor_session"
_STYLE: Final = (
    "body{max-width:44rem;margin:2rem auto;padding:0 1rem;font:1rem/1.6 system-ui,sans-serif;"
    "color:#222;overflow-wrap:anywhere}pre{overflow:auto;background:#f4f4f4;padding:.8rem}"
    "table{border-collapse:collapse}td,th{border:1px solid #bbb;padding:.3rem .6rem;"
    "text-align:left;vertical-align:top}.center{text-align:center}.right{text-align:right}"
    "blockquote{border-left:3px solid #bbb;margin-left:0;padding-left:1rem;color:#555}"
    "li>p{margin:.2rem 0}li>input+p{display:inline}.opaque{color:#777;border:1px dashed #bbb;"
    "padding:.3rem}:target{background:#fff3c4}a{color:#0b57a4}"
)
_SCRIPT: Final = (
    "if(location.hash.length>1){const token=decodeURIComponent(location.hash.slice(1));"
    "history.replaceState(null,'','/');fetch('/api/session',{method:'POST',headers:"
    "{'content-type':'application/json'},body:JSON.stringify({token})}).then(answer=>{"
    "if(answer.ok)location.reload();else document.getElementById('said').textContent="
    "'This address is no longer valid.'})}"
)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'"


_HEADERS: Final = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": (
        f"default-src 'none'; style-src {_hash(_STYLE)}; script-src {_hash(_SCRIPT)};"
        " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
}


class Session(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Body of POST /api/session."""

    token: str


class Pages:
    """The handlers. `routes` goes into the application."""

    def __init__(self, context: ToolContext, authenticator: Authenticator) -> None:
        self._context = context
        self._authenticator = authenticator

    def routes(self) -> list[Route]:
        return [
            Route("/", self._shown(self.home), methods=["GET"]),
            Route("/d/{doc}", self._shown(self.document), methods=["GET"]),
            Route("/api/session", answered(self.sign_in), methods=["POST"]),
            Route("/api/session", answered(self.sign_out), methods=["DELETE"]),
        ]

    async def sign_in(self, request: Request) -> Response:
        """The token as a cookie of this browser."""
        token = (await ordered(request, Session)).token
        if await self._authenticator.of_token(token) is None:
            raise Unauthenticated("token: unknown, expired or revoked.")
        answer = json_response({"status": "in"})
        answer.headers["Cache-Control"] = "no-store"
        secure = self._context.base_url.startswith("https://")
        answer.set_cookie(COOKIE, token, httponly=True, samesite="strict", secure=secure)
        return answer

    async def sign_out(self, request: Request) -> Response:
        check_parameters(request, ())
        answer = json_response({"status": "out"})
        answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return answer

    async def home(self, request: Request) -> Response:
        """The documents there are, last changed first."""
        caller = await self._caller(request, self._authenticator.of_header)
        rows: DocumentRows = await self._context.router.directory(
            "list_documents", caller, "", DEFAULT_LIST, None
        )
        items = (f'<li><a href="/d/{row.slug}">{escape(row.title)}</a></li>' for row in rows.rows)
        return _page("Documents", f"<h1>Documents</h1><ul>{''.join(items)}</ul>")

    async def document(self, request: Request) -> Response:
        """A document to read: a page for a browser, its Markdown for anybody else.

        With `?id=` the browser goes to that section: headings carry their section's id.
        """
        caller = await self._caller(request, self._authenticator.of_visitor)
        ref = argument("doc", request.path_params["doc"], arguments.document)
        section = parse_ref(request.query_params.get("id", ""))
        if section is not None:
            return RedirectResponse(f"/d/{ref}#{section.block_id}", 302, _HEADERS)
        kind: ReadFormat = "blocks" if _wants_html(request) else "markdown"
        asked = ReadDocumentRequest(format=kind, max_chars=MAX_DOCUMENT_BYTES)
        read: ReadDocumentResult = await self._context.router.call(
            ref, "read_document", caller, asked
        )
        if kind == "markdown":
            text = "" if read.markdown is UNSET else read.markdown
            headers = {**markdown_headers(ref, read), **_HEADERS}
            return Response(text.encode(), 200, headers, "text/plain")
        blocks = () if read.blocks is UNSET else read.blocks
        if read.total_chars > PARSE_INLINE_CHARS:
            body = await anyio.to_thread.run_sync(body_of, blocks)
        else:
            body = body_of(blocks)
        return _page(read.title, body)

    async def _caller(
        self, request: Request, of: Callable[[str | None], Awaitable[Caller]]
    ) -> Caller:
        given = request.headers.get("authorization")
        cookie = request.cookies.get(COOKIE)
        if given is None and cookie:
            given = f"Bearer {cookie}"
        caller = await of(given)
        require(caller, "read")
        return caller

    @staticmethod
    def _shown(handler: Handler) -> Handler:
        """`handler` with its errors as a page, for who wants pages."""

        async def show(request: Request) -> Response:
            try:
                return await handler(request)
            except DocactorError as error:
                return _refusal(request, error)
            except Exception as error:  # noqa: BLE001  the border: told an id, logged in full
                return _refusal(request, unexpected(error, "page"))

        return show


def body_of(blocks: tuple[BlockText, ...]) -> str:
    """A document's blocks as HTML, each element with its block's id."""
    parts = []
    for block in blocks:
        block_id = block.anchor.partition("-")[0]
        for number, parsed in enumerate(parse("" if block.text is UNSET else block.text).blocks):
            parts.append(block_html(parsed.node, "" if number else block_id))
    return "\n".join(parts)


def _refusal(request: Request, error: DocactorError) -> Response:
    if not _wants_html(request):
        return problem(error)
    said = error.message
    if isinstance(error, Unauthenticated):
        said = "Open the address that 'docactor serve' printed: it lets this browser in."
    body = f'<h1>{escape(error.code.replace("_", " "))}</h1><p id="said">{escape(said)}</p>'
    script = f"<script>{_SCRIPT}</script>" if request.url.path == "/" else ""
    return _page("docactor", body + script, STATUS_BY_CODE.get(error.code, 500))


def _page(title: str, body: str, status: int = 200) -> Response:
    html = (
        f'<!doctype html>\n<html><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<style>{_STYLE}</style></head><body>\n{body}\n</body></html>\n"
    )
    return Response(html.encode(), status, _HEADERS, HTML)


def _wants_html(request: Request) -> bool:
    return HTML in request.headers.get("accept", "")
