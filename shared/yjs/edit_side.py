"""One side of an edit: a node, what it means, and what its children are paired by."""

from __future__ import annotations

from typing import Final

import msgspec

from shared.markdown.canon import canon
from shared.markdown.schema import plain_text
from shared.tree import Node
from shared.yjs.pairing import Child

_CELLS: Final = frozenset({"tableCell", "tableHeader"})
_KEY: Final = msgspec.json.Encoder(order="deterministic")


class Side(msgspec.Struct):
    """A node and its canonical form, which is made once, for the whole block."""

    node: Node
    form: Node

    def children(self) -> list[Side]:
        """The child nodes; `canon` may have put an empty paragraph before them."""
        nodes = [child for child in self.node.content if isinstance(child, Node)]
        forms = [child for child in self.form.content if isinstance(child, Node)]
        if self.node.type in ("table", "tableRow") and len(nodes) != len(forms):
            return [Side(child, canon(child)) for child in nodes]  # a grid with holes: as it is
        return [Side(*both) for both in zip(nodes, forms[len(forms) - len(nodes) :], strict=True)]

    def child(self) -> Child:
        """What it is paired by."""
        kind = (self.node.type, self.node.attrs.get("tag"))
        return Child(
            key=_KEY.encode(self.form),
            kind=kind,
            text=plain_text(self.node),
            family="cell" if self.node.type in _CELLS else kind,
        )
