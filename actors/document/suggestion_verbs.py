"""The verbs of a document's suggestions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractAsyncContextManager

import msgspec

from actors.document.keeper import Keeper
from shared.document import suggesting
from shared.protocol import Caller, WriteResult
from shared.protocol_suggestions import (
    AnyWrite,
    DecideRequest,
    DecideResult,
    ListSuggestionsRequest,
    ListSuggestionsResult,
    SuggestRequest,
)


class SuggestionVerbs(ABC):
    """Who may is decided where the document is called from (`shared.access`); who may decide this
    one suggestion, here.
    """

    _keeper: Keeper

    @abstractmethod
    async def _read_spent(self, verb: str, caller: Caller) -> None:
        """Waits until the document is there and takes a read off the caller's budget."""

    @abstractmethod
    def _on_disk(self) -> AbstractAsyncContextManager[None]:
        """What is computed or refused inside is told once all that it saw is on disk."""

    @abstractmethod
    async def _write(self, verb: str, caller: Caller, request: AnyWrite) -> WriteResult:
        """A write, once under its key, and told when it is on disk."""

    async def suggest(self, caller: Caller, request: SuggestRequest) -> WriteResult:
        """Nothing of the document changes."""
        return await self._write("suggest", caller, request)

    async def list_suggestions(
        self, caller: Caller, request: ListSuggestionsRequest
    ) -> ListSuggestionsResult:
        await self._read_spent("list_suggestions", caller)
        async with self._on_disk():
            return suggesting.listed(self._keeper.live, caller, request)

    async def decide_suggestion(self, caller: Caller, request: DecideRequest) -> DecideResult:
        """Accepts, in one transaction with the text it changes, or rejects."""
        result = await self._write("decide_suggestion", caller, request)
        live = await self._keeper.when_ready()
        told = msgspec.structs.asdict(result)
        return DecideResult(**told, decided=suggesting.decided(live, request))
