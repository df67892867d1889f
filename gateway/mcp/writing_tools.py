"""The tools that write one document."""

from __future__ import annotations

from typing import Annotated, Literal

from fastmcp.tools import ToolResult
from pydantic import Field

from gateway.mcp import results as tool_results
from gateway.mcp.context import ToolContext, read_markdown
from gateway.mcp.types import (
    After,
    Block,
    Blocks,
    Conflicts,
    Cursor,
    DocumentRef,
    Flag,
    Key,
    Markdown,
    OptionalBlock,
    OptionalBlocks,
    Section,
    WriteMode,
)
from shared.access import to_write
from shared.calls import WriteVerb
from shared.protocol import (
    Caller,
    DeleteRequest,
    InsertRequest,
    PatchRequest,
    ReplaceRequest,
    WriteOptions,
    WriteRequest,
    WriteResult,
)
from shared.protocol_history import RestoreRequest


class WritingTools:
    """Writing by whole text, and by naming blocks."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context

    async def patch(
        self,
        *,
        doc_id: DocumentRef,
        markdown: Markdown,
        anchors: OptionalBlocks = (),
        section_id: Section = None,
        base: Cursor = None,
        mode: WriteMode = "apply",
        on_conflict: Conflicts = None,
        dry_run: Flag = False,
        allow_large_delete: Flag = False,
        idempotency_key: Key = None,
    ) -> ToolResult:
        r"""Send a document as it should read (with section_id: that section); the smallest edit
        that makes it so is applied.

        Send back what read_document showed, changed where you want it, [anchor] lines included.
        base: the cursor you read at. Blocks you did not see stay (kept). on_conflict, where others
        changed the same block: merge (default) merges word by word and lists in conflicts what does
        not merge; reject refuses all. anchors: blocks that must be unchanged. dry_run shows what
        would happen.

        Example: patch(doc_id="q3-plan", markdown="# Plan\n\nSecond draft.", base=1048622)
        """
        caller = self._context.caller(to_write(mode))
        parsed = await read_markdown(markdown)
        options = WriteOptions(
            base, mode, on_conflict, dry_run, allow_large_delete, idempotency_key
        )
        request = PatchRequest(parsed.blocks, anchors, section_id, options, parsed.fidelity)
        return await write(self._context, caller, doc_id, "patch", request)

    async def insert(
        self,
        *,
        doc_id: DocumentRef,
        markdown: Markdown,
        after: After = "end",
        base: Cursor = None,
        mode: WriteMode = "apply",
        on_conflict: Conflicts = None,
        dry_run: Flag = False,
        idempotency_key: Key = None,
    ) -> ToolResult:
        """Insert Markdown as new blocks after a block, or at "start" or "end" of the document.

        Needs no reading before. The answer has the anchors of the new blocks. With idempotency_key
        a repeated call inserts once.

        Example: insert(doc_id="q3-plan", after="k3x9d2ab", markdown="- one more point")
        """
        caller = self._context.caller(to_write(mode))
        parsed = await read_markdown(markdown)
        options = WriteOptions(base, mode, on_conflict, dry_run, False, idempotency_key)
        request = InsertRequest(parsed.blocks, after, options, parsed.fidelity)
        return await write(self._context, caller, doc_id, "insert", request)

    async def replace(
        self,
        *,
        doc_id: DocumentRef,
        start: Annotated[Block, Field(alias="from")],
        markdown: Markdown,
        to: OptionalBlock = None,
        base: Cursor = None,
        mode: WriteMode = "apply",
        on_conflict: Conflicts = None,
        dry_run: Flag = False,
        idempotency_key: Key = None,
    ) -> ToolResult:
        """Replace the block `from`, or the blocks `from` to `to`, by Markdown.

        Name blocks by anchor: an anchor whose block has changed since is refused (stale_block) and
        the present text is shown. Empty markdown deletes the range.

        Example: replace(doc_id="q3-plan", from="k3x9d2ab-1f09c3", markdown="Better words.")
        """
        caller = self._context.caller(to_write(mode))
        parsed = await read_markdown(markdown)
        options = WriteOptions(base, mode, on_conflict, dry_run, False, idempotency_key)
        request = ReplaceRequest(start, to, parsed.blocks, options, parsed.fidelity)
        return await write(self._context, caller, doc_id, "replace", request)

    async def delete(
        self,
        *,
        doc_id: DocumentRef,
        blocks: Blocks,
        base: Cursor = None,
        mode: WriteMode = "apply",
        on_conflict: Conflicts = None,
        dry_run: Flag = False,
        idempotency_key: Key = None,
    ) -> ToolResult:
        """Delete blocks, named by anchor (or by id, when you have read them).

        The last block of a document becomes an empty paragraph.

        Example: delete(doc_id="q3-plan", blocks=["k3x9d2ab-1f09c3"])
        """
        caller = self._context.caller(to_write(mode))
        options = WriteOptions(base, mode, on_conflict, dry_run, False, idempotency_key)
        request = DeleteRequest(blocks, options)
        return await write(self._context, caller, doc_id, "delete", request)


async def write(
    context: ToolContext,
    caller: Caller,
    doc_id: str,
    verb: WriteVerb | Literal["restore"],
    request: WriteRequest | RestoreRequest,
) -> ToolResult:
    """One verb that writes, and its answer for an agent."""
    result: WriteResult = await context.router.call(doc_id, verb, caller, request)
    return tool_results.written(result, dry_run=request.options.dry_run)
