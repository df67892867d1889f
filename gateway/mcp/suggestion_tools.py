"""The tools of suggestions: edits that somebody else decides on."""

from __future__ import annotations

from fastmcp.tools import ToolResult

from gateway.mcp import suggestion_results
from gateway.mcp.context import ToolContext
from gateway.mcp.types import (
    AskedStatus,
    Cursor,
    Decision,
    DocumentRef,
    Edits,
    Flag,
    Key,
    Note,
    SuggestionsLimit,
    Words,
)
from shared.limits import DEFAULT_SUGGESTIONS
from shared.protocol import WriteOptions, WriteResult
from shared.protocol_suggestions import (
    DecideRequest,
    DecideResult,
    ListSuggestionsRequest,
    ListSuggestionsResult,
    SuggestRequest,
)


class SuggestionTools:
    """Proposing edits, and deciding on them."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context

    async def suggest(
        self,
        *,
        doc_id: DocumentRef,
        edits: Edits,
        note: Note = None,
        base: Cursor = None,
        dry_run: Flag = False,
        idempotency_key: Key = None,
    ) -> ToolResult:
        """Propose edits of quoted text; nothing changes until somebody who may write accepts.

        Quotes are found as replace_text finds them. Each edit is a suggestion of its own, all have
        one group. note: why. patch and the other writes suggest too, with mode="suggest". Look at
        list_suggestions first, so that nothing is suggested twice.

        Example: suggest(doc_id="q3-plan", edits=[{"old_text": "recieve", "new_text": "receive"}],
        note="spelling")
        """
        caller = self._context.caller("suggest")
        options = WriteOptions(base, dry_run=dry_run, idempotency_key=idempotency_key)
        request = SuggestRequest(edits, note or "", options)
        result: WriteResult = await self._context.router.call(doc_id, "suggest", caller, request)
        return suggestion_results.suggested(result, dry_run=dry_run)

    async def list_suggestions(
        self,
        *,
        doc_id: DocumentRef,
        status: AskedStatus = "open",
        limit: SuggestionsLimit = None,
        after: Words = None,
    ) -> ToolResult:
        """The suggestions of a document: what each would change, who made it, and why.

        status: open, accepted, rejected or all. after: the id to go on behind.

        Example: list_suggestions(doc_id="q3-plan")
        """
        caller = self._context.caller("read")
        request = ListSuggestionsRequest(status, limit or DEFAULT_SUGGESTIONS, after)
        result: ListSuggestionsResult = await self._context.router.call(
            doc_id, "list_suggestions", caller, request
        )
        return suggestion_results.listed(result)

    async def decide_suggestion(
        self,
        *,
        doc_id: DocumentRef,
        decision: Decision,
        id: Words = None,  # noqa: A002  the tool's argument is named so
        group: Words = None,
        base: Cursor = None,
        dry_run: Flag = False,
    ) -> ToolResult:
        """Accept or reject a suggestion by id, or all open ones of a group.

        Accepting brings it onto the text as it is now; a group goes in as a whole or not at all.
        stale_block: the text changed there, nothing was applied and it stays open. Your own you may
        reject, which takes it back; all else needs leave to write.

        Example: decide_suggestion(doc_id="q3-plan", id="s57", decision="accept")
        """
        caller = self._context.caller("suggest")
        request = DecideRequest(decision, id, group, WriteOptions(base, dry_run=dry_run))
        result: DecideResult = await self._context.router.call(
            doc_id, "decide_suggestion", caller, request
        )
        return suggestion_results.decided(result, dry_run=dry_run)
