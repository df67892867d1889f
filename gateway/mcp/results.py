"""Results of documents as tool results: what goes into `content`, what into `structuredContent`.

Each of the two is written for a reader that sees only it. People's text is in one of them, by the
format asked for: `anchored` puts it into `content`, framed; `blocks` and `markdown` put it into
`structuredContent`, where JSON is the frame.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from fastmcp.tools import ToolResult
from msgspec import UNSET

from gateway.mcp.framing import frame, new_nonce
from gateway.mcp.suggestion_results import suggested_line, texts, without_texts
from gateway.mcp.thread_texts import threads_beside
from gateway.mcp.tool_result import tool_result
from shared.limits import MAX_LISTED_ANCHORS
from shared.protocol import (
    ChangedBlock,
    CreatedDocument,
    DocumentPage,
    OutlineEntry,
    ReadChangesResult,
    ReadDocumentResult,
    WriteResult,
    to_json_value,
)
from shared.protocol_history import RestoreResult
from shared.slugs import single_line


def created(result: CreatedDocument) -> ToolResult:
    lines = [
        f"Created document {result.doc_id} (slug {result.slug}).",
        f"url: {result.url}",
        f"cursor: {result.cursor}",
        _listed("blocks", [block.anchor for block in result.blocks]),
    ]
    return tool_result(lines, to_json_value(result))


def listed(page: DocumentPage) -> ToolResult:
    rows = [
        f"{row.doc_id} {row.slug} {msgspec.json.encode(row.title).decode()} {row.updated_at}"
        for row in page.documents
    ]
    more = "" if page.next is UNSET else f"More: call again with before={page.next!r}."
    count = f"{len(rows)} document{'' if len(rows) == 1 else 's'}, last changed first."
    text = frame("\n".join(rows), new_nonce()) if rows else ""
    return tool_result([count, text, more], to_json_value(page))


def document(result: ReadDocumentResult, *, anchored: bool) -> ToolResult:
    """An answer of read_document; `anchored`: its text goes into `content`."""
    structured = to_json_value(result)
    cut = f"cut; {result.total_chars} characters in all" if result.truncated else ""
    lines = [f"cursor: {result.cursor}", cut or f"{result.total_chars} characters in all"]
    if result.next_section_id is not UNSET:
        lines.append(f"next_section_id: {result.next_section_id}")
    if result.next_step is not UNSET:
        lines.append(result.next_step)
    if not anchored:
        where = [key for key in ("markdown", "blocks", "outline", "hits") if key in structured]
        lines.append(f"The text is in structuredContent: {', '.join(where) or 'nothing to show'}.")
        return tool_result(lines, structured)
    structured.pop("markdown", None)
    for key, text in (("blocks", "text"), ("hits", "snippet")):
        for entry in structured.get(key, ()):
            entry.pop(text, None)
    nonce = new_nonce()
    lines += [frame(text, nonce) for text in _read_texts(result)]
    lines += threads_beside(result.threads, structured)
    lines += _suggestions(result, structured)
    return tool_result(lines, structured)


def _suggestions(
    result: ReadDocumentResult | ReadChangesResult, structured: dict[str, Any]
) -> list[str]:
    """What people suggest, out of the data and into the text."""
    if result.suggestions is UNSET:
        return []
    without_texts(structured["suggestions"])
    return ["suggestions, not part of the text:", texts(result.suggestions)]


def _read_texts(result: ReadDocumentResult) -> list[str]:
    """What an anchored answer shows, each to be framed by itself."""
    texts = [] if result.markdown is UNSET else [result.markdown]
    if result.hits is not UNSET and result.hits:
        texts.append("\n".join(f"[{hit.anchor}] {single_line(hit.snippet)}" for hit in result.hits))
    if result.outline is not UNSET and result.outline:
        texts.append("\n".join(_heading(entry) for entry in result.outline))
    return texts


def _heading(entry: OutlineEntry) -> str:
    return f"{entry.section_id} {'#' * entry.level} {entry.title} ({entry.chars} characters)"


def changes(result: ReadChangesResult, *, anchored: bool) -> ToolResult:
    """An answer of read_changes; `anchored`: the texts go into `content`."""
    structured = to_json_value(result)
    if result.truncated:
        said = f"truncated: changes since your cursor are not known ({result.reason})."
    else:
        said = f"{len(result.blocks)} changed, {len(result.removed)} removed."
        if result.suggestions is not UNSET:
            said += f" {len(result.suggestions)} suggestions made or decided."
    if result.threads is not UNSET:
        said += f" {len(result.threads)} chats or comments changed."
    lines = [said, f"cursor: {result.cursor}", _listed("removed", result.removed)]
    if result.more:
        lines.append("more: true. Call again with this cursor for the rest.")
    if result.next_step is not UNSET:
        lines.append(result.next_step)
    if not anchored:
        if result.blocks:
            lines.append(
                'The texts are in structuredContent.blocks; format="anchored" puts them here.'
            )
        return tool_result(lines, structured)
    for entry in structured["blocks"]:
        entry.pop("text", None)
    lines += [_change(block) for block in result.blocks]
    if result.blocks:
        text = "\n\n".join(f"[{block.anchor}]\n{block.text}" for block in result.blocks)
        lines.append(frame(text, new_nonce()))
    lines += threads_beside(result.threads, structured)
    lines += _suggestions(result, structured)
    return tool_result(lines, structured)


def _change(block: ChangedBlock) -> str:
    names = msgspec.json.encode([single_line(name) for name in block.by]).decode()
    where = f"after {block.after}" if block.after else "first"
    return f"{block.anchor} {block.change}, {where}, by {names}"


def written(result: WriteResult, *, dry_run: bool) -> ToolResult:
    """An answer of patch, insert, replace, delete or restore."""
    done = f"replaced {result.replaced}, inserted {result.inserted}, deleted {result.deleted}"
    lines = [
        "Nothing was written (dry_run). It would be:" if dry_run else "",
        f"{done}, moved {result.moved}; charged {result.charged} characters.",
        _cursor_line(result),
        _listed("blocks", [block.anchor for block in result.blocks]),
        _listed("removed", result.removed),
        _undo_line(result),
        suggested_line(result),
        _listed("kept, because you have not seen them", result.kept),
    ]
    if result.remaining is not UNSET:
        left = result.remaining
        lines.append(f"remaining: {left.writes} writes, {left.chars} characters")
    structured = to_json_value(result)
    if result.conflicts:
        lines.append(
            f"{len(result.conflicts)} conflicts, not applied: decide and patch these blocks again."
        )
        lines.append(frame(msgspec.json.encode(structured["conflicts"]).decode(), new_nonce()))
    return tool_result(lines, structured)


def _undo_line(result: WriteResult) -> str:
    if not isinstance(result, RestoreResult) or result.version is UNSET:
        return ""
    return f"version: {result.version}; restoring {result.undo} undoes it."


def _cursor_line(result: WriteResult) -> str:
    if result.cursor is None:
        return "cursor: null (call read_document before you follow this document)"
    if result.behind:
        return f"cursor: {result.cursor} (others changed the document: read_changes from here)"
    return f"cursor: {result.cursor}"


def _listed(name: str, items: Iterable[str]) -> str:
    given = list(items)
    if not given:
        return ""
    rest = len(given) - MAX_LISTED_ANCHORS
    more = f" and {rest} more in structuredContent" if rest > 0 else ""
    return f"{name}: {' '.join(given[:MAX_LISTED_ANCHORS])}{more}"
