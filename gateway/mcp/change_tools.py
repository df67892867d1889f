"""The tools that say what changed since somebody last looked."""

from __future__ import annotations

from fastmcp.tools import ToolResult

from gateway.digest import Digest
from gateway.mcp.change_results import digest, what_changed
from gateway.mcp.context import ToolContext
from gateway.mcp.types import Cursor, Detailed, DocumentRef, Moment, Words
from gateway.what_changed import get_changes
from shared.protocol_changes import GetChangesRequest


class ChangeTools:
    """For the person who comes back: what others did meanwhile."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context

    async def get_changes(
        self,
        *,
        slug: DocumentRef,
        since: Moment = None,
        since_version: Words = None,
        since_cursor: Cursor = None,
        detail: Detailed = "sections",
    ) -> ToolResult:
        """What changed in a document since you last left it, up to the last save.

        Sections that came, went, changed or moved, with words added and removed, a passage of each
        and a link; and who edited. "You" are the person your token belongs to, who last left when
        they closed it in their editor. Never opened there: give since, or since_version or
        since_cursor. detail="blocks": also which blocks, with their texts. To follow a document
        while you work use read_changes.

        Example: get_changes(slug="launch-plan")
        """
        caller = self._context.caller("read")
        request = GetChangesRequest(since, since_version, since_cursor, detail)
        told = await get_changes(self._context, slug, caller, request)
        return what_changed(told)

    async def list_changes(self, *, since: Moment = None) -> ToolResult:
        """Which of your documents changed since you last left each, and how much.

        Without since, documents you never opened in an editor are only counted. get_changes tells
        what changed in one.

        Example: list_changes(since="2026-03-31T09:00:00+02:00")
        """
        caller = self._context.caller("read")
        return digest(await Digest.of(self._context, caller, since))
