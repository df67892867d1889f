"""The verbs that write: from a request to a plan, by way of values.

A `Draft` holds all that its plan depends on, taken from the document at one instant; what was sent
is made canonical (`rendering`) and the plan is made without the document, in a thread when that
takes long. `shared.document.applying` carries a plan out.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

import msgspec

from shared.document.live_document import LiveDocument
from shared.document.suggesting import plan_decision
from shared.errors import BaseExpired, UnsupportedMarkup
from shared.feed.cursor import Cursor
from shared.ids import parse_ref
from shared.limits import BLOCK_SEARCH_CHARS, MAX_DIFF_INLINE, PIN_MS, QUOTE_INLINE_CHARS
from shared.markdown.parse import parse
from shared.markdown.render import render
from shared.patch.move import plan_move
from shared.patch.patch import is_large, plan_patch
from shared.patch.rebase import Merger
from shared.patch.replace_text import Reader, plan_replace_text
from shared.patch.types import NOTHING_SEEN, NewBlock, Plan, Present, Seen
from shared.patch.verbs import plan_delete, plan_insert, plan_replace
from shared.placeholders import require_placeholders, strangers
from shared.protocol import (
    Caller,
    DeleteRequest,
    InsertRequest,
    MoveRequest,
    PatchRequest,
    ReplaceRequest,
    ReplaceTextRequest,
    TextEdit,
    WriteOptions,
)
from shared.protocol_suggestions import AnyWrite, DecideRequest, SuggestRequest
from shared.suggestions.accepting import Now
from shared.suggestions.proposing import proposed, proposed_text
from shared.tree import NO_HINTS, Block, Fidelity, Hints, Node, Text

Past = Sequence[tuple[str, str]] | None  # ids and Markdown at the base; (): no longer kept


class Rendering(msgspec.Struct, frozen=True):
    """Makes the blocks of a call canonical; `make` needs the document no more.

    Attributes:
        chars: Of Markdown, that `make` has to render.
    """

    make: Callable[[], Sequence[NewBlock]]
    chars: int = 0


class _Shown(Container[str]):
    """The blocks a caller was shown, looked up when first asked for: mostly nobody asks."""

    def __init__(self, live: LiveDocument, caller: Caller, now: int) -> None:
        self._known: Callable[[], Mapping[str, object]] = partial(
            live.views.known, caller.principal, now
        )
        self._found: Mapping[str, object] | None = None

    def __contains__(self, block_id: object) -> bool:
        if self._found is None:
            self._found = self._known()
        return block_id in self._found


Standing = tuple[Node, Hints, Present]  # a block of the document


class NeedsPastError(Exception):
    """The author's base is known only as a moment; what the document was then must be rebuilt.

    Its change sequence is in `args[0]`. The verb is then called again with `past`.
    """


class Draft(msgspec.Struct, frozen=True):
    """A write, and what it is planned from.

    Attributes:
        base: The place its author said they were at.
        moment: Of the document and of what its author was shown: a plan is good while it stays.
        plan: Makes the plan; raises what the verb's planner raises.
        large: Planning takes so long that it belongs in a thread.
        note: What its author says of what it suggests.
    """

    caller: Caller
    options: WriteOptions
    base: Cursor | None
    moment: tuple[int, int]
    plan: Callable[[], Plan]
    large: bool = False
    note: str = ""


def draft(
    live: LiveDocument,
    caller: Caller,
    request: AnyWrite,
    new: Sequence[NewBlock],
    now: int,
    past: Past = None,
    held: frozenset[str] = frozenset(),
) -> Draft:
    """What a write is planned from, as of now. `new` is what `rendering` made of the request, and
    `held` are blocks in which others' carets stand.

    Raises InvalidCursor, BaseExpired, NeedsPastError.
    """
    options, large = request.options, False
    base = base_of(live, options)
    plan: Callable[[], Plan]
    present, seen = live.present(), NOTHING_SEEN
    match request:
        case InsertRequest():
            plan = partial(plan_insert, present, new, request.after)
        case ReplaceTextRequest() | SuggestRequest():
            plan = _replacing_text(live, caller, request, present, base, now)
            searched = sum(len(block.text) + BLOCK_SEARCH_CHARS for block in present)
            large = len(request.edits) * searched > QUOTE_INLINE_CHARS
        case DecideRequest():
            pinned = held | _pinned(live, caller, now)
            plan = partial(plan_decision, live, caller, request, as_now(live, caller, now, pinned))
        case _:
            seen = _seen(live, caller, base, now, past)
            pinned = frozenset() if options.mode == "suggest" else held | _pinned(live, caller, now)
            plan = _of_seen(live, request, present, new, seen, base, pinned)
            large = max(len(present), len(new)) > MAX_DIFF_INLINE and is_large(present, new)
    if "suggest" in (options.mode, options.on_conflict):
        plan = partial(_proposed, plan, present, seen, options)
    note = request.note if isinstance(request, SuggestRequest) else options.note
    return Draft(caller, options, base, moment(live, caller), plan, large, note)


def _proposed(
    plan: Callable[[], Plan], present: Sequence[Present], seen: Seen, options: WriteOptions
) -> Plan:
    done = plan()
    if done.suggested:  # each of its edits by itself, already
        return done
    return proposed(done, present, seen, options.mode, options.on_conflict)


def as_now(
    live: LiveDocument, caller: Caller, now: int, pinned: frozenset[str] = frozenset()
) -> Now:
    """What accepted suggestions are brought onto."""

    def came(seq: int) -> frozenset[str]:
        return frozenset(row.block_id for row in live.log.rows_since(seq) if row.kind == "added")

    return Now(live.present(), reader_of(live, caller, now).parse, MERGER, came, pinned)


def moment(live: LiveDocument, caller: Caller) -> tuple[int, int]:
    """A value that changes with the document and with what the caller was shown."""
    return live.update_seq, live.views.stamp(caller.principal)


def _of_seen(
    live: LiveDocument,
    request: PatchRequest | ReplaceRequest | DeleteRequest | MoveRequest,
    present: Sequence[Present],
    new: Sequence[NewBlock],
    seen: Seen,
    base: Cursor | None,
    pinned: frozenset[str],
) -> Callable[[], Plan]:
    """The verbs that touch only what their author has seen."""
    options = request.options
    match request:
        case PatchRequest():
            return partial(
                plan_patch,
                present,
                new,
                seen,
                merger=MERGER,
                anchors=request.anchors,
                section_id=request.section_id,
                options=options,
                added=_added(live, base),
                pinned=pinned,
            )
        case ReplaceRequest():
            return partial(
                plan_replace,
                present,
                request.start,
                request.end,
                new,
                seen,
                merger=MERGER,
                options=options,
                added=_added(live, base),
                pinned=pinned,
            )
        case MoveRequest():
            return partial(
                plan_move,
                present,
                request.block,
                request.after,
                seen,
                section=request.section,
                options=options,
                pinned=pinned,
            )
        case DeleteRequest():
            return partial(plan_delete, present, request.blocks, seen, options=options)


def _replacing_text(
    live: LiveDocument,
    caller: Caller,
    request: ReplaceTextRequest | SuggestRequest,
    present: Sequence[Present],
    base: Cursor | None,
    now: int,
) -> Callable[[], Plan]:
    """It quotes what it is about, so nothing else need have been seen."""
    rows = () if base is None else live.log.rows_since(base.seq)
    touched = frozenset(row.block_id for row in rows if row.principal != caller.principal)
    section = request.section_id if isinstance(request, ReplaceTextRequest) else None
    reader = reader_of(live, caller, now)

    def plan_of(edits: Sequence[TextEdit]) -> Plan:
        return plan_replace_text(
            present, edits, section, reader=reader, options=request.options, touched=touched
        )

    if isinstance(request, SuggestRequest) or request.options.mode == "suggest":
        return partial(proposed_text, present, request.edits, plan_of)
    return partial(plan_of, request.edits)


def reader_of(live: LiveDocument, caller: Caller, now: int) -> Reader:
    """How a text for the document is read, as of now: it needs the document no more."""
    index, known = live.index, live.views.known(caller.principal, now)
    trees = {one: (index.node(one), index.hints(one)) for one in index.ids}

    def block_of(block_id: str) -> Block:
        return Block(*trees[block_id])

    def read(text: str) -> list[NewBlock]:
        parsed = parse(text)
        nodes = (node for node, _ in trees.values())
        require_placeholders(
            parsed.blocks, lambda one: trees.get(one, _NOTHING)[0], lambda: nodes, known
        )
        ours = _ours((trees, known), parsed.blocks)
        return canonical_blocks(parsed.blocks, parsed.fidelity, ours)

    return Reader(block_of, read, lambda block: NewBlock.of(block, canonical(block)))


_NOTHING: Final = (None, NO_HINTS)
_NO_BLOCKS: Final[Mapping[str, Standing]] = {}


# --- what was sent -------------------------------------------------------------------------------


def rendering(live: LiveDocument, caller: Caller, request: AnyWrite, now: int) -> Rendering:
    """What makes the blocks of a call canonical.

    A line that looks like an anchor is one when it names a block that is or was, as far as the
    log or what the caller was shown tells; else it is text.

    Raises UnsupportedMarkup for a placeholder that stands for nothing in the document.
    """
    if not isinstance(request, PatchRequest | InsertRequest | ReplaceRequest):
        return Rendering(tuple)
    known = _Shown(live, caller, now)
    index, fidelity = live.index, request.fidelity
    if isinstance(request, InsertRequest):
        fidelity = (*fidelity, *strangers(request.blocks))
    else:
        nodes = partial(map, index.node, index.ids)
        require_placeholders(
            request.blocks, lambda one: index.node(one) if one in index else None, nodes, known
        )
    ours = _ours((index, known, live.log), request.blocks)
    standing = _standing(live, request.blocks)
    sources = [block.source for block in request.blocks]
    # To see that a block stands there already costs no more than a character.
    chars = len(sources) + sum(len(source) for source in sources if source not in standing)
    return Rendering(partial(canonical_blocks, request.blocks, fidelity, ours, standing), chars)


def _standing(live: LiveDocument, sent: Iterable[Block]) -> dict[str, Standing]:
    """By their Markdown, blocks of the document that were sent as they are, to all appearance."""
    texts = {block.text: block for block in live.present()}
    index = live.index
    return {
        block.source: (index.node(one.block_id), index.hints(one.block_id), one)
        for block in sent
        if (one := texts.get(block.source)) is not None
    }


def canonical_blocks(
    sent: Sequence[Block],
    fidelity: Sequence[Fidelity],
    ours: Container[str],
    standing: Mapping[str, Standing] = _NO_BLOCKS,
) -> list[NewBlock]:
    """Blocks as parsed, each with its Markdown and what of it could not be kept.

    What equals a block of `standing` reads like it, and is not rendered again.
    """
    notes: dict[int, list[str]] = {}
    for note in fidelity:
        notes.setdefault(note.index, []).append(note.what)
    new: list[NewBlock] = []
    for number, block in enumerate(sent):
        *line, own = _with_foreign_anchor_as_text(block, ours)
        new += [NewBlock.of(one, canonical(one)) for one in line]
        told = tuple(notes.get(number, ()))
        there = standing.get(own.source)
        if there is not None and (own.node, own.hints) == there[:2]:
            new.append(NewBlock(own, there[2].text, there[2].digest, len(own.source), told))
        else:
            new.append(NewBlock.of(own, canonical(own), told))
    return new


def canonical(block: Block) -> str:
    return render(block.node, block.hints).text


def _ours(known: Sequence[Container[object]], blocks: Sequence[Block]) -> frozenset[str]:
    """Anchors among those of `blocks` that name a block of this document, of now or of before."""
    refs = {block.anchor: parse_ref(block.anchor) for block in blocks if block.anchor}
    return frozenset(
        anchor
        for anchor, ref in refs.items()
        if ref is not None and any(ref.block_id in ids for ids in known)
    )


def _with_foreign_anchor_as_text(block: Block, ours: Container[str]) -> list[Block]:
    if block.anchor is None or block.anchor in ours:
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


def base_of(live: LiveDocument, options: WriteOptions) -> Cursor | None:
    """Where the author of a write said they were. Raises InvalidCursor."""
    return None if options.base is None else live.cursors.decode(options.base, live.log.head)


def _seen(live: LiveDocument, caller: Caller, base: Cursor | None, now: int, past: Past) -> Seen:
    seen = live.views.choose(caller.principal, base, now)
    if seen is not None:
        return seen
    assert base is not None  # without a base there is always an answer
    # The view is gone, and it was whole: it was the document of that moment.
    if past is None and not live.log.touched_since(base.seq):
        past = [(block.block_id, block.text) for block in live.present()]
    if past is None:
        raise NeedsPastError(base.seq)
    if not past:
        raise BaseExpired("base: what the document said at that cursor is no longer known.")
    return Seen.of_state(past, live.views.known(caller.principal, now))


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
