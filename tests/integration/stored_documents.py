"""A document in a real file for tests: made, edited, closed, opened again, damaged."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from pycrdt import Doc, Text

from actors.document.document import Document
from actors.storage.queries import Q
from actors.storage.stored import checksum, update_row
from shared.ids import parse_ref
from shared.markdown.parse import parse
from shared.protocol import (
    Caller,
    DeleteRequest,
    InsertRequest,
    ReadChangesRequest,
    ReadChangesResult,
    ReadDocumentRequest,
    ReadDocumentResult,
    RouteKey,
    WriteResult,
)
from shared.stored import StoredUpdate

ANN: Final = Caller("ann", "Ann")
DOC_ID: Final = "abcdef123456"
KEY: Final = RouteKey(DOC_ID, 1, "secret")
TEXT: Final = "# Plan\n\none\n\ntwo\n"


class StoredDocument:
    """One document of one file, and short words for what tests do to it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @asynccontextmanager
    async def opened(self, seed: str | None = None, epoch: int = 1) -> AsyncIterator[Document]:
        """The document while the scope lasts; with `seed` a new one."""
        blocks = parse(seed).blocks if seed is not None else None
        key = RouteKey(DOC_ID, epoch, "secret")
        document = await Document.open(self.path, key, seed=blocks)
        try:
            yield document
        finally:
            await document.close()

    async def make(self, *paragraphs: str, text: str = TEXT) -> None:
        """A new document that was closed in order once after each paragraph."""
        async with self.opened(seed=text):
            pass
        for paragraph in paragraphs:
            async with self.opened() as document:
                await append(document, paragraph)

    async def text(self, epoch: int = 1) -> str:
        async with self.opened(epoch=epoch) as document:
            return await markdown(document)

    def sql(self, *statements: str) -> None:
        """Changes the closed file behind everybody's back."""
        db = sqlite3.connect(self.path)
        with db:
            for statement in statements:
                db.execute(statement)
        db.close()

    def rehash(self) -> None:
        """Makes every checksum fit what is stored: damage that no checksum finds."""
        db = sqlite3.connect(self.path)
        with db:
            for seq, *parts in db.execute("SELECT seq, data, splice FROM updates").fetchall():
                sums = (checksum(seq, *parts), seq)
                db.execute("UPDATE updates SET checksum = ? WHERE seq = ?", sums)
        db.close()

    def poison(self) -> None:
        """Stores an update that makes the root hold text, as a client of another kind does."""
        stored = self.ask("SELECT data FROM updates ORDER BY seq")
        doc: Doc[Text] = Doc()
        for (data,) in stored:
            assert isinstance(data, bytes)
            doc.apply_update(data)
        before = doc.get_state()
        doc.get("default", type=Text).insert(0, "poison")
        update = doc.get_update(before)
        seq = len(stored) + 1
        db = sqlite3.connect(self.path)
        with db:
            head = db.execute("SELECT value FROM meta WHERE key = 'head'").fetchone()[0]
            row = update_row(StoredUpdate(seq, 2**41, "ann", "editor", update, b"", head))
            db.execute(Q["add_update"], row)
            db.execute("UPDATE meta SET value = ? WHERE key = 'update_seq'", (seq,))
        db.close()

    def ask(self, query: str) -> list[tuple[object, ...]]:
        db = sqlite3.connect(self.path)
        try:
            return db.execute(query).fetchall()
        finally:
            db.close()


async def append(document: Document, paragraph: str) -> WriteResult:
    return await document.insert(ANN, InsertRequest(parse(paragraph).blocks))


async def read(document: Document) -> ReadDocumentResult:
    return await document.read_document(ANN, ReadDocumentRequest(format="blocks"))


async def delete(document: Document, at: int) -> WriteResult:
    """Deletes a block by its place."""
    shown = await read(document)
    assert isinstance(shown.blocks, tuple)
    ref = parse_ref(shown.blocks[at].anchor)
    assert ref is not None
    return await document.delete(ANN, DeleteRequest((ref,)))


async def changes(document: Document, cursor: int | None) -> ReadChangesResult:
    return await document.read_changes(ANN, ReadChangesRequest(cursor=cursor))


async def markdown(document: Document) -> str:
    request = ReadDocumentRequest(format="markdown", max_chars=1_000_000)
    result = await document.read_document(ANN, request)
    assert isinstance(result.markdown, str)
    return result.markdown
