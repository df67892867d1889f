"""The Directory: which documents there are, where the active ones are, who may come in.

A plain class. `actors.directory_actor` makes it an actor and does nothing else.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Final

import anyio
import msgspec

from actors.activations import Activations, Held, Seed
from actors.background import Background
from actors.catalog_check import checked_catalog
from actors.document_files import Files
from actors.folder_lock import LockProof
from actors.nodes import Nodes
from actors.ports import Catalog, Creation, Slots
from actors.token_register import TokenRegister
from shared.checkup import CatalogCopy, Checkup
from shared.directory_protocol import (
    ActiveDocument,
    Created,
    DirectorySettings,
    DirectoryStatus,
    DocumentRow,
    DocumentRows,
    NewToken,
    TokenRow,
)
from shared.errors import (
    DocactorError,
    DocumentNotFound,
    IdempotencyMismatch,
    InvalidArgument,
    StorageUnavailable,
)
from shared.ids import mint_doc_id
from shared.limits import DEFAULT_LIST, MAX_IDEMPOTENCY_KEY, MAX_LIST
from shared.markdown.schema import plain_text
from shared.protocol import Caller, Route, RouteKey, Scope
from shared.slugs import UNTITLED, check_slug, is_usable, single_line, slugify, with_suffix
from shared.tree import Block

log = logging.getLogger(__name__)

SLUG_TRIES: Final = 20  # four random characters collide once in 1.7 million


class Directory:
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
    ) -> None:
        self._catalog = catalog
        self._files = files
        self._activations = activations
        self._nodes = nodes
        self._now_ms = now_ms
        self._tokens = TokenRegister(catalog, now_ms=now_ms)
        self._creating: dict[tuple[str, str], asyncio.Lock] = {}
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
            directory = cls(catalog, files, activations, nodes, now_ms)
            await directory._take_over()
            background.spawn(lambda: directory._beat(settings.beat_s), "heartbeats")
            yield directory

    async def _take_over(self) -> None:
        await self._nodes.look()
        await self._activations.adopt()
        for doc_id in await self._catalog.creating():
            # Nobody was told of it, and adopting has killed the slot that may have held it.
            await self._files.remove(doc_id)
            await self._catalog.forget(doc_id)
        self._nodes.refill(await self._activations.expected())

    async def _beat(self, every_s: float) -> None:
        while not self._draining:
            await anyio.sleep(every_s)
            try:
                await self._activations.sweep()
            except* DocactorError as errors:
                log.warning("heartbeats: %s", errors.exceptions)

    # --- documents --------------------------------------------------------------------------------

    async def describe(self, ref: str) -> DocumentRow:
        """The document's row by id or slug. Raises DocumentNotFound."""
        row = await self._catalog.document(ref)
        if row is None:
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
        self, caller: Caller, query: str = "", limit: int = DEFAULT_LIST, before: str | None = None
    ) -> DocumentRows:
        """Documents whose title or slug contains `query`, last changed first.

        Args:
            caller: Who asks.
            query: Found in title or slug, whatever its case; empty: all.
            limit: Rows at most.
            before: `next` of the page before.

        Raises:
            InvalidArgument: `before` is not one of ours.
        """
        del caller  # every token sees every document until documents have roles
        limit = max(1, min(limit, MAX_LIST))
        rows = await self._catalog.page(query, _page_start(before), limit + 1)
        page = rows[:limit]
        more = f"{page[-1].updated_at}-{page[-1].doc_id}" if len(rows) > limit else None
        return DocumentRows(page, more)

    async def create_document(
        self,
        caller: Caller,
        title: str | None = None,
        slug: str | None = None,
        blocks: tuple[Block, ...] = (),
        idempotency_key: str | None = None,
    ) -> Created:
        """A new document, on disk when this returns.

        Raises:
            InvalidArgument: The slug is taken or malformed.
            IdempotencyMismatch: The key was used for a call with other arguments.
            Overloaded, StorageUnavailable, TooLarge, UnsupportedMarkup: Nothing was created.
        """
        title = single_line(title) or None if title is not None else None
        slug = check_slug(slug) if slug is not None else None
        if idempotency_key is None:
            return await self._create(caller, title, slug, blocks, None)
        if not 0 < len(idempotency_key) <= MAX_IDEMPOTENCY_KEY:
            raise InvalidArgument(f"idempotency_key: 1 to {MAX_IDEMPOTENCY_KEY} characters.")
        place = (caller.principal, idempotency_key)
        lock = self._creating.setdefault(place, asyncio.Lock())
        try:
            async with lock:
                digest = _digest(title, slug, blocks)
                earlier = await self._catalog.creation(*place)
                if earlier is None:
                    creation = Creation(*place, digest, "")
                    return await self._create(caller, title, slug, blocks, creation)
                if earlier.arguments != digest:
                    raise IdempotencyMismatch("idempotency_key: used before with other arguments.")
                if earlier.answer is None:
                    raise StorageUnavailable("The document under this key is not finished.")
                return msgspec.msgpack.decode(earlier.answer, type=Created)
        finally:
            if not lock.locked():
                self._creating.pop(place, None)

    async def delete_document(self, ref: str) -> None:
        """Marks it deleted, closes it and frees its slug. Raises DocumentNotFound."""
        doc_id = await self.resolve(ref)
        if not await self._catalog.delete_document(doc_id, self._now_ms()):
            raise DocumentNotFound.for_document(ref)
        await self._activations.passivate(doc_id, None)

    async def _create(
        self,
        caller: Caller,
        title: str | None,
        slug: str | None,
        blocks: tuple[Block, ...],
        creation: Creation | None,
    ) -> Created:
        row = await self._reserve(caller, title or _first_heading(blocks), slug, creation)
        seed = Seed(blocks, caller, title)
        try:
            with anyio.CancelScope(shield=True):  # a caller that goes away leaves no half of it
                activated = await self._activations.create(row.doc_id, seed)
                made = Created(row.doc_id, row.slug, row.title, activated.cursor, activated.blocks)
                await self._catalog.make_ready(row.doc_id, msgspec.msgpack.encode(made))
        except DocactorError:
            await self._undo(row.doc_id)
            raise
        return made

    async def _undo(self, doc_id: str) -> None:
        await self._activations.passivate(doc_id, None)
        await self._files.remove(doc_id)
        await self._catalog.forget(doc_id)

    async def _reserve(
        self, caller: Caller, title: str, slug: str | None, creation: Creation | None
    ) -> DocumentRow:
        doc_id = mint_doc_id(secrets.choice)
        if creation is not None:
            creation = msgspec.structs.replace(creation, doc_id=doc_id)
        now, owner = self._now_ms(), caller.person or caller.principal
        asked = slug or slugify(title)
        for attempt in range(SLUG_TRIES):
            tried = asked if attempt == 0 else with_suffix(asked, secrets.choice)
            row = DocumentRow(doc_id, tried, title, "creating", now, now, owner)
            if is_usable(tried) and await self._catalog.reserve(row, creation, now):
                return row
            if slug is not None:
                raise InvalidArgument(
                    f"slug: {slug!r} is taken.", slug=slug, free=with_suffix(slug, secrets.choice)
                )
        raise StorageUnavailable("slug: no free one was found.")

    # --- tokens -----------------------------------------------------------------------------------

    async def create_token(
        self,
        owner: str,
        name: str,
        scopes: frozenset[Scope],
        agent: bool = True,
        expires: int | None = None,
    ) -> NewToken:
        """A new token; its text is in the answer and nowhere else. Raises InvalidArgument."""
        return await self._tokens.create(owner, name, scopes, agent=agent, expires=expires)

    async def list_tokens(self) -> tuple[TokenRow, ...]:
        return await self._tokens.list()

    async def revoke_token(self, token_id: str) -> None:
        """Raises InvalidArgument when there is no valid token of this id."""
        await self._tokens.revoke(token_id)

    async def authenticate(self, token_hash: bytes) -> Caller | None:
        """Who sent the token with this hash (`shared.tokens.hash_token`); None: nobody we know."""
        return await self._tokens.authenticate(token_hash)

    async def wait_for_notice(self, seen: int, seconds: float) -> int:
        """Returns when a token was revoked since notice `seen`; see TokenRegister."""
        return await self._tokens.wait_for_notice(seen, seconds)

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
        )

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
    )


def _digest(title: str | None, slug: str | None, blocks: tuple[Block, ...]) -> bytes:
    return blake2b(msgspec.msgpack.encode((title, slug, blocks)), digest_size=16).digest()


def _first_heading(blocks: tuple[Block, ...]) -> str:
    for block in blocks:
        if block.node.type == "heading":
            return single_line(plain_text(block.node)) or UNTITLED
    return UNTITLED


def _page_start(before: str | None) -> tuple[int, str] | None:
    if before is None:
        return None
    at, separator, doc_id = before.partition("-")
    if not separator or not at.isdigit():
        raise InvalidArgument("before: use `next` of the page before.")
    return int(at), doc_id
