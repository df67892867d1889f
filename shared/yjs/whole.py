"""A block with all that is in it, also what no stock editor knows.

`shared.yjs.blocks.read` leaves out what is inside an opaque node; whoever looks for words must see
them. Attributes and marks are left out here.
"""

from __future__ import annotations

from pycrdt import XmlElement, XmlText

from shared.limits import MAX_DEPTH
from shared.tree import Node, Text
from shared.yjs.raw_xml import (
    RawChild,
    RawElement,
    RawText,
    RawTransaction,
    raw_transaction,
    tag_of,
)


def read_whole(element: XmlElement | XmlText) -> Node:
    """The block as a tree of names and characters. Called inside a transaction."""
    txn, raw = raw_transaction(element), element.integrated
    if isinstance(raw, RawText):
        return Node("paragraph", {}, tuple(_runs(raw, txn)))
    return _read(raw, txn, 0)


def _read(raw: RawChild, txn: RawTransaction, depth: int) -> Node:
    tag = tag_of(raw) if isinstance(raw, RawElement) else ""
    if isinstance(raw, RawText) or depth > MAX_DEPTH:
        return Node(tag)
    content: list[Node | Text] = []
    for child in raw.children(txn):
        if isinstance(child, RawText):
            content += _runs(child, txn)
        else:
            content.append(_read(child, txn, depth + 1))
    return Node(tag, {}, tuple(content))


def _runs(raw: RawText, txn: RawTransaction) -> list[Node | Text]:
    return [Text(v) if isinstance(v, str) else Node("embed") for v, _ in raw.diff(txn)]
