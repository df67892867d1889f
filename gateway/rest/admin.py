"""REST for owners: deleting documents and bringing them back. For operators: draining nodes."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.mcp import arguments
from gateway.rest.handlers import Handlers, document_of
from gateway.rest.requests import argument, check_parameters
from gateway.rest.responses import answered, json_response
from shared.directory_protocol import DocumentRow, NodeStatus


class AdminRest(Handlers):
    """The handlers. The catalog decides who may delete. `routes` goes into the application."""

    def routes(self) -> list[Route]:
        one = "/api/documents/{doc}"
        return [
            Route(one, answered(self.delete), methods=["DELETE"]),
            Route(f"{one}/undelete", answered(self.undelete), methods=["POST"]),
            Route("/api/nodes/{node}/drain", answered(self.drain), methods=["POST"]),
            Route("/api/nodes/{node}/undrain", answered(self.undrain), methods=["POST"]),
        ]

    async def delete(self, request: Request) -> Response:
        """Deletes a document of the caller's. Says until when it can be had back."""
        caller = await self._caller(request)
        check_parameters(request, ())
        row: DocumentRow = await self._directory("delete_document", caller, document_of(request))
        return json_response(self._context.deleted(row, caller))

    async def undelete(self, request: Request) -> Response:
        """Brings a document back to whoever owned it, and to all others who had a role."""
        caller = await self._caller(request)
        check_parameters(request, ())
        row: DocumentRow = await self._directory("undelete_document", caller, document_of(request))
        return json_response(self._context.summary(row, caller))

    async def drain(self, request: Request) -> Response:
        """Closes a node's documents; answers how far it is. `force=true`: with nowhere to go."""
        await self._caller(request, "admin")
        check_parameters(request, ("force",))
        force = argument("force", request.query_params.get("force"), arguments.flag) or False
        status: NodeStatus = await self._directory("drain_node", request.path_params["node"], force)
        return json_response(status)

    async def undrain(self, request: Request) -> Response:
        await self._caller(request, "admin")
        check_parameters(request, ())
        return json_response(await self._directory("undrain_node", request.path_params["node"]))
