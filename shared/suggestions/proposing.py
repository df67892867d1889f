"""From what a write would do to the suggestions it is stored as instead."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

import msgspec

from shared.errors import InvalidArgument
from shared.patch.types import (
    Delete,
    Insert,
    Move,
    Plan,
    Present,
    Replace,
    Seen,
    is_blank,
)
from shared.protocol import Conflict, Mode, OnConflict, TextEdit
from shared.suggestions.edits import MAX_TRAIL, Edit


def proposed(
    plan: Plan, present: Sequence[Present], seen: Seen, mode: Mode, on_conflict: OnConflict | None
) -> Plan:
    """The plan of a write whose author wants all of it, or what conflicts, to be suggestions."""
    edits = list(edits_of(plan, present)) if mode == "suggest" else []
    left = list(plan.conflicts)
    if on_conflict == "suggest":
        disputed, left = _disputed(plan.conflicts, present, seen)
        edits += disputed
    charged = 0 if mode == "suggest" else plan.charged
    return msgspec.structs.replace(
        plan,
        ops=() if mode == "suggest" else plan.ops,
        conflicts=tuple(left),
        suggested=tuple(edits),
        charged=charged + sum(edit.charged for edit in edits),
    )


def edits_of(plan: Plan, present: Sequence[Present]) -> list[Edit]:
    """Each operation as an edit; new blocks that stand in a row are one."""
    return _Edits(present).of(plan)


class _Edits:
    def __init__(self, present: Sequence[Present]) -> None:
        self._texts = {block.block_id: block.text for block in present}
        self._order = [block.block_id for block in present]
        self._edits: list[Edit] = []
        self._new: dict[int, list[str]] = {}  # of inserts, by position in `_edits`
        self._made: dict[int, tuple[int, int]] = {}  # operation -> edit, place among its blocks

    def of(self, plan: Plan) -> list[Edit]:
        for number, op in enumerate(plan.ops):
            match op:
                case Insert():
                    self._insert(number, op)
                case Replace():
                    self._replace(op)
                case Delete():
                    base = self._texts[op.block_id]
                    self._edits.append(Edit("delete", op.block_id, base))
                case Move():
                    self._move(op)
        return [
            msgspec.structs.replace(edit, new=tuple(self._new[at])) if at in self._new else edit
            for at, edit in enumerate(self._edits)
        ]

    def _replace(self, op: Replace) -> None:
        base = self._texts[op.block_id]
        if is_blank(op.new.text):  # what a document keeps when its last block goes
            self._edits.append(Edit("delete", op.block_id, base))
        else:
            self._edits.append(Edit("replace", op.block_id, base, (op.new.text,)))

    def _insert(self, number: int, op: Insert) -> None:
        if not isinstance(op.after, int):
            self._made[number] = (len(self._edits), 0)
            self._new[len(self._edits)] = [op.new.text]
            self._edits.append(Edit("insert", trail=self._trail(op.after)))
            return
        edit, place = self._made[op.after]
        blocks = self._new[edit]
        if place + 1 < len(blocks):
            for other, (owner, at) in self._made.items():
                if owner == edit and at > place:
                    self._made[other] = (owner, at + 1)
        blocks.insert(place + 1, op.new.text)
        self._made[number] = (edit, place + 1)

    def _move(self, op: Move) -> None:
        self._order.remove(op.block_id)
        base = self._texts[op.block_id]
        behind = None
        after: str | int | None = op.after
        if isinstance(after, int):
            edit, place = self._made[after]
            behind = (edit, place + 1)
            trail = self._edits[edit].trail
        else:
            trail = self._trail(after)
        self._edits.append(Edit("move", op.block_id, base, trail=trail, behind=behind))
        at = self._order.index(trail[0]) + 1 if trail else 0
        self._order.insert(at, op.block_id)

    def _trail(self, after: str | None) -> tuple[str, ...]:
        if after is None:
            return ()
        at = self._order.index(after)
        return tuple(reversed(self._order[max(0, at + 1 - MAX_TRAIL) : at + 1]))


def _disputed(
    conflicts: Sequence[Conflict], present: Sequence[Present], seen: Seen
) -> tuple[list[Edit], list[Conflict]]:
    """What conflicts, as edits of the document as it is; and conflicts that are no edit."""
    texts = {block.block_id: block.text for block in present}
    edits: list[Edit] = []
    left: list[Conflict] = []
    for one in conflicts:
        block_id = one.anchor.partition("-")[0]
        now = texts.get(block_id)
        if one.yours == now:
            left.append(one)  # it was to stand elsewhere
        elif now is None:
            assert one.yours is not None  # both took it out: no conflict
            trail = _known_before(block_id, texts.keys(), seen)
            edits.append(Edit("insert", new=(one.yours,), trail=trail))
        elif one.yours is None:
            edits.append(Edit("delete", block_id, now))
        else:
            edits.append(Edit("replace", block_id, now, (one.yours,)))
    return edits, left


def _known_before(block_id: str, present: Container[str], seen: Seen) -> tuple[str, ...]:
    """Blocks that stood in front of one that is gone, as its author saw them."""
    before: list[str] = []
    for block in seen.blocks:
        if block.block_id == block_id:
            break
        before.append(block.block_id)
    else:
        return ()
    return tuple([one for one in reversed(before) if one in present][:MAX_TRAIL])


def proposed_text(
    present: Sequence[Present],
    edits: Sequence[TextEdit],
    plan_of: Callable[[Sequence[TextEdit]], Plan],
) -> Plan:
    """The plan that stores edits of quoted text, each a suggestion of its own.

    Raises as `plan_replace_text`, and InvalidArgument for one that changes nothing.
    """
    plan_of(edits)  # together: none may stand in another's place
    suggested = []
    for number, edit in enumerate(edits):
        plan = plan_of([edit])
        if not plan.ops:
            raise InvalidArgument(f"edits[{number}].new_text: it changes nothing.")
        suggested.append(_of_quote(edit, plan, present))
    charged = sum(edit.charged for edit in suggested)
    return Plan(suggested=tuple(suggested), charged=charged)


def _of_quote(edit: TextEdit, plan: Plan, present: Sequence[Present]) -> Edit:
    """One quote stands in one block: that block and what comes around it is one edit."""
    block_id, kept = "", ""
    before: list[str] = []
    behind: list[str] = []
    root: dict[int, bool] = {}  # inserted in front?
    for number, op in enumerate(plan.ops):
        if isinstance(op, Insert):
            front = root[op.after] if isinstance(op.after, int) else op.after != block_id
            root[number] = front
            (before if front else behind).append(op.new.text)
        elif isinstance(op, Replace):
            block_id, kept = op.block_id, op.new.text
        else:
            block_id = op.block_id
    base = next(block.text for block in present if block.block_id == block_id)
    new = () if is_blank(kept) else (*before, kept, *behind)
    return Edit("text", block_id, base, new, old_text=edit.old_text, new_text=edit.new_text)
