"""A gateway whose Directory and access checks are the real ones, over documents in memory."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from actors.directory.directory import Directory
from gateway.app import create_app
from gateway.router import Router
from gateway.settings import Settings
from shared.access import check
from shared.calls import Verb, mode_of
from shared.directory_protocol import DocumentRow
from shared.errors import DocactorError
from shared.markdown.parse import parse
from shared.protocol import Caller, LinkRole, Role, RouteKey, Scope
from tests.unit.cluster_double import World
from tests.unit.gateway.fakes import FakeDocument

BASE = "http://127.0.0.1:8000"
OWNER = Caller("person:ann", "Ann", "person:ann", scopes=frozenset({"admin"}))
WORDS = parse("one").blocks


class RealRoad:
    """Calls of the Directory and of documents, each of which asks who calls as a slot does."""

    node_id = "n1"

    def __init__(self, directory: Directory) -> None:
        self.at = directory
        self.documents: dict[str, FakeDocument] = {}
        self.choose = random.Random(7).choice

    async def document(
        self, _actor: str, verb: Verb, key: RouteKey, caller: Caller, request: Any
    ) -> Any:
        try:
            check(caller, key.doc_id, verb, mode_of(request))
            return getattr(self.documents[key.doc_id], verb)(caller, request)
        except DocactorError as error:
            return error.to_wire()

    async def directory(self, method: str, *args: Any) -> Any:
        try:
            return await getattr(self.at, method)(*args)
        except DocactorError as error:
            return error.to_wire()

    async def fresh(self, slug: str) -> str:
        """Another document of the owner's, with one block."""
        made = await self.at.create_document(OWNER, slug.title(), slug, WORDS)
        row = DocumentRow(made.doc_id, slug, slug.title(), "ready", 0, 0, OWNER.principal)
        self.documents[made.doc_id] = FakeDocument(row, WORDS, self.choose)
        return made.doc_id

    async def grant(
        self, doc_id: str, principal: str, role: Role | None, link: LinkRole | None
    ) -> None:
        if role is not None:
            await self.at.set_member(OWNER, doc_id, principal, role)
        await self.at.set_link_role(OWNER, doc_id, link)

    async def token(self, person: str, scope: frozenset[Scope], *, agent: bool) -> str:
        return (await self.at.create_token(person, "laptop", scope, agent=agent)).token


@asynccontextmanager
async def gateway() -> AsyncIterator[tuple[RealRoad, httpx.AsyncClient]]:
    """The whole application over a Directory, and a client without a token."""
    async with World().directory() as directory:
        road = RealRoad(directory)
        router = Router("gateway-1", road)
        app = create_app(Settings(), router)
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url=BASE) as client,
        ):
            yield road, client
        await router.close()
