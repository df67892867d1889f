"""Openings under way: at most one of a document, whose outcome everybody gets who waits for it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from actors.background import Background
from shared.errors import DocactorError, InternalError, ShuttingDown
from shared.protocol import Route

log = logging.getLogger(__name__)


class Openings:
    """By document. Who asked for one may go away; it goes on for the others."""

    def __init__(self, background: Background) -> None:
        self._background = background
        self._going_on: dict[str, asyncio.Future[Route]] = {}

    def __len__(self) -> int:
        return len(self._going_on)

    def __contains__(self, doc_id: str) -> bool:
        return doc_id in self._going_on

    def of(self, doc_id: str, work: Callable[[], Awaitable[Route]]) -> asyncio.Future[Route]:
        """The opening of a document: the one that goes on, else a new one by `work`."""
        future = self._going_on.get(doc_id)
        if future is None:
            future = self._going_on[doc_id] = asyncio.get_running_loop().create_future()
            self._background.spawn(partial(self._settle, doc_id, future, work), f"open {doc_id}")
        return future

    async def wait(self, doc_id: str) -> None:
        """Returns when this document's opening is over, whatever came of it."""
        if doc_id in self._going_on:
            await asyncio.wait([self._going_on[doc_id]])

    async def wait_all(self) -> None:
        for doc_id in tuple(self._going_on):
            await self.wait(doc_id)

    async def _settle(
        self, doc_id: str, future: asyncio.Future[Route], work: Callable[[], Awaitable[Route]]
    ) -> None:
        error: DocactorError = ShuttingDown("The server is shutting down.")
        route: Route | None = None
        try:
            route = await work()
        except DocactorError as refused:
            error = refused
        except Exception:
            # The border of a task: who waits must hear of it, whatever it was.
            log.exception("opening %s failed", doc_id)
            error = InternalError("The document could not be opened.")
        finally:
            del self._going_on[doc_id]
            if route is not None:
                future.set_result(route)
            elif not future.cancelled():
                future.set_exception(error)
                future.exception()  # seen: there may be nobody left who waits
