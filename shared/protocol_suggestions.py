"""The types of suggestions: what is asked, and the exact shapes that callers get."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from shared.limits import DEFAULT_SUGGESTIONS
from shared.protocol import TextEdit, WriteOptions, WriteRequest, WriteResult
from shared.stored_annotations import SuggestionStatus
from shared.suggestions.info import SuggestionInfo

Verdict = Literal["accept", "reject"]
StatusAsked = Literal["open", "accepted", "rejected", "all"]


class SuggestRequest(msgspec.Struct, frozen=True):
    """Edits of quoted text, each a suggestion of its own, all of one group."""

    edits: tuple[TextEdit, ...]
    note: str = ""
    options: WriteOptions = WriteOptions()


class ListSuggestionsRequest(msgspec.Struct, frozen=True):
    """`after`: the suggestion to go on behind; None: from the first one."""

    status: StatusAsked = "open"
    limit: int = DEFAULT_SUGGESTIONS
    after: str | None = None


class DecideRequest(msgspec.Struct, frozen=True):
    """One suggestion by `id`, or all that are open of a `group`: one of the two."""

    verdict: Verdict
    id: str | None = None
    group: str | None = None
    options: WriteOptions = WriteOptions()


class ListSuggestionsResult(msgspec.Struct, frozen=True):
    """As they were made; `next`: what to pass as `after` for more."""

    suggestions: tuple[SuggestionInfo, ...]
    next: str | UnsetType = UNSET


class Decided(msgspec.Struct, frozen=True):
    """A suggestion and what became of it; `by`: who made it, `decided_by`: who decided."""

    id: str
    status: SuggestionStatus
    by: str
    decided_by: str | UnsetType = UNSET


class DecideResult(WriteResult, frozen=True):
    """What `decide_suggestion` answers: the write that accepting is, and each suggestion."""

    decided: tuple[Decided, ...] = ()


AnyWrite = WriteRequest | SuggestRequest | DecideRequest
