"""A gateway's sleeping documents: it hears when somebody else had them opened.

Docs: docs/decisions/0008-hibernation.md.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import anyio

from gateway.editors.link import DocumentLink
from shared.directory_protocol import Wake, WakeNews
from shared.errors import DocactorError
from shared.limits import NOTICE_RETRY_S, NOTICE_WAIT_S
from shared.protocol import Route

log = logging.getLogger(__name__)


class Sleepers:
    """Follows the mailbox that the Directory keeps for this gateway.

    Args:
        gateway_id: Names this process.
        links: By document.
        directory: Calls a method of the Directory.
        bring: Brings a link to an activation.
        spawn: Runs work in the background; its name is for logs.
    """

    def __init__(
        self,
        gateway_id: str,
        links: Mapping[str, DocumentLink],
        directory: Callable[..., Awaitable[Any]],
        bring: Callable[[DocumentLink, Route], Awaitable[None]],
        spawn: Callable[[Callable[[], Awaitable[None]], str], None],
    ) -> None:
        self._gateway_id = gateway_id
        self._links = links
        self._directory = directory
        self._bring = bring
        self._spawn = spawn

    async def follow(self) -> None:
        """For ever. Ends by being cancelled."""
        mailbox, seen = "", 0
        while True:
            try:
                news: WakeNews = await self._directory(
                    "wait_for_wakes", self._gateway_id, mailbox, seen, NOTICE_WAIT_S
                )
                for wake in news.wakes:
                    self._spawn(partial(self._woken, wake), f"wake {wake.doc_id}")
                if news.mailbox != mailbox:
                    await self._look()
                mailbox, seen = news.mailbox, news.number
            except DocactorError as error:
                log.warning("no news of sleeping documents: %s", error.message)
                await anyio.sleep(NOTICE_RETRY_S)

    async def epoch(self, doc_id: str) -> int:
        """Under which a document fell asleep here, if the Directory too knows that it sleeps; else
        0, and its sessions go after it.
        """
        link = self._links.get(doc_id)
        epoch = link.sleeping_epoch if link is not None else 0
        if link is None or not epoch:
            return 0
        awake = await self._directory("awake", self._gateway_id, {doc_id: epoch})
        if link.sleeping_epoch != epoch:
            return 0
        if awake:
            link.wake()
        return 0 if awake else epoch

    async def _look(self) -> None:
        """Wakes what does not sleep here any more, as far as the Directory knows."""
        links = self._links.items()
        asleep = {doc_id: link.sleeping_epoch for doc_id, link in links if link.asleep}
        if not asleep:
            return
        for doc_id in await self._directory("awake", self._gateway_id, asleep):
            link = self._links.get(doc_id)
            if link is not None and link.sleeping_epoch == asleep[doc_id]:
                link.wake()

    async def _woken(self, wake: Wake) -> None:
        """A document that slept here was opened, or deleted: its sessions hear of it."""
        link = self._links.get(wake.doc_id)
        if wake.route is None:
            if link is not None:
                link.wake()
            return
        if link is not None and link.in_use:
            try:
                await self._bring(link, wake.route)
            except DocactorError as error:
                log.warning("cannot follow %s: %s", wake.doc_id, error.message)
                link.wake()
        await self._directory("woken", self._gateway_id, wake.doc_id, wake.route.key.epoch)
