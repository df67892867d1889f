"""A document with an index, and an editor beside it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from pycrdt import Doc, XmlElement, XmlFragment, XmlText

from shared.index.block_index import BlockIndex, SavedIndex, Settled
from shared.index.reader import StockReader
from shared.tree import Hints, Node
from shared.tree import Text as Run
from shared.yjs import blocks

LINES = (
    "the harbour master wrote every ship into a ledger",
    "nobody remembers who lit the first lantern",
    "copper kettles hung above seven ovens",
    "a violin was heard behind the orchard wall",
)


class CountingReader(StockReader):
    """Counts the blocks that were read."""

    def __init__(self) -> None:
        self.read_blocks = 0
        self.read_words = 0

    def read(self, element: XmlElement | XmlText, block_id: str = "") -> Node:
        self.read_blocks += 1
        return super().read(element, block_id)

    def words(self, element: XmlElement | XmlText, _node: Node | None = None) -> str:
        self.read_words += 1
        return super().words(element)


class Bench:
    """A document with an index, and an editor's copy of it."""

    def __init__(self, *lines: str, ids: bool = True) -> None:
        self.doc: Doc[Any] = Doc(client_id=1)
        self.fragment: XmlFragment = self.doc.get("default", type=XmlFragment)
        for at, line in enumerate(lines):
            attributes = {"id": f"{at:08}"} if ids else {}
            self.fragment.children.append(XmlElement("paragraph", attributes, [XmlText(line)]))
        self.reader = CountingReader()
        numbers = count()
        self.mint: Callable[[], str] = lambda: f"mint{next(numbers):04}"
        self.now = 1_000
        self.index, self.first = self.attach(None)
        self.checkpoint = self.index.save()
        self.splices: list[bytes] = []

    def attach(self, saved: SavedIndex | None) -> tuple[BlockIndex, Settled]:
        return BlockIndex.attach(self.fragment, saved, self.mint, self.now, self.reader)

    def edit(self, change: Callable[[XmlFragment], object]) -> Settled:
        """What an editor does in one transaction, sent as an update."""
        copy: Doc[XmlFragment] = Doc()
        fragment = copy.get("default", type=XmlFragment)
        copy.apply_update(self.doc.get_update())
        state = copy.get_state()
        with copy.transaction():
            change(fragment)
        self.doc.apply_update(copy.get_update(state))
        return self.kept(self.index.settle(self.now))

    def write(
        self, change: Callable[[XmlFragment], object], hints: dict[str, Hints] | None = None
    ) -> Settled:
        with self.doc.transaction():
            change(self.fragment)
        return self.kept(self.index.settle_own(self.now, hints or {}))

    def kept(self, settled: Settled) -> Settled:
        if settled.splice:
            self.splices.append(settled.splice)
        return settled

    def reload(self) -> Settled:
        self.index.detach()
        saved = SavedIndex.load(self.checkpoint, self.splices)
        self.index, settled = self.attach(saved)
        return settled

    def texts(self) -> list[str]:
        with self.doc.transaction():
            return [blocks.words(self.index.element(block_id)) for block_id in self.index.ids]


def paragraph(text: str, **attributes: str) -> XmlElement:
    return XmlElement("paragraph", attributes, [XmlText(text)])


def node(text: str, kind: str = "paragraph") -> Node:
    return Node(kind, {}, (Run(text),))


def bullets(*lines: str) -> Node:
    items = tuple(Node("listItem", {}, (node(line),)) for line in lines)
    return Node("bulletList", {}, items)


def type_into(place: int, text: str) -> Callable[[XmlFragment], None]:
    def change(fragment: XmlFragment) -> None:
        block = fragment.children[place]
        assert isinstance(block, XmlElement)
        inside = block.children[0]
        assert isinstance(inside, XmlText)
        inside.insert(0, text)

    return change
