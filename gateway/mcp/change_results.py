"""What changed, as tool results: what people wrote is in `content` alone, and framed."""

from __future__ import annotations

import msgspec
from fastmcp.tools import ToolResult

from gateway.digest import Digest
from gateway.mcp.framing import frame, new_nonce
from gateway.mcp.tool_result import tool_result
from gateway.what_changed import ToldChanges
from shared.limits import MAX_DIGEST
from shared.protocol import to_json_value
from shared.slugs import single_line


def what_changed(told: ToldChanges) -> ToolResult:
    """An answer of get_changes: what people wrote is in `content` alone."""
    people = frame(told.people, new_nonce()) if told.people else ""
    return tool_result([*told.before, people, *told.after], to_json_value(told.result))


def digest(found: Digest) -> ToolResult:
    """An answer of list_changes."""
    result = found.result()
    rows = [
        f"{one.slug} {msgspec.json.encode(single_line(found.titles[one.slug])).decode()}"
        f" +{one.counts.words_added} -{one.counts.words_removed} words, since {one.since}"
        for one in result.documents
    ]
    said = f"{len(rows)} changed, {result.unchanged} unchanged"
    if result.never_opened:
        said += f", {result.never_opened} that you never opened in an editor"
    failed = [f"{one.slug} ({one.code})" for one in result.failed]
    lines = [
        f"{said}.",
        frame("\n".join(rows), new_nonce()) if rows else "",
        f"could not be asked: {' '.join(failed)}" if failed else "",
        f"Only the {MAX_DIGEST} documents last changed were looked at." if result.more else "",
        "get_changes tells what changed in one." if rows else "",
    ]
    return tool_result(lines, to_json_value(result))
