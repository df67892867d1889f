"""What a write is refused for, with everything its caller needs to do better."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from shared.errors import (
    BaseRequired,
    Busy,
    EmptyPatch,
    LargeDelete,
    StaleAnchor,
    StaleBlock,
    UnsupportedMode,
)
from shared.ids import BlockRef
from shared.limits import LARGE_DELETE_BLOCKS, LARGE_DELETE_SHARE
from shared.patch.types import NewBlock, Present, Seen, heading_level, is_blank, same
from shared.protocol import Conflict, OutlineEntry, WriteOptions
from shared.sections import Heading, running_total, sections

SNIPPET_CHARS: Final = 80
MAX_LISTED: Final = 50  # blocks an error lists; the rest is counted
_OVERVIEW: Final = 6  # blocks shown of a document without headings
_DOTS = re.compile(r"[\s.…]*(?:…|\.\.\.)[\s.…]*\Z")
_OPENING = re.compile(r"(?:<!--|/\*|//|#|…|\.\.\.|[\[({<*_`])")
_ELIDED = re.compile(
    r"\b(?:rest|remainder|remaining|other|existing|previous|everything|unchanged|omitted|elided)\b"
    r".{0,60}\b(?:unchanged|same|here|omitted|elided|above|below|before|document|content|section)\b"
    r"|\b(?:unchanged|omitted|elided)\b",
    re.IGNORECASE | re.DOTALL,
)
_MAX_ELISION_CHARS: Final = 160  # a longer block says something


def check_mode(options: WriteOptions) -> None:
    """Raises UnsupportedMode for suggestions, in a verb that is decided whole or not at all."""
    if options.mode == "suggest" or options.on_conflict == "suggest":
        field = "mode" if options.mode == "suggest" else "on_conflict"
        raise UnsupportedMode(f"{field}: a restore cannot be suggested.")


def headings(present: Sequence[Present]) -> list[Heading]:
    """Top-level headings; the title is the heading's Markdown without the `#`."""
    return [
        Heading(position, block.block_id, level, block.text[level:].strip())
        for position, block in enumerate(present)
        if (level := heading_level(block.text))
    ]


def outline(present: Sequence[Present]) -> list[dict[str, Any]]:
    """Headings with section ids and sizes; of a document without any, its first blocks."""
    before = running_total(len(block.text) for block in present)
    entries: list[dict[str, Any]] = [
        msgspec.to_builtins(
            OutlineEntry(
                section.heading.block_id,
                section.heading.level,
                section.heading.title[:SNIPPET_CHARS],
                before[section.end] - before[section.start],
            )
        )
        for section in sections(headings(present), len(present))
    ]
    return entries[:MAX_LISTED] or [snippet(block) for block in present[:_OVERVIEW]]


def snippet(block: Present) -> dict[str, Any]:
    return {"anchor": block.anchor, "text": block.text[:SNIPPET_CHARS]}


def resolve(present: Sequence[Present], ref: BlockRef, field: str) -> int:
    """The position of the block a parameter names.

    Raises:
        StaleAnchor: No such block.
        StaleBlock: The anchor's hash is not that of the block as it is now.
    """
    position = locate(present, ref, field)
    block = present[position]
    if ref.hash is not None and not same(block.digest, ref.hash):
        raise StaleBlock(
            f"{field}: block {ref.block_id} changed since it had the hash {ref.hash}.",
            anchor=block.anchor,
            text=block.text,
        )
    return position


def locate(present: Sequence[Present], ref: BlockRef, field: str) -> int:
    """As `resolve`, without looking at the hash."""
    for position, block in enumerate(present):
        if block.block_id == ref.block_id:
            return position
    raise StaleAnchor(
        f"{field}: no block {ref.block_id} in the document.", outline=outline(present)
    )


def check_not_emptying(
    before: Sequence[Present], new: Sequence[NewBlock], field: str = "markdown"
) -> None:
    """Raises EmptyPatch when nothing is sent for what is not blank."""
    blank = all(is_blank(block.text) for block in new)
    if blank and not all(is_blank(block.text) for block in before):
        raise EmptyPatch(f"{field}: it is empty, and the text it stands for is not.")


def check_seen_anything(unseen: Sequence[Present], present: Sequence[Present]) -> None:
    """Raises BaseRequired when a caller without any view would change more than it adds."""
    if unseen:
        raise BaseRequired(
            "base: this would delete, replace or move blocks, and nothing says that you have seen "
            "them; without a base or anchors only insertions into the unchanged text are possible.",
            unseen=[snippet(block) for block in unseen[:MAX_LISTED]],
            unseen_blocks=len(unseen),
            outline=outline(present),
        )


def is_elision(text: str) -> bool:
    """Whether a block only stands for text its author did not write out."""
    text = text.replace("\\", "").strip()
    if len(text) > _MAX_ELISION_CHARS:
        return False
    bare = text.strip("[](){}<>*_`!-/# \n")
    if _DOTS.match(bare):
        return True
    return bool(_OPENING.match(text) and heading_level(text) == 0 and _ELIDED.search(text))


def check_no_elision(written: Iterable[NewBlock], options: WriteOptions) -> None:
    """Raises LargeDelete when a block to be written only says that something was left out."""
    elisions = [new.text for new in written if is_elision(new.text)]
    if elisions and not options.allow_large_delete:
        raise LargeDelete(
            f"markdown: {elisions[0][:SNIPPET_CHARS]!r} stands for text left out; taken literally "
            "it would replace that text. Send the text itself, or patch one section only.",
            elisions=[text[:SNIPPET_CHARS] for text in elisions],
        )


def check_large_delete(
    deleted: Sequence[Present], scope: int, options: WriteOptions, field: str = "markdown"
) -> None:
    """Raises LargeDelete when more than 5 blocks and more than a fifth of the scope would go."""
    many = len(deleted) > LARGE_DELETE_BLOCKS and len(deleted) > LARGE_DELETE_SHARE * scope
    if many and not options.allow_large_delete:
        raise LargeDelete(
            f"{field}: this would delete {len(deleted)} of {scope} blocks.",
            deletes=[snippet(block) for block in deleted[:MAX_LISTED]],
            deleted_blocks=len(deleted),
            scope_blocks=scope,
        )


def check_no_conflict(conflicts: Sequence[Conflict]) -> None:
    """Raises StaleBlock with every conflict: for callers who want all or nothing."""
    if conflicts:
        raise StaleBlock(
            f"{len(conflicts)} of the blocks this would change are not as you know them; nothing "
            "was applied.",
            conflicts=msgspec.to_builtins(list(conflicts)),
        )


def check_known(block: Present, ref: BlockRef, seen: Seen, *, reject: bool) -> None:
    """For a block named by its bare id: whether its author has seen it, with `reject` as it is now.

    Raises BaseRequired, StaleBlock.
    """
    if ref.hash is not None:
        return
    digests = seen.known.get(block.block_id, ())
    if not digests:
        raise BaseRequired(
            "base: nothing says that you have seen this block; name it by anchor, or read it.",
            unseen=[snippet(block)],
            unseen_blocks=1,
        )
    if reject and block.digest not in digests:
        raise StaleBlock(
            f"block {block.block_id} changed since you were shown it; nothing was applied.",
            anchor=block.anchor,
            text=block.text,
        )


def check_movable(moving: Sequence[str], present: Sequence[Present]) -> None:
    """Raises Busy when a block that would have to move is being typed in."""
    if moving:
        texts = {block.block_id: block for block in present}
        raise Busy(
            f"{len(moving)} of the blocks to be moved are being edited right now.",
            blocks=[snippet(texts[block_id]) for block_id in moving[:MAX_LISTED]],
            retry_after_s=10,
        )


def section_range(present: Sequence[Present], ref: BlockRef) -> tuple[int, int]:
    """The half-open range of blocks of a section, its heading included.

    Raises:
        StaleAnchor: No such block, or no heading.
        StaleBlock: Its hash is another now.
    """
    position = resolve(present, ref, "section_id")
    for section in sections(headings(present), len(present)):
        if section.start == position:
            return section.start, section.end
    raise StaleAnchor(
        f"section_id: block {ref.block_id} is no top-level heading.", outline=outline(present)
    )
