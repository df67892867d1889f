"""Pages of the catalog, as far as whoever asks may see it."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from actors.directory.members import who
from actors.ports import Catalog
from shared.access import best, is_operator
from shared.directory_protocol import DocumentRow, DocumentRows
from shared.errors import InvalidArgument
from shared.limits import MAX_LIST
from shared.protocol import Caller

_NUMBER: Final = re.compile(r"[0-9]{1,15}", re.ASCII)


async def listed(
    catalog: Catalog, caller: Caller, query: str, limit: int, before: str | None, *, deleted: bool
) -> DocumentRows:
    """A page of documents. See `Directory.list_documents`."""
    limit = max(1, min(limit, MAX_LIST))
    start = _page_start(before)
    everything = is_operator(caller)
    if caller.documents is not None:
        # What they may not bring back is not there for them.
        rows = () if deleted else await _named(catalog, caller, query, start)
    elif deleted:
        asks = who(caller)
        rows = await catalog.deleted_page(query, start, limit + 1, asks, all_of=everything)
    else:
        rows = await catalog.page(query, start, limit + 1, who(caller), all_of=everything)
    page = rows[:limit]
    return DocumentRows(page, _place(page[-1]) if len(rows) > limit else None)


async def _named(
    catalog: Catalog, caller: Caller, query: str, start: tuple[int, str] | None
) -> tuple[DocumentRow, ...]:
    """Those of the token's documents that there are for its caller and that fit."""
    wanted, asked = query.casefold(), who(caller)
    accesses = await catalog.access([(doc_id, asked) for doc_id in caller.documents or ()])
    found = [
        msgspec.structs.replace(access.row, role=best(access.roles))
        for access in accesses
        if access is not None and (access.roles or is_operator(caller))
    ]
    fitting = [row for row in found if wanted in row.title.casefold() or wanted in row.slug]
    fitting.sort(key=_order, reverse=True)
    return tuple(row for row in fitting if start is None or _order(row) < start)


def _order(row: DocumentRow) -> tuple[int, str]:
    return row.updated_at, row.doc_id


def _place(row: DocumentRow) -> str:
    """Where the next page goes on, as `_page_start` reads it."""
    return f"{row.deleted_at or row.updated_at}-{row.doc_id}"


def _page_start(before: str | None) -> tuple[int, str] | None:
    if before is None:
        return None
    at, separator, doc_id = before.partition("-")
    if not separator or not _NUMBER.fullmatch(at):
        raise InvalidArgument("before: use `next` of the page before.")
    return int(at), doc_id
