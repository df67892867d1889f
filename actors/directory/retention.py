"""Documents over time: they expire, are deleted, can be had back, and go for good."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Callable
from typing import Final

import anyio
import msgspec

from actors.directory.notices import Notices
from actors.directory.token_register import SERVER
from actors.ports import Catalog
from actors.storage.document_files import Files
from shared.directory_protocol import AuditRow, DocumentRow
from shared.errors import DocactorError, DocumentNotFound, StorageUnavailable
from shared.limits import DAY_MS, DELETED_DAYS, RETENTION_STEP
from shared.slugs import with_suffix

log = logging.getLogger(__name__)

SLUG_TRIES: Final = 20
_START: Final = (-1, "")


class Retention:
    """Deletes and brings back; `step` does what time has made due, a bounded piece at a time.

    Args:
        put_away: Closes a document that may be active; its sessions hear that it is gone.
        now_ms: Milliseconds since 1970.
    """

    def __init__(
        self,
        catalog: Catalog,
        files: Files,
        put_away: Callable[[str], Awaitable[None]],
        now_ms: Callable[[], int],
        notices: Notices,
    ) -> None:
        self._catalog = catalog
        self._notices = notices
        self._files = files
        self._put_away = put_away
        self._now_ms = now_ms
        self._open_still: set[str] = set()  # deleted, and not closed for certain
        self._purged_up_to = _START
        self._one_at_a_time = anyio.Lock()  # a file is not removed under a row that comes back

    async def delete(self, row: DocumentRow, by: str = SERVER) -> DocumentRow:
        """Deletes a ready document; its file stays for DELETED_DAYS. Raises DocumentNotFound.

        `by`: who asked, for the audit log.
        """
        now = self._now_ms()
        note = AuditRow(now, by, "document.delete", row.doc_id)
        if not await self._catalog.delete_document(row.doc_id, now, note):
            raise DocumentNotFound.for_document(row.doc_id)
        self._notices.of_document(row.doc_id)
        self._open_still.add(row.doc_id)
        log.info("document %s is deleted", row.doc_id)
        await self._close(row.doc_id)
        return msgspec.structs.replace(row, state="deleted", deleted_at=now)

    async def deleted(self, ref: str) -> DocumentRow:
        """A deleted document by its id, or by the slug it had: then the last one deleted under it.

        Raises DocumentNotFound: there is none, or it is due to go.
        """
        row = await self._catalog.deleted_document(ref)
        if row is None or row.deleted_at is None or row.deleted_at <= self._now_ms() - _KEPT_MS:
            raise DocumentNotFound.for_document(ref)
        return row

    async def undelete(self, doc_id: str, by: str = SERVER) -> DocumentRow:
        """A deleted document as it was; under another slug when its own is taken by now.

        `by`: who asked, for the audit log. Raises DocumentNotFound: there is none, or it is due to
        go.
        """
        async with self._one_at_a_time:
            row, now = await self.deleted(doc_id), self._now_ms()
            over = row.expires_at is not None and row.expires_at <= now
            expires_at = None if over else row.expires_at
            note = AuditRow(now, by, "document.undelete", row.doc_id)
            for attempt in range(SLUG_TRIES):
                slug = row.slug if attempt == 0 else with_suffix(row.slug, secrets.choice)
                if await self._catalog.undelete(row.doc_id, slug, expires_at, note):
                    self._open_still.discard(row.doc_id)
                    self._notices.of_document(row.doc_id)
                    return msgspec.structs.replace(
                        row, state="ready", slug=slug, expires_at=expires_at, deleted_at=None
                    )
        raise StorageUnavailable("slug: no free one was found.")

    async def step(self) -> None:
        """Deletes what has expired and removes what was deleted long enough ago: some of it.

        Raises:
            StorageUnavailable: The catalog fails.
        """
        async with anyio.create_task_group() as group:
            for doc_id in tuple(self._open_still):
                group.start_soon(self._close, doc_id)
            for doc_id in await self._catalog.expired(self._now_ms(), RETENTION_STEP):
                group.start_soon(self._expire, doc_id)
        await self._purge()

    async def _expire(self, doc_id: str) -> None:
        row = await self._catalog.document(doc_id)
        if row is None or row.expires_at is None or row.expires_at > self._now_ms():
            return  # deleted, or given more time, a moment ago
        log.info("document %s has expired", doc_id)
        await self.delete(row)

    async def _close(self, doc_id: str) -> None:
        try:
            await self._put_away(doc_id)
        except DocactorError as error:
            log.warning("deleted document %s is not closed yet: %s", doc_id, error.message)
        else:
            self._open_still.discard(doc_id)

    async def _purge(self) -> None:
        """The next few in line. One whose file cannot be removed is come back to later."""
        until = self._now_ms() - _KEPT_MS
        due = await self._catalog.purgeable(until, self._purged_up_to, RETENTION_STEP)
        self._purged_up_to = due[-1] if len(due) == RETENTION_STEP else _START
        for _, doc_id in due:
            async with self._one_at_a_time:
                try:
                    await self._put_away(doc_id)
                    # The row last: a crash in between leaves something that is found again.
                    await self._files.remove(doc_id)
                except StorageUnavailable as error:
                    log.warning("document %s cannot be removed: %s", doc_id, error.message)
                    continue
                note = AuditRow(self._now_ms(), SERVER, "document.purge", doc_id)
                await self._catalog.purge(doc_id, note)
                log.info("document %s is gone for good", doc_id)


_KEPT_MS: Final = DELETED_DAYS * DAY_MS
