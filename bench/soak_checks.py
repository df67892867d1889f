"""What a soak was told, held against what is there."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import UNSET

from actors.document.document import Document
from bench.agent import Agent, RefusedError
from bench.mirror import Follower, read
from bench.soak_editors import WORD, Editors
from bench.soak_writer import Writer, until_known
from shared.errors import DocactorError
from shared.limits import MAX_READ_CHARS
from shared.protocol import Caller, ReadDocumentRequest, RouteKey

NEWEST: Final = 2**31  # above every epoch a soak comes to
READER: Final = Caller("person:soak", "Soak", scopes=frozenset({"read"}))


class Found(NamedTuple):
    """What is wrong; sums over many checks.

    Attributes:
        lost: Writes told saved that are not there as told: blocks, deletions, words.
        differences: Copies kept by `read_changes` that are not the document, and editors' copies.
        damaged: Documents that cannot be read, fail their checks, or hold something twice.
    """

    lost: int = 0
    differences: int = 0
    damaged: int = 0

    def plus(self, other: Found) -> Found:
        return Found(*(a + b for a, b in zip(self, other, strict=True)))


class Checker:
    """Reads with a connection and copies of its own, so that it may check while others write."""

    def __init__(
        self, agent: Agent, docs: Sequence[str], writers: Sequence[Writer], editors: Editors
    ) -> None:
        self._agent = agent
        self._writers = writers
        self._editors = editors
        self._copies = {doc: until_known(partial(Follower, agent, doc)) for doc in docs}

    def check(self, doc: str) -> Found:
        """Whether all acknowledged before now is there now, and the copy holds."""
        before = [writer.books[doc].told() for writer in self._writers]
        typed = self._editors.acknowledged(doc)
        try:
            texts = until_known(lambda: read(self._agent, doc)).texts
            differs = until_known(self._copies[doc].differs)
        except RefusedError as error:
            print(f"{doc}: {error}", flush=True)
            return Found(damaged=1)
        lost = 0
        for writer, then in zip(self._writers, before, strict=True):
            now = writer.books[doc].told()
            unsure = then.touched | now.touched
            kept = then.saved.items() & now.saved.items()
            missing = [(b, t) for b, t in kept if b not in unsure and texts.get(b) != t]
            missing += [(block, texts[block]) for block in then.gone if block in texts]
            lost += len(missing)
            for block, text in missing:
                print(f"{doc}: block {block} is {texts.get(block)!r}, told {text!r}", flush=True)
        counts = Counter(word for text in texts.values() for word in WORD.findall(text))
        counts.update(text for text in texts.values() if " wrote number " in text)
        gone = [word for word in typed if word not in counts]
        twice = [word for word, count in counts.items() if count > 1]
        found = Found(lost + len(gone), int(differs), int(bool(twice)))
        if any(found):
            print(f"{doc}: {found} {gone[:5]} {twice[:5]}", flush=True)
        return found

    def texts(self, doc: str) -> list[str]:
        present = until_known(lambda: read(self._agent, doc))
        return [present.texts[block] for block in present.order]


def file_is_sound(file: Path, texts: Sequence[str], scratch: Path) -> bool:
    """Whether a copy of a document's file, replayed alone, is what readers saw.

    Args:
        file: Held by nobody.
        texts: The Markdown of each block as read last.
        scratch: A folder for the copy.
    """
    for name in scratch.glob("*.sqlite3*"):
        name.unlink()
    copy = scratch / file.name
    for part in ("", "-wal"):
        source = file.with_name(file.name + part)
        if source.exists():
            shutil.copyfile(source, copy.with_name(file.name + part))
    try:
        replayed = asyncio.run(_replayed(copy))
        with sqlite3.connect(copy) as db:
            sound: str = db.execute("PRAGMA integrity_check").fetchone()[0]
        db.close()
    except (DocactorError, sqlite3.Error) as error:
        print(f"{file.stem}: {error}", flush=True)
        return False
    if sound == "ok" and replayed == list(texts):
        return True
    print(f"{file.stem}: integrity {sound}, as read: {replayed == list(texts)}", flush=True)
    return False


async def _replayed(file: Path) -> list[str]:
    document = await Document.open(file, RouteKey(file.stem, NEWEST, ""))
    try:
        request = ReadDocumentRequest(format="blocks", max_chars=MAX_READ_CHARS)
        result = await document.read_document(READER, request)
    finally:
        await document.close()
    blocks = () if result.blocks is UNSET else result.blocks
    return [block.text for block in blocks if block.text is not UNSET]
