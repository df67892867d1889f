"""What is done to a document's storage while it is open: copies and checks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from actors.storage.stored import DocumentStore
from shared.checkup import BackUpRequest, CheckRequest, Checkup, Copied
from shared.protocol import Caller

T = TypeVar("T")


class Upkeep(ABC):
    """Verbs that every open document has beside its own. Who may is decided by the gateway."""

    @abstractmethod
    async def _ask_store(self, ask: Callable[[DocumentStore], Awaitable[T]]) -> T:
        """What `ask` has from the store the document is in; see Keeper.ask_store."""

    async def back_up(self, caller: Caller, request: BackUpRequest) -> Copied:
        """A copy of the document's file as of one instant, made while editing goes on.

        Raises DocumentCorrupt, StorageUnavailable.
        """
        del caller
        return await self._ask_store(lambda store: store.back_up(Path(request.path)))

    async def check(self, caller: Caller, request: CheckRequest) -> Checkup:
        """Whether everything stored of the document is sound. Raises DocumentCorrupt."""
        del caller
        return await self._ask_store(lambda store: store.check(request.doc_id))
