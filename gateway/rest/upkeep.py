"""REST for backup and check: answers that tell their progress line by line."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from gateway.mcp.errors import unexpected
from gateway.rest.handlers import Handlers
from gateway.rest.requests import check_parameters, ordered
from gateway.rest.responses import UNKEPT, answered
from gateway.upkeep import Step, back_up, check_all
from shared.errors import DocactorError

NDJSON: Final = "application/x-ndjson"


class BackupOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Body of POST /api/backup. `folder`: an absolute path on the server's machine."""

    folder: str


class UpkeepRest(Handlers):
    """The handlers; both need scope `admin`. `routes` goes into the application."""

    def routes(self) -> list[Route]:
        return [
            Route("/api/backup", answered(self.backup), methods=["POST"]),
            Route("/api/check", answered(self.check), methods=["POST"]),
        ]

    async def backup(self, request: Request) -> Response:
        """Copies everything to a folder; the last line has the manifest, or an `error`."""
        caller = await self._caller(request, "admin")
        order = await ordered(request, BackupOrder)
        return _lines(back_up(self._context.router, caller, Path(order.folder)))

    async def check(self, request: Request) -> Response:
        """Checks everything; a line for each document, or an `error`."""
        caller = await self._caller(request, "admin")
        check_parameters(request, ())
        return _lines(check_all(self._context.router, caller))


def _lines(steps: AsyncIterator[Step]) -> Response:
    async def lines() -> AsyncIterator[bytes]:
        try:
            async for step in steps:
                yield msgspec.json.encode(step) + b"\n"
        except DocactorError as error:
            yield _told(error)
        except Exception as error:  # noqa: BLE001  the border: told an id, logged in full
            yield _told(unexpected(error, "upkeep"))

    return StreamingResponse(lines(), media_type=NDJSON, headers=UNKEPT)


def _told(error: DocactorError) -> bytes:
    """The status is long sent: an error comes as the last line."""
    told: dict[str, Any] = {"error": error.as_dict()}
    return msgspec.json.encode(told) + b"\n"
