"""Which tools a caller is shown: those its token can use.

Hiding is a courtesy to the model's attention. A hidden tool that is called all the same answers
`capability_denied`, which says what is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import Tool

from gateway.auth import mcp_caller
from shared.protocol import Caller

READER: Final = frozenset({"list_documents", "read_document", "read_changes"})
AUTHOR: Final = READER | {"create_document", "patch", "insert", "replace", "delete"}


class HideUnusable(Middleware):
    """Takes tools out of `tools/list` that no scope of the caller allows."""

    def __init__(self, *, no_auth: bool) -> None:
        self._no_auth = no_auth

    async def on_list_tools(
        self, context: MiddlewareContext[Any], call_next: CallNext[Any, Sequence[Tool]]
    ) -> Sequence[Tool]:
        tools = await call_next(context)
        shown = profile(mcp_caller(no_auth=self._no_auth))
        return [tool for tool in tools if tool.name in shown]


def profile(caller: Caller) -> frozenset[str]:
    """Names of the tools the caller's token can use."""
    return AUTHOR if caller.scopes & {"write", "admin"} else READER
