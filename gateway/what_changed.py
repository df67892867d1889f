"""What changed in documents, as MCP and REST tell it.

A document knows what changed and not where it is to be found: the links are made here. Texts that
people wrote (headings, passages, names) are in `told` alone, never in the data beside it.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import UNSET

from gateway.links import section_url
from gateway.mcp.context import ToolContext
from shared.access import person_of
from shared.directory_protocol import DocumentRow
from shared.history.changes import BlockChange, ChangeCounts, SectionChange
from shared.history.people import people_line
from shared.limits import DEFAULT_READ_CHARS
from shared.protocol import Caller
from shared.protocol_changes import (
    ChangedBlockRow,
    ChangedSection,
    FoundChanges,
    GetChangesRequest,
    GetChangesResult,
)
from shared.times import iso


class ToldChanges(msgspec.Struct, frozen=True):
    """An answer of get_changes: the data, and lines to read.

    Attributes:
        before, after: What we say ourselves.
        people: What people wrote, to be framed; empty: nothing.
    """

    result: GetChangesResult
    before: tuple[str, ...]
    people: str
    after: tuple[str, ...]

    @property
    def text(self) -> str:
        """All of it, for where JSON is the frame."""
        return "\n".join((*self.before, *filter(None, (self.people,)), *self.after))


async def get_changes(
    context: ToolContext, ref: str, caller: Caller, request: GetChangesRequest
) -> ToldChanges:
    """What changed in one document. The slug is the catalog's, whatever it was asked by."""
    found: FoundChanges = await context.router.call(ref, "get_changes", caller, request)
    row: DocumentRow = await context.router.directory("describe", ref)
    return told(found, row.slug, context.base_url, caller, by_block=request.detail == "blocks")


def told(
    found: FoundChanges, slug: str, base_url: str, caller: Caller, *, by_block: bool
) -> ToldChanges:
    """What a document found, as it is told."""
    changes = found.changes
    sections = tuple(_section(one, slug, base_url) for one in changes.sections)
    result = GetChangesResult(
        slug=slug,
        since=iso(found.since),
        head_at=None if found.head_at is None else iso(found.head_at),
        from_last_left=found.from_last_left,
        changed=changes.counts.any,
        counts=changes.counts,
        sections=sections,
        blocks=tuple(map(_block, changes.blocks)) if by_block else UNSET,
    )
    lines = [people_line(found.editors, person_of(caller))]
    lines += (_row(*pair) for pair in zip(changes.sections, sections, strict=True))
    lines += _blocks(changes.blocks)
    return ToldChanges(
        result,
        (_summary(changes.counts), _window(found)),
        "\n".join(line for line in lines if line),
        tuple(_rest(found)),
    )


def _section(change: SectionChange, slug: str, base_url: str) -> ChangedSection:
    assert change.section_id is not None, "what has a name has a heading"
    there = None if change.status == "removed" else change.section_id
    return ChangedSection(
        change.section_id,
        change.status,
        change.words_added,
        change.words_removed,
        section_url(base_url, slug, there),
    )


def _block(change: BlockChange) -> ChangedBlockRow:
    return ChangedBlockRow(
        change.block_id,
        change.section_id,
        change.status,
        change.words_added,
        change.words_removed,
    )


def _summary(counts: ChangeCounts) -> str:
    if not counts.any:
        return f"Nothing changed; versions saved: {counts.versions}."
    return (
        f"Sections: {counts.added} added, {counts.removed} removed, {counts.changed} changed,"
        f" {counts.moved} moved. Words: {counts.words_added} added,"
        f" {counts.words_removed} removed. Versions saved: {counts.versions}."
    )


def _window(found: FoundChanges) -> str:
    said = f"Since {iso(found.since)}"
    if found.from_last_left:
        said += ", when you last left this document"
    if found.compared_at is not None and found.compared_at != found.since:
        said += f", compared with the state of {iso(found.compared_at)}"
    return f"{said}."


def _row(change: SectionChange, told_as: ChangedSection) -> str:
    parts = [f"{change.status}{_words(change)}: {_quoted(change.title)}"]
    if change.excerpt:
        parts.append(f"new: {_quoted(change.excerpt)}")
    if change.removed_excerpt:
        parts.append(f"gone: {_quoted(change.removed_excerpt)}")
    parts.append(f"section_id {told_as.section_id}, {told_as.url}")
    return "; ".join(parts)


def _blocks(changes: tuple[BlockChange, ...]) -> Iterator[str]:
    """Each block with its text, as far as there is room for it."""
    room = DEFAULT_READ_CHARS
    for change in changes:
        yield f"[{change.block_id}] {change.status}{_words(change)}"
        room -= len(change.text)
        if room >= 0:
            yield change.text


def _words(change: SectionChange | BlockChange) -> str:
    if change.words_added is None:
        return ""
    return f" (+{change.words_added} -{change.words_removed} words)"


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()


def _rest(found: FoundChanges) -> Iterator[str]:
    changes = found.changes
    if changes.left_out:
        yield (
            f"{changes.left_out} more sections changed and are left out here; read them with"
            " read_document and section_id."
        )
    if changes.blocks_left_out:
        yield f"{changes.blocks_left_out} more blocks changed and are left out here."
    if sum(len(block.text) for block in changes.blocks) > DEFAULT_READ_CHARS:
        yield "Blocks without a text here are to be read with read_document."
    if found.head_at is None:
        yield "Nothing has been saved yet."
    else:
        yield f"Up to the last save at {iso(found.head_at)}. read_document has the text of now."
