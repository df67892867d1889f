"""Two states of a document side by side: which blocks differ, and which words in them.

The words are shown in CriticMarkup, `{++added++}` and `{--removed--}`, within the Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
from msgspec import UNSET

from shared.errors import StaleAnchor
from shared.feed.change_rows import longest_run
from shared.history.states import PastBlock
from shared.history.words import Text, count_words, measure
from shared.ids import BlockRef
from shared.limits import MAX_MERGE_WORDS
from shared.patch.block_diff import between, common
from shared.protocol_history import CompareCounts, ComparedBlock
from shared.sections import Heading, heading_of, sections

_TOKEN: Final = re.compile(r"\w+|\s+|[^\w\s]")


class Compared(msgspec.Struct, frozen=True):
    """`cut`: some blocks are listed without their words."""

    counts: CompareCounts
    blocks: tuple[ComparedBlock, ...]
    cut: bool


def section_in(blocks: Sequence[PastBlock], ref: BlockRef) -> Sequence[PastBlock] | None:
    """A heading and everything under it; None: no such heading at the top level."""
    found = (heading_of(one.block.node) for one in blocks)
    headings = [
        Heading(at, blocks[at].block_id, *heading)
        for at, heading in enumerate(found)
        if heading is not None
    ]
    for section in sections(headings, len(blocks)):
        if section.heading.block_id == ref.block_id:
            return blocks[section.start : section.end]
    return None


def sections_in(
    before: Sequence[PastBlock], after: Sequence[PastBlock], ref: BlockRef
) -> tuple[Sequence[PastBlock], Sequence[PastBlock]]:
    """The section in both states; in one of them it may not be. Raises StaleAnchor."""
    was, now = section_in(before, ref), section_in(after, ref)
    if was is None and now is None:
        raise StaleAnchor(f"section_id: no heading {ref.block_id!r} in either state.")
    return was or (), now or ()


def compare(before: Sequence[PastBlock], after: Sequence[PastBlock], max_chars: int) -> Compared:
    """What became of each block. The words of at least one are given, and no more than `max_chars`
    characters of them.
    """
    listed: list[ComparedBlock] = []
    chars, cut = 0, False
    for one in _differing(before, after):
        size = len(one.diff) if isinstance(one.diff, str) else 0
        if chars and chars + size > max_chars:
            cut = True
            listed.append(msgspec.structs.replace(one, diff=UNSET))
        else:
            chars += size
            listed.append(one)
    return Compared(_counts(listed), tuple(listed), cut)


def critic(before: str, after: str) -> str:
    """`after` with what it adds to `before` and what it lacks of it marked, word by word."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    if max(len(old), len(new)) > MAX_MERGE_WORDS:
        return _marked(before, after)
    parts: list[str] = []
    at = 0
    for olds, news in between(common(old, new), len(old), len(new)):
        parts += new[at : news.start]
        gone = "".join(old[olds.start : olds.stop])
        came = "".join(new[news.start : news.stop])
        parts.append(_marked(gone, came))
        at = news.stop
    return "".join([*parts, *new[at:]])


def _marked(gone: str, came: str) -> str:
    return (f"{{--{gone}--}}" if gone else "") + (f"{{++{came}++}}" if came else "")


def _differing(before: Sequence[PastBlock], after: Sequence[PastBlock]) -> Iterator[ComparedBlock]:
    """In the order of `after`, a removed block behind the one it stood behind."""
    was = {one.block_id: one for one in before}
    places = {one.block_id: at for at, one in enumerate(before)}
    stayed = [one.block_id for one in after if one.block_id in was]
    run = longest_run([places[block_id] for block_id in stayed])
    moved = {block_id for at, block_id in enumerate(stayed) if at not in run}
    gone = _gone(before, {one.block_id for one in after})
    yield from (_removed(one) for one in gone.get(None, ()))
    for one in after:
        old = was.get(one.block_id)
        if old is None:
            yield _added(one)
        elif old.text != one.text:
            yield _changed(old, one)
        elif one.block_id in moved:
            yield ComparedBlock(one.block_id, "moved")
        yield from (_removed(each) for each in gone.get(one.block_id, ()))


def _gone(before: Sequence[PastBlock], there: set[str]) -> dict[str | None, list[PastBlock]]:
    """Blocks that are gone, by the nearest one before them that is not."""
    found: dict[str | None, list[PastBlock]] = {}
    last: str | None = None
    for one in before:
        if one.block_id in there:
            last = one.block_id
        else:
            found.setdefault(last, []).append(one)
    return found


def _added(new: PastBlock) -> ComparedBlock:
    words = count_words([new.block.node])
    return ComparedBlock(new.block_id, "added", words, 0, _marked("", new.text))


def _removed(old: PastBlock) -> ComparedBlock:
    words = count_words([old.block.node])
    return ComparedBlock(old.block_id, "removed", 0, words, _marked(old.text, ""))


def _changed(old: PastBlock, new: PastBlock) -> ComparedBlock:
    found = measure([Text(old.block.node, old.text)], [Text(new.block.node, new.text)])
    added, removed = (found.words_added, found.words_removed) if found else (None, None)
    return ComparedBlock(new.block_id, "changed", added, removed, critic(old.text, new.text))


def _counts(blocks: Sequence[ComparedBlock]) -> CompareCounts:
    kinds = [one.change for one in blocks]
    return CompareCounts(
        added=kinds.count("added"),
        removed=kinds.count("removed"),
        changed=kinds.count("changed"),
        moved=kinds.count("moved"),
        words_added=sum(one.words_added or 0 for one in blocks),
        words_removed=sum(one.words_removed or 0 for one in blocks),
    )
