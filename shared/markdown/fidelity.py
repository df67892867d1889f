"""What Markdown does not show of a block. It stays in the document when the block is edited."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from shared.editor_shape import is_known_mark, mark_name
from shared.markdown.canon import MAX_LEVEL, MAX_START
from shared.tree import Node, Text

# node -> attributes that mean something to a reader and have no Markdown
_UNSHOWN: Final = {
    "image": ("width", "height"),
    "orderedList": ("type",),
    "tableCell": ("colwidth",),
    "tableHeader": ("colwidth",),
    "paragraph": ("textAlign",),
    "heading": ("textAlign",),
}


def unshown(node: Node) -> tuple[str, ...]:
    """What of the block its Markdown leaves out, each thing once, in document order."""
    return tuple(dict.fromkeys(_unshown(node)))


def _unshown(node: Node) -> Iterator[str]:
    yield from _of_node(node)
    for child in node.content:
        yield from _unshown(child) if isinstance(child, Node) else _of_text(child)


def _of_node(node: Node) -> Iterator[str]:
    for name in _UNSHOWN.get(node.type, ()):
        if node.attrs.get(name) is not None:
            yield f"{node.type}: {name} is not shown"
    if node.type == "heading" and node.attrs.get("level", 1) not in range(1, MAX_LEVEL + 1):
        yield f"heading: level {node.attrs['level']} is shown as another"
    if node.type == "orderedList" and node.attrs.get("start", 1) not in range(MAX_START + 1):
        yield f"orderedList: start {node.attrs['start']} is shown as another"
    if node.type == "opaque":
        yield f"{node.attrs.get('tag', 'opaque')}: shown as a placeholder"


def _of_text(text: Text) -> Iterator[str]:
    for key in text.marks:
        if not is_known_mark(key):
            yield f"mark {mark_name(key)} is not shown"
    if "\x00" in text.text:
        yield "text: a NUL character is shown as U+FFFD"
