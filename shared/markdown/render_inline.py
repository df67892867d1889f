"""Inline content to Markdown.

Written as a person would, then read back: where CommonMark understands something else (`**"a"**b`
is not bold), the marks in the way become HTML tags, and where that is not enough every punctuation
character is escaped.
"""

from __future__ import annotations

from typing import Final

from shared.errors import UnsupportedMarkup
from shared.markdown.build import EMPTY_TEXT, BlockBuilder
from shared.markdown.build_inline import PARAGRAPH_TAG, InlineBuilder
from shared.markdown.canon import Inline, canon, canon_inline
from shared.markdown.escape import PLAIN
from shared.markdown.inline_writer import InlineWriter, Place
from shared.markdown.parser import block_tokens, inline_tokens
from shared.tree import Node, Text

_NO_BREAK_SPACE: Final = "\u00a0"
_LONELY_SPACE: Final = "&#160;"  # so that it is seen, and is no empty paragraph


def render_inline(content: Inline, place: Place) -> str:
    """Canonical inline content as Markdown that reads back as the same content."""
    if not content:
        return "" if place in {Place.HEADING, Place.CELL} else EMPTY_TEXT
    first = content[0]
    if len(content) == 1 and isinstance(first, Text) and not first.marks:
        if PLAIN.match(first.text):
            return first.text
        if first.text == _NO_BREAK_SPACE:
            return _LONELY_SPACE
    writer = InlineWriter(content, place)
    tried = ""
    for way in writer.ways():
        text = way()
        if text != tried and _reads_back(text, content, place):
            return text
        tried = text
    return writer.inert()


def render_cell(paragraphs: list[Inline]) -> str:
    """The paragraphs of a table cell, `<p>` between them; pipes are the caller's to escape."""
    text = PARAGRAPH_TAG.join(render_inline(content, Place.CELL) for content in paragraphs)
    if len(paragraphs) == 1 or _is_cell(text, paragraphs):
        return text
    # A `*` in one paragraph and one in the next, say: alone they mean nothing.
    writers = [InlineWriter(content, Place.CELL) for content in paragraphs]
    return PARAGRAPH_TAG.join(writer.inert() for writer in writers)


def _is_cell(text: str, paragraphs: list[Inline]) -> bool:
    """Whether a cell of this text reads as these paragraphs."""
    try:
        read = InlineBuilder(inline_tokens(text), divided=True).paragraphs
    except UnsupportedMarkup:
        return False
    return [canon_inline(items) for items in read] == paragraphs


def _reads_back(text: str, content: Inline, place: Place) -> bool:
    if place is Place.CELL:
        return _is_cell(text, [content])
    try:
        if place is Place.TASK:
            return _task_content(text) == content
        heading = place is Place.HEADING
        blocks = BlockBuilder(block_tokens(f"# {text}" if heading else text), text).blocks()
    except UnsupportedMarkup:
        return False
    expected = Node("heading", {"level": 1}, content) if heading else Node("paragraph", {}, content)
    if len(blocks) != 1:
        return False
    node = blocks[0].node
    return node == expected or canon(node) == expected  # the former is quick, and mostly enough


def _task_content(text: str) -> Inline | None:
    """The content of the first paragraph of a task with this text, if it has nothing else."""
    task = f"- [ ] {text}".replace("\n", "\n  ")
    blocks = [canon(block.node) for block in BlockBuilder(block_tokens(task), task).blocks()]
    if len(blocks) != 1 or blocks[0].type != "taskList":
        return None
    (item,) = blocks[0].content
    assert isinstance(item, Node)
    match item.content:
        case (Node("paragraph", _, content),):
            return content
    return None
