"""Where blank lines stand in a list: what a style hint says and what the content forces."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from shared.markdown.canon import EMPTY_PARAGRAPH, LISTS
from shared.tree import NO_HINTS, Hints, Node, Text

# What may start on the line below a paragraph and still end it.
_INTERRUPTING: Final = frozenset({"heading", "horizontalRule", "blockquote"})
# Blocks that end with their own last line, whatever follows.
_CLOSED: Final = frozenset({"heading", "horizontalRule"})


def is_carrier(node: Node) -> bool:
    """Whether a code block carries Markdown or HTML source that has no node of its own."""
    return node.type == "codeBlock" and str(node.attrs.get("language", "")).startswith("=")


def is_empty(node: Node) -> bool:
    """Whether a canonical item holds an empty paragraph and nothing else."""
    return node.content == (EMPTY_PARAGRAPH,)


def needs_blank(before: Node, after: Node) -> bool:
    """Whether two neighbours inside an item need a blank line between them to stay two."""
    if is_carrier(before) or is_carrier(after):
        return True
    if before.type in LISTS and after.type in LISTS:
        return not (before.type == after.type or {before.type, after.type} == _MIXED)
    if before.type in _CLOSED or before.type == "codeBlock":
        return False
    if after.type == "codeBlock" or after.type in _INTERRUPTING:
        return before.type in {"table", "image", "opaque"} or before.type == after.type
    return before.type != "paragraph" or not _interrupts(after)


_MIXED: Final = {"taskList", "bulletList"}


def _interrupts(node: Node) -> bool:
    """Whether a list may stand right below a paragraph: it starts at 1 and with content."""
    if node.type not in LISTS:
        return False
    if node.type == "orderedList" and node.attrs.get("start", 1) != 1:
        return False
    first = node.content[0] if node.content else None
    return isinstance(first, Node) and (node.type == "taskList" or not is_empty(first))


def items(node: Node) -> tuple[Node, ...]:
    """The children of a list, quote, row or cell."""
    return tuple(child for child in node.content if not isinstance(child, Text))


def shown_children(item: Node) -> tuple[Node, ...]:
    """What of a canonical item is written: another block implies its empty first paragraph."""
    children = items(item)
    if len(children) > 1 and children[0] == EMPTY_PARAGRAPH and item.type == "listItem":
        return children[1:] if children[1].type != "paragraph" else children
    return children


def is_loose(node: Node, hints: Hints = NO_HINTS) -> bool:
    """Whether blank lines stand between the items of a canonical list and inside them."""
    written = [shown_children(item) for item in items(node)]
    if any(needs_blank(*pair) for row in written for pair in pairwise(row)):
        return True
    return hints.loose and (len(written) > 1 or any(len(row) > 1 for row in written))


def effective_hints(node: Node, hints: Hints) -> Hints:
    """The hints as they show: none outside lists, a delimiter only where there are numbers."""
    if node.type not in LISTS:
        return NO_HINTS
    delimiter = hints.delimiter if node.type == "orderedList" else "."
    return Hints(is_loose(node, hints), delimiter)
