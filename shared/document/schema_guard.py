"""The guard against editors that cannot hold what the document has.

A ProseMirror editor with a smaller schema deletes from the shared document what it does not know,
on merely being opened: its first update brings nothing and takes a custom node, or a text with a
custom mark, away from everybody. A person's deletion looks the same; so it is refused only until
its session has brought something of its own, and only when a custom node or a marked run is gone
as a whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from pycrdt import Doc, XmlElement, XmlFragment, XmlText

from shared.document.live_document import ROOT, LiveDocument
from shared.editor_shape import MARKS, mark_name
from shared.tree import Node, Text
from shared.wire.y_protocol import EMPTY_STATE_VECTOR, EMPTY_UPDATE
from shared.yjs.blocks import read
from shared.yjs.update import brings_something


class SchemaGuard:
    """Of one document; remembers which blocks hold what no stock editor knows."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[Node, Counter[str]]] = {}

    def lost(self, live: LiveDocument, update: bytes) -> str | None:
        """What an update that only deletes would take away of what a smaller schema lacks.

        The name of a node or mark; None when it takes nothing of that kind.

        Raises:
            ValueError: It is no update.
        """
        if brings_something(update) or update == EMPTY_UPDATE:
            return None
        before = self._before(live)
        if not before:
            return None
        copy: Doc[Any] = Doc()
        root = copy.get(ROOT, type=XmlFragment)
        copy.apply_update(live.diff(EMPTY_STATE_VECTOR))
        copy.apply_update(update)
        after: Counter[str] = Counter()
        with copy.transaction():
            for block in root.children:
                if isinstance(block, XmlElement | XmlText):
                    after.update(custom(read(block)))
        return min(before - after, default=None)

    def _before(self, live: LiveDocument) -> Counter[str]:
        held: dict[str, tuple[Node, Counter[str]]] = {}
        total: Counter[str] = Counter()
        for block_id in live.index.ids:
            node = live.index.node(block_id)
            known = self._held.get(block_id)
            if known is None or known[0] is not node:
                known = (node, Counter(custom(node)))
            held[block_id] = known
            total += known[1]
        self._held = held
        return total


def custom(node: Node) -> Iterator[str]:
    """The names of the custom nodes in a block, and of the custom marks, each run for itself."""
    if node.type == "opaque":
        yield node.attrs["tag"]
    for item in node.content:
        if isinstance(item, Text):
            yield from (name for key in item.marks if (name := mark_name(key)) not in MARKS)
        else:
            yield from custom(item)
