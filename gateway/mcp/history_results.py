"""Results of a document's history as tool results.

Names of versions and of people are framed like every text people wrote, and stand in the data as
JSON strings; the texts of a comparison and of a version are in `content` alone.
"""

from __future__ import annotations

import msgspec
from fastmcp.tools import ToolResult
from msgspec import UNSET

from gateway.mcp.framing import frame, new_nonce
from gateway.mcp.tool_result import tool_result
from shared.protocol import to_json_value
from shared.protocol_history import (
    ComparedBlock,
    ComparedState,
    CompareResult,
    ListVersionsResult,
    ReadVersionResult,
    Version,
)


def versions(result: ListVersionsResult) -> ToolResult:
    """An answer of list_versions."""
    rows = [_row(version) for version in result.versions]
    count = f"{len(rows)} version{'' if len(rows) == 1 else 's'}, newest first."
    more = "" if result.next is UNSET else f"More: call again with before={result.next!r}."
    text = frame("\n".join(rows), new_nonce()) if rows else ""
    return tool_result([count, text, more], to_json_value(result))


def saved(version: Version) -> ToolResult:
    """An answer of save_version."""
    lines = [f"version: {version.version}", frame(_row(version), new_nonce())]
    return tool_result(lines, to_json_value(version))


def version(result: ReadVersionResult) -> ToolResult:
    """An answer of read_version; its text goes into `content`."""
    structured = to_json_value(result)
    structured.pop("markdown")
    cut = "cut; " if result.truncated else ""
    lines = [
        f"{result.version} of {result.at}: {cut}{result.total_chars} characters in all",
        "" if result.next_step is UNSET else result.next_step,
        frame(result.markdown, new_nonce()),
    ]
    return tool_result(lines, structured)


def compared(result: CompareResult) -> ToolResult:
    """An answer of compare; its texts go into `content`."""
    structured = to_json_value(result)
    for block in structured["blocks"]:
        block.pop("diff", None)
    counts = result.counts
    blocks = f"{counts.added} added, {counts.removed} removed, {counts.changed} changed"
    words = f"{counts.words_added} added, {counts.words_removed} removed"
    lines = [
        f"From {_state(result.since)} to {_state(result.until)}:",
        f"blocks: {blocks}, {counts.moved} moved; words: {words}.",
        "" if result.next_step is UNSET else f"cut. {result.next_step}",
    ]
    texts = [_block(block) for block in result.blocks]
    if texts:
        lines.append(frame("\n\n".join(texts), new_nonce()))
    return tool_result(lines, structured)


def _row(version: Version) -> str:
    name = "" if version.name is UNSET else f" {msgspec.json.encode(version.name).decode()}"
    by = "" if version.by is UNSET else f" by {msgspec.json.encode(version.by).decode()}"
    put_back = "" if version.restored is UNSET else f" {version.restored}"
    return f"{version.version} {version.at} {version.kind}{put_back}{name}{by}"


def _state(state: ComparedState) -> str:
    return state.at if state.version is UNSET else f"{state.at} ({state.version})"


def _block(block: ComparedBlock) -> str:
    head = f"[{block.block_id}] {block.change}"
    return head if block.diff is UNSET else f"{head}\n{block.diff}"
