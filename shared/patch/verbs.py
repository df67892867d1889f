"""Insert, replace and delete: the writes that name their blocks. Same rules, same plans.

What is named by an anchor counts as seen at that hash; what is named by its bare id only if one of
the caller's views shows it. Nothing named explicitly is ever a `large_delete`.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

import msgspec

from shared.errors import BaseRequired, InvalidArgument, StaleBlock
from shared.ids import BlockRef
from shared.patch.known import Known, Match
from shared.patch.match import match
from shared.patch.patch import DEFAULTS, planned, rebased
from shared.patch.rebase import Merger
from shared.patch.refusals import (
    MAX_LISTED,
    check_no_conflict,
    locate,
    resolve,
    snippet,
)
from shared.patch.scope import Scope, between, known_blocks
from shared.patch.sight import as_its_author_saw
from shared.patch.types import (
    EMPTY_BLOCK,
    Delete,
    Insert,
    NewBlock,
    Op,
    Plan,
    Present,
    Replace,
    Seen,
    is_blank,
    same,
)
from shared.protocol import Place, WriteOptions


def plan_insert(
    present: Sequence[Present],
    new: Sequence[NewBlock],
    after: Place = "end",
) -> Plan:
    """`new` right behind a block, at the start (behind front matter) or the end.

    The end is before the empty paragraphs no reader is shown. The neighbour need not have been
    seen; when its hash is given, it must fit.

    Raises StaleAnchor, StaleBlock.
    """
    place: str | int | None
    if after == "start":
        at = first_place(present)
    elif after == "end":
        at = last_place(present)
    else:
        at = resolve(present, after, "after") + 1
    place = present[at - 1].block_id if at else None
    ops: list[Op] = []
    for block in new:
        ops.append(Insert(place, block))
        place = len(ops) - 1
    return Plan(tuple(ops), charged=sum(block.charge for block in new))


def plan_replace(
    present: Sequence[Present],
    start: BlockRef,
    end: BlockRef | None,
    new: Sequence[NewBlock],
    seen: Seen,
    *,
    merger: Merger,
    options: WriteOptions = DEFAULTS,
    added: Container[object] = (),
    pinned: Container[str] = (),
) -> Plan:
    """The blocks `start` to `end` (None: `start` alone) become `new`; none: they go.

    What others put between them since stays. The last block of a document becomes one empty
    paragraph.

    Raises:
        Busy: As its name says.
        StaleAnchor: `start` or `end` is no block.
        StaleBlock: A conflict, and the caller wants all or nothing: the default when an anchor is
            given.
        BaseRequired: A block in the range was not seen, nor did it come since.
        InvalidArgument: `end` stands before `start`.
    """
    refs = [start] if end is None else [start, end]
    reject = rejects(options, refs)
    find = resolve if reject else locate
    first = find(present, start, "from")
    last = first if end is None else find(present, end, "to")
    if last < first:
        raise InvalidArgument(
            f"to: block {present[last].block_id} stands before {present[first].block_id}."
        )
    scope = as_its_author_saw(between(present, first, last + 1, seen), seen, new)
    base = known_blocks(scope, seen, new, refs)
    _check_all_seen(base, {ref.block_id for ref in refs}, seen, added)
    found = match(base, new, seen, pinned)
    edits = rebased(found, seen, scope, None if reject else merger)
    if reject:
        check_no_conflict(edits.conflicts)
    plan = planned(found, seen, scope, edits, added=added, pinned=pinned)
    return never_empty(present, plan)


def plan_delete(
    present: Sequence[Present],
    blocks: Sequence[BlockRef],
    seen: Seen,
    *,
    options: WriteOptions = DEFAULTS,
) -> Plan:
    """The blocks named go. The last block of a document becomes one empty paragraph.

    Raises:
        StaleAnchor: One of them is no block.
        StaleBlock: One changed since, and the caller wants all or nothing: the default when an
            anchor is given.
        BaseRequired: One is named by its bare id and was not seen.
    """
    reject = rejects(options, blocks)
    positions = {locate(present, ref, "blocks") for ref in blocks}
    if reject:
        _check_hashes(present, blocks)
    scope = Scope(present, 0, len(present), len(present), seen.blocks)
    named = {ref.block_id for ref in blocks}
    base = [known for known in known_blocks(scope, seen, (), blocks) if known.block_id in named]
    _check_all_seen(base, named, seen, ())
    edits = rebased(Match(base, ()), seen, scope, None)
    if reject:
        check_no_conflict(edits.conflicts)
    gone = {base[u].block_id for u in edits.delete}
    ops = [Delete(present[at].block_id) for at in sorted(positions)]
    plan = Plan(tuple(op for op in ops if op.block_id in gone), conflicts=tuple(edits.conflicts))
    return never_empty(present, plan)


def first_place(present: Sequence[Present]) -> int:
    """Where `after = "start"` is: behind front matter."""
    return 1 if present and _is_front_matter(present[0].text) else 0


def last_place(present: Sequence[Present]) -> int:
    """Where `after = "end"` is: before the empty paragraphs no reader is shown."""
    end = len(present)
    while end and is_blank(present[end - 1].text):
        end -= 1
    return end


def rejects(options: WriteOptions, refs: Sequence[BlockRef]) -> bool:
    """Whether a conflict refuses the whole call: the default when a hash is given."""
    default = "reject" if any(ref.hash for ref in refs) else "merge"
    return (options.on_conflict or default) == "reject"


def _check_hashes(present: Sequence[Present], refs: Sequence[BlockRef]) -> None:
    """Raises StaleBlock with every block whose hash is another now."""
    now = {block.block_id: block for block in present}
    changed = [
        now[ref.block_id]
        for ref in refs
        if ref.hash and not same(now[ref.block_id].digest, ref.hash)
    ]
    if changed:
        raise StaleBlock(
            f"blocks: {len(changed)} changed since they had the hashes given; nothing was applied.",
            anchor=changed[0].anchor,
            text=changed[0].text,
            changed=[{"anchor": block.anchor, "text": block.text} for block in changed],
        )


def _check_all_seen(
    base: Sequence[Known], named: Container[str], seen: Seen, added: Container[object]
) -> None:
    """Raises BaseRequired when a block was neither seen nor, if not named, put in since."""
    unseen = [
        known.now
        for known in base
        if known.seen is None
        and known.now
        and known.inside
        and (known.block_id in named or not (seen.whole or known.block_id in added))
    ]
    if unseen:
        raise BaseRequired(
            "base: nothing says that you have seen these blocks; name them by anchor, or give the "
            "cursor of the answer that showed them.",
            unseen=[snippet(block) for block in unseen[:MAX_LISTED]],
            unseen_blocks=len(unseen),
        )


def never_empty(present: Sequence[Present], plan: Plan) -> Plan:
    """A plan that leaves one empty paragraph where it would leave nothing."""
    deletes = {op.block_id for op in plan.ops if isinstance(op, Delete)}
    if plan.inserted or not deletes.issuperset(block.block_id for block in present):
        return plan
    last = present[-1].block_id
    ops = [op for op in plan.ops if not (isinstance(op, Delete) and op.block_id == last)]
    return msgspec.structs.replace(plan, ops=(*ops, Replace(last, EMPTY_BLOCK)))


def _is_front_matter(text: str) -> bool:
    return text.startswith(("---\n", "```=yaml"))
