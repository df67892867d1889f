"""A suggestion as it is told to whoever reads the document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from shared.ids import text_hash
from shared.limits import MAX_SUGGESTION_SHOWN
from shared.stored_annotations import SuggestionStatus
from shared.suggestions.edits import Edit, EditKind, Suggestion
from shared.times import iso

_HAVE_OLD: Final = frozenset({"text", "replace", "delete"})
_HAVE_NEW: Final = frozenset({"text", "replace", "insert"})
TEXTS: Final = ("old", "new", "note")  # what people wrote of it


class SuggestionInfo(msgspec.Struct, frozen=True):
    """What is told of one. Times are ISO 8601.

    Attributes:
        group: Those made in one call have the same; it can be decided as one.
        anchor: The block it is about, as it was then.
        after: Of new blocks and a move, the block they go behind; None: first.
        old, new: Markdown: what was there, and what is to be there instead.
        cut: `old` or `new` is not the whole of it: read the document with CriticMarkup for that.
            Of one that was decided long ago nothing of them is kept.
    """

    id: str
    group: str
    kind: EditKind
    status: SuggestionStatus
    by: str
    mine: bool
    at: str
    anchor: str | UnsetType = UNSET
    after: str | UnsetType | None = UNSET
    old: str | UnsetType = UNSET
    new: str | UnsetType = UNSET
    note: str | UnsetType = UNSET
    decided_by: str | UnsetType = UNSET
    decided_at: str | UnsetType = UNSET
    cut: bool | UnsetType = UNSET


def told(one: Suggestion, names: Mapping[str, str], reader: str) -> SuggestionInfo:
    """`names`: what principals are called; `reader`: the principal it is told to."""
    edit = one.edit
    old, new = _texts(edit)
    cut = edit.forgotten or len(old) > MAX_SUGGESTION_SHOWN or len(new) > MAX_SUGGESTION_SHOWN
    known = edit.block_id and not edit.forgotten
    decided = bool(one.decided_by)
    placed = edit.kind in ("insert", "move")
    return SuggestionInfo(
        id=one.suggestion_id,
        group=one.group_id,
        kind=edit.kind,
        status=one.status,
        by=names.get(one.principal, one.principal),
        mine=one.principal == reader,
        at=iso(one.at),
        anchor=f"{edit.block_id}-{text_hash(edit.base)}" if known else UNSET,
        after=(edit.trail[0] if edit.trail else None) if placed else UNSET,
        old=old[:MAX_SUGGESTION_SHOWN] if edit.kind in _HAVE_OLD and not edit.forgotten else UNSET,
        new=new[:MAX_SUGGESTION_SHOWN] if edit.kind in _HAVE_NEW and not edit.forgotten else UNSET,
        note=one.note or UNSET,
        decided_by=names.get(one.decided_by, one.decided_by) if decided else UNSET,
        decided_at=iso(one.decided_at) if decided else UNSET,
        cut=cut or UNSET,
    )


def _texts(edit: Edit) -> tuple[str, str]:
    if edit.kind == "text":
        return edit.old_text, edit.new_text
    return edit.base, "\n\n".join(edit.new)
