"""The verbs that read: `read_document` and `read_changes` of a live document.

A read leaves no trace in the document; it only notes what the caller was shown
(`shared.views.views`), so that a later write of theirs touches nothing they did not see.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal

from msgspec import UNSET, UnsetType

from shared.document.discussing import changed_threads, last_that_fits, shown_threads
from shared.document.live_document import LiveDocument
from shared.document.marking import marked
from shared.document.suggesting import changed_since
from shared.document.suggesting import shown as shown_suggestions
from shared.errors import StaleAnchor, StaleBlock
from shared.feed.block_changes import Page
from shared.feed.cursor import Cursor
from shared.ids import BlockRef, text_hash
from shared.limits import MAX_FIND_HITS, MAX_TITLE_CHARS
from shared.markdown.join import anchored, join, joined_chars
from shared.markdown.schema import plain_text
from shared.protocol import (
    BlockText,
    Caller,
    ChangedBlock,
    FidelityNote,
    Hit,
    OutlineEntry,
    ReadChangesRequest,
    ReadChangesResult,
    ReadDocumentRequest,
    ReadDocumentResult,
)
from shared.sections import Section, running_total, section_of, sections
from shared.views.conversation import Shown

READ_ONCE: Final = "Call read_document once and go on from the cursor it returns."
_SNIPPET: Final = 60  # characters on each side of a hit
_UNTITLED: Final = "Untitled"
# What makes a block read otherwise than its Markdown: without, its words stand there as they are.
_MARKED: Final = re.compile(r"[\\*_~`<>\[\]&|!\u2063]|[^\S ]|  ")


def title(live: LiveDocument) -> str:
    """The title given at creation, else the first heading, else the first words."""
    if live.given_title is not None:
        return live.given_title
    first = next((heading.title for heading in live.headings() if heading.title), "")
    words = (" ".join(plain_text(live.index.node(one)).split()) for one in live.index.ids)
    return (first or next(filter(None, words), _UNTITLED))[:MAX_TITLE_CHARS]


def head_cursor(live: LiveDocument) -> int:
    """A cursor at the head, for a caller that knows the whole document."""
    return live.cursors.encode(Cursor(live.log.head))


def locate(live: LiveDocument, ref: BlockRef, field: str) -> int:
    """The position of a block that a caller named.

    Raises:
        StaleAnchor: There is no such block; with an outline.
        StaleBlock: Its text is not what the anchor's hash says; with the present anchor and text.
    """
    position = live.index.position(ref.block_id)
    if position is None:
        raise StaleAnchor(
            f"{field}: no block {ref.block_id!r} in this document.",
            outline=[_plain(entry) for entry in outline(live)[:MAX_FIND_HITS]],
        )
    if ref.hash is not None and ref.hash != text_hash(live.text(ref.block_id)):
        raise StaleBlock(
            f"{field}: block {ref.block_id!r} has changed since that anchor was made.",
            anchor=live.anchor(ref.block_id),
            text=live.text(ref.block_id),
        )
    return position


def outline(live: LiveDocument) -> tuple[OutlineEntry, ...]:
    """Every heading, with the size of what is under it."""
    return _outline(live, sections(live.headings(), len(live.index.ids)))


def find_section(live: LiveDocument, ref: BlockRef) -> Section:
    """The subtree of the heading that `ref` names.

    Raises StaleAnchor, StaleBlock as `locate`; StaleAnchor when the block is no heading.
    """
    position = locate(live, ref, "section_id")
    for section in sections(live.headings(), len(live.index.ids)):
        if section.start == position:
            return section
    raise StaleAnchor(
        f"section_id: block {ref.block_id!r} is not a top-level heading.",
        outline=[_plain(entry) for entry in outline(live)[:MAX_FIND_HITS]],
    )


def read_document(
    live: LiveDocument, caller: Caller, request: ReadDocumentRequest, now: int
) -> ReadDocumentResult:
    """The document or one section of it, whole or cut at `max_chars`; or an outline; or hits.

    Raises StaleAnchor, StaleBlock for a `section_id` that is none.
    """
    ids = live.index.ids
    start, end = 0, len(ids)
    if request.section_id is not None:
        section = find_section(live, request.section_id)
        start, end = section.start, section.end
    if request.find is not None or request.outline:
        cursor = _of_no_text(live)
        live.views.on_read(caller.principal, cursor, (), now)
        return _look(live, request, start, end)
    shown = _fit(live, start, end, request.max_chars)
    whole = (start, shown) == (0, len(ids))
    texts = {block_id: live.text(block_id) for block_id in ids[start:shown]}
    cursor = Cursor(live.log.head, part=not whole)
    live.views.on_read(caller.principal, cursor, texts.items(), now)
    rest = [s for s in sections(live.headings(), len(ids)) if shown <= s.start < end]
    truncated = shown < end
    return ReadDocumentResult(
        title=title(live),
        cursor=live.cursors.encode(cursor),
        total_chars=_chars(live, start, end),
        truncated=truncated,
        markdown=marked(live, caller, now)
        if request.critic and whole
        else _markdown(request.format, texts),
        blocks=_blocks(live, texts, request.format),
        outline=_outline(live, rest) if truncated else UNSET,
        next_section_id=rest[0].heading.block_id if truncated and rest else UNSET,
        next_step=_go_on(truncated, bool(rest)),
        fidelity=_fidelity(live, texts) or UNSET,
        threads=shown_threads(live, request.threads, range(start, shown), request.max_chars),
        suggestions=shown_suggestions(live, caller, request.suggestions),
    )


def read_changes(
    live: LiveDocument, caller: Caller, request: ReadChangesRequest, now: int
) -> ReadChangesResult:
    """What changed since the caller's cursor. Raises InvalidCursor."""
    if request.cursor is None:
        return _start_over(live, caller, "no_cursor", now, look=request.look)
    cursor = live.cursors.decode(request.cursor, live.log.head)
    exclude = caller.principal if request.exclude_self else None
    until = last_that_fits(live, cursor.seq, request.max_chars, exclude)
    page = live.log.page(
        cursor,
        live.index.ids,
        lambda block_id: len(live.text(block_id)),
        request.max_chars,
        exclude,
        caller.principal,
        until,
    )
    if page.too_old:
        return _start_over(live, caller, "too_old", now, look=request.look)
    # What was left out as the caller's own was not shown by this answer.
    left_out = exclude is not None and any(
        row.principal == exclude for row in live.log.rows_since(cursor.seq)
    )
    on = Cursor(page.seq, cut=page.cut, part=cursor.part or left_out)
    if not request.look:
        live.views.on_changes(
            caller.principal,
            cursor,
            on,
            shown=[Shown(e.block_id, live.text(e.block_id), e.after) for e in page.entries],
            removed=page.removed,
            order=live.index.ids,
            now=now,
        )
    return ReadChangesResult(
        blocks=_changed(live, page),
        removed=page.removed,
        cursor=live.cursors.encode(on),
        truncated=False,
        more=page.more,
        next_step="Call read_changes again with this cursor: there is more."
        if page.more
        else UNSET,
        threads=changed_threads(live, cursor.seq, page.seq, exclude),
        suggestions=changed_since(
            live, caller, cursor.seq, page.seq, exclude_self=request.exclude_self
        ),
    )


def _start_over(
    live: LiveDocument,
    caller: Caller,
    reason: Literal["no_cursor", "too_old"],
    now: int,
    *,
    look: bool,
) -> ReadChangesResult:
    cursor = _of_no_text(live)
    if not look:
        live.views.on_read(caller.principal, cursor, (), now)
    return ReadChangesResult(
        blocks=(),
        removed=(),
        cursor=live.cursors.encode(cursor),
        truncated=True,
        more=False,
        reason=reason,
        next_step=READ_ONCE,
    )


def _changed(live: LiveDocument, page: Page) -> tuple[ChangedBlock, ...]:
    return tuple(
        ChangedBlock(
            anchor=live.anchor(entry.block_id),
            text=live.text(entry.block_id),
            change=entry.change,
            after=entry.after,
            by=tuple(live.names.get(principal, principal) for principal in entry.principals),
        )
        for entry in page.entries
    )


def _fit(live: LiveDocument, start: int, end: int, max_chars: int) -> int:
    """Where the answer ends: at `end`, else at the last section's start that fits, else mid-text.

    Ending where a section starts lets a reader go on with `next_section_id` and miss nothing.
    """
    used = 0
    cut = end
    present = live.present()
    for position in range(start, end):
        used += len(present[position].text) + 2
        if used > max_chars and position > start:
            cut = position
            break
    if cut == end:
        return end
    starts = [h.position for h in live.headings() if start < h.position <= cut]
    return starts[-1] if starts else cut


def _look(
    live: LiveDocument, request: ReadDocumentRequest, start: int, end: int
) -> ReadDocumentResult:
    """An outline or hits: neither shows a block's whole text, so neither counts as having seen."""
    inside = [s for s in sections(live.headings(), len(live.index.ids)) if start <= s.start < end]
    return ReadDocumentResult(
        title=title(live),
        cursor=live.cursors.encode(_of_no_text(live)),
        total_chars=_chars(live, start, end),
        truncated=False,
        outline=_outline(live, inside) if request.outline else UNSET,
        hits=_hits(live, request.find, start, end) if request.find is not None else UNSET,
    )


def _of_no_text(live: LiveDocument) -> Cursor:
    """The cursor of an answer that shows no block.

    Marked as if paging had stopped here, it is another one than that of a part read at the same
    moment: who has an outline and then reads a section goes on from what the section showed.
    """
    return Cursor(live.log.head, cut=True, part=True)


def _hits(live: LiveDocument, find: str, start: int, end: int) -> tuple[Hit, ...]:
    headings = live.headings()
    wanted = find.casefold()
    hits: list[Hit] = []
    for position in range(start, end):
        block_id = live.index.ids[position]
        text = live.text(block_id)
        at = text.casefold().find(wanted)
        if at < 0 and _MARKED.search(text):
            text = " ".join(plain_text(live.index.node(block_id)).split())
            at = text.casefold().find(wanted)
        if at < 0:
            continue
        snippet = text[max(0, at - _SNIPPET) : at + len(find) + _SNIPPET]
        heading = section_of(headings, position)
        hits.append(Hit(live.anchor(block_id), heading.block_id if heading else None, snippet))
        if len(hits) == MAX_FIND_HITS:
            break
    return tuple(hits)


def _outline(live: LiveDocument, inside: Sequence[Section]) -> tuple[OutlineEntry, ...]:
    before = running_total(len(block.text) for block in live.present())
    return tuple(
        OutlineEntry(
            section_id=section.heading.block_id,
            level=section.heading.level,
            title=section.heading.title[:MAX_TITLE_CHARS],
            chars=before[section.end] - before[section.start],
        )
        for section in inside
    )


def _chars(live: LiveDocument, start: int, end: int) -> int:
    return joined_chars([block.text for block in live.present()[start:end]])


def _markdown(format_: str, texts: dict[str, str]) -> str | UnsetType:
    if format_ == "anchored":
        return anchored((f"{block_id}-{text_hash(text)}", text) for block_id, text in texts.items())
    return join(texts.values()) if format_ == "markdown" else UNSET


def _blocks(
    live: LiveDocument, texts: dict[str, str], format_: str
) -> tuple[BlockText, ...] | UnsetType:
    """With texts in format `blocks`, anchors alone in `anchored`: no text twice."""
    if format_ == "markdown":
        return UNSET
    shown = format_ == "blocks"
    return tuple(BlockText(live.anchor(i), t if shown else UNSET) for i, t in texts.items())


def _fidelity(live: LiveDocument, texts: dict[str, str]) -> tuple[FidelityNote, ...]:
    return tuple(
        FidelityNote(block_id, what) for block_id in texts for what in live.fidelity(block_id)
    )


def _go_on(truncated: bool, has_section: bool) -> str | UnsetType:
    if not truncated:
        return UNSET
    if has_section:
        return "Go on with section_id = next_section_id, then the other sections of the outline."
    return "Ask again with a larger max_chars (up to 1,000,000)."


def _plain(entry: OutlineEntry) -> dict[str, object]:
    return {"section_id": entry.section_id, "level": entry.level, "title": entry.title}
