"""The tools of a document's history: versions, what differs between two states, and going back."""

from __future__ import annotations

from typing import Annotated

from fastmcp.tools import ToolResult
from pydantic import Field

from gateway.mcp import history_results
from gateway.mcp.context import ToolContext
from gateway.mcp.types import (
    Cursor,
    DocumentRef,
    Flag,
    Key,
    MaxChars,
    OptionalPoint,
    OptionalVersion,
    PointInTime,
    Section,
    VersionName,
    VersionRef,
    VersionsLimit,
)
from gateway.mcp.writing_tools import write
from shared.limits import DEFAULT_READ_CHARS, DEFAULT_VERSIONS
from shared.protocol import WriteOptions
from shared.protocol_history import (
    CompareRequest,
    ListVersionsRequest,
    ReadVersionRequest,
    RestoreRequest,
    SaveVersionRequest,
)


class HistoryTools:
    """What a document was."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context

    async def list_versions(
        self,
        *,
        doc_id: DocumentRef,
        before: OptionalVersion = None,
        limit: VersionsLimit = None,
    ) -> ToolResult:
        """The versions of a document, newest first.

        A version is kept after a minute of quiet or ten of editing, before a large edit by an agent
        and before a restore, and whenever somebody names one.

        Example: list_versions(doc_id="q3-plan")
        """
        caller = self._context.caller("read")
        request = ListVersionsRequest(before, limit or DEFAULT_VERSIONS)
        result = await self._context.router.call(doc_id, "list_versions", caller, request)
        return history_results.versions(result)

    async def read_version(
        self, *, doc_id: DocumentRef, version: VersionRef, max_chars: MaxChars = None
    ) -> ToolResult:
        """The text of a document as a version holds it.

        Example: read_version(doc_id="q3-plan", version="v12")
        """
        caller = self._context.caller("read")
        request = ReadVersionRequest(version, max_chars or DEFAULT_READ_CHARS)
        result = await self._context.router.call(doc_id, "read_version", caller, request)
        return history_results.version(result)

    async def compare(
        self,
        *,
        doc_id: DocumentRef,
        since: Annotated[PointInTime, Field(alias="from")],
        to: OptionalPoint = None,
        section_id: Section = None,
        max_chars: MaxChars = None,
    ) -> ToolResult:
        """What differs between two states of a document, word by word: {++added++} {--removed--}.

        from, to: a cursor, a version (v12 or its name), or an ISO 8601 time with offset; to: now.

        Example: compare(doc_id="q3-plan", from="2026-03-31T09:00:00+02:00")
        """
        caller = self._context.caller("read")
        request = CompareRequest(since, to, section_id, max_chars or DEFAULT_READ_CHARS)
        result = await self._context.router.call(doc_id, "compare", caller, request)
        return history_results.compared(result)

    async def save_version(
        self, *, doc_id: DocumentRef, name: VersionName, version: OptionalVersion = None
    ) -> ToolResult:
        """Name the document as it is now, or an earlier version, so that it is kept for good.

        Example: save_version(doc_id="q3-plan", name="as sent to the board")
        """
        caller = self._context.caller("write")
        request = SaveVersionRequest(name, version)
        result = await self._context.router.call(doc_id, "save_version", caller, request)
        return history_results.saved(result)

    async def restore(
        self,
        *,
        doc_id: DocumentRef,
        version: VersionRef,
        base: Cursor = None,
        dry_run: Flag = False,
        idempotency_key: Key = None,
    ) -> ToolResult:
        """Make the document what a version holds: blocks come back under their old ids.

        Later edits by anybody go out of the text. Nothing is lost: undo in the answer is the
        version of what was there before, and restoring that takes it back. Compare first.

        Example: restore(doc_id="q3-plan", version="v12", dry_run=true)
        """
        caller = self._context.caller("write")
        options = WriteOptions(base, dry_run=dry_run, idempotency_key=idempotency_key)
        return await write(
            self._context, caller, doc_id, "restore", RestoreRequest(version, options)
        )
