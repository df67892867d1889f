"""A plan carried out on the Yjs document: one transaction, everything at its place, in place.

A replaced block keeps its element and id, and inside it only what differs is edited. Another node
type is a new element under the same id: Yjs cannot rename one. Yjs has no move either: the block is
copied under its id.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from pycrdt import XmlElement, XmlFragment, XmlText

from shared.patch.types import Delete, Insert, Move, NewBlock, Plan, Replace
from shared.tree import Hints
from shared.yjs import blocks
from shared.yjs.build import require_copyable
from shared.yjs.edit import can_edit, edit
from shared.yjs.exact import read_exact, write_exact
from shared.yjs.raw_xml import raw_transaction

_NEAR: Final = 64  # blocks searched from the last place on, before the whole document is


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
        self._near = 0  # the place of the last operation: the next one mostly is close to it

    def run(self, fragment: XmlFragment, plan: Plan) -> dict[str, Hints]:
        """The style hints for the index; see `LiveDocument.write`."""
        run: list[Insert] = []
        for number, op in enumerate(plan.ops):
            if isinstance(op, Insert):
                if run and op.after != number - 1:
                    self._insert(fragment, number, run)
                    run = []
                run.append(op)
                continue
            self._insert(fragment, number, run)
            run = []
            match op:
                case Replace():
                    self._replace(fragment, op)
                case Delete():
                    at = self._index(op.block_id)
                    blocks.remove(fragment, at)
                    del self.order[at]
                case Move():
                    self._move(fragment, op)
        self._insert(fragment, len(plan.ops), run)
        return self.hints

    def _replace(self, fragment: XmlFragment, op: Replace) -> None:
        at = self._index(op.block_id)
        element = _block(fragment, at)
        node = op.new.block.node
        done = can_edit(element, node)
        if done:
            edit(element, node)
        if op.new.exact is not None:  # what an edit leaves alone may have been otherwise
            done = read_exact(element) == op.new.exact
        if not done:
            _build(fragment, at, op.new, op.block_id)
            blocks.remove(fragment, at + 1)
        self._wrote(op.block_id, op.new)

    def _insert(self, fragment: XmlFragment, end: int, run: Sequence[Insert]) -> None:
        """Puts in what stands in a row: operations up to number `end`, each behind the one before.

        The last one goes in first, as in `blocks.insert_all`.
        """
        if not run:
            return
        at = self._place(run[0].after)
        ids = [op.block_id or self._mint() for op in run]
        for op, block_id in zip(reversed(run), reversed(ids), strict=True):
            _build(fragment, at, op.new, block_id)
        self.order[at:at] = ids
        for number, (op, block_id) in enumerate(zip(run, ids, strict=True), end - len(run)):
            self._made[number] = block_id
            self._wrote(block_id, op.new)

    def _move(self, fragment: XmlFragment, op: Move) -> None:
        old = self._index(op.block_id)
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
        return self._index(self._made[after] if isinstance(after, int) else after) + 1

    def _index(self, block_id: str) -> int:
        """The block's place. Looked for from the last one on: thousands of blocks may come in."""
        try:
            at = self.order.index(block_id, self._near, self._near + _NEAR)
        except ValueError:
            at = self.order.index(block_id)
        self._near = at
        return at

    def _wrote(self, block_id: str, new: NewBlock) -> None:
        self.written.append(block_id)
        self.hints[block_id] = new.block.hints
        self.sent[block_id] = new.block.source
        self.notes[block_id] = new.notes


def _build(fragment: XmlFragment, at: int, new: NewBlock, block_id: str) -> None:
    if new.exact is None:
        blocks.insert(fragment, at, new.block.node, block_id)
    else:
        write_exact(fragment, at, new.exact, block_id)


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
