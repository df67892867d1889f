"""The values a patch is planned with: what is there, what was sent, what was seen, what to do.

A block's *digest* is 16 hex digits over its Markdown. The hash of an anchor is the beginning of
it, so a digest may be compared with either by `same`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Final

import msgspec

from shared.ids import HASH_LENGTH
from shared.protocol import Conflict
from shared.stored_annotations import SuggestionStatus
from shared.suggestions.edits import Edit
from shared.tree import Block, Node
from shared.yjs.exact import Exact

EMPTY_PARAGRAPH: Final = "&nbsp;"  # how an empty paragraph reads
_HEADING = re.compile(r"(#{1,6})(?: |\Z)")

Texts = Callable[[str, str], str | None]  # (block id, digest) -> the text, when still remembered


def digest_of(text: str) -> str:
    """16 hex digits of BLAKE2b over the Markdown in UTF-8."""
    return blake2b(text.encode(), digest_size=8).hexdigest()


def same(digest: str, seen: str) -> bool:
    """Whether a digest is the one seen; of that perhaps only an anchor's hash is known."""
    return digest.startswith(seen)


def is_blank(text: str) -> bool:
    """Whether a block's Markdown is that of an empty paragraph."""
    return text in ("", EMPTY_PARAGRAPH)


def heading_level(text: str) -> int:
    """1 to 6 for the Markdown of a top-level heading, else 0.

    The Markdown is canonical: what else begins with `#` is escaped.
    """
    match = _HEADING.match(text)
    return len(match[1]) if match else 0


class Present(msgspec.Struct, frozen=True):
    """A block of the document as it is now. Make it with `Present.of`."""

    block_id: str
    text: str
    digest: str

    @classmethod
    def of(cls, block_id: str, text: str) -> Present:
        return cls(block_id, text, digest_of(text))

    @property
    def anchor(self) -> str:
        return f"{self.block_id}-{self.digest[:HASH_LENGTH]}"


class NewBlock(msgspec.Struct, frozen=True):
    """A block as sent and its canonical Markdown. Make it with `NewBlock.of`.

    Attributes:
        charge: Characters it costs when written: its source as sent.
        notes: What of its source could not be kept exactly.
        exact: All there is of it, of a block that is put back as it was.
    """

    block: Block
    text: str
    digest: str
    charge: int
    notes: tuple[str, ...] = ()
    exact: Exact | None = None

    @classmethod
    def of(cls, block: Block, text: str, notes: tuple[str, ...] = ()) -> NewBlock:
        return cls(block, text, digest_of(text), len(block.source) or len(text), notes)


EMPTY_BLOCK: Final = NewBlock(
    Block(Node("paragraph")), EMPTY_PARAGRAPH, digest_of(EMPTY_PARAGRAPH), 0
)


class SeenBlock(msgspec.Struct, frozen=True):
    """A block its author was shown.

    Attributes:
        digest: Of the text shown last, by the newest of several views.
        level: 1 to 6 when that text was a heading.
        others: Digests other live views show instead; whose author writes is then not known.
        unread: Its digest after an edit of quoted words by this author, who may know it so, too.
    """

    block_id: str
    digest: str
    level: int = 0
    others: tuple[str, ...] = ()
    unread: str | None = None


def _unknown(_block_id: str, _digest: str) -> str | None:
    return None


class Sight(msgspec.Struct, frozen=True):
    """What one of several views shows: block id to digest in its order; levels of headings."""

    blocks: Mapping[str, str]
    levels: Mapping[str, int] = {}

    def is_as(self, other: Sight) -> bool:
        """Whether the other one shows the same texts in the same order."""
        return list(self.blocks.items()) == list(other.blocks.items())

    def outline(self) -> Iterator[tuple[str, int]]:
        """The blocks in order, with the level of those that are headings, else 0."""
        return ((block_id, self.levels.get(block_id, 0)) for block_id in self.blocks)


class Seen(msgspec.Struct, frozen=True):
    """What the author of a write has seen, as far as that is certain.

    Attributes:
        blocks: In the order shown; every view in question showed them. Only these may be deleted
            or replaced.
        known: What any live view of the principal shows: block id to digests.
        whole: The views showed the whole document: what they lack came later.
        based: A cursor named the view or moment.
        views: How many views are behind this; 0 with a moment rebuilt from the log as well.
        sights: Of several views what each shows, the one used last first.
        older: Earlier texts this principal was shown: block id to digests.
        text_of: Texts still remembered.
    """

    blocks: tuple[SeenBlock, ...] = ()
    known: Mapping[str, tuple[str, ...]] = {}
    whole: bool = False
    based: bool = False
    views: int = 0
    sights: tuple[Sight, ...] = ()
    older: Mapping[str, frozenset[str]] = {}
    text_of: Texts = _unknown

    @classmethod
    def of_state(
        cls, blocks: Iterable[tuple[str, str]], known: Mapping[str, tuple[str, ...]] | None = None
    ) -> Seen:
        """A moment of the document rebuilt from the log: block ids and texts, all of them."""
        texts = dict(blocks)
        shown = tuple(SeenBlock(i, digest_of(t), heading_level(t)) for i, t in texts.items())
        mine = {block.block_id: (block.digest,) for block in shown}

        def text_of(block_id: str, digest: str) -> str | None:
            text = texts.get(block_id)
            return text if text is not None and same(digest_of(text), digest) else None

        return cls(shown, {**(known or {}), **mine}, whole=True, based=True, text_of=text_of)


NOTHING_SEEN: Final = Seen()


class Replace(msgspec.Struct, frozen=True, tag=True):
    """Block `block_id` becomes `new` in place and keeps its id.

    Attributes:
        merged: `new` is not what was sent but a merge of it with somebody's edit.
    """

    block_id: str
    new: NewBlock
    merged: bool = False


class Insert(msgspec.Struct, frozen=True, tag=True):
    """A new block right behind `after`: a block id, the position in `Plan.ops` of the earlier
    `Insert` that made that block, or None for the first place.

    Attributes:
        block_id: The id it gets, which no block has; None: a fresh one.
    """

    after: str | int | None
    new: NewBlock
    block_id: str | None = None


class Delete(msgspec.Struct, frozen=True, tag=True):
    block_id: str


class Move(msgspec.Struct, frozen=True, tag=True):
    """The block, as it is when its turn comes, goes right behind `after` (as in `Insert`)."""

    block_id: str
    after: str | int | None


Op = Replace | Insert | Delete | Move


class Plan(msgspec.Struct, frozen=True):
    """What a write does: apply `ops` one after the other.

    Attributes:
        kept: Ids of blocks the new text lacks and that stay because they were not seen.
        conflicts: What was left as it is, and why.
        charged: Characters, as sent, of the blocks written.
        quoted: Its author knows only parts of the blocks it replaces.
        suggested: What is stored as suggestions, and not done.
        decides: Suggestions that are open no more once it is carried out.
    """

    ops: tuple[Op, ...] = ()
    kept: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    charged: int = 0
    quoted: bool = False
    suggested: tuple[Edit, ...] = ()
    decides: Mapping[str, SuggestionStatus] = {}

    @property
    def does_something(self) -> bool:
        return bool(self.ops or self.suggested or self.decides)

    @property
    def replaced(self) -> int:
        return sum(isinstance(op, Replace) for op in self.ops)

    @property
    def inserted(self) -> int:
        return sum(isinstance(op, Insert) for op in self.ops)

    @property
    def deleted(self) -> int:
        return sum(isinstance(op, Delete) for op in self.ops)

    @property
    def moved(self) -> int:
        return sum(isinstance(op, Move) for op in self.ops)


def apply_to_list(
    present: Sequence[tuple[str, str]], plan: Plan, mint: Callable[[int], str]
) -> list[tuple[str, str]]:
    """The document, as ids and texts, after a plan. `mint(op number)` gives ids of new blocks.

    This is what the operations mean, in ten lines; whoever applies them to Yjs is held to it.
    """
    blocks = list(present)
    made: dict[int, str] = {}

    def place(after: str | int | None) -> int:
        target = made[after] if isinstance(after, int) else after
        return 0 if target is None else [block_id for block_id, _ in blocks].index(target) + 1

    for number, op in enumerate(plan.ops):
        if isinstance(op, Insert):
            made[number] = op.block_id or mint(number)
            blocks.insert(place(op.after), (made[number], op.new.text))
            continue
        at = [block_id for block_id, _ in blocks].index(op.block_id)
        if isinstance(op, Replace):
            blocks[at] = (op.block_id, op.new.text)
        else:
            taken = blocks.pop(at)
            if isinstance(op, Move):
                blocks.insert(place(op.after), taken)
    return blocks
