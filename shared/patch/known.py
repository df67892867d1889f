"""The blocks a write is about, and which of them became which new one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from shared.patch.types import NewBlock, Present, Seen, SeenBlock, same

DISTINCT_CHARS: Final = 12  # a shorter text (a rule, an empty paragraph) says little about identity


class Known(msgspec.Struct):
    """A block that is in the document or was when its author looked.

    Attributes:
        seen: None when it may not be deleted or replaced.
        now: None when it is gone.
        place: Its position in the document now.
        inside: Now in the part of the document the new text is about.
        foreign: Neither there now nor when its author looked; named all the same, so it goes there.
        named: Its author named it by an anchor, so there is no doubt which state is meant.
        trailing: An empty paragraph at the end, which no reader is shown.
    """

    block_id: str
    seen: SeenBlock | None
    now: Present | None
    inside: bool
    foreign: bool = False
    named: bool = False
    trailing: bool = False
    place: int = -1


class Match(msgspec.Struct):
    """Pairs of positions in `base` and `new`.

    Attributes:
        stable: The pairs that keep their order; the others have moved.
        doubtful: New blocks that read like the edit of a block nobody showed their author.
    """

    base: list[Known]
    new: Sequence[NewBlock]
    old_of: dict[int, int] = {}
    new_of: dict[int, int] = {}
    stable: list[tuple[int, int]] = []
    doubtful: dict[int, int] = {}

    def link(self, old: int, new: int) -> None:
        self.old_of[new] = old
        self.new_of[old] = new

    def unmatched(self) -> list[int]:
        """New blocks without a counterpart."""
        return [j for j in range(len(self.new)) if j not in self.old_of]


def may_move(known: Known, seen: Seen) -> bool:
    """Whether a text elsewhere in the new document is this block, moved.

    Of a block that came after its author looked, it is not: an equal one was written.
    """
    if known.seen is not None:
        return True
    return not known.trailing and (not seen.whole or known.block_id in seen.known)


def name(known: Known, hash_: str, sent: Iterable[str]) -> None:
    """Note that its author named the block at `hash_`: seen, at that text.

    An anchor has six digits; the whole digest is taken from where the text is met again: what was
    shown, what is there, what was sent.
    """
    candidates = [known.seen.digest] if known.seen else []
    candidates += [known.now.digest] if known.now else []
    candidates += sent
    digest = next((digest for digest in candidates if same(digest, hash_)), hash_)
    level = known.seen.level if known.seen else 0
    known.seen = SeenBlock(known.block_id, digest, level)
    known.named = True


def is_distinct(known: Known) -> bool:
    """Whether its text is long enough to tell it from others."""
    return known.now is not None and len(known.now.text) >= DISTINCT_CHARS


def old_text(known: Known, seen: Seen) -> str | None:
    """The text its author knows, as well as it is remembered; what it says now before nothing."""
    if known.seen is not None:
        if known.now and same(known.now.digest, known.seen.digest):
            return known.now.text
        text = seen.text_of(known.block_id, known.seen.digest)
        if text is not None:
            return text
    return known.now.text if known.now else None
