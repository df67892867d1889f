"""A block as the texts a quote can stand in.

A *textblock* is a node with characters right in it: a paragraph, a heading, code, also where it
stands in a list item or a cell. Its text runs on across marks; whatever else stands in its line (a
hard break, an image) is a newline. Textblocks stand on lines of their own. So a text without line
breaks that is found in a flat block was found in one textblock, and across nothing but marks.

`docs/reference/quote.mjs` is the same for what an editor holds; both run on the same vectors.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

import msgspec

from shared.stored_annotations import TextRange
from shared.tree import Node, Text

Path = tuple[int, ...]  # positions among the children, from the block down


class Flat(msgspec.Struct, frozen=True):
    """A block's textblocks on lines: where in `text` each starts, and where it is in the block."""

    text: str
    starts: tuple[int, ...] = ()
    paths: tuple[Path, ...] = ()

    def range(self, block_id: str, start: int, end: int) -> TextRange:
        """The stretch `start` to `end` of `text`, which lies in one textblock."""
        at = bisect_right(self.starts, start) - 1
        return TextRange(block_id, self.paths[at], start - self.starts[at], end - self.starts[at])

    def start_of(self, place: TextRange) -> int | None:
        """Where in `text` a stretch starts; None: the block has no such textblock."""
        for start, path in zip(self.starts, self.paths, strict=True):
            if path == place.path:
                return start + place.start
        return None


def flatten(node: Node) -> Flat:
    """The textblocks of a block in document order."""
    texts: list[str] = []
    starts: list[int] = []
    paths: list[Path] = []
    at = 0
    for path, text in textblocks(node):
        texts.append(text)
        starts.append(at)
        paths.append(path)
        at += len(text) + 1
    return Flat("\n".join(texts), tuple(starts), tuple(paths))


def textblocks(node: Node, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Every textblock with its path. A textblock comes before those inside it."""
    if any(isinstance(item, Text) for item in node.content):
        yield path, "".join(i.text if isinstance(i, Text) else "\n" for i in node.content)
    for at, item in enumerate(node.content):
        if isinstance(item, Node) and item.content:
            yield from textblocks(item, (*path, at))


def holds_opaque(node: Node) -> bool:
    """Whether the tree leaves out what a part of the block says."""
    return node.type == "opaque" or any(
        isinstance(item, Node) and holds_opaque(item) for item in node.content
    )
