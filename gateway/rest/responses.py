"""Answers: result Structs as JSON, errors as problem details."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

from gateway.mcp.errors import unexpected
from gateway.rest.problems import problem
from shared.errors import DocactorError
from shared.protocol import FidelityNote, ReadDocumentResult

Handler = Callable[[Request], Awaitable[Response]]

UNKEPT: Final[Mapping[str, str]] = {"Cache-Control": "no-store"}


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


def json_response(value: Any, status: int = 200) -> Response:
    """A Struct or plain values as a JSON answer."""
    return Response(msgspec.json.encode(value), status, media_type="application/json")


def unkept(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """The same, and no cache keeps it: it is somebody's text, or true only now."""
    answer = json_response(value, status)
    answer.headers.update({**(headers or {}), **UNKEPT})
    return answer


def markdown_headers(ref: str, result: ReadDocumentResult) -> dict[str, str]:
    """Of a whole document's Markdown: its instant, what it leaves out, and where that is listed."""
    notes = fidelity_of(result)
    headers = {**cursor_headers(result.cursor), "Docactor-Fidelity": str(len(notes))}
    if notes:
        headers["Link"] = f'</api/documents/{ref}/fidelity>; rel="describedby"'
    return headers


def cursor_headers(cursor: int) -> dict[str, str]:
    """The cursor of an answer, by its own name and as the tag HTTP clients send back."""
    return {"Docactor-Cursor": str(cursor), "ETag": f'"{cursor}"'}


def fidelity_of(result: ReadDocumentResult) -> tuple[FidelityNote, ...]:
    return () if result.fidelity is UNSET else result.fidelity
