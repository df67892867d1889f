"""A plan carried out on the Yjs document: one transaction, everything at its place, in place.

A replaced block keeps its element and id, and inside it only what differs is edited. Another node
type is a new element under the same id: Yjs cannot rename one. Yjs has no move either: the block is
copied under its id.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pycrdt import XmlElement, XmlFragment, XmlText

from shared.patch.types import Delete, Insert, Move, NewBlock, Plan, Replace
from shared.tree import Hints
from shared.yjs import blocks
from shared.yjs.build import require_copyable
from shared.yjs.edit import can_edit, edit
from shared.yjs.raw_xml import raw_transaction


class Executor:
    """Applies the operations of one plan, inside a transaction of the caller's.

    Attributes:
        order: Block ids as they are by now; at the end, the document's.
        written: Ids of blocks replaced, inserted or moved, in the order of the operations.
        hints: Style hints of the blocks replaced and inserted.
        sent: Of the blocks replaced and inserted: what was sent, as sent.
        notes: What of that could not be kept exactly.
    """

    def __init__(self, order: Sequence[str], mint: Callable[[], str]) -> None:
        self.order = list(order)
        self.written: list[str] = []
        self.hints: dict[str, Hints] = {}
        self.sent: dict[str, str] = {}
        self.notes: dict[str, tuple[str, ...]] = {}
        self._mint = mint
        self._made: dict[int, str] = {}

    def run(self, fragment: XmlFragment, plan: Plan) -> dict[str, Hints]:
        """The style hints for the index; see `LiveDocument.write`."""
        for number, op in enumerate(plan.ops):
            match op:
                case Replace():
                    self._replace(fragment, op)
                case Insert():
                    self._insert(fragment, number, op)
                case Delete():
                    at = self.order.index(op.block_id)
                    blocks.remove(fragment, at)
                    del self.order[at]
                case Move():
                    self._move(fragment, op)
        return self.hints

    def _replace(self, fragment: XmlFragment, op: Replace) -> None:
        at = self.order.index(op.block_id)
        element = _block(fragment, at)
        node = op.new.block.node
        if can_edit(element, node):
            edit(element, node)
        else:
            blocks.insert(fragment, at, node, op.block_id)
            blocks.remove(fragment, at + 1)
        self._wrote(op.block_id, op.new)

    def _insert(self, fragment: XmlFragment, number: int, op: Insert) -> None:
        block_id = self._made[number] = self._mint()
        at = self._place(op.after)
        blocks.insert(fragment, at, op.new.block.node, block_id)
        self.order.insert(at, block_id)
        self._wrote(block_id, op.new)

    def _move(self, fragment: XmlFragment, op: Move) -> None:
        old = self.order.index(op.block_id)
        source = _block(fragment, old)
        self.order[old] = ""  # still there until its copy is; no id is empty
        at = self._place(op.after)
        blocks.copy(fragment, source, at, op.block_id)
        self.order.insert(at, op.block_id)
        gone = self.order.index("")
        blocks.remove(fragment, gone)
        del self.order[gone]
        self.written.append(op.block_id)

    def _place(self, after: str | int | None) -> int:
        if after is None:
            return 0
        return self.order.index(self._made[after] if isinstance(after, int) else after) + 1

    def _wrote(self, block_id: str, new: NewBlock) -> None:
        self.written.append(block_id)
        self.hints[block_id] = new.block.hints
        self.sent[block_id] = new.block.source
        self.notes[block_id] = new.notes


def check_movable(fragment: XmlFragment, order: Sequence[str], plan: Plan) -> None:
    """What would be moved must be something that can be built again; nothing is changed yet.

    Raises UnsupportedMarkup.
    """
    with fragment.doc.transaction():
        for op in plan.ops:
            if isinstance(op, Move):
                block = _block(fragment, order.index(op.block_id))
                require_copyable(block.integrated, raw_transaction(fragment))


def _block(fragment: XmlFragment, at: int) -> XmlElement | XmlText:
    child = fragment.children[at]
    assert not isinstance(child, XmlFragment)  # a fragment is a root, never a child
    return child
