"""Which tools a caller is shown: those its token can use, or fewer by `?profile=` in the address.

Hiding is a courtesy to the model's attention. A hidden tool that is called all the same answers
`capability_denied`, which says what is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from fastmcp.server.dependencies import get_http_request
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import Tool
from mcp import MCPError
from mcp_types import INVALID_PARAMS

from gateway.auth import mcp_caller
from shared.protocol import Caller

READER: Final = frozenset({"list_documents", "read_document", "read_changes"})
AUTHOR: Final = READER | {
    "create_document",
    "replace_text",
    "patch",
    "insert",
    "replace",
    "delete",
    "move",
}
PROFILES: Final = {"reader": READER, "author": AUTHOR}


class HideUnusable(Middleware):
    """Takes tools out of `tools/list` that no scope of the caller allows."""

    def __init__(self, *, no_auth: bool) -> None:
        self._no_auth = no_auth

    async def on_list_tools(
        self, context: MiddlewareContext[Any], call_next: CallNext[Any, Sequence[Tool]]
    ) -> Sequence[Tool]:
        tools = await call_next(context)
        shown = profile(mcp_caller(no_auth=self._no_auth)) & _asked_for()
        return [tool for tool in tools if tool.name in shown]


def profile(caller: Caller) -> frozenset[str]:
    """Names of the tools the caller's token can use."""
    return AUTHOR if caller.scopes & {"write", "admin"} else READER


def _asked_for() -> frozenset[str]:
    """The profile the address names; all tools when it names none."""
    try:
        name = get_http_request().query_params.get("profile", "author")
    except RuntimeError:  # not over HTTP
        return AUTHOR
    if name not in PROFILES:
        raise MCPError(INVALID_PARAMS, f"profile: must be one of {', '.join(PROFILES)}.")
    return PROFILES[name]
