"""Results of events and of the roster as tool results.

An event is made of ids; the names of people and agents, and what agents say they are doing, are
framed in `content` and nowhere else.
"""

from __future__ import annotations

import msgspec
from fastmcp.tools import ToolResult
from msgspec import UNSET

from gateway.mcp.framing import frame, new_nonce
from gateway.mcp.tool_result import tool_result
from shared.protocol import to_json_value
from shared.protocol_events import Event, ReadEventsResult, RosterResult

_TEXTS = ("name", "status")


def events(result: ReadEventsResult) -> ToolResult:
    """An answer of read_events."""
    structured = to_json_value(result)
    for one in structured["events"]:
        del one["by"]
    count = len(result.events)
    lines = [
        f"cursor: {result.cursor}",
        f"{count} event{'' if count == 1 else 's'}.",
        "" if result.next_step is UNSET else result.next_step,
    ]
    if result.events:
        lines.append(frame("\n".join(map(_row, result.events)), new_nonce()))
    return tool_result(lines, structured)


def roster(result: RosterResult) -> ToolResult:
    """An answer of join and leave."""
    structured = to_json_value(result)
    for one in structured["agents"]:
        for text in _TEXTS:
            del one[text]
    rows = [
        f"{_quoted(one.name)} {_quoted(one.status)}{' (you)' if one.you else ''}"
        for one in result.agents
    ]
    count = f"{len(rows)} agent{'' if len(rows) == 1 else 's'} on this document."
    text = frame("\n".join(rows), new_nonce()) if rows else ""
    return tool_result([f"cursor: {result.cursor}", count, text], structured)


def _row(event: Event) -> str:
    about = to_json_value(event)
    for known in ("seq", "type", "at", "by"):
        del about[known]
    said = f" {_quoted(about)}" if about else ""
    return f"{event.at} {event.type} by {_quoted(event.by)}{said}"


def _quoted(value: object) -> str:
    return msgspec.json.encode(value).decode()
