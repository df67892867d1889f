"""An XmlFragment seen as blocks: read, build, copy, remove, and the guard against foreign children.

Everything here is called inside a transaction the caller has opened; nothing awaits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pycrdt import XmlElement, XmlFragment, XmlText

from shared.editor_shape import (
    BLOCKS,
    CHILDREN,
    MARKS,
    NO_CHILDREN,
    TEXTBLOCKS,
    mark_name,
    opaque,
    plain_value,
)
from shared.limits import MAX_OPAQUE_DEPTH
from shared.markdown.grid import is_hollow
from shared.tree import Attrs, Node, Text
from shared.yjs.build import copy, insert, insert_all
from shared.yjs.foreign import Foreign, foreign_children, remove_foreign
from shared.yjs.raw_xml import (
    RawChild,
    RawElement,
    RawText,
    RawTransaction,
    raw_transaction,
    tag_of,
)

__all__ = [
    "Foreign",
    "copy",
    "foreign_children",
    "insert",
    "insert_all",
    "read",
    "remove",
    "remove_foreign",
    "words",
]

Path = tuple[int, ...]  # child positions from the block down

TEXT_TAG: Final = "#text"  # a text where only elements may stand
FRAGMENT_TAG: Final = "#fragment"
EMBED_TAG: Final = "#embed"  # an object inside a text
OBJECT_CHARACTER: Final = "\N{OBJECT REPLACEMENT CHARACTER}"


def read(element: XmlElement | XmlText, block_id: str = "") -> Node:
    """The block as a tree, exactly: not canonical, with unknown marks and attributes.

    Null attributes and the attribute `id` are left out; equal neighbouring runs are one. What no
    stock editor knows is an opaque node; its `ref` is `block_id`, or the path below the block. So
    is a block with a table to which an editor would add far too much (`is_hollow`).
    """
    node = read_child(element.integrated, raw_transaction(element), BLOCKS, (), block_id)
    return _opaque(node.type, (), block_id) if is_hollow(node) else node


def read_child(
    raw: RawChild, txn: RawTransaction, allowed: frozenset[str], path: Path, ref: str = ""
) -> Node:
    """`read` for any depth; an element that is not `allowed` where it stands is opaque."""
    if isinstance(raw, RawText):
        if allowed is BLOCKS:
            return Node("paragraph", {}, read_inline([raw], txn, path))
        return _opaque(TEXT_TAG, path, ref)
    if not isinstance(raw, RawElement):
        return _opaque(FRAGMENT_TAG, path, ref)
    tag = tag_of(raw)
    children = raw.children(txn)
    if tag not in allowed or len(path) > MAX_OPAQUE_DEPTH or len(children) != raw.len(txn):
        return _opaque(tag, path, ref)
    if tag in TEXTBLOCKS:
        return Node(tag, read_attributes(raw, txn), read_inline(children, txn, path))
    inner = CHILDREN.get(tag, NO_CHILDREN)
    content = [read_child(child, txn, inner, (*path, at)) for at, child in enumerate(children)]
    return Node(tag, read_attributes(raw, txn), tuple(content))


def read_attributes(raw: RawElement, txn: RawTransaction) -> Attrs:
    """The attributes that are set, without `id`."""
    pairs: list[tuple[str, Any]] = raw.attributes(txn)  # any JSON value, whatever the stub says
    return {name: plain_value(value) for name, value in pairs if value is not None and name != "id"}


def read_inline(
    children: Sequence[RawChild], txn: RawTransaction, path: Path
) -> tuple[Node | Text, ...]:
    """The content of a textblock: runs, hard breaks, opaque nodes."""
    content: list[Node | Text] = []
    for at, child in enumerate(children):
        if isinstance(child, RawText):
            for piece, (value, marks) in enumerate(child.diff(txn)):
                if isinstance(value, str):
                    _add_run(content, value, read_marks(marks))
                else:
                    content.append(_opaque(EMBED_TAG, (*path, at, piece)))
        elif isinstance(child, RawElement):
            tag = tag_of(child)
            known = tag == "hardBreak"
            content.append(Node(tag) if known else _opaque(tag, (*path, at)))
        else:
            content.append(_opaque(FRAGMENT_TAG, (*path, at)))
    return tuple(content)


def read_marks(marks: Mapping[str, Any] | None) -> dict[str, Attrs]:
    """The marks of a run. A plain mark is `{}`, which is falsy: only None means it is not there."""
    if not marks:
        return {}
    return {
        key: plain_value(value) if isinstance(value, dict) else _odd_mark(key, value)
        for key, value in marks.items()
        if value is not None
    }


def _odd_mark(key: str, value: object) -> Attrs:
    """A mark whose value is no object: other bindings write `bold: true`."""
    return {} if mark_name(key) in MARKS else {"value": value}


def _add_run(content: list[Node | Text], text: str, marks: dict[str, Attrs]) -> None:
    last = content[-1] if content else None
    if isinstance(last, Text) and last.marks == marks:
        content[-1] = Text(last.text + text, marks)
    elif text:
        content.append(Text(text, marks))


def _opaque(tag: str, path: Path, ref: str = "") -> Node:
    return opaque(tag, ref or ".".join(map(str, path)))


def words(element: XmlElement | XmlText) -> str:
    """The block's plain text, stripped, without marks; a break or a textblock's end is a newline.

    The text inside opaque nodes counts: it tells blocks apart as any other.
    """
    txn = raw_transaction(element)
    parts: list[str] = []
    waiting: list[RawChild | str] = [element.integrated]
    while waiting:  # not recursive: a client decides how deep its elements nest
        raw = waiting.pop()
        if isinstance(raw, str):
            parts.append(raw)
        elif isinstance(raw, RawText):
            parts += [
                value if isinstance(value, str) else OBJECT_CHARACTER for value, _ in raw.diff(txn)
            ]
        elif isinstance(raw, RawElement) and tag_of(raw) in _LINE_ENDS:
            waiting.append("\n")
            waiting += reversed(raw.children(txn))
        else:
            waiting += reversed(raw.children(txn))
    return "".join(parts).strip()


def words_of(node: Node) -> str | None:
    """`words` of the element `node` was read from; None when only the element can say them."""
    parts: list[str] = []
    return "".join(parts).strip() if _gather(node, parts) else None


def _gather(node: Node, parts: list[str]) -> bool:
    for item in node.content:
        if isinstance(item, Text):
            parts.append(item.text)
        elif item.type == "opaque" or not _gather(item, parts):
            return False
    if node.type in _LINE_ENDS:
        parts.append("\n")
    return node.type != "opaque"


_LINE_ENDS: Final = TEXTBLOCKS | {"hardBreak"}


def remove(fragment: XmlFragment, at: int) -> None:
    """Take out the child at `at`."""
    fragment.integrated.remove_range(raw_transaction(fragment), at, 1)
