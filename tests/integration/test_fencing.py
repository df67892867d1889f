"""Two processes believe that they hold one document, and file locks do not hold: the epoch decides.

The locks are switched off (`vfs=unix-none`), as on a network folder that only pretends to have any.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiosqlite
import anyio
import anyio.lowlevel
import pytest

from actors.document.document import Document
from actors.storage.document_files import DocumentFiles
from actors.storage.stored import StaleEpochError
from shared.errors import DocactorError, Moved
from shared.markdown.parse import parse
from shared.protocol import (
    Caller,
    InsertRequest,
    ReadDocumentRequest,
    RouteKey,
    WriteOptions,
)

pytestmark = pytest.mark.anyio

ANN = Caller("person:ann", "Ann", scopes=frozenset({"read", "write"}))
DOC = "ab0000000000"


@pytest.fixture
def files(tmp_path: Path) -> DocumentFiles:
    return DocumentFiles(tmp_path)


@pytest.fixture
def unlocked(monkeypatch: pytest.MonkeyPatch) -> None:
    connect: Callable[..., aiosqlite.Connection] = aiosqlite.connect

    def without_locks(path: Path, **options: Any) -> aiosqlite.Connection:
        return connect(f"file:{path}?vfs=unix-none", uri=True, **options)

    monkeypatch.setattr("actors.storage.store.aiosqlite.connect", without_locks)


async def opened(files: DocumentFiles, epoch: int, seed: str | None = None) -> Document:
    blocks = parse(seed).blocks if seed is not None else None
    return await Document.open(
        Path(files.path(DOC)), RouteKey(DOC, epoch, "s"), seed=blocks, caller=ANN
    )


async def append(document: Document, text: str) -> None:
    options = WriteOptions(idempotency_key=text)
    await document.insert(ANN, InsertRequest(parse(text).blocks, "end", options))


async def markdown(document: Document) -> str:
    read = await document.read_document(ANN, ReadDocumentRequest(format="markdown"))
    return str(read.markdown)


def content(files: DocumentFiles) -> bytes:
    return Path(files.path(DOC)).read_bytes()


def integrity(files: DocumentFiles) -> str:
    with sqlite3.connect(files.path(DOC)) as db:
        said: str = db.execute("PRAGMA integrity_check").fetchone()[0]
    db.close()
    return said


@pytest.mark.usefixtures("unlocked")
async def test_whoever_has_the_lower_epoch_writes_nothing_more(files: DocumentFiles) -> None:
    old = await opened(files, 1, "start")
    for number in range(20):
        await append(old, f"old-{number}")
    await files.write_epoch(DOC, 2)
    new = await opened(files, 2)
    for number in range(40):  # more than the other has in mind of the log they share
        await append(new, f"new-{number}")
    with pytest.raises(Moved):
        await append(old, "never")
    while old.failed is None:  # noqa: ASYNC110  the document sets no event for its slot
        await anyio.sleep(0.01)
    await old.close()  # what the process does at its end must not touch the other's file
    await append(new, "new-last")
    await new.close()
    again = await opened(files, 3)
    kept = [f"old-{number}" for number in range(20)]
    written = [f"new-{number}" for number in range(40)]
    expected = "\n\n".join(["start", *kept, *written, "new-last"])
    assert await markdown(again) == expected + "\n"
    await again.close()
    assert integrity(files) == "ok"


@pytest.mark.usefixtures("unlocked")
async def test_writes_on_their_way_while_the_epoch_rises_are_there_or_refused(
    files: DocumentFiles,
) -> None:
    old = await opened(files, 1, "start")
    saved: list[str] = []

    async def write(number: int) -> None:
        try:
            await append(old, f"old-{number}")
        except DocactorError:
            return
        saved.append(f"old-{number}")

    await write(0)
    assert saved
    async with anyio.create_task_group() as group:
        for number in range(1, 200):
            group.start_soon(write, number)
            if number == 100:
                await files.write_epoch(DOC, 2)
            await anyio.lowlevel.checkpoint()
    assert len(saved) < 200
    new = await opened(files, 2)
    await append(new, "new")
    await old.close()
    await new.close()
    again = await opened(files, 3)
    text = await markdown(again)
    await again.close()
    assert [word for word in saved if text.split().count(word) != 1] == []
    assert text.split().count("new") == 1
    assert len(text.split()) == len(saved) + 2


async def test_a_document_announced_to_somebody_else_is_not_even_opened(
    files: DocumentFiles,
) -> None:
    """A catalog restored from a backup gives out epochs that were given before."""
    await (await opened(files, 1, "start")).close()
    await files.write_epoch(DOC, 7)
    before = content(files)
    with pytest.raises(StaleEpochError) as refused:
        await opened(files, 6)
    assert refused.value.args[0] == 7
    assert content(files) == before
    await (await opened(files, 7)).close()
