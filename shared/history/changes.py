"""What changed in a document between two of its states, by section and by block.

Pure: two lists of blocks in, values out. Everything is counted; what is listed are the sections
that a reader can be sent to, at most MAX_CHANGED_SECTIONS of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from shared.history.pairing import Item, Paired, pair
from shared.history.sections import FlatSection, flat_sections, shown
from shared.history.states import PastBlock
from shared.history.words import Measure, Text, count_words, excerpt, measure
from shared.limits import MAX_CHANGED_BLOCKS, MAX_CHANGED_SECTIONS

Status = Literal["added", "removed", "changed", "moved"]


class SectionChange(msgspec.Struct, frozen=True):
    """A section that is not what, or where, it was.

    Attributes:
        section_id: None: what stands before the first heading.
        title: Its heading on one line, of now, or of then when it is gone.
        words_added, words_removed: None: nothing that is counted, as when only marks changed.
        excerpt, removed_excerpt: The widest passage that came and that went; empty: none.
    """

    status: Status
    section_id: str | None
    title: str
    words_added: int | None = None
    words_removed: int | None = None
    excerpt: str = ""
    removed_excerpt: str = ""


class BlockChange(msgspec.Struct, frozen=True):
    """A block that is not what, or where, it was. `text`: its Markdown, of then when it is gone."""

    status: Status
    block_id: str
    section_id: str | None
    text: str
    words_added: int | None = None
    words_removed: int | None = None


class ChangeCounts(msgspec.Struct, frozen=True):
    """How many sections changed, the unnamed ones included, and words; versions saved meanwhile."""

    added: int = 0
    removed: int = 0
    changed: int = 0
    moved: int = 0
    words_added: int = 0
    words_removed: int = 0
    versions: int = 0

    @property
    def any(self) -> bool:
        """Whether a section changed: a rewrite that reads the same is no change."""
        return bool(self.added or self.removed or self.changed or self.moved)


class Changes(msgspec.Struct, frozen=True):
    """What is told. `left_out`, `blocks_left_out`: how many more there are than are listed."""

    counts: ChangeCounts = ChangeCounts()
    sections: tuple[SectionChange, ...] = ()
    left_out: int = 0
    blocks: tuple[BlockChange, ...] = ()
    blocks_left_out: int = 0


def changes(
    before: Sequence[PastBlock], after: Sequence[PastBlock], *, by_block: bool = False
) -> Changes:
    """What is between two states; `by_block`: also which blocks."""
    before, after = shown(before), shown(after)
    old, new = flat_sections(before), flat_sections(after)
    found = tuple(changed_sections(old, new))
    listed = tuple(change for change in found if change.title)
    blocks = tuple(_changed_blocks(old, new)) if by_block else ()
    return Changes(
        _counts(found),
        listed[:MAX_CHANGED_SECTIONS],
        max(0, len(listed) - MAX_CHANGED_SECTIONS),
        blocks[:MAX_CHANGED_BLOCKS],
        max(0, len(blocks) - MAX_CHANGED_BLOCKS),
    )


def changed_sections(
    before: Sequence[FlatSection], after: Sequence[FlatSection]
) -> Iterator[SectionChange]:
    """Every section that is not what or where it was, in document order, nameless ones too."""
    for paired in pair([_item(one) for one in before], [_item(one) for one in after]):
        old = None if paired.before is None else before[paired.before]
        new = None if paired.after is None else after[paired.after]
        if is_changed(old, new, paired):
            yield _section_change(old, new, paired)


def is_changed(
    old: FlatSection | PastBlock | None, new: FlatSection | PastBlock | None, paired: Paired
) -> bool:
    """Whether there is anything to tell of a pair."""
    if old is None or new is None or paired.moved:
        return True
    return _item(old).content != _item(new).content


def _item(part: FlatSection | PastBlock) -> Item:
    if isinstance(part, FlatSection):
        return Item(part.section_id, tuple(block.text for block in part.blocks))
    return Item(part.block_id, part.text)


def _section_change(
    old: FlatSection | None, new: FlatSection | None, paired: Paired
) -> SectionChange:
    part = new or old
    assert part is not None
    measured = None
    if not paired.moved:
        measured = _measure(old.blocks if old else (), new.blocks if new else ())
    told = SectionChange(_status(old, new, paired), part.section_id, part.title)
    if measured is None:
        return told
    # Of a section that came or went as a whole the heading is said already.
    said, gone = measured.excerpt, measured.removed_excerpt
    if new is None or old is None:
        body = excerpt(block.block.node for block in part.body)
        said, gone = (body, "") if old is None else ("", body)
    return SectionChange(
        told.status,
        told.section_id,
        told.title,
        measured.words_added,
        measured.words_removed,
        said,
        gone,
    )


def _status(old: object | None, new: object | None, paired: Paired) -> Status:
    if old is None:
        return "added"
    if new is None:
        return "removed"
    return "moved" if paired.moved else "changed"


def _measure(old: Sequence[PastBlock], new: Sequence[PastBlock]) -> Measure | None:
    if not old:
        return Measure(count_words(block.block.node for block in new), 0)
    if not new:
        return Measure(0, count_words(block.block.node for block in old))
    return measure(_texts(old), _texts(new))


def _texts(blocks: Iterable[PastBlock]) -> list[Text]:
    return [Text(block.block.node, block.text) for block in blocks]


def _changed_blocks(
    before: Sequence[FlatSection], after: Sequence[FlatSection]
) -> Iterator[BlockChange]:
    olds = [(block, section.section_id) for section in before for block in section.blocks]
    news = [(block, section.section_id) for section in after for block in section.blocks]
    for paired in pair([_item(block) for block, _ in olds], [_item(block) for block, _ in news]):
        old, old_section = (None, None) if paired.before is None else olds[paired.before]
        new, new_section = (None, None) if paired.after is None else news[paired.after]
        part = new or old
        if part is None or not is_changed(old, new, paired):
            continue
        measured = None
        if not paired.moved:
            measured = _measure((old,) if old else (), (new,) if new else ())
        yield BlockChange(
            _status(old, new, paired),
            part.block_id,
            new_section if new else old_section,
            part.text,
            measured.words_added if measured else None,
            measured.words_removed if measured else None,
        )


def _counts(found: Sequence[SectionChange]) -> ChangeCounts:
    count = Counter(change.status for change in found)
    return ChangeCounts(
        added=count["added"],
        removed=count["removed"],
        changed=count["changed"],
        moved=count["moved"],
        words_added=sum(change.words_added or 0 for change in found),
        words_removed=sum(change.words_removed or 0 for change in found),
    )
