"""What every group of handlers does: who asks, about what, and an answer that nobody keeps."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from gateway.auth import Authenticator
from gateway.mcp import arguments
from gateway.mcp.context import ToolContext
from gateway.rest.requests import argument
from gateway.rest.responses import unkept
from shared.access import require
from shared.calls import Verb
from shared.protocol import Caller, Scope


class Handlers:
    """A group of handlers. Each group has `routes`, which go into the application."""

    def __init__(self, context: ToolContext, authenticator: Authenticator) -> None:
        self._context = context
        self._authenticator = authenticator

    async def _caller(self, request: Request, scope: Scope | None = None) -> Caller:
        """Whose token the request carries.

        Raises Unauthenticated; CapabilityDenied when the token does not allow `scope`.
        """
        caller = await self._authenticator.of_header(request.headers.get("authorization"))
        if scope is not None:
            require(caller, scope)
        return caller

    async def _visitor(self, request: Request) -> Caller:
        """Who wants to read: somebody with a token, or anybody, as the document's link allows."""
        caller = await self._authenticator.of_visitor(request.headers.get("authorization"))
        require(caller, "read")
        return caller

    async def _directory(self, method: str, *args: object) -> Any:
        return await self._context.router.directory(method, *args)

    async def _answer(
        self,
        request: Request,
        verb: Verb,
        caller: Caller,
        order: msgspec.Struct,
        status: int = 200,
    ) -> Response:
        """What the document named in the path says to an order."""
        return unkept(
            await self._context.router.call(document_of(request), verb, caller, order), status
        )


def document_of(request: Request) -> str:
    """The document named in the path, by id or slug. Raises InvalidArgument."""
    ref: str = argument("doc", request.path_params["doc"], arguments.document)
    return ref
