"""What requests say, read as the tools read their arguments."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final, TypeVar

import msgspec
from starlette.requests import Request

from gateway.mcp.arguments import Unfit
from shared.errors import InvalidArgument, UnsupportedMarkup

T = TypeVar("T")
Q = TypeVar("Q", bound=msgspec.Struct)

TEXT_TYPES: Final = ("", "text/markdown", "text/plain", "application/octet-stream")


def content_type(request: Request) -> str:
    """Of the body, without its parameters; "" where none is given."""
    kind: str = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind


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
