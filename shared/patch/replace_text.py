"""Replacing quoted text: the write that needs neither ids nor the whole document.

Every quote must occur once in its scope, in the Markdown or else as it reads; only the blocks it
stands in change, and in them only what differs. All edits or none.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from shared.errors import FindNotMatched, InvalidArgument, NotUnique, StaleBlock, TooLarge
from shared.ids import BlockRef
from shared.limits import MAX_TEXT_EDITS
from shared.patch.block_diff import similar
from shared.patch.find import Finder, Found
from shared.patch.patch import DEFAULTS
from shared.patch.refusals import (
    SNIPPET_CHARS,
    locate,
    resolve,
    section_range,
)
from shared.patch.text_find import strip_lines
from shared.patch.tree_splice import Splice, spliced
from shared.patch.types import Delete, Insert, NewBlock, Op, Plan, Present, Replace, is_blank
from shared.patch.verbs import never_empty, rejects
from shared.protocol import TextEdit, WriteOptions
from shared.tree import Block


class Reader(msgspec.Struct, frozen=True):
    """How Markdown is read and written: `shared.markdown`, or a double in tests.

    Attributes:
        block_of: A block of the document, by its id.
        parse: The blocks of a Markdown text, canonical.
        canonical: A block with its Markdown.
    """

    block_of: Callable[[str], Block]
    parse: Callable[[str], Sequence[NewBlock]]
    canonical: Callable[[Block], NewBlock]


class _Placed(msgspec.Struct, frozen=True):
    """An edit with the place of its quote."""

    number: int
    edit: TextEdit
    at: Found


def plan_replace_text(
    present: Sequence[Present],
    edits: Sequence[TextEdit],
    section_id: BlockRef | None = None,
    *,
    reader: Reader,
    options: WriteOptions = DEFAULTS,
    touched: Container[str] = (),
) -> Plan:
    """Each `old_text` becomes its `new_text`. All quotes are of the document as it is.

    Args:
        present: The whole document, in order.
        edits: At least one. `anchor` narrows an edit's scope to one block.
        section_id: The heading whose subtree is the scope of the others; None: the document.
        reader: See there.
        options: `on_conflict`: an edit of a block that has changed is made in it as it is now,
            unless this is `reject`, the default when an anchor with a hash is given.
        touched: Ids of blocks others changed since `options.base`.

    Raises:
        FindNotMatched, NotUnique: With the places, or what is most alike; of every edit at fault.
        StaleAnchor, StaleBlock: An anchor or `section_id`, as in the other verbs.
        InvalidArgument: No edit, an empty quote, or two that overlap.
        UnsupportedMarkup, TooLarge: Of the text that would result.
    """
    _check_edits(edits)
    refs = [edit.anchor for edit in edits if edit.anchor]
    reject = rejects(options, refs)
    whole = (0, len(present)) if section_id is None else section_range(present, section_id)
    find = resolve if reject else locate
    scopes = [
        whole if edit.anchor is None else _one(find(present, edit.anchor, f"edits[{n}].anchor"))
        for n, edit in enumerate(edits)
    ]
    finder = Finder(present, lambda block_id: reader.block_of(block_id).node)
    placed = _placed(finder, edits, scopes, len(present))
    by_block: dict[int, list[_Placed]] = {}
    for one in placed:
        by_block.setdefault(one.at.position, []).append(one)
    if reject:
        _check_untouched([present[at] for at in by_block], touched)
    return _plan(present, by_block, reader)


def _one(position: int) -> tuple[int, int]:
    return position, position + 1


def _check_edits(edits: Sequence[TextEdit]) -> None:
    if not edits:
        raise InvalidArgument("edits: at least one is required.")
    if len(edits) > MAX_TEXT_EDITS:
        raise TooLarge(
            f"edits: {len(edits)} of them, at most {MAX_TEXT_EDITS} in one call.",
            limit=MAX_TEXT_EDITS,
        )
    for number, edit in enumerate(edits):
        if not edit.old_text.strip():
            raise InvalidArgument(f"edits[{number}].old_text: it is blank; use insert to add text.")


def _check_untouched(blocks: Sequence[Present], touched: Container[str]) -> None:
    """Raises StaleBlock: for callers who want all or nothing."""
    changed = [block for block in blocks if block.block_id in touched]
    if changed:
        raise StaleBlock(
            f"edits: {len(changed)} of the blocks changed since base; nothing was applied.",
            anchor=changed[0].anchor,
            text=changed[0].text,
            changed=[{"anchor": block.anchor, "text": block.text} for block in changed],
        )


# --- where ---------------------------------------------------------------------------------------


def _placed(
    finder: Finder,
    edits: Sequence[TextEdit],
    scopes: Sequence[tuple[int, int]],
    blocks: int,
) -> list[_Placed]:
    placed: list[_Placed] = []
    faults: list[FindNotMatched | NotUnique] = []
    for number, (edit, (first, last)) in enumerate(zip(edits, scopes, strict=True)):
        found = finder.find(edit.old_text, first, last)
        if len(found) == 1:
            placed.append(_Placed(number, edit, found[0]))
        elif found:
            faults.append(_not_unique(finder, number, edit, found))
        else:
            faults.append(_not_found(finder, number, edit, (first, last), blocks))
    if faults:
        first_fault, *others = faults
        if others:
            first_fault.data["failed"] = [{"code": one.code, **one.data} for one in others]
        raise first_fault
    for one, other in pairwise(sorted(placed, key=_order)):
        if _order(one)[:2] == _order(other)[:2] and other.at.start < one.at.end:
            numbers = sorted((one.number, other.number))
            raise InvalidArgument(
                f"edits: number {numbers[0]} and number {numbers[1]} overlap; make them one.",
                edits=numbers,
            )
    return placed


def _order(placed: _Placed) -> tuple[int, tuple[int, ...], int]:
    at = placed.at
    return at.position, (-1,) if at.path is None else at.path, at.start


def _about(number: int, edit: TextEdit) -> dict[str, Any]:
    return {"edit": number, "old_text": edit.old_text[:SNIPPET_CHARS]}


def _not_unique(finder: Finder, number: int, edit: TextEdit, found: Sequence[Found]) -> NotUnique:
    return NotUnique(
        f"edits[{number}].old_text: it occurs {len(found)} times; nothing was applied.",
        **_about(number, edit),
        count=len(found),
        matches=finder.matches(found),
    )


def _not_found(
    finder: Finder, number: int, edit: TextEdit, scope: tuple[int, int], blocks: int
) -> FindNotMatched:
    elsewhere = finder.find(edit.old_text, 0, blocks) if scope != (0, blocks) else []
    where = "in its block" if edit.anchor else "in the section" if elsewhere else "in the document"
    data = _about(number, edit)
    if elsewhere:
        data["elsewhere"] = finder.matches(elsewhere)
    else:
        data["nearest"] = finder.nearest(edit.old_text, *scope)
    if "\n\n" in strip_lines(edit.old_text):
        data["next_step"] = (
            "An edit stands in one block: make one for each, without the [anchor] lines between; "
            "or use replace or patch."
        )
    return FindNotMatched(
        f"edits[{number}].old_text: it is not {where}; nothing was applied.", **data
    )


# --- what becomes of it --------------------------------------------------------------------------


def _plan(present: Sequence[Present], by_block: dict[int, list[_Placed]], reader: Reader) -> Plan:
    """From the last block to the first: what goes in front of one goes behind its neighbour."""
    ops: list[Op] = []
    gone: list[Op] = []
    charged = 0
    for position in sorted(by_block, reverse=True):
        block, placed = present[position], by_block[position]
        new = _edited(block, placed, reader)
        if [one.digest for one in new] == [block.digest]:
            continue
        charged += sum(len(one.edit.new_text) for one in placed)
        if not new:
            gone.append(Delete(block.block_id))
            continue
        before = present[position - 1].block_id if position else None
        _exchange(ops, block, before, new)
    return never_empty(present, Plan((*ops, *gone), charged=charged, quoted=True))


def _exchange(ops: list[Op], block: Present, before: str | None, new: Sequence[NewBlock]) -> None:
    """The block becomes what of `new` is likest to it; the others stand around it."""
    pairs = similar([block.text], [one.text for one in new])
    stays = pairs[0][1] if pairs else 0
    ops.append(Replace(block.block_id, new[stays]))
    for run, place in ((new[:stays], before), (new[stays + 1 :], block.block_id)):
        after: str | int | None = place
        for one in run:
            ops.append(Insert(after, one))
            after = len(ops) - 1


def _edited(block: Present, placed: Sequence[_Placed], reader: Reader) -> list[NewBlock]:
    in_text = [one for one in placed if one.at.path is not None]
    in_source = [one for one in placed if one.at.path is None]
    text, new = block.text, []
    if in_text:
        new = [_edited_text(block, in_text, reader)]
        text = new[0].text
    if in_source:
        if in_text:
            in_source = [_again(one, block, text, reader) for one in in_source]
        new = _edited_source(text, in_source, reader)
    if all(is_blank(one.text) for one in new):
        return []
    if len(new) == 1 and all(one.at.exact for one in placed):
        return new
    return [_unquoted(one) for one in new]


def _unquoted(new: NewBlock) -> NewBlock:
    """Nobody sent it in this form, so its text is told."""
    return msgspec.structs.replace(new, block=msgspec.structs.replace(new.block, source=""))


def _edited_text(block: Present, placed: Sequence[_Placed], reader: Reader) -> NewBlock:
    old = reader.block_of(block.block_id)
    splices = [
        Splice(one.at.path or (), one.at.start, one.at.end, one.edit.new_text) for one in placed
    ]

    def parse(text: str) -> list[Block]:
        return [one.block for one in reader.parse(text)]

    node = spliced(old.node, splices, parse)
    return reader.canonical(Block(node, old.hints))


def _edited_source(text: str, placed: Sequence[_Placed], reader: Reader) -> list[NewBlock]:
    for one in sorted(placed, key=lambda one: one.at.start, reverse=True):
        new_text = one.edit.new_text if one.at.exact else strip_lines(one.edit.new_text)
        text = text[: one.at.start] + new_text + text[one.at.end :]
    return list(reader.parse(text))


def _again(placed: _Placed, block: Present, text: str, reader: Reader) -> _Placed:
    """The place in a Markdown that other edits of the same block, made as text, have changed."""
    now = Present.of(block.block_id, text)
    found = Finder([now], lambda block_id: reader.block_of(block_id).node)
    spots = [one for one in found.find(placed.edit.old_text, 0, 1) if one.path is None]
    if len(spots) != 1:
        raise InvalidArgument(
            f"edits[{placed.number}].old_text: another edit changes that place; make them one.",
            edits=[placed.number],
        )
    return msgspec.structs.replace(placed, at=spots[0])
