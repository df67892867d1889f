"""Placeholders in sent Markdown: what they stand for must be there, or they destroy it.

`<!-- opaque:callout k3x9d2ab -->` is all an author sees of a custom editor's node. Sent back as it
is, the node stays, moves or goes; damaged, it would be source in place of the node.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence

from shared.editor_shape import placeholder
from shared.errors import UnsupportedMarkup
from shared.markdown.canon import canon
from shared.tree import Block, Fidelity, Node
from shared.yjs.build import OpaqueName, opaque_name


def require_placeholders(
    sent: Sequence[Block],
    node_of: Callable[[str], Node | None],
    nodes: Callable[[], Iterable[Node]],
    shown: Container[str],
) -> None:
    """Refuse placeholders of nothing.

    Args:
        sent: The blocks as parsed.
        node_of: A block of the document by its id.
        nodes: All of them; asked only when a placeholder stands inside a sent block.
        shown: Ids of blocks the author was shown, which may be gone meanwhile.

    Raises:
        UnsupportedMarkup: One names no block, or inside a block a type that is nowhere.
    """
    inside: set[str] = set()
    for block in sent:
        if block.node.type == "opaque":
            tag, ref = opaque_name(block.node)
            if (tag, ref) != _name_of(node_of(ref)) and (node_of(ref) or ref not in shown):
                raise _refusal(block.node)
        else:
            inside.update(tag for tag, _ in _names_inside(block.node))
    if inside:
        there = {tag for node in nodes() for tag, _ in _names_inside(node)}
        if missing := sorted(inside - there):
            raise _refusal(Node("opaque", {"tag": missing[0], "ref": "…"}))


def _name_of(node: Node | None) -> OpaqueName | None:
    return opaque_name(canon(node)) if node is not None and node.type == "opaque" else None


def _names_inside(node: Node) -> Iterator[OpaqueName]:
    for child in node.content:
        if isinstance(child, Node):
            if child.type == "opaque":
                yield opaque_name(canon(child))
            yield from _names_inside(child)


def _refusal(node: Node) -> UnsupportedMarkup:
    return UnsupportedMarkup(
        f"markdown: {placeholder(node)} stands for nothing in this document; nothing was applied.",
        next_step="Copy such a line as read_document shows it, move it, or leave it out to delete"
        " what it stands for.",
    )


def strangers(sent: Sequence[Block]) -> tuple[Fidelity, ...]:
    """Placeholders in text for a place where nothing is yet that they could stand for."""
    return tuple(
        Fidelity(number, f"{placeholder(node)}: stands for nothing here, kept as source")
        for number, block in enumerate(sent)
        for node in _opaque(block.node)
    )


def _opaque(node: Node) -> Iterator[Node]:
    if node.type == "opaque":
        yield node
    for child in node.content:
        if isinstance(child, Node):
            yield from _opaque(child)
