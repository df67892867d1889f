"""Suggestions as tool results: what people wrote of them is framed in `content`.

In the data stands what they are: ids, kinds, places. Their texts and notes are there only in
answers whose document text is there, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from fastmcp.tools import ToolResult
from msgspec import UNSET

from gateway.mcp.framing import frame, new_nonce
from gateway.mcp.tool_result import tool_result
from shared.protocol import WriteResult, to_json_value
from shared.protocol_suggestions import DecideResult, ListSuggestionsResult
from shared.slugs import single_line
from shared.suggestions.info import TEXTS, SuggestionInfo


def suggested(result: WriteResult, *, dry_run: bool) -> ToolResult:
    """An answer of suggest."""
    left = result.remaining
    lines = [
        f"Nothing was suggested (dry_run). It would cost {result.charged}." if dry_run else "",
        suggested_line(result),
        "" if result.cursor is None else f"cursor: {result.cursor}",
        "" if left is UNSET else f"remaining: {left.writes} writes, {left.chars} characters",
    ]
    return tool_result(lines, to_json_value(result))


def suggested_line(result: WriteResult) -> str:
    """Which suggestions a write made; empty: none."""
    if result.suggestions is UNSET:
        return ""
    many = len(result.suggestions)
    return (
        f"{many} suggestion{'' if many == 1 else 's'} in group {result.group}: "
        f"{' '.join(result.suggestions)}"
    )


def listed(result: ListSuggestionsResult) -> ToolResult:
    """An answer of list_suggestions."""
    structured = to_json_value(result)
    without_texts(structured["suggestions"])
    many = len(result.suggestions)
    more = "" if result.next is UNSET else f"More: call again with after={result.next!r}."
    lines = [f"{many} suggestion{'' if many == 1 else 's'}.", texts(result.suggestions), more]
    return tool_result(lines, structured)


def decided(result: DecideResult, *, dry_run: bool) -> ToolResult:
    """An answer of decide_suggestion."""
    done = [f"{one.id} {one.status}" for one in result.decided]
    by = sorted({single_line(one.by) for one in result.decided})
    changed = f"replaced {result.replaced}, inserted {result.inserted}, deleted {result.deleted}"
    lines = [
        "Nothing was decided (dry_run). The text would be changed so:" if dry_run else "",
        f"{', '.join(done)}; made by {msgspec.json.encode(by).decode()}.",
        f"{changed}, moved {result.moved}.",
        "" if result.cursor is None else f"cursor: {result.cursor}",
        "others changed the document: read_changes from here" if result.behind else "",
    ]
    structured = to_json_value(result)
    wrote = [block for block in structured["blocks"] if "text" in block]
    if wrote:
        text = "\n\n".join(f"[{block['anchor']}]\n{block.pop('text')}" for block in wrote)
        lines.append(frame(text, new_nonce()))
    return tool_result(lines, structured)


def texts(suggestions: Sequence[SuggestionInfo]) -> str:
    """What people wrote of suggestions, framed; empty: there are none."""
    if not suggestions:
        return ""
    return frame("\n\n".join(map(_shown, suggestions)), new_nonce())


def _shown(one: SuggestionInfo) -> str:
    named = msgspec.json.encode(single_line(one.by)).decode()
    head = f"{one.id} of {one.group}: {one.status} {one.kind}{_place(one)} by {named}"
    parts = [head + (" (cut)" if one.cut is True else "")]
    if one.decided_by is not UNSET:
        who = msgspec.json.encode(single_line(one.decided_by)).decode()
        parts.append(f"{one.status} by {who}")
    for name, text in (("old", one.old), ("new", one.new), ("note", one.note)):
        if text is not UNSET:
            parts.append(f"{name}: {text}")
    return "\n".join(parts)


def _place(one: SuggestionInfo) -> str:
    where = "" if one.anchor is UNSET else f" [{one.anchor}]"
    if one.after is UNSET:
        return where
    return f"{where} first" if one.after is None else f"{where} after {one.after}"


def without_texts(told: Sequence[dict[str, Any]]) -> None:
    """Takes what people wrote out of the data of suggestions."""
    for one in told:
        for key in TEXTS:
            one.pop(key, None)
