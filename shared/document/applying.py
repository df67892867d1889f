"""A plan carried out on the live document in one transaction, and the answer to its author.

What comes back lets an agent go on without reading again: the anchors of what it wrote, and a
cursor that never makes it skip somebody else's change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import UNSET

from shared.document.executing import Executor, check_movable
from shared.document.live_document import Author, LiveDocument, depth_of
from shared.document.suggesting import keep
from shared.document.writing import Draft
from shared.errors import TooLarge
from shared.feed.cursor import Cursor
from shared.ids import text_hash
from shared.limits import MAX_BLOCKS, MAX_DEPTH, MAX_DOCUMENT_BYTES
from shared.patch.types import Delete, Insert, Move, Plan, Replace, digest_of
from shared.protocol import FidelityNote, WriteResult, WrittenBlock
from shared.stored import Effects
from shared.stored_annotations import Annotations
from shared.suggestions.edits import Suggestion
from shared.views.conversation import Shown
from shared.views.views import cursor_after_write


class Written(msgspec.Struct, frozen=True):
    """A write's answer, and what must be on disk before it is told.

    Attributes:
        effects: Of the document; None: nothing of it changed.
        beside: Of its suggestions; None: none of them changed.
    """

    result: WriteResult
    effects: Effects | None
    beside: Annotations | None = None

    @property
    def changed(self) -> bool:
        return self.effects is not None or self.beside is not None


class _Outcome(msgspec.Struct, frozen=True):
    """What the answer says beside the plan."""

    cursor: Cursor | None
    behind: bool
    blocks: Sequence[WrittenBlock] = ()
    fidelity: Sequence[FidelityNote] = ()
    suggested: Sequence[Suggestion] = ()


def apply(live: LiveDocument, draft: Draft, plan: Plan, now: int) -> Written:
    """Carries out the plan of a draft; the document must be as it was for the draft.

    Raises TooLarge, UnsupportedMarkup: nothing was changed; DocumentBrokenError.
    """
    principal, base = draft.caller.principal, draft.base
    before, oldest = live.log.head, live.views.oldest_cursor(principal, now)
    if draft.options.dry_run or not plan.does_something:
        cursor, behind = cursor_after_write(base, oldest, before, before)
        _note(live, draft, cursor, now)
        foreseen = _foreseen(live, plan) if draft.options.dry_run else ()
        return Written(_result(live, plan, _Outcome(cursor, behind, foreseen)), None)
    check_movable(live.fragment, live.index.ids, plan)
    _check_room(live, plan)
    live.suggestions.check_room(plan.suggested)
    executor = Executor(live.index.ids, live.fresh_id)
    was = _digests(live, plan)
    author = Author(principal, draft.caller.name, "agent" if draft.caller.agent else "editor")
    effects = None
    if plan.ops:
        effects = live.write(author, now, lambda fragment: executor.run(fragment, plan))
    suggested, beside = keep(live, plan, draft.caller, draft.note, now)
    cursor, behind = cursor_after_write(base, oldest, before, live.log.head)
    # In document order, as the mirror rule reads it: each block behind one that is there already.
    place = {i: at for i in executor.written if (at := live.index.position(i)) is not None}
    told = [_told(live, i, executor.sent.get(i)) for i in sorted(place, key=place.__getitem__)]
    shown = [_shown(live, block, plan, executor.sent, was) for block in told]
    removed = [op.block_id for op in plan.ops if isinstance(op, Delete)]
    _note(live, draft, cursor, now, [one for one in shown if one is not None], removed)
    notes = [FidelityNote(i, what) for i, whats in executor.notes.items() for what in whats]
    outcome = _Outcome(cursor, behind, told, notes, suggested)
    return Written(_result(live, plan, outcome), effects, beside)


def _check_room(live: LiveDocument, plan: Plan) -> None:
    """Raises TooLarge: past the limits no editor's change would be taken any more."""
    blocks = len(live.index) + plan.inserted - plan.deleted
    if blocks > max(MAX_BLOCKS, len(live.index)):
        raise TooLarge(
            f"markdown: the document would have {blocks:,} blocks, at most {MAX_BLOCKS:,}.",
            limit=MAX_BLOCKS,
        )
    new = [op.new for op in plan.ops if isinstance(op, Insert | Replace)]
    added = sum(len(one.text.encode()) for one in new)
    size = live.size + added
    if new and size > MAX_DOCUMENT_BYTES:  # by the log's bound: deleted text may be in it
        size = live.encoded_size() + added
    if new and size > MAX_DOCUMENT_BYTES:
        raise TooLarge(
            f"markdown: the document would have {size:,} bytes, at most {MAX_DOCUMENT_BYTES:,}.",
            limit=MAX_DOCUMENT_BYTES,
        )
    if any(depth_of(one.block.node) > MAX_DEPTH for one in new):
        raise TooLarge(f"markdown: blocks may be nested {MAX_DEPTH} deep.", limit=MAX_DEPTH)


def _digests(live: LiveDocument, plan: Plan) -> Mapping[str, str]:
    """What the blocks that will be rewritten or moved say now."""
    ids = {op.block_id for op in plan.ops if isinstance(op, Replace | Move)}
    return {block_id: digest_of(live.text(block_id)) for block_id in ids}


def _told(live: LiveDocument, block_id: str, sent: str | None) -> WrittenBlock:
    text = live.text(block_id)
    same = sent is None or sent.rstrip("\n") == text
    return WrittenBlock(live.anchor(block_id), _before(live, block_id), UNSET if same else text)


def _shown(
    live: LiveDocument,
    told: WrittenBlock,
    plan: Plan,
    sent: Mapping[str, str],
    was: Mapping[str, str],
) -> Shown | None:
    """How its author knows the block: from the answer, from having sent it, or from before."""
    block_id = told.anchor.partition("-")[0]
    text = live.text(block_id)
    if told.text is not UNSET or (block_id in sent and not plan.quoted):
        return Shown(block_id, text, told.after)
    return Shown(block_id, text, told.after, knew=was[block_id]) if block_id in was else None


def _note(
    live: LiveDocument,
    draft: Draft,
    cursor: Cursor | None,
    now: int,
    shown: Sequence[Shown] = (),
    removed: Sequence[str] = (),
) -> None:
    """Whoever is given a cursor has seen what was shown with it."""
    live.views.on_write(
        draft.caller.principal,
        draft.base,
        cursor,
        shown=shown,
        removed=removed,
        order=live.index.ids,
        now=now,
    )


def _before(live: LiveDocument, block_id: str) -> str | None:
    position = live.index.position(block_id)
    return live.index.ids[position - 1] if position else None


def _foreseen(live: LiveDocument, plan: Plan) -> Sequence[WrittenBlock]:
    """What a dry run says of blocks that exist; inserted ones have no id yet."""
    return [
        WrittenBlock(
            f"{op.block_id}-{text_hash(op.new.text)}",
            _before(live, op.block_id),
            op.new.text,
        )
        for op in plan.ops
        if isinstance(op, Replace)
    ]


def _result(live: LiveDocument, plan: Plan, outcome: _Outcome) -> WriteResult:
    cursor = outcome.cursor
    return WriteResult(
        ok=True,
        replaced=plan.replaced,
        inserted=plan.inserted,
        deleted=plan.deleted,
        moved=plan.moved,
        charged=plan.charged,
        blocks=tuple(outcome.blocks),
        removed=tuple(op.block_id for op in plan.ops if isinstance(op, Delete)),
        kept=plan.kept,
        conflicts=plan.conflicts,
        cursor=None if cursor is None else live.cursors.encode(cursor),
        behind=outcome.behind,
        fidelity=tuple(outcome.fidelity) or UNSET,
        suggestions=tuple(one.suggestion_id for one in outcome.suggested) or UNSET,
        group=outcome.suggested[0].group_id if outcome.suggested else UNSET,
    )
