"""The tools that read one document."""

from __future__ import annotations

from fastmcp.tools import ToolResult

from gateway.mcp import results as tool_results
from gateway.mcp.context import ToolContext
from gateway.mcp.types import (
    ChangesAs,
    Cursor,
    DocumentRef,
    Find,
    Flag,
    MaxChars,
    ReadAs,
    Section,
    Settle,
    Wait,
    WhichThreads,
    Whose,
)
from gateway.mcp.waiting import ChangesWait
from shared.limits import DEFAULT_READ_CHARS, DEFAULT_SETTLE_S
from shared.protocol import ReadChangesRequest, ReadDocumentRequest, ReadDocumentResult


class ReadingTools:
    """Reading a document, and following it."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context

    async def read_document(
        self,
        *,
        doc_id: DocumentRef,
        section_id: Section = None,
        find: Find = None,
        outline: Flag = False,
        format: ReadAs = "anchored",  # noqa: A002  the tool's argument is named so
        max_chars: MaxChars = None,
        threads: WhichThreads = "open",
        suggestions: Whose = "mine",
    ) -> ToolResult:
        """Read a document, and get the cursor from which read_changes goes on.

        format: anchored (Markdown with a line [anchor] above each block; patch takes it back),
        markdown, blocks. section_id: only that heading and what is under it. find: up to 20 places
        where a text occurs, instead of the text. outline: headings with sizes only. A long document
        is cut at max_chars (default 40000): read on with next_section_id. Read before you patch:
        what you have not seen is not deleted or replaced. threads: chats and comments to show
        beside it. suggestions: open ones to list.

        Example: read_document(doc_id="q3-plan")
        """
        caller = self._context.caller("read")
        request = ReadDocumentRequest(
            section_id=section_id,
            find=find,
            outline=outline,
            format=format,
            max_chars=max_chars or DEFAULT_READ_CHARS,
            threads=threads,
            suggestions=suggestions,
        )
        result: ReadDocumentResult = await self._context.router.call(
            doc_id, "read_document", caller, request
        )
        return tool_results.document(result, anchored=format == "anchored")

    async def read_changes(
        self,
        *,
        doc_id: DocumentRef,
        cursor: Cursor = None,
        wait_s: Wait = 0.0,
        settle_s: Settle = None,
        max_chars: MaxChars = None,
        exclude_self: Flag = False,
        format: ChangesAs = "blocks",  # noqa: A002  the tool's argument is named so
    ) -> ToolResult:
        """What changed since a cursor of read_document, read_changes or a write.

        To keep a copy in step: delete the blocks in removed; take out every listed block; put each
        listed block, in the order listed, right after its `after` (null: first). more: true means
        the answer was cut; call again with its cursor. truncated: true means call read_document.
        wait_s (up to 50): hold until something changes, then answer when it has been quiet for
        settle_s (default 3). exclude_self leaves your own edits out; your copy then lacks them.

        Example: read_changes(doc_id="q3-plan", cursor=1048622, wait_s=50)
        """
        caller = self._context.caller("read")
        request = ReadChangesRequest(
            cursor=cursor,
            max_chars=max_chars or DEFAULT_READ_CHARS,
            exclude_self=exclude_self,
            format=format,
        )
        wait = ChangesWait(self._context.router, self._context.held, doc_id, caller, request)
        result = await wait.answer(wait_s, DEFAULT_SETTLE_S if settle_s is None else settle_s)
        return tool_results.changes(result, anchored=format == "anchored")
