"""The blocks of a live document, as quotes are looked for in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pycrdt import Doc, XmlFragment

from shared.discussion.flat import Flat, flatten, holds_opaque
from shared.index.block_index import BlockIndex
from shared.yjs.whole import read_whole


class TextblocksNow:
    """A view: it holds nothing, and shows what the document says at each call."""

    def __init__(self, doc: Doc[XmlFragment], index: BlockIndex) -> None:
        self._doc = doc
        self._index = index

    @property
    def ids(self) -> Sequence[str]:
        return self._index.ids

    def __contains__(self, block_id: object) -> bool:
        return block_id in self._index

    def flat(self, block_id: str) -> Flat:
        """The block, with what stands inside nodes that no stock editor knows."""
        node = self._index.node(block_id)
        if not holds_opaque(node):
            return flatten(node)
        with self._doc.transaction():
            return flatten(read_whole(self._index.element(block_id)))

    def flats(self) -> Iterator[Flat]:
        """All of them, in order."""
        with self._doc.transaction():  # one for all: each block would open its own
            found = [self.flat(block_id) for block_id in self.ids]
        yield from found
