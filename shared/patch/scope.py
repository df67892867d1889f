"""What a new text is about: a part of the document as it is, and as its author saw it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from shared.ids import BlockRef, parse_ref
from shared.patch.known import Known, name
from shared.patch.refusals import section_range
from shared.patch.types import (
    EMPTY_PARAGRAPH,
    NewBlock,
    Present,
    Seen,
    SeenBlock,
    digest_of,
    heading_level,
    is_blank,
    same,
)

_BLANK: Final = digest_of(EMPTY_PARAGRAPH)


class Scope(msgspec.Struct, frozen=True):
    """Blocks `start` to `end` of the document, and what of the seen blocks belongs to them.

    Empty paragraphs at the end are no part of it: no reader is shown them.
    """

    present: Sequence[Present]
    start: int
    end: int
    trailing: int
    seen: tuple[SeenBlock, ...]

    @property
    def blocks(self) -> Sequence[Present]:
        return self.present[self.start : self.end]

    @property
    def before(self) -> str | None:
        """The id of the block before it."""
        return self.present[self.start - 1].block_id if self.start else None


def _scope(present: Sequence[Present], start: int, end: int, seen: Iterable[SeenBlock]) -> Scope:
    trailing = end
    while trailing > start and is_blank(present[trailing - 1].text):
        trailing -= 1
    shown = list(seen)
    while shown and same(_BLANK, shown[-1].digest):
        shown.pop()
    return Scope(present, start, trailing, end, tuple(shown))


def whole(present: Sequence[Present], seen: Seen) -> Scope:
    """The document."""
    return _scope(present, 0, len(present), seen.blocks)


def section(
    present: Sequence[Present], ref: BlockRef, new: Sequence[NewBlock], seen: Seen
) -> Scope:
    """A heading and everything under it; under it only, when the new text brings no heading.

    What of the seen blocks belongs to it is judged by the headings as they were seen: a block that
    was moved out since was still part of what its author looked at, one moved in was not.

    Raises StaleAnchor and StaleBlock as `section_range`.
    """
    start, end = section_range(present, ref)
    outline = ((block.block_id, block.level) for block in seen.blocks)
    inside = {block.block_id for block in present[start:end]}
    within = _subtree(outline, ref.block_id) or inside
    for sight in seen.sights:  # a heading that only one of them shows may end it
        within &= _subtree(sight.outline(), ref.block_id) or inside
    shown = tuple(block for block in seen.blocks if block.block_id in within)
    brought = ref.block_id in _named_ids(new)
    if new and not heading_level(new[0].text) and not brought:
        start += 1
        shown = tuple(block for block in shown if block.block_id != ref.block_id)
    return _scope(present, start, end, shown)


def _subtree(outline: Iterable[tuple[str, int]], heading: str) -> set[str]:
    """Ids of a heading and what stands under it; nothing when it is none there."""
    found: set[str] = set()
    top = 0
    for block_id, level in outline:
        if block_id == heading:
            if not level:
                return found
            top = level
        elif found and 0 < level <= top:
            break
        if found or block_id == heading:
            found.add(block_id)
    return found


def between(present: Sequence[Present], start: int, end: int, seen: Seen) -> Scope:
    """The blocks `start` to `end` (half-open), empty paragraphs at the end included."""
    inside = {block.block_id for block in present[start:end]}
    places = [n for n, block in enumerate(seen.blocks) if block.block_id in inside]
    shown = seen.blocks[places[0] : places[-1] + 1] if places else ()
    there = {block.block_id for block in present} - inside
    shown = tuple(block for block in shown if block.block_id not in there)
    return Scope(present, start, end, end, shown)


def unequal(scope: Scope, new: Sequence[NewBlock]) -> tuple[Scope, Sequence[NewBlock]]:
    """Without the equal ends: blocks that are as they were seen and as they were sent.

    One edit in a long document then costs what the edit costs.
    """
    blocks, seen = scope.blocks, scope.seen
    named = Counter(_named_ids(new))
    head = _untouched(blocks, new, seen, named)
    rest = (reversed(blocks[head:]), reversed(new[head:]), reversed(seen[head:]))
    tail = _untouched(*rest, named)
    end = scope.end - tail
    trailing = scope.trailing if not tail else end
    middle = seen[head : len(seen) - tail]
    narrow = Scope(scope.present, scope.start + head, end, trailing, middle)
    return narrow, new[head : len(new) - tail]


def not_in(scope: Scope, new: Sequence[NewBlock]) -> list[str]:
    """Ids of blocks that were neither shown nor sent: what others put in, to all appearance."""
    shown = {block.block_id for block in scope.seen}
    sent = {block.digest for block in new}
    return [b.block_id for b in scope.blocks if b.block_id not in shown and b.digest not in sent]


def reads_so(scope: Scope, new: Sequence[NewBlock], besides: Container[str]) -> bool:
    """Whether the blocks, besides some, say already what was sent: a call sent twice, perhaps."""
    blocks = [block for block in scope.blocks if block.block_id not in besides]
    return len(blocks) == len(new) and all(
        block.digest == sent.digest
        and (sent.block.anchor is None or _named_ids([sent]) == [block.block_id])
        for block, sent in zip(blocks, new, strict=True)
    )


def _untouched(
    blocks: Iterable[Present],
    new: Iterable[NewBlock],
    seen: Iterable[SeenBlock],
    named: Mapping[str, int],
) -> int:
    """How many of the first blocks are as they were seen and as they were sent. `named` says how
    many lines name a block.
    """
    count = 0
    for block, sent, shown in zip(blocks, new, seen, strict=False):
        anchor = sent.block.anchor
        if (
            block.digest != sent.digest
            or block.block_id != shown.block_id
            or shown.others
            or not same(block.digest, shown.digest)
            or (anchor is not None and anchor != block.anchor)
            or named.get(block.block_id, 0) != (anchor is not None)
        ):
            break
        count += 1
    return count


def trimmed(new: Sequence[NewBlock]) -> list[NewBlock]:
    """Without the empty paragraphs at the end."""
    kept = list(new)
    while kept and is_blank(kept[-1].text):
        kept.pop()
    return kept


def known_blocks(
    scope: Scope, seen: Seen, new: Sequence[NewBlock], anchors: Sequence[BlockRef]
) -> list[Known]:
    """Every block a new text may be about, in the order its author has in mind.

    First those seen, as they stood then; those nobody showed the author each behind the block it
    stands behind now. Anchors add to what was seen; a line may also name a block that is gone.
    """
    now = {block.block_id: block for block in scope.present}
    place = {block_id: at for at, block_id in enumerate(now)}
    inside = {block.block_id for block in scope.present[scope.start : scope.trailing]}
    tail = {block.block_id for block in scope.present[scope.end : scope.trailing]}
    shown = {block.block_id: block for block in scope.seen}
    behind: dict[str | None, list[str]] = {}
    last: str | None = None
    for block in scope.present[scope.start : scope.trailing]:
        if block.block_id in shown:
            last = block.block_id
        else:
            behind.setdefault(last, []).append(block.block_id)
    order = list(behind.get(None, ()))
    for block_id in shown:
        order += [block_id, *behind.get(block_id, ())]
    about = {*order, *tail}
    named = dict.fromkeys(_named_ids(new))
    foreign = [i for i in named if i not in about]
    base = [
        Known(
            i,
            shown.get(i),
            now.get(i),
            inside=i in inside,
            trailing=i in tail,
            place=place.get(i, -1),
        )
        for i in order
    ]
    base += [Known(i, None, now.get(i), inside=False, foreign=True) for i in foreign]
    _name(base, anchors, seen, new)
    return base


def _named_ids(new: Sequence[NewBlock]) -> list[str]:
    refs = [parse_ref(block.block.anchor) for block in new if block.block.anchor]
    return [ref.block_id for ref in refs if ref]


def _name(
    base: Sequence[Known], anchors: Sequence[BlockRef], seen: Seen, new: Sequence[NewBlock]
) -> None:
    place = {known.block_id: known for known in base if not known.trailing}
    for ref in anchors:
        known = place.get(ref.block_id)
        if known is None:
            continue
        if ref.hash:
            name(known, ref.hash, (block.digest for block in new))
        elif known.seen is None and ref.block_id in seen.known:
            first, *others = seen.known[ref.block_id]
            known.seen = SeenBlock(ref.block_id, first, others=tuple(others))
