"""Accepted suggestions as a plan for the document as it is now: all of them, or why not.

Each is brought onto the text of now like a patch made at its base: two edits of one block merge
word by word where they lie apart, a deletion is a change, nothing that somebody wrote since is
overwritten.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Final

import msgspec

from shared.errors import StaleBlock, UnsupportedMarkup
from shared.ids import HASH_LENGTH
from shared.patch.block_diff import similar
from shared.patch.rebase import Merger
from shared.patch.refusals import check_movable
from shared.patch.types import (
    Delete,
    Insert,
    Move,
    NewBlock,
    Op,
    Plan,
    Present,
    Replace,
    apply_to_list,
    digest_of,
)
from shared.patch.verbs import never_empty
from shared.suggestions.edits import MAX_TRAIL, Edit, Suggestion

Place = str | int | None
_NEXT: Final = (
    "The text changed where this was suggested. Decide by what is there now: reject it and write "
    "what you want, or suggest it anew."
)


class Now(msgspec.Struct, frozen=True):
    """The document as it is.

    Attributes:
        read: The blocks of a Markdown text, canonical. Raises UnsupportedMarkup.
        came: By a number of the change feed, the blocks that came since.
        pinned: Blocks that do not move just now.
    """

    present: Sequence[Present]
    read: Callable[[str], Sequence[NewBlock]]
    merger: Merger
    came: Callable[[int], Container[str]]
    pinned: Container[str] = ()


class Obstacle(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why one cannot be accepted, and what is there now; `theirs` None: the block is gone."""

    id: str
    reason: str
    anchor: str
    yours: str | None
    theirs: str | None


def plan_accepting(now: Now, accepted: Sequence[Suggestion]) -> Plan:
    """What has to be done so that the document reads as all of `accepted` propose.

    Raises StaleBlock with every one that cannot be brought onto it; Busy.
    """
    made = _Accepting(now)
    for one in accepted:
        made.take(one)
    if made.obstacles:
        first = made.obstacles[0]
        many = len(made.obstacles)
        raise StaleBlock(
            f"{many} of {len(accepted)} suggestions cannot be brought onto the text as it is now; "
            "nothing was applied.",
            suggestions=[msgspec.to_builtins(one) for one in made.obstacles],
            next_step=_NEXT,
            anchor=first.anchor,
        )
    return made.plan()


def outcome(now: Now, those: Sequence[Suggestion]) -> tuple[list[Suggestion], list[str]]:
    """Those that can be brought onto the document, one after the other, and what its blocks would
    then say.
    """
    made = _Accepting(now)
    taken: list[Suggestion] = []
    for one in those:
        obstacles = len(made.obstacles)
        made.take(one)
        if len(made.obstacles) == obstacles:
            taken.append(one)
    present = [(block.block_id, block.text) for block in now.present]
    blocks = apply_to_list(present, made.plan(), lambda number: f"new {number}")
    return taken, [text for _, text in blocks]


class _Accepting:
    def __init__(self, now: Now) -> None:
        self.obstacles: list[Obstacle] = []
        self._now = now
        self._texts = {block.block_id: block.text for block in now.present}
        self._anchors = {block.block_id: block.anchor for block in now.present}
        self._order: list[str | int] = [block.block_id for block in now.present]
        self._ops: list[Op] = []
        self._replaced: dict[str, int] = {}  # block -> its operation
        self._gone: list[str] = []
        self._made: dict[tuple[str, int], list[int]] = {}  # (group, number) -> its new blocks

    def take(self, one: Suggestion) -> None:
        try:
            self._take(one)
        except UnsupportedMarkup:  # it holds what is in the document no more
            self._refuse(one, "unsupported_markup")

    def _take(self, one: Suggestion) -> None:
        edit = one.edit
        if edit.kind == "insert":
            self._insert(one)
        elif edit.block_id not in self._texts:
            if edit.new or edit.kind == "move":
                self._refuse(one, "deleted")
        elif edit.kind == "move":
            self._move(one, edit.block_id)
        else:
            self._edit(one, edit.block_id)

    def plan(self) -> Plan:
        check_movable(
            [op.block_id for op in self._ops if isinstance(op, Move) and self._is_pinned(op)],
            self._now.present,
        )
        deletes = [Delete(block_id) for block_id in self._gone]
        return never_empty(self._now.present, Plan((*self._ops, *deletes)))

    def _is_pinned(self, op: Move) -> bool:
        return op.block_id in self._now.pinned

    # --- one block -------------------------------------------------------------------------------

    def _edit(self, one: Suggestion, block_id: str) -> None:
        now, edit = self._texts[block_id], one.edit
        new = self._read(edit.new)
        if now == edit.base:
            self._become(block_id, new)
        elif [block.text for block in new] != [now]:
            changed = self._merged(now, edit, new)
            if changed is None:
                self._refuse(one, "changed")
            else:
                self._become(block_id, changed)

    def _merged(self, now: str, edit: Edit, new: list[NewBlock]) -> list[NewBlock] | None:
        """Both edits; None: they touch each other."""
        if len(new) == 1:
            merged = self._now.merger.merge(edit.base, now, new[0])
            if merged is not None:
                return [_told(merged)]
        if edit.kind == "text" and edit.base.count(edit.old_text) == 1 == now.count(edit.old_text):
            return self._read([now.replace(edit.old_text, edit.new_text)])
        return None

    def _become(self, block_id: str, new: list[NewBlock]) -> None:
        if not new:
            self._delete(block_id)
            return
        pairs = similar([self._texts[block_id]], [block.text for block in new])
        stays = pairs[0][1] if pairs else 0
        at = self._order.index(block_id)
        self._in_row(new[:stays], self._order[at - 1] if at else None)
        if new[stays].text != self._texts[block_id]:
            self._replace(block_id, new[stays])
        self._in_row(new[stays + 1 :], block_id)

    def _replace(self, block_id: str, new: NewBlock) -> None:
        self._texts[block_id] = new.text
        if block_id in self._replaced:
            self._ops[self._replaced[block_id]] = Replace(block_id, new)
        else:
            self._replaced[block_id] = len(self._ops)
            self._ops.append(Replace(block_id, new))

    def _delete(self, block_id: str) -> None:
        self._gone.append(block_id)
        del self._texts[block_id]

    # --- places ----------------------------------------------------------------------------------

    def _insert(self, one: Suggestion) -> None:
        edit = one.edit
        found, place = self._place(edit.trail)
        if not found:
            self._refuse(one, "deleted")
            return
        came = self._now.came(int(one.group_id[1:]))
        at = 0 if place is None else self._order.index(place) + 1
        while at < len(self._order) and self._is_new(self._order[at], came):
            place = self._order[at]  # those already there come first
            at += 1
        made = self._in_row(self._read(edit.new), place)
        self._made[one.group_id, one.number] = made

    def _is_new(self, block: str | int, came: Container[str]) -> bool:
        return isinstance(block, int) or block in came

    def _move(self, one: Suggestion, block_id: str) -> None:
        edit = one.edit
        made = self._made.get((one.group_id, edit.behind[0])) if edit.behind else None
        place: Place
        if edit.behind and made:
            found, place = True, made[min(edit.behind[1], len(made)) - 1]
        else:
            found, place = self._place(tuple(i for i in edit.trail if i != block_id))
        if not found:
            self._refuse(one, "deleted")
            return
        old = self._order.index(block_id)
        if (self._order[old - 1] if old else None) == place:
            return
        del self._order[old]
        at = 0 if place is None else self._order.index(place) + 1
        self._order.insert(at, block_id)
        self._ops.append(Move(block_id, place))

    def _place(self, trail: Sequence[str]) -> tuple[bool, Place]:
        """Behind the nearest block that is left; whether there is such a place at all."""
        for block_id in trail:
            if block_id in self._texts or block_id in self._gone:
                return True, block_id
        return len(trail) < MAX_TRAIL, None  # a shorter one begins at the document's start

    def _in_row(self, new: Sequence[NewBlock], place: Place) -> list[int]:
        """New blocks one behind the other, behind `place`."""
        made: list[int] = []
        at = 0 if place is None else self._order.index(place) + 1
        for block in new:
            number = len(self._ops)
            self._ops.append(Insert(place, block))
            self._order.insert(at, number)
            made.append(number)
            place, at = number, at + 1
        return made

    # --- inside ----------------------------------------------------------------------------------

    def _read(self, texts: Sequence[str]) -> list[NewBlock]:
        return [_told(block) for text in texts for block in self._now.read(text)]

    def _refuse(self, one: Suggestion, reason: str) -> None:
        edit = one.edit
        block_id = edit.block_id or (edit.trail[0] if edit.trail else "")
        now = self._texts.get(block_id)
        at_base = f"{block_id}-{digest_of(edit.base)[:HASH_LENGTH]}"
        anchor = self._anchors.get(block_id, at_base)
        yours = "\n\n".join(edit.new) if edit.new else None
        self.obstacles.append(Obstacle(one.suggestion_id, reason, anchor, yours, now))


def _told(block: NewBlock) -> NewBlock:
    """Whoever accepts it has not sent it: its text is told, and costs them nothing."""
    sent = msgspec.structs.replace(block.block, source="")
    return msgspec.structs.replace(block, block=sent, charge=0)
