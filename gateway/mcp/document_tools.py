"""The tools about documents as a whole."""

from __future__ import annotations

from fastmcp.tools import ToolResult
from msgspec import UNSET

from gateway.mcp import results as tool_results
from gateway.mcp.context import ToolContext, read_markdown
from gateway.mcp.types import Key, Limit, OptionalMarkdown, Words
from shared.directory_protocol import Created, DocumentRows
from shared.limits import DEFAULT_LIST
from shared.protocol import DocumentPage


class DocumentTools:
    """Creating and finding documents."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context

    async def create_document(
        self,
        *,
        markdown: OptionalMarkdown = "",
        title: Words = None,
        slug: Words = None,
        idempotency_key: Key = None,
    ) -> ToolResult:
        r"""Create a document from Markdown.

        Without title, its first heading is the title. slug (a-z, 0-9, '-') is made from the title.
        Returns doc_id, slug, url, a cursor for read_changes and the anchors of its blocks. Repeat a
        call with the same idempotency_key when you did not get the answer: it is created once.

        Example: create_document(markdown="# Plan\n\nFirst draft.", idempotency_key="plan-1")
        """
        caller = self._context.caller("write")
        parsed = await read_markdown(markdown)
        made: Created = await self._context.router.directory(
            "create_document", caller, title, slug, parsed.blocks, idempotency_key
        )
        return tool_results.created(self._context.created(made, parsed))

    async def list_documents(
        self, *, query: Words = None, limit: Limit = None, before: Words = None
    ) -> ToolResult:
        """List the documents you may read, last changed first.

        query: words that title or slug must contain. limit: at most 200 (default 50). before: the
        `next` of the previous page.

        Example: list_documents(query="plan")
        """
        caller = self._context.caller("read")
        rows: DocumentRows = await self._context.router.directory(
            "list_documents", caller, query or "", limit or DEFAULT_LIST, before
        )
        page = DocumentPage(
            tuple(self._context.summary(row, caller) for row in rows.rows),
            UNSET if rows.next is None else rows.next,
        )
        return tool_results.listed(page)
