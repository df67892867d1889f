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
from shared.access import NEEDS, SUGGESTABLE, allows
from shared.protocol import Caller, Scope

FOLLOWING: Final = frozenset({"read_events", "join", "leave"})
VERSIONS: Final = frozenset({"list_versions", "read_version", "save_version", "restore"})
READER: Final = frozenset(
    {"list_documents", "read_document", "read_changes", "get_changes", "list_changes", "compare"}
    | {"list_chats", "read_chat"}
)
AUTHOR: Final = READER | {
    "create_document",
    "replace_text",
    "patch",
    "insert",
    "replace",
    "delete",
    "move",
    "post_chat_message",
    "reply",
}
REVIEWER: Final = AUTHOR | {
    "suggest",
    "list_suggestions",
    "decide_suggestion",
    "resolve_thread",
}
FULL: Final = REVIEWER | {"edit_message", "delete_message"} | VERSIONS | FOLLOWING
PROFILES: Final = {"reader": READER, "author": AUTHOR, "reviewer": REVIEWER, "full": FULL}
# Tools that are no verb of one document; the others need what the document asks for.
_OF_NO_DOCUMENT: Final[dict[str, Scope]] = {
    "create_document": "write",
    "list_documents": "read",
    "list_changes": "read",
}
_NEEDS: Final = NEEDS | _OF_NO_DOCUMENT


class HideUnusable(Middleware):
    """Takes tools out of `tools/list` that no scope of the caller allows."""

    def __init__(self, *, no_auth: bool) -> None:
        self._no_auth = no_auth

    async def on_list_tools(
        self, context: MiddlewareContext[Any], call_next: CallNext[Any, Sequence[Tool]]
    ) -> Sequence[Tool]:
        tools = await call_next(context)
        caller = mcp_caller(no_auth=self._no_auth)
        shown = profile(caller) & _asked_for(caller)
        return [tool for tool in tools if tool.name in shown]


def profile(caller: Caller) -> frozenset[str]:
    """Names of the tools the caller's token can use, be it only to suggest."""
    return frozenset(
        name
        for name in FULL
        if allows(caller, _NEEDS[name]) or (name in SUGGESTABLE and allows(caller, "suggest"))
    )


def usual(caller: Caller) -> str:
    """The profile of a token that asks for none: what such a token is mostly for."""
    if "admin" in caller.scopes:
        return "full"
    if "write" in caller.scopes:
        return "author"
    if "suggest" in caller.scopes:
        return "reviewer"
    return "author" if "comment" in caller.scopes else "reader"


def _asked_for(caller: Caller) -> frozenset[str]:
    """The profile the address names, or the usual one."""
    name = usual(caller)
    try:
        name = get_http_request().query_params.get("profile", name)
    except RuntimeError:  # not over HTTP
        return PROFILES[name]
    if name not in PROFILES:
        raise MCPError(INVALID_PARAMS, f"profile: must be one of {', '.join(PROFILES)}.")
    return PROFILES[name]
