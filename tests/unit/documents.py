"""A document in memory for tests: the plain class over the store's double."""

from __future__ import annotations

import random
from typing import Any

from pycrdt import XmlElement, XmlText

from actors.document.document import Document
from actors.storage.store_memory import MemoryStore
from actors.storage.stored import DocumentStore
from shared.feed.mirror import Mirror
from shared.ids import BlockRef, parse_ref
from shared.markdown.parse import parse
from shared.protocol import (
    Caller,
    DeleteRequest,
    InsertRequest,
    MoveRequest,
    PatchRequest,
    ReadChangesRequest,
    ReadChangesResult,
    ReadDocumentRequest,
    ReadDocumentResult,
    ReplaceRequest,
    ReplaceTextRequest,
    TextEdit,
    WriteOptions,
    WriteResult,
)
from shared.protocol_history import (
    CompareRequest,
    CompareResult,
    ListVersionsRequest,
    ReadVersionRequest,
    ReadVersionResult,
    RestoreRequest,
    RestoreResult,
    SaveVersionRequest,
    Version,
)
from shared.protocol_suggestions import (
    DecideRequest,
    DecideResult,
    ListSuggestionsRequest,
    SuggestRequest,
    Verdict,
)
from shared.suggestions.info import SuggestionInfo
from tests.unit.editors import Editor

ANN = Caller("ann", "Ann")
SCRIBE = Caller("scribe", "Scribe", person="ann", agent=True)
OTHER = Caller("other", "Other", person="ann", agent=True)
JUDGE = Caller("judge", "Judge", scopes=frozenset({"read", "suggest", "write"}), role="editor")


class Bench:
    """One document, what opens it again, and short words for what tests do to it."""

    def __init__(self, document: Document, store: MemoryStore) -> None:
        self.document = document
        self.store = store
        self.now = 1_700_000_000_000

    @classmethod
    async def of(cls, markdown: str, caller: Caller = ANN) -> Bench:
        """A new document."""
        bench = cls.__new__(cls)
        bench.store, bench.now = MemoryStore(), 1_700_000_000_000
        bench.document = await bench._start(seed=parse(markdown).blocks, caller=caller)
        return bench

    async def _start(self, **options: Any) -> Document:
        ids = random.Random(len(self.store.updates))

        async def opener() -> DocumentStore:
            self.store = self.store.reopened() if self.store.closed else self.store
            return self.store

        return await Document.start(opener, clock=lambda: self.now, choose=ids.choice, **options)

    async def restart(self) -> None:
        await self.document.close()
        self.document = await self._start()

    def editor(self, caller: Caller = ANN, *, keeps_ids: bool = True) -> Editor:
        return Editor(self.document, caller, keeps_ids=keeps_ids)

    # --- reading ---

    async def read(self, caller: Caller = SCRIBE, **arguments: Any) -> ReadDocumentResult:
        request = ReadDocumentRequest(**{"format": "blocks", **arguments})
        return await self.document.read_document(caller, request)

    async def markdown(self) -> str:
        read = await self.read(Caller("looker", "Looker"), format="markdown", max_chars=1_000_000)
        assert isinstance(read.markdown, str)
        return read.markdown

    async def changes(
        self, cursor: int | None, caller: Caller = SCRIBE, **arguments: Any
    ) -> ReadChangesResult:
        request = ReadChangesRequest(cursor=cursor, **arguments)
        return await self.document.read_changes(caller, request)

    async def mirror(self, caller: Caller = SCRIBE) -> Mirror:
        return Mirror(await self.read(caller, max_chars=1_000_000))

    # --- writing ---

    async def patch(
        self,
        markdown: str,
        *,
        caller: Caller = SCRIBE,
        anchors: tuple[str, ...] = (),
        section_id: str | None = None,
        **options: Any,
    ) -> WriteResult:
        parsed = parse(markdown)
        request = PatchRequest(
            parsed.blocks,
            tuple(ref(anchor) for anchor in anchors),
            ref(section_id) if section_id else None,
            WriteOptions(**options),
            parsed.fidelity,
        )
        return await self.document.patch(caller, request)

    async def insert(
        self, markdown: str, after: str = "end", caller: Caller = SCRIBE, **options: Any
    ) -> WriteResult:
        place: Any = after if after in ("start", "end") else ref(after)
        parsed = parse(markdown)
        request = InsertRequest(parsed.blocks, place, WriteOptions(**options), parsed.fidelity)
        return await self.document.insert(caller, request)

    async def replace(
        self, start: str, end: str | None, markdown: str, caller: Caller = SCRIBE, **options: Any
    ) -> WriteResult:
        parsed, last = parse(markdown), ref(end) if end else None
        request = ReplaceRequest(
            ref(start), last, parsed.blocks, WriteOptions(**options), parsed.fidelity
        )
        return await self.document.replace(caller, request)

    async def delete(self, *blocks: str, caller: Caller = SCRIBE, **options: Any) -> WriteResult:
        request = DeleteRequest(tuple(map(ref, blocks)), WriteOptions(**options))
        return await self.document.delete(caller, request)

    async def move(
        self,
        block: str,
        after: str,
        caller: Caller = SCRIBE,
        *,
        section: bool = False,
        **options: Any,
    ) -> WriteResult:
        place: Any = after if after in ("start", "end") else ref(after)
        request = MoveRequest(ref(block), place, section, WriteOptions(**options))
        return await self.document.move(caller, request)

    async def replace_text(
        self,
        *edits: tuple[str, str],
        caller: Caller = SCRIBE,
        section_id: str | None = None,
        anchor: str | None = None,
        **options: Any,
    ) -> WriteResult:
        """`anchor` is that of every edit."""
        where = ref(anchor) if anchor else None
        request = ReplaceTextRequest(
            tuple(TextEdit(old, new, where) for old, new in edits),
            ref(section_id) if section_id else None,
            WriteOptions(**options),
        )
        return await self.document.replace_text(caller, request)

    # --- history ---

    async def versions(self, caller: Caller = SCRIBE, **arguments: Any) -> list[Version]:
        request = ListVersionsRequest(**arguments)
        return list((await self.document.list_versions(caller, request)).versions)

    async def version(self, version: str, **arguments: Any) -> ReadVersionResult:
        return await self.document.read_version(SCRIBE, ReadVersionRequest(version, **arguments))

    async def save(self, name: str, version: str | None = None, caller: Caller = ANN) -> Version:
        return await self.document.save_version(caller, SaveVersionRequest(name, version))

    async def compare(
        self, since: int | str, until: int | str | None = None, **arguments: Any
    ) -> CompareResult:
        request = CompareRequest(since, until, **arguments)
        return await self.document.compare(SCRIBE, request)

    async def restore(self, version: str, caller: Caller = SCRIBE, **options: Any) -> RestoreResult:
        request = RestoreRequest(version, WriteOptions(**options))
        return await self.document.restore(caller, request)

    # --- suggestions ---

    async def suggest(
        self,
        *edits: tuple[str, str],
        caller: Caller = SCRIBE,
        note: str = "",
        anchor: str | None = None,
        **options: Any,
    ) -> WriteResult:
        where = ref(anchor) if anchor else None
        texts = tuple(TextEdit(old, new, where) for old, new in edits)
        request = SuggestRequest(texts, note, WriteOptions(**options))
        return await self.document.suggest(caller, request)

    async def suggestions(
        self, caller: Caller = SCRIBE, **arguments: Any
    ) -> tuple[SuggestionInfo, ...]:
        request = ListSuggestionsRequest(**arguments)
        return (await self.document.list_suggestions(caller, request)).suggestions

    async def decide(
        self,
        verdict: Verdict,
        one: str | None = None,
        *,
        group: str | None = None,
        caller: Caller = JUDGE,
        **options: Any,
    ) -> DecideResult:
        request = DecideRequest(verdict, one, group, WriteOptions(**options))
        return await self.document.decide_suggestion(caller, request)

    async def type(self, block: int, words: str, caller: Caller = ANN) -> None:
        """A person types at the end of a block, letter by letter."""
        editor = self.editor(caller)
        text = text_of(editor, block)
        for letter in words:
            text.insert(len(text), letter)
        editor.push()
        await self.document.read_changes(Caller("looker", "Looker"), ReadChangesRequest())

    async def paragraph(self, at: int, words: str, caller: Caller = ANN) -> None:
        """A person adds a paragraph."""
        editor = self.editor(caller)
        editor.root.children.insert(at, XmlElement("paragraph", {}, [XmlText(words)]))
        editor.push()

    async def erase(self, at: int, caller: Caller = ANN) -> None:
        """A person deletes a block."""
        editor = self.editor(caller)
        del editor.root.children[at]
        editor.push()


def text_of(editor: Editor, block: int) -> XmlText:
    element = editor.root.children[block]
    assert isinstance(element, XmlElement)
    text = element.children[len(element.children) - 1]
    assert isinstance(text, XmlText)
    return text


def ref(value: str) -> BlockRef:
    found = parse_ref(value)
    assert found is not None, value
    return found


def anchors(read: ReadDocumentResult) -> list[str]:
    assert isinstance(read.blocks, tuple)
    return [block.anchor for block in read.blocks]


def block_id(anchor: str) -> str:
    return anchor.partition("-")[0]
