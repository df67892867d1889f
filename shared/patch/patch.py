"""A patch: the document as somebody wants it to read, as the smallest set of block operations.

    present + what was sent + what was seen  ->  Plan

Only what its author has seen is deleted or replaced; what others did meanwhile stays. The stages,
each its own module: `patch_scope` (what is it about), `patch_match` (which block is which),
`patch_rebase` (whose change counts), `patch_place` (where things go). Nothing here knows Yjs.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Final

from shared.ids import BlockRef
from shared.limits import MAX_DIFF_INLINE
from shared.patch.known import Known, Match
from shared.patch.match import match
from shared.patch.place import moved, operations
from shared.patch.rebase import Edits, Merger, Rebase
from shared.patch.refusals import (
    check_large_delete,
    check_movable,
    check_no_conflict,
    check_no_elision,
    check_not_emptying,
    check_seen_anything,
)
from shared.patch.scope import (
    Scope,
    known_blocks,
    not_in,
    reads_so,
    section,
    trimmed,
    unequal,
    whole,
)
from shared.patch.sight import as_its_author_saw
from shared.patch.types import NewBlock, Plan, Present, Seen
from shared.protocol import WriteOptions

DEFAULTS: Final = WriteOptions()


def plan_patch(
    present: Sequence[Present],
    new: Sequence[NewBlock],
    seen: Seen,
    *,
    merger: Merger,
    anchors: Sequence[BlockRef] = (),
    section_id: BlockRef | None = None,
    options: WriteOptions = DEFAULTS,
    added: Container[object] = (),
    pinned: Container[str] = (),
) -> Plan:
    """What has to be done so that the document (or the section) reads like `new`.

    Args:
        present: The whole document, in order.
        new: What was sent, canonical.
        seen: From `Views.choose`, or `Seen.of_state`.
        merger: Joins two edits of one block, unless `options.on_conflict` is `reject`.
        anchors: Preconditions for the blocks that would be touched, and hints of identity.
        section_id: The heading whose subtree `new` is; None: the document.
        options: Its `base` has gone into `seen`.
        added: Ids of blocks that came since `seen`, where the log knows. Of a whole view it is
            known anyway.
        pinned: Ids of blocks with a live caret or touched in the last seconds: they do not move.

    Raises:
        EmptyPatch, BaseRequired, LargeDelete, Busy: As their names say.
        StaleBlock: A conflict, and the caller wants all or nothing (the default with `anchors`);
            or the hash of `section_id` is another now.
        StaleAnchor: `section_id` is no block, or no heading.
    """
    new = trimmed(new)
    if section_id is None:
        scope = whole(present, seen)
        check_not_emptying(present, new)
    else:
        scope = section(present, section_id, new, seen)
        check_not_emptying(scope.blocks, new)
    others = not_in(scope, new) if seen.whole and not anchors else []
    if reads_so(scope, new, others):
        return Plan(kept=tuple(others))
    blocks = len(scope.blocks)
    scope, new = unequal(as_its_author_saw(scope, seen, new), new)
    base = known_blocks(scope, seen, new, anchors)
    found = match(base, new, seen, pinned)
    if not seen.based and not seen.views and not any(known.named for known in base):
        check_seen_anything(_changed_unseen(found), present)
    check_no_elision((new[j] for j in _rewritten(found)), options)
    reject = (options.on_conflict or ("reject" if anchors else "merge")) == "reject"
    edits = rebased(found, seen, scope, None if reject else merger)
    if reject:
        check_no_conflict(edits.conflicts)
    deleted = [now for u in edits.delete if (now := base[u].now)]
    check_large_delete(deleted, blocks, options)
    return planned(found, seen, scope, edits, added=added, pinned=pinned)


def is_large(present: Sequence[Present], new: Sequence[NewBlock]) -> bool:
    """Whether planning takes so long that it belongs in a thread: more than 4,000 unequal blocks.

    A plan made in a thread is for the document it was given; when that changed, plan again.
    """
    there, sent = {block.digest for block in present}, {block.digest for block in new}
    return max(len(there - sent), len(sent - there)) > MAX_DIFF_INLINE


def rebased(found: Match, seen: Seen, scope: Scope, merger: Merger | None) -> Edits:
    """The decisions for each block. Without a merger two edits of one block never merge."""
    present = {block.block_id for block in scope.present}
    return Rebase(found, seen, merger, present).edits()


def planned(
    found: Match,
    seen: Seen,
    scope: Scope,
    edits: Edits,
    *,
    added: Container[object],
    pinned: Container[str],
) -> Plan:
    """The decisions as operations. Raises Busy when a pinned block would have to move."""
    kept = [known for u, known in enumerate(found.base) if _is_kept(found, u, known)]
    came = {k.block_id for k in kept if seen.whole or k.block_id in added}
    ids = (block.block_id for block in scope.present)
    ops = operations(ids, scope.before, found, edits, came)
    check_movable([block_id for block_id in moved(ops) if block_id in pinned], scope.present)
    return Plan(
        tuple(ops),
        tuple(known.block_id for known in kept),
        tuple(edits.conflicts),
        edits.charged(found.new),
    )


def _is_kept(found: Match, u: int, known: Known) -> bool:
    return known.seen is None and known.inside and not known.trailing and u not in found.new_of


def _changed_unseen(found: Match) -> list[Present]:
    """Blocks that would be gone, other or elsewhere if the new text were all there is."""
    stable = {u for u, _ in found.stable}
    return [
        known.now
        for u, known in enumerate(found.base)
        if known.now and not known.trailing and u not in stable
    ]


def _rewritten(found: Match) -> list[int]:
    """New blocks that are not just a block that exists."""
    rewritten = []
    for j, new in enumerate(found.new):
        known = found.base[found.old_of[j]] if j in found.old_of else None
        if known is None or not known.now or known.now.digest != new.digest:
            rewritten.append(j)
    return rewritten
