"""What the stateful tests have in common: a document in memory that can be opened again."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from hypothesis.stateful import RuleBasedStateMachine

from actors.document.document import Document
from actors.storage.store_memory import MemoryStore
from actors.storage.stored import DocumentStore
from shared.markdown.parse import parse
from shared.protocol import Caller
from tests.unit.editors import Editor


class DocumentMachine(RuleBasedStateMachine):
    """Two editors, the second of which strips ids. `begin_with` first of all.

    Attributes:
        pace_ms: What passes on the document's clock with each call.
    """

    pace_ms = 0

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.now = 1_700_000_000_000
        self.ids = random.Random(7)

    def begin_with(self, markdown: str, author: Caller, other: Caller) -> None:
        self.author = author
        self.store = MemoryStore()
        self.document: Document = self.run(self.opened(seed=parse(markdown).blocks))
        self.editors = [
            Editor(self.document, author, keeps_ids=True),
            Editor(self.document, other, keeps_ids=False),
        ]

    @property
    def begun(self) -> bool:
        return hasattr(self, "document")

    async def opened(self, **options: Any) -> Document:
        async def opener() -> DocumentStore:
            self.store = self.store.reopened() if self.store.closed else self.store
            return self.store

        return await Document.start(
            opener, clock=lambda: self.now, choose=self.ids.choice, caller=self.author, **options
        )

    def reopen(self) -> None:
        self.run(self.document.close())
        self.open_again()

    def open_again(self) -> None:
        """What is stored, for all who are there; editors say what it lacks when they next push."""
        self.document = self.run(self.opened())
        for editor in self.editors:
            editor.document = self.document

    def run(self, awaitable: Any) -> Any:
        self.now += self.pace_ms
        return self.runner.run(awaitable)

    def end(self) -> None:
        if self.begun:
            self.run(self.document.close())
        self.runner.close()
