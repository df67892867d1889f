"""What a tree may be: node types, content rules, equality.

The content rules are a stock Tiptap editor's; it deletes from the shared document whatever breaks
them (see `shared.editor_shape`).
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

import msgspec

from shared.editor_shape import BLOCKS, CHILDREN, MARKS, TEXTBLOCKS, mark_name
from shared.markdown.canon import (
    CARRIER,
    EMPTY_PARAGRAPH,
    HARD_BREAK,
    ITEMS,
    LISTS,
    canon,
    canon_inline,
)
from shared.markdown.layout import effective_hints
from shared.tree import NO_HINTS, Hints, Node, Text

__all__ = [
    "BLOCK_TYPES",
    "CARRIER",
    "EMPTY_PARAGRAPH",
    "HARD_BREAK",
    "LISTS",
    "canon",
    "canon_inline",
    "check",
    "effective_hints",
    "fingerprint",
    "is_blank",
    "plain_text",
]

BLOCK_TYPES: Final = BLOCKS
_FINGERPRINT_BYTES: Final = 8
_LEAVES: Final = frozenset({"horizontalRule", "image", "hardBreak", "opaque"})
_NEVER_EMPTY: Final = frozenset({*LISTS, *ITEMS, "blockquote", "table", "tableCell", "tableHeader"})


def is_blank(node: Node) -> bool:
    """Whether the block is an empty paragraph."""
    return canon(node) == EMPTY_PARAGRAPH


def plain_text(node: Node) -> str:
    """The characters of a block without marks: a break is a newline, textblocks stand on lines."""
    if node.type in TEXTBLOCKS:
        return "".join(_characters(item) for item in node.content)
    children = [child for child in node.content if isinstance(child, Node)]
    return "\n".join(plain_text(child) for child in children if child.type not in _LEAVES)


def _characters(item: Node | Text) -> str:
    if isinstance(item, Text):
        return item.text
    return "\n" if item.type == "hardBreak" else ""


def fingerprint(node: Node, hints: Hints = NO_HINTS) -> str:
    """16 hex digits that differ between two blocks exactly when their Markdown does."""
    form = canon(node)
    encoded = msgspec.json.encode((form, effective_hints(form, hints)))
    return blake2b(encoded, digest_size=_FINGERPRINT_BYTES).hexdigest()


def check(node: Node) -> str | None:
    """Why a stock editor would delete something of this block; None when it keeps it whole.

    Opaque nodes break no rule: they are what a custom editor put there.
    """
    if node.type == "opaque":
        return None
    if node.type not in BLOCK_TYPES:
        return f"{node.type} is no block"
    return _check(node)


def _check(node: Node) -> str | None:
    if node.type in TEXTBLOCKS:
        return _check_text(node)
    if node.type in _LEAVES:
        return f"{node.type} holds nothing" if node.content else None
    if _is_too_empty(node):
        return f"{node.type} may not be empty"
    allowed = CHILDREN[node.type]
    for child in node.content:
        if isinstance(child, Text):
            return f"{node.type} holds text directly"
        if child.type != "opaque":
            if child.type not in allowed:
                return f"{node.type} holds {child.type}"
            if reason := _check(child):
                return reason
    first = node.content[0] if node.content else None
    if node.type in ITEMS and isinstance(first, Node) and first.type != "paragraph":
        return f"{node.type} starts with {first.type}"
    return None


def _is_too_empty(node: Node) -> bool:
    if node.type == "table":
        return not any(isinstance(row, Node) and row.content for row in node.content)
    return node.type in _NEVER_EMPTY and not node.content


def _check_text(node: Node) -> str | None:
    allowed = CHILDREN.get(node.type, frozenset())
    for item in node.content:
        if isinstance(item, Node):
            if item.type not in allowed and item.type != "opaque":
                return f"{node.type} holds {item.type}"
        elif item.marks and node.type == "codeBlock":
            return "codeBlock holds marks"
        elif unknown := [key for key in item.marks if mark_name(key) not in MARKS]:
            return f"the mark {unknown[0]} is unknown"
    return None
