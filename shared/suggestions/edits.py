"""A suggestion: an edit of blocks that somebody proposes and somebody else may accept.

It keeps what its author saw, so that it can be brought onto the text of the day it is accepted.
Nothing of it is part of a block's Markdown, or of an anchor.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from shared.stored_annotations import StoredSuggestion, SuggestionStatus

MAX_TRAIL: Final = 16  # blocks in front of a place that it is known by

EditKind = Literal["insert", "replace", "delete", "move", "text"]


class Edit(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is proposed.

    Attributes:
        block_id: The block it is about; None: new blocks.
        base: That block's Markdown when this was made.
        new: The Markdown of each block that is to be there; of `move` and `delete` nothing.
        trail: Of new blocks and of a move: the ids of the blocks in front of the place, the nearest
            first; empty: the document's start.
        behind: The edit of the same call whose new blocks it goes behind, by its position in the
            call, and behind how many of them.
        old_text, new_text: Of `text`: what was quoted, and what is to be there instead.
        forgotten: It was decided long ago, and its texts are gone.
    """

    kind: EditKind
    block_id: str | None = None
    base: str = ""
    new: tuple[str, ...] = ()
    trail: tuple[str, ...] = ()
    behind: tuple[int, int] | None = None
    old_text: str = ""
    new_text: str = ""
    forgotten: bool = False

    @property
    def chars(self) -> int:
        """Characters it holds."""
        return len(self.base) + sum(map(len, self.new)) + len(self.old_text) + len(self.new_text)

    @property
    def charged(self) -> int:
        """Characters it costs: its text."""
        return len(self.new_text) if self.kind == "text" else sum(map(len, self.new))


class _Data(msgspec.Struct, frozen=True, array_like=True):
    """What of a suggestion is stored as one value."""

    edit: Edit
    number: int
    note: str = ""
    decided_by: str = ""
    decided_at: int = 0


_DATA: Final = msgspec.msgpack.Decoder(_Data)


class Suggestion(msgspec.Struct, frozen=True):
    """An edit with its story. Times in milliseconds since 1970.

    Attributes:
        change_seq: Of its last change in the change feed.
        principal: Who made it.
        number: Its position in its call.
        decided_by: Who accepted or rejected it; empty: nobody yet.
    """

    suggestion_id: str
    group_id: str
    change_seq: int
    principal: str
    at: int
    status: SuggestionStatus
    edit: Edit
    number: int = 0
    note: str = ""
    decided_by: str = ""
    decided_at: int = 0

    @classmethod
    def load(cls, row: StoredSuggestion) -> Suggestion:
        """Raises ValueError: it is not what `stored` wrote."""
        try:
            data = _DATA.decode(row.data)
        except msgspec.DecodeError as error:
            raise ValueError(f"suggestion {row.suggestion_id} cannot be read") from error
        head = (row.suggestion_id, row.group_id, row.change_seq, row.principal, row.at, row.status)
        told = (data.number, data.note, data.decided_by, data.decided_at)
        return cls(*head, data.edit, *told)

    def stored(self) -> StoredSuggestion:
        data = _Data(self.edit, self.number, self.note, self.decided_by, self.decided_at)
        return StoredSuggestion(
            self.suggestion_id,
            self.group_id,
            self.change_seq,
            self.principal,
            self.at,
            self.status,
            msgspec.msgpack.encode(data),
        )

    def forgotten(self) -> Suggestion:
        """The same without what was written: that it was made and decided, by whom and when."""
        edit = self.edit
        bare = Edit(edit.kind, edit.block_id, trail=edit.trail, forgotten=True)
        return msgspec.structs.replace(self, edit=bare, note="")

    @property
    def last_by(self) -> str:
        """Who changed it last."""
        return self.decided_by or self.principal

    @property
    def open(self) -> bool:
        return self.status == "open"
