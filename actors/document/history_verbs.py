"""The verbs of a document's history, beside those that read and write what it is now."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable

import msgspec

from actors.document.planning import Prepared
from actors.document.versions import Versions
from shared.protocol import Caller, WriteResult
from shared.protocol_history import (
    CompareRequest,
    CompareResult,
    ListVersionsRequest,
    ListVersionsResult,
    ReadVersionRequest,
    ReadVersionResult,
    RestoreRequest,
    RestoreResult,
    SaveVersionRequest,
    Version,
)
from shared.protocol_suggestions import AnyWrite


class HistoryVerbs(ABC):
    """Who may is decided where the document is called from (`shared.access`).

    Attributes:
        versions: The document's.
    """

    versions: Versions

    @abstractmethod
    async def _read_spent(self, verb: str, caller: Caller) -> None:
        """Waits until the document is there and takes a read off the caller's budget."""

    @abstractmethod
    async def _prepared(
        self,
        verb: str,
        caller: Caller,
        request: AnyWrite | RestoreRequest,
        prepare: Callable[[], Awaitable[Prepared]],
    ) -> WriteResult:
        """A write's plan carried out, once under its key, and told when it is on disk."""

    async def list_versions(
        self, caller: Caller, request: ListVersionsRequest
    ) -> ListVersionsResult:
        await self._read_spent("list_versions", caller)
        return await self.versions.listed(request)

    async def read_version(self, caller: Caller, request: ReadVersionRequest) -> ReadVersionResult:
        await self._read_spent("read_version", caller)
        return await self.versions.read(request)

    async def compare(self, caller: Caller, request: CompareRequest) -> CompareResult:
        await self._read_spent("compare", caller)
        return await self.versions.compared(request)

    async def save_version(self, caller: Caller, request: SaveVersionRequest) -> Version:
        await self._read_spent("save_version", caller)
        return await self.versions.saved(caller, request)

    async def restore(self, caller: Caller, request: RestoreRequest) -> RestoreResult:
        """Makes the document what a version held; one more write, and taken back like one."""
        result = await self._prepared(
            "restore", caller, request, lambda: self.versions.prepare(caller, request)
        )
        if isinstance(result, RestoreResult):
            return result
        return RestoreResult(**msgspec.structs.asdict(result))  # there was nothing to do
