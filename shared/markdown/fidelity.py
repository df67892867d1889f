"""What Markdown does not show of a block. It stays in the document when the block is edited."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from operator import itemgetter
from typing import Any, Final

from shared.editor_shape import ATTRIBUTES, MARKS, is_known_mark, mark_name
from shared.limits import MAX_FIDELITY_NOTES, MAX_NOTED_CHARS
from shared.markdown.canon import canon_attributes
from shared.tree import Attrs, Node, Text


def unshown(node: Node) -> tuple[str, ...]:
    """What of the block its Markdown leaves out, each thing once, in document order.

    At most `MAX_FIDELITY_NOTES`: a client names attributes and marks as it likes.
    """
    notes = _distinct(_unshown(node))
    told = tuple(islice(notes, MAX_FIDELITY_NOTES))
    return (*told, "and more") if next(notes, None) is not None else told


def _distinct(notes: Iterator[str]) -> Iterator[str]:
    seen: set[str] = set()
    for note in notes:
        if note not in seen:
            seen.add(note)
            yield note


def _unshown(node: Node) -> Iterator[str]:
    if node.type == "opaque":
        yield f"{_short(node.attrs.get('tag', 'opaque'))}: shown as a placeholder"
        return
    yield from _of_attributes(node)
    for child in node.content:
        if isinstance(child, Node):
            yield from _unshown(child)
        else:
            yield from _of_text(child, within=node.type)


def _of_attributes(node: Node) -> Iterator[str]:
    """Attributes that no Markdown says, and values it says otherwise; a stock default is none."""
    if not node.attrs:
        return
    stock = ATTRIBUTES.get(node.type, {})
    set_by_hand = [
        (name, value)
        for name, value in node.attrs.items()
        if value is not None and value != "" and value != stock.get(name)
    ]
    if not set_by_hand:
        return
    said = canon_attributes(node)
    for name, value in sorted(set_by_hand, key=itemgetter(0)):  # as stored they have no order
        if name not in said:
            yield f"{node.type}: {_short(name)} is not shown"
        elif said[name] != value:
            yield f"{node.type}: {name} {_short(value)} is shown as another"


def _of_text(text: Text, within: str) -> Iterator[str]:
    for key, attrs in text.marks.items():
        name = mark_name(key)
        if not is_known_mark(key) or not _has_address(name, attrs):
            yield f"mark {_short(name)} is not shown"
        elif within == "codeBlock":
            yield f"codeBlock: mark {name} is not shown"
        else:
            yield from _of_mark(name, attrs)
    if "\x00" in text.text:
        yield "text: a NUL character is shown as U+FFFD"


def _has_address(name: str, attrs: Attrs) -> bool:
    return name != "link" or isinstance(attrs.get("href"), str)


def _of_mark(name: str, attrs: Attrs) -> Iterator[str]:
    """A link's target, rel and class are an editor's habit; anything else unknown is told."""
    stock = MARKS[name]
    for key, value in attrs.items():
        odd = key in stock and key not in _HABITS and not isinstance(value, str)
        if value is not None and (key not in stock or odd):
            yield f"mark {name}: {_short(key)} is not shown"


_HABITS: Final = frozenset({"target", "rel", "class"})


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= MAX_NOTED_CHARS else f"{text[:MAX_NOTED_CHARS]}…"
