"""A reader's copy of a document, kept by the mirror rule and nothing else.

    Delete `removed`; take out every listed block; put each listed block, in the order listed,
    right after its `after` (or first). After each answer with `more: false` the texts put through
    `join` are the document's Markdown.

A client that follows a document in Python may use it as it is; in any other language it is the
ten lines to write again.
"""

from __future__ import annotations

from msgspec import UNSET

from shared.markdown.join import join
from shared.protocol import ReadChangesResult, ReadDocumentResult


class Mirror:
    """Starts from one whole `read_document(format="blocks")`; `apply` takes every answer after.

    Attributes:
        cursor: For the next `read_changes`.
        order: Block ids in document order.
        texts: The Markdown of each block.
    """

    def __init__(self, read: ReadDocumentResult) -> None:
        """Raises ValueError when the answer was cut, or has no blocks."""
        if read.truncated or read.blocks is UNSET:
            raise ValueError("a mirror starts from a whole document in format 'blocks'")
        self.cursor = read.cursor
        self.texts = {
            _block_id(block.anchor): block.text for block in read.blocks if block.text is not UNSET
        }
        self.order = list(self.texts)

    def apply(self, answer: ReadChangesResult) -> None:
        """Raises ValueError when the answer says to read the document again."""
        if answer.truncated:
            raise ValueError("the cursor is too old: read the document again")
        listed = {_block_id(block.anchor): block for block in answer.blocks}
        gone = listed.keys() | set(answer.removed)
        self.order = [block_id for block_id in self.order if block_id not in gone]
        for block_id in answer.removed:
            self.texts.pop(block_id, None)
        for block_id, block in listed.items():
            at = 0 if block.after is None else self.order.index(block.after) + 1
            self.order.insert(at, block_id)
            self.texts[block_id] = block.text
        self.cursor = answer.cursor

    def markdown(self) -> str:
        """The document, as it was at the last answer that was not cut."""
        return join(self.texts[block_id] for block_id in self.order)


def _block_id(anchor: str) -> str:
    return anchor.partition("-")[0]
