"""The verbs that write: plan, carry out in one transaction, answer.

What comes back lets an agent go on without reading again: the anchors of what it wrote, and a
cursor that never makes it skip somebody else's change.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Final

import msgspec
from msgspec import UNSET

from shared.block_patch import plan_patch
from shared.cursor import Cursor
from shared.errors import BaseExpired, UnsupportedMarkup
from shared.executing import Executor, check_movable
from shared.ids import parse_ref, text_hash
from shared.limits import PIN_MS
from shared.live_document import Author, LiveDocument
from shared.markdown.parse import parse
from shared.markdown.render import render
from shared.patch_rebase import Merger
from shared.patch_types import Delete, NewBlock, Plan, Replace, Seen
from shared.patch_verbs import plan_delete, plan_insert, plan_replace
from shared.protocol import (
    Caller,
    DeleteRequest,
    InsertRequest,
    PatchRequest,
    ReplaceRequest,
    WriteOptions,
    WriteResult,
    WrittenBlock,
)
from shared.stored import Effects
from shared.tree import Block, Node, Text
from shared.view import Shown
from shared.views import cursor_after_write


class Written(msgspec.Struct, frozen=True):
    """A write's answer, and what must be on disk before it is told; None: nothing changed."""

    result: WriteResult
    effects: Effects | None


class NeedsPastError(Exception):
    """The author's base is known only as a moment; what the document was then must be rebuilt.

    Its change sequence is in `args[0]`. The verb is then called again with `past`.
    """


Past = Sequence[tuple[str, str]] | None  # ids and Markdown at the base; (): no longer kept


def patch(
    live: LiveDocument, caller: Caller, request: PatchRequest, now: int, past: Past = None
) -> Written:
    """The document, or one section, as it should read.

    Raises what `plan_patch` raises, and NeedsPastError.
    """
    base, seen = _seen(live, caller, request.options, now, past)
    plan = plan_patch(
        live.present(),
        new_blocks(live, caller, request.blocks, now),
        seen,
        merger=MERGER,
        anchors=request.anchors,
        section_id=request.section_id,
        options=request.options,
        added=_added(live, base),
        pinned=_pinned(live, caller, now),
    )
    return _carry_out(live, caller, request.options, plan, base, now)


def insert(
    live: LiveDocument, caller: Caller, request: InsertRequest, now: int, past: Past = None
) -> Written:
    """New blocks at one place. Raises what `plan_insert` raises, and InvalidCursor."""
    del past  # nothing need have been seen
    base = _base(live, request.options)
    new = new_blocks(live, caller, request.blocks, now)
    plan = plan_insert(live.present(), new, request.after, options=request.options)
    return _carry_out(live, caller, request.options, plan, base, now)


def replace(
    live: LiveDocument, caller: Caller, request: ReplaceRequest, now: int, past: Past = None
) -> Written:
    """A range of blocks by others. Raises what `plan_replace` raises, and NeedsPastError."""
    base, seen = _seen(live, caller, request.options, now, past)
    plan = plan_replace(
        live.present(),
        request.start,
        request.end,
        new_blocks(live, caller, request.blocks, now),
        seen,
        merger=MERGER,
        options=request.options,
        added=_added(live, base),
        pinned=_pinned(live, caller, now),
    )
    return _carry_out(live, caller, request.options, plan, base, now)


def delete(
    live: LiveDocument, caller: Caller, request: DeleteRequest, now: int, past: Past = None
) -> Written:
    """Named blocks go. Raises what `plan_delete` raises, and NeedsPastError."""
    base, seen = _seen(live, caller, request.options, now, past)
    plan = plan_delete(live.present(), request.blocks, seen, options=request.options)
    return _carry_out(live, caller, request.options, plan, base, now)


# --- what was sent -------------------------------------------------------------------------------


def new_blocks(
    live: LiveDocument, caller: Caller, sent: Sequence[Block], now: int
) -> list[NewBlock]:
    """The blocks of a call with their canonical Markdown.

    A line that looks like an anchor is one when it names a block that is, or that the caller was
    shown; else it is text.
    """
    known = live.views.known(caller.principal, now)
    return [
        NewBlock.of(block, canonical(block))
        for one in sent
        for block in _with_foreign_anchor_as_text(live, known, one)
    ]


def canonical(block: Block) -> str:
    return render(block.node, block.hints).text


def _with_foreign_anchor_as_text(
    live: LiveDocument, known: Container[str], block: Block
) -> list[Block]:
    ref = parse_ref(block.anchor) if block.anchor else None
    ours = ref is not None and (ref.block_id in live.index or ref.block_id in known)
    if block.anchor is None or ours:
        return [block]
    line = Text(f"[{block.anchor}]")
    source = f"[{block.anchor}]\n{block.source}"
    if block.node.type == "paragraph":
        content = (line, Text(" "), *block.node.content) if block.node.content else (line,)
        return [Block(Node("paragraph", block.node.attrs, content), block.hints, source)]
    alone = Block(Node("paragraph", {}, (line,)), source=f"[{block.anchor}]")
    return [alone, Block(block.node, block.hints, block.source)]


def _parse_one(markdown: str) -> Block | None:
    try:
        blocks = parse(markdown).blocks
    except UnsupportedMarkup:
        return None
    return blocks[0] if len(blocks) == 1 else None


MERGER: Final = Merger(_parse_one, canonical)


# --- what was seen -------------------------------------------------------------------------------


def _base(live: LiveDocument, options: WriteOptions) -> Cursor | None:
    return None if options.base is None else live.cursors.decode(options.base, live.log.head)


def _seen(
    live: LiveDocument, caller: Caller, options: WriteOptions, now: int, past: Past
) -> tuple[Cursor | None, Seen]:
    base = _base(live, options)
    seen = live.views.choose(caller.principal, base, now)
    if seen is not None:
        return base, seen
    assert base is not None  # without a base there is always an answer
    # The view is gone, and it was whole: it was the document of that moment.
    if past is None and not live.log.touched_since(base.seq):
        past = [(block.block_id, block.text) for block in live.present()]
    if past is None:
        raise NeedsPastError(base.seq)
    if not past:
        raise BaseExpired("base: what the document said at that cursor is no longer known.")
    return base, Seen.of_state(past, live.views.known(caller.principal, now))


def _added(live: LiveDocument, base: Cursor | None) -> frozenset[str]:
    """Blocks known to have come since the base."""
    if base is None:
        return frozenset()
    return frozenset(r.block_id for r in live.log.rows_since(base.seq) if r.kind == "added")


def _pinned(live: LiveDocument, caller: Caller, now: int) -> frozenset[str]:
    """Blocks somebody else touched in the last seconds: moving one would drop their keystrokes."""
    pinned = set()
    for row in live.log.rows_since(0):
        if row.at < now - PIN_MS:
            break
        if row.principal != caller.principal:
            pinned.add(row.block_id)
    return frozenset(pinned)


# --- doing it ------------------------------------------------------------------------------------


def _carry_out(
    live: LiveDocument,
    caller: Caller,
    options: WriteOptions,
    plan: Plan,
    base: Cursor | None,
    now: int,
) -> Written:
    before, oldest = live.log.head, live.views.oldest_cursor(caller.principal, now)
    if options.dry_run or not plan.ops:
        cursor, behind = cursor_after_write(base, oldest, before, before)
        _note(live, caller, base, cursor, now)
        foreseen = _foreseen(live, plan) if options.dry_run else ()
        return Written(_result(live, plan, foreseen, cursor, behind=behind), None)
    check_movable(live.fragment, live.index.ids, plan)
    executor = Executor(live.index.ids, live.fresh_id)
    author = Author(caller.principal, caller.name, "agent" if caller.agent else "editor")
    effects = live.write(author, now, lambda fragment: executor.run(fragment, plan))
    cursor, behind = cursor_after_write(base, oldest, before, live.log.head)
    removed = tuple(op.block_id for op in plan.ops if isinstance(op, Delete))
    written = list(dict.fromkeys(executor.written))
    place = {block_id: at for at, block_id in enumerate(live.index.ids)}
    shown = [Shown(i, live.text(i), _before(live, place[i])) for i in written if i in place]
    _note(live, caller, base, cursor, now, shown, removed)
    answered = [_told(live, block, executor.sent.get(block.block_id)) for block in shown]
    return Written(_result(live, plan, answered, cursor, behind=behind), effects)


def _note(
    live: LiveDocument,
    caller: Caller,
    base: Cursor | None,
    cursor: Cursor | None,
    now: int,
    shown: Sequence[Shown] = (),
    removed: Sequence[str] = (),
) -> None:
    """Whoever is given a cursor has seen what was shown with it."""
    live.views.on_write(
        caller.principal,
        base,
        cursor,
        shown=shown,
        removed=removed,
        order=live.index.ids,
        now=now,
    )


def _before(live: LiveDocument, position: int) -> str | None:
    return live.index.ids[position - 1] if position else None


def _told(live: LiveDocument, block: Shown, sent: str | None) -> WrittenBlock:
    same = sent is None or sent.rstrip("\n") == block.text
    text = UNSET if same else block.text
    return WrittenBlock(live.anchor(block.block_id), block.after, text)


def _foreseen(live: LiveDocument, plan: Plan) -> Sequence[WrittenBlock]:
    """What a dry run says of blocks that exist; inserted ones have no id yet."""
    return [
        WrittenBlock(
            f"{op.block_id}-{text_hash(op.new.text)}",
            _before(live, live.index.position(op.block_id) or 0),
            op.new.text,
        )
        for op in plan.ops
        if isinstance(op, Replace)
    ]


def _result(
    live: LiveDocument,
    plan: Plan,
    blocks: Sequence[WrittenBlock],
    cursor: Cursor | None,
    *,
    behind: bool,
) -> WriteResult:
    return WriteResult(
        ok=True,
        replaced=plan.replaced,
        inserted=plan.inserted,
        deleted=plan.deleted,
        moved=plan.moved,
        charged=plan.charged,
        blocks=tuple(blocks),
        removed=tuple(op.block_id for op in plan.ops if isinstance(op, Delete)),
        kept=plan.kept,
        conflicts=plan.conflicts,
        cursor=None if cursor is None else live.cursors.encode(cursor),
        behind=behind,
    )
