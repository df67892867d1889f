"""What a stock Tiptap editor writes: which node may stand where, and with which attributes.

StarterKit + TableKit + TaskList/TaskItem + Image + Highlight + Subscript + Superscript. An editor
deletes from the shared document what its schema refuses, so whatever the server builds goes through
`stock_attributes` and `stock_mark`: null attributes are not written, other defaults are.
"""

from __future__ import annotations

import re
from typing import Any, Final

from shared.tree import Attrs, Node

BLOCKS: Final = frozenset(
    {
        "paragraph",
        "heading",
        "bulletList",
        "orderedList",
        "taskList",
        "blockquote",
        "codeBlock",
        "horizontalRule",
        "table",
        "image",
    }
)
TEXTBLOCKS: Final = frozenset({"paragraph", "heading", "codeBlock"})
# node -> the elements that may stand directly in it; one that is missing here holds none
CHILDREN: Final[dict[str, frozenset[str]]] = {
    "paragraph": frozenset({"hardBreak"}),
    "heading": frozenset({"hardBreak"}),
    "bulletList": frozenset({"listItem"}),
    "orderedList": frozenset({"listItem"}),
    "taskList": frozenset({"taskItem"}),
    "listItem": BLOCKS,
    "taskItem": BLOCKS,
    "blockquote": BLOCKS,
    "table": frozenset({"tableRow"}),
    "tableRow": frozenset({"tableCell", "tableHeader"}),
    "tableCell": BLOCKS,
    "tableHeader": BLOCKS,
}
NO_CHILDREN: Final[frozenset[str]] = frozenset()

_CELL: Final[Attrs] = {"colspan": 1, "rowspan": 1, "colwidth": None, "align": None}
# node -> its attributes with their defaults; a default of None is not written
ATTRIBUTES: Final[dict[str, Attrs]] = {
    "heading": {"level": 1},
    "orderedList": {"start": 1, "type": None},
    "taskItem": {"checked": False},
    "codeBlock": {"language": None},
    "tableCell": _CELL,
    "tableHeader": _CELL,
    "image": dict.fromkeys(("src", "alt", "title", "width", "height")),
}
# attributes no Markdown can say: absent from a new tree means "as it is", an explicit None removes
UNSPOKEN: Final = frozenset({"type", "colwidth", "width", "height"})

# mark -> its attributes with their defaults, all of them written
MARKS: Final[dict[str, Attrs]] = {
    "bold": {},
    "italic": {},
    "strike": {},
    "underline": {},
    "code": {},
    "subscript": {},
    "superscript": {},
    "highlight": {"color": None},
    "link": {
        "href": None,
        "target": "_blank",
        "rel": "noopener noreferrer nofollow",
        "class": None,
        "title": None,
    },
}
# the attributes that mean something to a reader; the rest is an editor's habit
_TOLD: Final[dict[str, tuple[str, ...]]] = {"highlight": ("color",), "link": ("href", "title")}

# y-tiptap's name for one instance of a mark that does not exclude itself
_INSTANCE: Final = re.compile(r"(.*)--[a-zA-Z0-9+/=]{8}\Z", re.DOTALL)

CARRIER: Final = "\N{INVISIBLE SEPARATOR}"  # stands before source no stock editor has a node for
PLACEHOLDER: Final = re.compile(rf"{CARRIER}<!-- opaque:(\S+) (\S*) -->")  # inside a text
_UNSAFE_NAME: Final = re.compile(r"[^\w.:-]", re.ASCII)  # what could end a comment or a word
_ESCAPED: Final = re.compile("(?:%[0-9a-f]{2})+")
_PLACEHOLDER: Final = re.compile(rf"{CARRIER}?<!-- opaque:(\S+) (\S*) -->\Z")


def mark_name(key: str) -> str:
    """The mark a key of a text's attributes stands for: `comment--1tiVU/zO` is a `comment`."""
    if "--" not in key:
        return key
    match = _INSTANCE.match(key)
    return match[1] if match else key


def is_known_mark(key: str) -> bool:
    """Whether trees speak of the mark; any other stays as it is on characters that are kept."""
    return mark_name(key) in MARKS


def stock_mark(key: str, attrs: Attrs, was: Attrs | None = None) -> Attrs:
    """The attributes of a mark as a stock editor writes them.

    What `was` says beside the attributes a reader sees (a link's target, unknown ones) stays.
    """
    name = mark_name(key)
    stock = MARKS.get(name, {})
    kept = {} if was is None else {k: v for k, v in was.items() if k not in _TOLD.get(name, ())}
    return {**stock, **kept, **attrs}


def stock_attributes(kind: str, attrs: Attrs) -> Attrs:
    """The attributes of a node as a stock editor writes them, without any that is null."""
    merged = {**ATTRIBUTES.get(kind, {}), **attrs}
    return {name: value for name, value in merged.items() if value is not None}


def opaque(tag: str, ref: str) -> Node:
    """The node that stands for content no stock editor knows."""
    return Node("opaque", {"tag": tag, "ref": ref})


def placeholder(node: Node) -> str:
    """`<!-- opaque:<type> <id> -->`, whatever characters an editor named the type with."""
    tag, ref = (_UNSAFE_NAME.sub(_percent, node.attrs.get(key, "")) for key in ("tag", "ref"))
    return f"<!-- opaque:{tag} {ref} -->"


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02x}" for byte in match[0].encode())


def _unescaped(match: re.Match[str]) -> str:
    return bytes.fromhex(match[0].replace("%", "")).decode(errors="replace")


def from_placeholder(text: str) -> Node | None:
    """The opaque node a text stands for, with or without the carrier's U+2063 in front."""
    match = _PLACEHOLDER.match(text)
    return opaque(*(_ESCAPED.sub(_unescaped, match[at]) for at in (1, 2))) if match else None


def plain_value(value: Any) -> Any:
    """A JSON value with whole floats as integers: numbers arrive from JavaScript as floats."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, dict):
        return {name: plain_value(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [plain_value(inner) for inner in value]
    return value
