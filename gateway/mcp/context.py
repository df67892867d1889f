"""What every tool of a gateway has at hand."""

from __future__ import annotations

from threading import Lock
from typing import Final

import anyio.to_thread
import msgspec

from gateway.auth import DEFAULT_ALLOWANCE, mcp_caller, with_allowance
from gateway.links import document_url
from gateway.mcp.framing import unframe
from gateway.mcp.held import Held
from gateway.ports import RouterPort
from gateway.seats import Seats
from gateway.times import iso
from shared.access import is_operator, require
from shared.budget import Allowance
from shared.directory_protocol import Created, DocumentRow
from shared.limits import DAY_MS, DELETED_DAYS, PARSE_INLINE_CHARS
from shared.markdown.parse import Parsed
from shared.markdown.remembered import Remembered
from shared.placeholders import strangers
from shared.protocol import (
    Caller,
    CreatedDocument,
    DocumentSummary,
    FidelityNote,
    Scope,
)
from shared.tree import Fidelity

_READ_LAST: Final = Remembered(Lock())  # long texts are read in threads


class DeletedSummary(DocumentSummary, frozen=True, kw_only=True):
    """A deleted document; until `kept_until` it can be had back."""

    deleted_at: str
    kept_until: str


class ToolContext:
    """Router, addresses and the caller of the request being served.

    Args:
        router: The road to documents and the Directory.
        base_url: Our address as others type it, without a slash at its end.
        no_auth: Whoever comes without a token is the local agent.
        allowance: Budgets of callers whose token says nothing of them.
    """

    def __init__(
        self,
        router: RouterPort,
        base_url: str,
        *,
        no_auth: bool,
        allowance: Allowance = DEFAULT_ALLOWANCE,
    ) -> None:
        self.router = router
        self.held = Held()
        self.seats = Seats(router, self.held)
        self.base_url = base_url
        self.no_auth = no_auth
        self._allowance = allowance

    def caller(self, scope: Scope) -> Caller:
        """The caller, whose token must allow `scope`.

        Raises:
            Unauthenticated, CapabilityDenied
        """
        caller = with_allowance(mcp_caller(no_auth=self.no_auth), self._allowance)
        require(caller, scope)
        return caller

    def url(self, slug: str) -> str:
        """Where people open a document."""
        return document_url(self.base_url, slug)

    def summary(self, row: DocumentRow, caller: Caller) -> DocumentSummary:
        """A row of the catalog as callers see it."""
        role = "owner" if is_operator(caller) else row.role
        return DocumentSummary(
            doc_id=row.doc_id,
            slug=row.slug,
            title=row.title,
            url=self.url(row.slug),
            role=role or "viewer",
            public=row.link_role is not None,
            updated_at=iso(row.updated_at),
            expires_at=msgspec.UNSET if row.expires_at is None else iso(row.expires_at),
        )

    def deleted(self, row: DocumentRow, caller: Caller) -> DeletedSummary:
        """A deleted document's row as callers see it."""
        at = row.deleted_at or row.updated_at
        return DeletedSummary(
            **msgspec.structs.asdict(self.summary(row, caller)),
            deleted_at=iso(at),
            kept_until=iso(at + DELETED_DAYS * DAY_MS),
        )

    def created(self, made: Created, parsed: Parsed) -> CreatedDocument:
        """The answer for a document just made from `parsed`."""
        anchors = [block.anchor for block in made.blocks]
        return CreatedDocument(
            doc_id=made.doc_id,
            slug=made.slug,
            url=self.url(made.slug),
            cursor=made.cursor,
            blocks=made.blocks,
            fidelity=notes((*parsed.fidelity, *strangers(parsed.blocks)), anchors) or msgspec.UNSET,
        )


async def read_markdown(text: str, *, framed: bool = True) -> Parsed:
    """Blocks out of Markdown.

    A long text is parsed in a thread, so that other requests go on.

    Args:
        text: As it was sent.
        framed: It comes from an agent: frame lines copied back are taken off.

    Raises:
        UnsupportedMarkup, TooLarge
    """
    given = unframe(text) if framed else text
    if len(given) <= PARSE_INLINE_CHARS:
        return _READ_LAST.parse(given)
    return await anyio.to_thread.run_sync(_READ_LAST.parse, given)


def notes(fidelity: tuple[Fidelity, ...], anchors: list[str]) -> tuple[FidelityNote, ...]:
    """What parsing could not keep, by the ids of the blocks that came of it."""
    return tuple(
        FidelityNote(anchors[note.index].partition("-")[0], note.what)
        for note in fidelity
        if note.index < len(anchors)
    )
