"""What becomes of each block when one author's changes meet everybody else's.

Left alone by the author: it stays as it is now, deleted if it is deleted. Changed by both: merged
word by word where the edits lie apart, else a conflict; a deletion is a change. Nothing that
somebody wrote since is overwritten.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Final

import msgspec

from shared.ids import HASH_LENGTH
from shared.patch.block_diff import heaviest_chain
from shared.patch.known import DISTINCT_CHARS, Known, Match, may_move
from shared.patch.likeness import sight_is_certain
from shared.patch.text_merge import merge
from shared.patch.types import NewBlock, Present, Seen, SeenBlock, same
from shared.protocol import Conflict
from shared.tree import Block

INSIST_ANCHOR: Final = (
    "To have your text all the same, send it with the line [{anchor}] right above it."
)
INSIST_DELETE: Final = "To delete it all the same, call delete with {anchor}."
INSIST_INSERT: Final = "To have it back, call insert."
INSIST_BASE: Final = (
    "If you want this older text back, send it with the line [{anchor}] right above it."
)
INSIST_MOVE: Final = (
    "You may not have seen this block, so it stays where it is. To move it call move with {anchor}."
)
INSIST_READ: Final = (
    "You may not have seen this block. To replace it send your text with the line [{anchor}] right "
    "above it; to add yours beside it call insert."
)


_HEAVY: Final = 1_000.0  # what was seen keeps its place before what was not


class Merger(msgspec.Struct, frozen=True):
    """How Markdown is read and written: `shared.markdown`, or a double in tests.

    Attributes:
        parse_one: The block a text is, None when it is not exactly one.
        render: A block's canonical Markdown.
    """

    parse_one: Callable[[str], Block | None]
    render: Callable[[Block], str]

    def merge(self, base: str, theirs: str, ours: NewBlock) -> NewBlock | None:
        """Both edits in one block, at the price of what was sent; None when they do not merge."""
        text = merge(base, theirs, ours.text)
        block = self.parse_one(text) if text is not None else None
        if block is None:
            return None
        merged = NewBlock.of(block, self.render(block), ours.notes)
        return msgspec.structs.replace(merged, charge=ours.charge)


class Edits(msgspec.Struct):
    """Decisions by position in `Match.base` (`replace`, `delete`, `move`) and `Match.new`."""

    replace: dict[int, tuple[NewBlock, bool]] = {}
    delete: list[int] = []
    insert: set[int] = set()
    move: set[int] = set()
    conflicts: list[Conflict] = []

    def charged(self, new: Sequence[NewBlock]) -> int:
        """Characters as sent of what is written."""
        replaced = sum(block.charge for block, _ in self.replace.values())
        return replaced + sum(new[j].charge for j in self.insert)


class Rebase:
    """Decides for each pair and each block left over.

    Args:
        merger: None: two edits of one block are always a conflict.
        present: Ids in the document now.
    """

    def __init__(
        self, found: Match, seen: Seen, merger: Merger | None, present: Container[str]
    ) -> None:
        self._found = found
        self._seen = seen
        self._merger = merger
        self._gone = _gone_texts(seen, present)
        self._edits = Edits()
        self._disputed: set[int] = set()

    def edits(self) -> Edits:
        found = self._found
        for u, j in sorted(found.new_of.items()):
            self._pair(u, found.base[u], found.new[j])
        stable = set(found.stable)
        for u, j in found.new_of.items():
            moved = (u, j) not in stable and may_move(found.base[u], self._seen)
            if moved and found.base[u].now and u not in self._disputed:
                self._edits.move.add(u)
        if not sight_is_certain(self._seen):
            self._unmoved()
        for u, known in enumerate(found.base):
            if u not in found.new_of:
                self._left_out(u, known)
        for j in found.unmatched():
            self._written(j, found.new[j])
        return self._edits

    def _unmoved(self) -> None:
        """Blocks sent in another order that stay: nothing says that their author knows them."""
        found, base = self._found, self._found.base
        staying = {
            (base[u].place, j): u
            for u, j in found.new_of.items()
            if base[u].now and base[u].inside and u not in self._edits.move
        }
        weighed = ((*at, 1.0 if base[u].seen is None else _HEAVY) for at, u in staying.items())
        in_order = set(heaviest_chain(weighed))
        for at, u in staying.items():
            out = at not in in_order and u not in self._disputed
            if out and base[u].seen is None and not base[u].trailing:
                self._dispute(u, found.new[at[1]].text, "not_seen", INSIST_MOVE)

    def _pair(self, u: int, known: Known, new: NewBlock) -> None:
        now, seen = known.now, known.seen
        if now and now.digest == new.digest:
            return
        if seen is None:
            self._dispute(u, new.text, "not_seen", INSIST_READ)
            return
        if (same(new.digest, seen.digest) or new.digest == seen.unread) and not seen.others:
            return
        if self._is_older(known, seen, new) or (self._was_of(new) and not known.named):
            insist = INSIST_BASE if now else INSIST_INSERT
            self._dispute(u, new.text, "older_text", insist)
        elif now is None:
            self._dispute(u, new.text, "deleted", INSIST_INSERT)
        elif _is_as_seen(now, seen):
            self._edits.replace[u] = (new, False)
        else:
            self._both(u, known, new)

    def _both(self, u: int, known: Known, new: NewBlock) -> None:
        now, seen = known.now, known.seen
        assert now is not None
        assert seen is not None
        merged = self._merged(now, seen, new)
        if merged is None:
            self._dispute(u, new.text, "changed", INSIST_ANCHOR)
        elif merged.digest != now.digest:
            self._edits.replace[u] = (merged, merged.digest != new.digest)

    def _merged(self, now: Present, seen: SeenBlock, new: NewBlock) -> NewBlock | None:
        if self._merger is None:
            return None
        for digest in (seen.digest, *seen.others, *filter(None, (seen.unread,))):
            base = None if same(now.digest, digest) else self._seen.text_of(now.block_id, digest)
            if base is not None:
                return self._merger.merge(base, now.text, new)
        return None

    def _is_older(self, known: Known, seen: SeenBlock, new: NewBlock) -> bool:
        """Whether this may be a stale copy as well as a wanted revert."""
        if seen.others and new.digest in (seen.digest, *seen.others):
            return True
        if self._seen.based or known.named:
            return False
        return new.digest in self._seen.older.get(known.block_id, ())

    def _left_out(self, u: int, known: Known) -> None:
        if known.seen is None or known.now is None or known.foreign or known.trailing:
            return
        if not known.inside:  # somebody moved it out, or put a heading before it
            return
        if _is_as_seen(known.now, known.seen):
            self._edits.delete.append(u)
        else:
            self._dispute(u, None, "changed", INSIST_DELETE)

    def _written(self, j: int, new: NewBlock) -> None:
        doubtful = self._found.doubtful.get(j)
        gone = self._was_of(new)
        if doubtful is not None:
            self._dispute(doubtful, new.text, "not_seen", INSIST_READ)
        elif gone is not None:
            anchor = f"{gone}-{new.digest[:HASH_LENGTH]}"
            self._edits.conflicts.append(
                Conflict(anchor, new.text, None, "older_text", INSIST_INSERT)
            )
        else:
            self._edits.insert.add(j)

    def _was_of(self, new: NewBlock) -> str | None:
        """The id of the block that is gone and said this, if the text says much."""
        return self._gone.get(new.digest) if len(new.text) >= DISTINCT_CHARS else None

    def _dispute(self, u: int, yours: str | None, reason: str, insist: str) -> None:
        known = self._found.base[u]
        self._disputed.add(u)
        if known.now is not None:
            anchor, theirs = known.now.anchor, known.now.text
        else:
            digest = known.seen.digest if known.seen else ""
            anchor, theirs = f"{known.block_id}-{digest[:HASH_LENGTH]}", None
        told = insist.format(anchor=anchor)
        self._edits.conflicts.append(Conflict(anchor, yours, theirs, reason, told))


def _is_as_seen(now: Present, seen: SeenBlock) -> bool:
    """Whether its author certainly knows it as it is now."""
    return same(now.digest, seen.digest) and not seen.others and not seen.unread


def _gone_texts(seen: Seen, present: Container[str]) -> dict[str, str]:
    """Digests this principal was shown of blocks that are gone; of no account with a base that
    says which of its views is meant.
    """
    gone: dict[str, str] = {}
    if seen.based and seen.views <= 1:
        return gone
    for digests in (seen.older, seen.known):
        for block_id, shown in digests.items():
            if block_id not in present:
                gone.update(dict.fromkeys(shown, block_id))
    return gone
