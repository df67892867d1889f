"""The tools that write without sending text back: edits of quoted text, and moves."""

from __future__ import annotations

from fastmcp.tools import ToolResult

from gateway.mcp.context import ToolContext
from gateway.mcp.types import (
    Conflicts,
    Cursor,
    DocumentRef,
    Edits,
    Flag,
    Key,
    OptionalBlock,
    Place,
    Section,
    WriteMode,
)
from gateway.mcp.writing_tools import write
from shared.access import to_write
from shared.errors import InvalidArgument
from shared.ids import BlockRef
from shared.protocol import MoveRequest, ReplaceTextRequest, WriteOptions


class QuotingTools:
    """Small changes at the price of what changes."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context

    async def replace_text(
        self,
        *,
        doc_id: DocumentRef,
        edits: Edits,
        section_id: Section = None,
        base: Cursor = None,
        mode: WriteMode = "apply",
        on_conflict: Conflicts = None,
        dry_run: Flag = False,
        idempotency_key: Key = None,
    ) -> ToolResult:
        """Replace quoted text; the shortest way to fix a word or add a table row.

        Needs no reading before. Each old_text must occur exactly once in the document (with
        section_id: under that heading; with anchor: in that block), within one block; it may span
        lines of it. Quote Markdown as read_document shows it; plain text is found too, also with
        other spaces, quotes or escapes. All edits are made or none: find_not_matched and not_unique
        say what is like it, or where it occurs.

        Example: replace_text(doc_id="q3-plan", edits=[{"old_text": "recieve", "new_text":
        "receive"}])
        """
        caller = self._context.caller(to_write(mode))
        options = WriteOptions(base, mode, on_conflict, dry_run, False, idempotency_key)
        request = ReplaceTextRequest(edits, section_id, options)
        return await write(self._context, caller, doc_id, "replace_text", request)

    async def move(
        self,
        *,
        doc_id: DocumentRef,
        after: Place,
        block: OptionalBlock = None,
        section_id: Section = None,
        base: Cursor = None,
        mode: WriteMode = "apply",
        on_conflict: Conflicts = None,
        dry_run: Flag = False,
        idempotency_key: Key = None,
    ) -> ToolResult:
        """Move a block, or with section_id a heading and everything under it, right behind another
        block, or to "start" or "end".

        Ids stay. A section moved behind a heading with text goes behind all of that heading's
        section. busy: somebody is typing there; try again.

        Example: move(doc_id="q3-plan", section_id="k3x9d2ab", after="end")
        """
        caller = self._context.caller(to_write(mode))
        options = WriteOptions(base, mode, on_conflict, dry_run, False, idempotency_key)
        request = move_request(block, section_id, after, options)
        return await write(self._context, caller, doc_id, "move", request)


def move_request(
    block: BlockRef | None, section_id: BlockRef | None, after: Place, options: WriteOptions
) -> MoveRequest:
    """Raises InvalidArgument unless exactly one of `block` and `section_id` is given."""
    what = block or section_id
    if what is None or (block and section_id):
        raise InvalidArgument("block: give block or section_id, one of them.", field="block")
    return MoveRequest(what, after, section_id is not None, options)
