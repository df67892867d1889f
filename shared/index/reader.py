"""How the index looks at a block: the port, and the reader every document uses."""

from __future__ import annotations

from typing import Protocol

from pycrdt import XmlElement, XmlText

from shared.markdown import schema
from shared.tree import Hints, Node
from shared.yjs import blocks


class BlockReader(Protocol):
    """Called inside a transaction. `fingerprint` gives 16 hex digits, `node`: as `read`."""

    def read(self, element: XmlElement | XmlText, block_id: str = "") -> Node: ...
    def words(self, element: XmlElement | XmlText, node: Node | None = None) -> str: ...
    def fingerprint(self, node: Node, hints: Hints) -> str: ...


class StockReader:
    """Trees as `shared.yjs.blocks` reads them, fingerprints as the Markdown schema makes them."""

    def read(self, element: XmlElement | XmlText, block_id: str = "") -> Node:
        return blocks.read(element, block_id)

    def words(self, element: XmlElement | XmlText, node: Node | None = None) -> str:
        found = None if node is None else blocks.words_of(node)
        return blocks.words(element) if found is None else found

    def fingerprint(self, node: Node, hints: Hints) -> str:
        return schema.fingerprint(node, hints)
