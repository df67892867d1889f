"""A tool's answer of one text item and the data beside it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import mcp_types
from fastmcp.tools import ToolResult


def tool_result(lines: Iterable[str], structured: dict[str, Any]) -> ToolResult:
    """One text item and the data beside it."""
    text = "\n".join(line for line in lines if line)
    return ToolResult(
        content=[mcp_types.TextContent(type="text", text=text)], structured_content=structured
    )
