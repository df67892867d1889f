"""What changed in all documents of a caller: one question, and as few documents opened as can be.

A document that has not changed since its reader last left is not opened for it: the catalog knows
both times, as it was told them some seconds ago.
"""

from __future__ import annotations

import anyio

from gateway.links import document_url
from gateway.mcp.context import ToolContext
from shared.access import person_of
from shared.directory_protocol import DocumentRow, DocumentRows
from shared.errors import DocactorError, InvalidArgument
from shared.limits import DIGEST_AT_ONCE, MAX_DIGEST
from shared.protocol import Caller
from shared.protocol_changes import (
    DocumentChanges,
    FoundChanges,
    GetChangesRequest,
    ListChangesResult,
    UnreadDocument,
)
from shared.times import iso


class Digest:
    """What is gathered of it.

    Attributes:
        titles: Of the documents that changed, by slug: people wrote them.
    """

    def __init__(self, *, more: bool) -> None:
        self.titles: dict[str, str] = {}
        self._more = more
        self._unchanged = 0
        self._never_opened = 0
        self._found: dict[str, tuple[int, DocumentChanges]] = {}
        self._failed: dict[str, str] = {}

    @classmethod
    async def of(cls, context: ToolContext, caller: Caller, since: int | None) -> Digest:
        """What changed in each document of the caller; one that cannot be asked costs only itself.

        Args:
            context: The gateway's.
            caller: Who asks.
            since: Milliseconds since 1970; None: since the caller last left each.
        """
        rows: DocumentRows = await context.router.directory(
            "list_documents", caller, "", MAX_DIGEST, None
        )
        person = person_of(caller)
        left: dict[str, int] = {}
        if since is None and person is not None:
            left = await context.router.directory("last_left", person)
        digest = cls(more=rows.next is not None)
        limit = anyio.CapacityLimiter(DIGEST_AT_ONCE)
        async with anyio.create_task_group() as group:
            for row in rows.rows:
                start = since if since is not None else left.get(row.doc_id)
                if start is None:
                    digest._never_opened += 1
                elif row.updated_at <= start:
                    digest._unchanged += 1
                else:
                    group.start_soon(digest._ask, context, caller, row, since, limit)
        return digest

    def result(self) -> ListChangesResult:
        """As callers get it: last changed first."""
        by_age = sorted(self._found.values(), key=lambda one: -one[0])
        return ListChangesResult(
            documents=tuple(changes for _, changes in by_age),
            unchanged=self._unchanged,
            never_opened=self._never_opened,
            failed=tuple(UnreadDocument(*one) for one in sorted(self._failed.items())),
            more=self._more,
        )

    async def _ask(
        self,
        context: ToolContext,
        caller: Caller,
        row: DocumentRow,
        since: int | None,
        limit: anyio.CapacityLimiter,
    ) -> None:
        async with limit:
            try:
                found: FoundChanges = await context.router.call(
                    row.doc_id, "get_changes", caller, GetChangesRequest(since=since)
                )
            except InvalidArgument:
                self._never_opened += 1  # its file knows better than the catalog
            except DocactorError as error:
                self._failed[row.slug] = error.code
            else:
                self._take(context, row, found)

    def _take(self, context: ToolContext, row: DocumentRow, found: FoundChanges) -> None:
        if not found.changes.counts.any:
            self._unchanged += 1
            return
        self.titles[row.slug] = row.title
        changes = DocumentChanges(
            slug=row.slug,
            since=iso(found.since),
            head_at=None if found.head_at is None else iso(found.head_at),
            from_last_left=found.from_last_left,
            counts=found.changes.counts,
            url=document_url(context.base_url, row.slug),
        )
        self._found[row.slug] = (row.updated_at, changes)
