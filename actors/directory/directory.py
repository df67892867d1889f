"""The Directory: which documents there are, where the active ones are, who may come in.

A plain class. `actors.directory_actor` makes it an actor and does nothing else.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Final

import anyio
import msgspec

from actors.background import Background
from actors.directory.access_verbs import AccessVerbs
from actors.directory.activations import Activations
from actors.directory.creations import Creations
from actors.directory.held import Held, Seed
from actors.directory.nodes import Nodes
from actors.directory.notices import Notices
from actors.directory.retention import Retention
from actors.folder_lock import LockProof
from actors.listing import listed
from actors.ports import Catalog, Creation, Slots
from actors.storage.document_files import Files
from actors.upkeep.catalog_check import checked_catalog
from shared.checkup import CatalogCopy, Checkup
from shared.directory_protocol import (
    ActiveDocument,
    Created,
    DirectorySettings,
    DirectoryStatus,
    DocumentRow,
    DocumentRows,
    NodeStatus,
    WakeNews,
)
from shared.errors import (
    CapabilityDenied,
    DocactorError,
    DocumentNotFound,
    IdempotencyMismatch,
    InvalidArgument,
    StorageUnavailable,
)
from shared.expiry import expiry
from shared.ids import mint_doc_id
from shared.limits import (
    DEFAULT_LIST,
    DRAIN_ANSWER_S,
    DRAIN_S,
    MAX_IDEMPOTENCY_KEY,
)
from shared.markdown.schema import plain_text
from shared.metrics import DirectoryMetrics, GatewayReport
from shared.protocol import Caller, Route, RouteKey
from shared.slugs import UNTITLED, check_slug, is_usable, single_line, slugify, with_suffix
from shared.tree import Block

log = logging.getLogger(__name__)

SLUG_TRIES: Final = 20  # four random characters collide once in 1.7 million


class Directory(AccessVerbs):
    """Every method may raise StorageUnavailable when the catalog fails.

    Use `Directory.running`; it adopts what a former Directory left before it answers anything.
    """

    def __init__(
        self,
        catalog: Catalog,
        files: Files,
        activations: Activations,
        nodes: Nodes,
        now_ms: Callable[[], int],
        drain_s: float = DRAIN_S,
    ) -> None:
        # No earlier Directory counted as far as where this one begins.
        super().__init__(catalog, Notices(secrets.randbits(48)), now_ms)
        self._files = files
        self._activations = activations
        self._nodes = nodes
        self._now_ms = now_ms
        self._drain_s = drain_s
        self._retention = Retention(catalog, files, activations.put_away, now_ms, self._notices)
        self._creations = Creations()
        self._creating: dict[tuple[str, str], asyncio.Lock] = {}
        self._half_made: set[str] = set()  # creations that failed and left something
        self._draining = False

    @classmethod
    @asynccontextmanager
    async def running(
        cls,
        catalog: Catalog,
        slots: Slots,
        files: Files,
        settings: DirectorySettings,
        *,
        lock: LockProof,
        now_ms: Callable[[], int],
    ) -> AsyncIterator[Directory]:
        """A Directory with its pools and heartbeats, until the scope ends.

        Args:
            catalog: Closed by the caller, after the scope.
            slots: The cluster.
            files: The data folder.
            settings: How to run.
            lock: What nodes prove with that their data folder is ours.
            now_ms: Milliseconds since 1970.
        """
        async with Background.open() as background:
            nodes = Nodes(slots, background, settings, lock)
            activations = Activations(
                catalog=catalog,
                slots=slots,
                nodes=nodes,
                files=files,
                background=background,
                settings=settings,
                now_ms=now_ms,
                new_secret=lambda: secrets.token_hex(16),
            )
            directory = cls(catalog, files, activations, nodes, now_ms, settings.drain_s)
            await directory._take_over()
            every_s = settings.beat_s
            for work, name in (
                (activations.sweep, "heartbeats"),
                (directory._retention.step, "retention"),
                (directory._undo, "creations that failed"),
            ):
                background.spawn(partial(directory._repeat, work, name, every_s), name)
            yield directory

    async def _take_over(self) -> None:
        await self._nodes.look()
        await self._drain_again()
        await self._activations.adopt()
        for doc_id in await self._catalog.creating():
            # Nobody was told of it, and adopting has killed the slot that may have held it.
            await self._files.remove(doc_id)
            await self._catalog.forget(doc_id)
        self._nodes.refill(await self._activations.expected())

    async def _drain_again(self) -> None:
        """Nodes that were being drained still are; those that left are forgotten."""
        living = {node.node_id for node in self._nodes.status()}
        for node_id in await self._catalog.drained():
            if node_id in living:
                self._nodes.drain(node_id)
            else:
                await self._catalog.set_drained(node_id, None)

    async def _repeat(self, work: Callable[[], Awaitable[None]], name: str, every_s: float) -> None:
        while not self._draining:
            await anyio.sleep(every_s)
            try:
                await work()
            except* DocactorError as errors:
                log.warning("%s: %s", name, errors.exceptions)
            except* Exception:
                # The border of a task: without it documents would never be closed again.
                log.exception("%s failed", name)

    # --- documents --------------------------------------------------------------------------------

    async def describe(self, ref: str) -> DocumentRow:
        """The document's row by id or slug. Raises DocumentNotFound."""
        row = await self._catalog.document(ref)
        if row is None or (row.expires_at is not None and row.expires_at <= self._now_ms()):
            raise DocumentNotFound.for_document(ref)
        return row

    async def resolve(self, ref: str) -> str:
        """The id of a document by id or slug. Raises DocumentNotFound."""
        return (await self.describe(ref)).doc_id

    async def locate(self, ref: str, dead: RouteKey | None = None) -> Route:
        """Where the document is, opening it when it is passive.

        Args:
            ref: Id or slug.
            dead: The route the caller found broken.

        Raises:
            DocumentNotFound, Overloaded, StorageUnavailable, DocumentCorrupt, ShuttingDown.
        """
        return await self._activations.locate(await self.resolve(ref), dead)

    async def list_documents(
        self,
        caller: Caller,
        query: str = "",
        limit: int = DEFAULT_LIST,
        before: str | None = None,
        deleted: bool = False,
    ) -> DocumentRows:
        """Documents whose title or slug contains `query`, last changed first.

        Args:
            caller: Who asks.
            query: Found in title or slug, whatever its case; empty: all.
            limit: Rows at most.
            before: `next` of the page before.
            deleted: Those that can be had back instead, last deleted first.

        Raises:
            InvalidArgument: `before` is not one of ours.
        """
        return await listed(self._catalog, caller, query, limit, before, deleted=deleted)

    async def last_left(self, person: str) -> dict[str, int]:
        """When a person last left each document, in ms; as reported, which may lag by seconds."""
        return await self._catalog.last_left(person)

    async def create_document(
        self,
        caller: Caller,
        title: str | None = None,
        slug: str | None = None,
        blocks: tuple[Block, ...] = (),
        idempotency_key: str | None = None,
        expires: str | None = None,
    ) -> Created:
        """A new document, on disk when this returns.

        Args:
            caller: Its author; it belongs to the person behind.
            title: None: its first heading.
            slug: None: from the title.
            blocks: What it holds.
            idempotency_key: The same call under the same key makes one document.
            expires: When it is deleted by itself, as `shared.expiry` reads it; None: never.

        Raises:
            InvalidArgument: The slug is taken or malformed, or `expires` names no time to come.
            CapabilityDenied: The token is for certain documents only.
            RateLimited: The caller has made many in the last hour.
            IdempotencyMismatch: The key was used for a call with other arguments.
            Overloaded, StorageUnavailable, TooLarge, UnsupportedMarkup: Nothing was created.
        """
        if caller.documents is not None:
            raise CapabilityDenied("token: it is for certain documents and makes no new one.")
        title = single_line(title) or None if title is not None else None
        slug = check_slug(slug) if slug is not None else None
        seed = Seed(blocks, caller, title)
        if idempotency_key is None:
            return await self._create(seed, slug, expires, None)
        if not 0 < len(idempotency_key) <= MAX_IDEMPOTENCY_KEY:
            raise InvalidArgument(f"idempotency_key: 1 to {MAX_IDEMPOTENCY_KEY} characters.")
        place = (caller.principal, idempotency_key)
        lock = self._creating.setdefault(place, asyncio.Lock())
        try:
            async with lock:
                digest = _digest(title, slug, blocks, expires)
                earlier = await self._catalog.creation(*place)
                if earlier is None:
                    creation = Creation(*place, digest, "")
                    return await self._create(seed, slug, expires, creation)
                if earlier.arguments != digest:
                    raise IdempotencyMismatch("idempotency_key: used before with other arguments.")
                if earlier.answer is None:
                    raise StorageUnavailable("The document under this key is not finished.")
                return msgspec.msgpack.decode(earlier.answer, type=Created)
        finally:
            if not lock.locked():
                self._creating.pop(place, None)

    async def delete_document(self, caller: Caller, ref: str) -> DocumentRow:
        """Marks it deleted, closes it and frees its slug. For an owner.

        Raises:
            DocumentNotFound: There is none that the caller may read.
            CapabilityDenied: The caller is no owner, or an agent.
        """
        there = await self._roles.owned(caller, ref)
        return await self._retention.delete(await self.describe(there.doc_id), caller.principal)

    async def undelete_document(self, caller: Caller, ref: str) -> DocumentRow:
        """Makes a deleted document ready again; see Retention. For who owned it.

        Raises:
            DocumentNotFound: There is none that the caller owned.
            CapabilityDenied: The caller is an agent, or its token does not allow writing.
        """
        row = await self._retention.deleted(ref)
        await self._roles.require_former_owner(caller, row.doc_id, ref)
        return await self._retention.undelete(row.doc_id, caller.principal)

    async def _create(
        self, seed: Seed, slug: str | None, expires: str | None, creation: Creation | None
    ) -> Created:
        expires_at = None if expires is None else expiry(expires, self._now_ms())
        self._creations.spend(seed.caller, self._now_ms())
        row = await self._reserve(seed, slug, expires_at, creation)
        try:
            with anyio.CancelScope(shield=True):  # a caller that goes away leaves no half of it
                activated = await self._activations.create(row.doc_id, seed)
                made = Created(
                    *(row.doc_id, row.slug, row.title, activated.cursor, activated.blocks),
                    expires_at,
                )
                await self._catalog.make_ready(row.doc_id, msgspec.msgpack.encode(made))
        except DocactorError:
            self._half_made.add(row.doc_id)
            await self._undo()
            raise
        return made

    async def _undo(self) -> None:
        """Removes what creations that failed have left; what does not go now, goes later.

        The fault that stopped the creation, a full disk say, may stop this as well.
        """
        for doc_id in tuple(self._half_made):
            try:
                await self._activations.put_away(doc_id)
                await self._files.remove(doc_id)
                await self._catalog.forget(doc_id)
            except DocactorError as error:
                log.warning("creation of %s is not undone yet: %s", doc_id, error.message)
            else:
                self._half_made.discard(doc_id)

    async def _reserve(
        self, seed: Seed, slug: str | None, expires_at: int | None, creation: Creation | None
    ) -> DocumentRow:
        title = seed.title or _first_heading(seed.blocks)
        doc_id = mint_doc_id(secrets.choice)
        if creation is not None:
            creation = msgspec.structs.replace(creation, doc_id=doc_id)
        now, owner = self._now_ms(), seed.caller.person or seed.caller.principal
        asked = slug or slugify(title)
        for attempt in range(SLUG_TRIES):
            tried = asked if attempt == 0 else with_suffix(asked, secrets.choice)
            row = DocumentRow(doc_id, tried, title, "creating", now, now, owner, expires_at)
            if is_usable(tried) and await self._catalog.reserve(row, creation, now):
                return row
            if slug is not None:
                raise InvalidArgument(
                    f"slug: {slug!r} is taken.", slug=slug, free=with_suffix(slug, secrets.choice)
                )
        raise StorageUnavailable("slug: no free one was found.")

    # --- backup and check -------------------------------------------------------------------------

    async def document_ids(self) -> tuple[str, ...]:
        """Every ready document."""
        return tuple(d for d, state in (await self._catalog.states()).items() if state == "ready")

    async def back_up_catalog(self, path: str) -> CatalogCopy:
        """A copy of the catalog, and the documents that are ready in it."""
        return await self._catalog.back_up(Path(path))

    async def check_catalog(self) -> Checkup:
        """The catalog's file, and whether rows and files are of the same documents."""
        states, files = await self._catalog.states(), await self._files.ids()
        broken = await self._catalog.integrity()
        return checked_catalog(states, files, broken, running=True)

    # --- life -------------------------------------------------------------------------------------

    async def status(self) -> DirectoryStatus:
        """Ready: a document could be opened now."""
        return DirectoryStatus(
            ready=not self._draining and self._nodes.has_room(),
            draining=self._draining,
            documents=len(self._activations.active),
            waiting=self._activations.waiting,
            nodes=self._nodes.status(),
            active=tuple(_active(held) for held in self._activations.held),
            hibernated=self._activations.tallies.hibernated(),
            merged=self._activations.tallies.merged,
        )

    async def metrics(self) -> DirectoryMetrics:
        """Everything that is counted, over all nodes, documents and gateways."""
        open_now, nodes = self._activations, self._nodes.status()
        documents = await self._catalog.counts()
        return open_now.tallies.metrics(documents, open_now.held, open_now.waiting, nodes)

    async def wait_for_wakes(
        self, gateway: str, mailbox: str, seen: int, seconds: float
    ) -> WakeNews:
        """Which documents that sleep at a gateway have been opened; see Wakes.wait."""
        return await self._activations.wakes.wait(gateway, mailbox, seen, seconds)

    async def woken(self, gateway: str, doc_id: str, epoch: int) -> None:
        """A gateway has brought the sessions of a document to this activation."""
        self._activations.wakes.attached(gateway, doc_id, epoch)

    async def awake(self, gateway: str, asleep: dict[str, int]) -> tuple[str, ...]:
        """Which of a gateway's sleeping documents, by epoch, do not sleep there any more."""
        return await self._activations.wakes.awake(gateway, asleep)

    async def report_gateway(self, report: GatewayReport) -> None:
        """What a gateway tells every few seconds."""
        self._activations.tallies.heard_gateway(report)

    async def drain_node(self, node: str, force: bool = False) -> NodeStatus:
        """Closes a node's documents, each with its final checkpoint, and places none there.

        They open on other nodes as soon as somebody wants them. Answers when all are closed, or
        after `drain_s` while the last ones are still closing. Asked again it says how it goes.

        Args:
            node: Its id, or the beginning of it.
            force: Even when no other node takes documents: none opens until one does.

        Raises:
            InvalidArgument: There is no such node, or the documents have nowhere to go.
        """
        node_id = self._nodes.find(node)
        if not force and not self._nodes.others(node_id):
            raise InvalidArgument(
                "node: no other node takes documents, so these would have nowhere to go.",
                next_step="Start another node first, or drain with force: then no document opens.",
            )
        await self._catalog.set_drained(node_id, self._now_ms())
        self._nodes.drain(node_id)
        log.info("node %s is drained", node_id)
        await self._activations.leave(node_id, min(self._drain_s, DRAIN_ANSWER_S))
        return self._node_status(node_id)

    async def undrain_node(self, node: str) -> NodeStatus:
        """A node takes documents again. Raises InvalidArgument."""
        node_id = self._nodes.find(node)
        await self._catalog.set_drained(node_id, None)
        self._nodes.undrain(node_id)
        return self._node_status(node_id)

    def _node_status(self, node_id: str) -> NodeStatus:
        for status in self._nodes.status():
            if status.node_id == node_id:
                return status
        raise InvalidArgument(f"node: {node_id} has left.")

    async def drain(self) -> None:
        """Opens no document any more and closes all, each with its final checkpoint."""
        self._draining = True
        self._nodes.close()
        await self._activations.drain()


def _active(held: Held) -> ActiveDocument:
    return ActiveDocument(
        doc_id=held.route.key.doc_id,
        epoch=held.route.key.epoch,
        node_id=held.holder.node_id,
        pid=held.holder.pid,
        sessions=held.reported.sessions if held.reported else 0,
        state=held.state,
    )


def _digest(
    title: str | None, slug: str | None, blocks: tuple[Block, ...], expires: str | None
) -> bytes:
    call = (title, slug, blocks)
    given = call if expires is None else (*call, expires)  # as it was before documents expired
    return blake2b(msgspec.msgpack.encode(given), digest_size=16).digest()


def _first_heading(blocks: tuple[Block, ...]) -> str:
    for block in blocks:
        if block.node.type == "heading":
            return single_line(plain_text(block.node)) or UNTITLED
    return UNTITLED
