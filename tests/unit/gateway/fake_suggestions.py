"""Suggestions of a document in memory, whose text nobody looks for."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET

from shared.errors import SuggestionNotFound
from shared.protocol import Caller, WriteResult
from shared.protocol_suggestions import (
    Decided,
    DecideRequest,
    DecideResult,
    ListSuggestionsRequest,
    ListSuggestionsResult,
    SuggestRequest,
)
from shared.suggestions.info import SuggestionInfo

AT = "2026-03-31T09:00:00.000+00:00"


class FakeSuggestions:
    """Numbered from s1, all of group g1; s1 is there from the beginning."""

    def __init__(self) -> None:
        self.suggested = [_info(1, "Ana", "One", "1")]

    def _written(self, caller: Caller, ids: list[str]) -> WriteResult:
        raise NotImplementedError

    def suggest(self, caller: Caller, request: SuggestRequest) -> WriteResult:
        made = [
            _info(len(self.suggested) + n, caller.name, edit.old_text, edit.new_text, request.note)
            for n, edit in enumerate(request.edits, 1)
        ]
        if not request.options.dry_run:
            self.suggested += made
        result = self._written(caller, [])
        ids = tuple(one.id for one in made)
        return msgspec.structs.replace(result, suggestions=ids, group="g1")

    def list_suggestions(
        self, _caller: Caller, request: ListSuggestionsRequest
    ) -> ListSuggestionsResult:
        asked = (request.status, "all")
        found = [one for one in self.suggested if request.status == "all" or one.status in asked]
        page = tuple(found[: request.limit])
        return ListSuggestionsResult(page, page[-1].id if len(found) > len(page) else UNSET)

    def decide_suggestion(self, caller: Caller, request: DecideRequest) -> DecideResult:
        named = [one for one in self.suggested if request.id in (None, one.id)]
        if not named:
            raise SuggestionNotFound(f"id: no suggestion {request.id!r} in this document.")
        status: Any = "accepted" if request.verdict == "accept" else "rejected"
        done = tuple(Decided(one.id, status, one.by, caller.name) for one in named)
        told = msgspec.structs.asdict(self._written(caller, []))
        return DecideResult(**told, decided=done)


def _info(number: int, by: str, old: str, new: str, note: str = "") -> SuggestionInfo:
    return SuggestionInfo(
        *(f"s{number}", "g1", "text", "open", by),
        mine=False,
        at=AT,
        anchor="a-b",
        old=old,
        new=new,
        note=note or UNSET,
    )
