"""The canonical form of a tree: two trees mean the same exactly when theirs are equal.

Editors write one content in many ways: runs split at random, marks on the blank after a word,
attributes at their defaults, link targets, newlines inside text. `canon` takes all of that away and
keeps what Markdown can say, so that rendering loses nothing of a canonical tree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from shared.editor_shape import from_placeholder, mark_name, placeholder
from shared.limits import MAX_COLSPAN, MAX_ROWSPAN
from shared.markdown.grid import complete, whole
from shared.tree import Attrs, Node, Text

Inline = tuple[Node | Text, ...]

CARRIER: Final = "\N{INVISIBLE SEPARATOR}"  # stands before Markdown source kept as text
HARD_BREAK: Final = Node("hardBreak")
EMPTY_PARAGRAPH: Final = Node("paragraph")
LISTS: Final = frozenset({"bulletList", "orderedList", "taskList"})
ITEMS: Final = frozenset({"listItem", "taskItem"})
MAX_START: Final = 999_999_999  # CommonMark allows nine digits
MAX_LEVEL: Final = 6

# Fixed order of marks; also which one stands outside when two run equally long.
MARK_ORDER: Final = (
    "link",
    "strike",
    "bold",
    "italic",
    "underline",
    "highlight",
    "superscript",
    "subscript",
    "code",
)
_EMPHASIS: Final = ("bold", "italic", "strike")
# What CommonMark calls Unicode white space: beside these, `**` neither opens nor closes.
WHITE: Final = "\t\n\v\f\r \u00a0\u1680\u202f\u205f\u3000" + "".join(
    chr(code) for code in range(0x2000, 0x200B)
)
_UNSENDABLE: Final = re.compile("[\x00\ud800-\udfff]")
_NEWLINE: Final = re.compile("\r\n?|\n")
_ODD: Final = re.compile("[\n\r\x00\ud800-\udfff]")
_ALIGNMENTS: Final = frozenset({"left", "center", "right"})


def clean(text: str) -> str:
    """`text` without the characters no Markdown may hold: NUL and lone surrogates become U+FFFD."""
    return _UNSENDABLE.sub("\N{REPLACEMENT CHARACTER}", text) if _UNSENDABLE.search(text) else text


def canon(node: Node) -> Node:
    """The canonical form of a block, item, row or cell; a tree no editor holds passes too."""
    kind = node.type
    if kind in {"paragraph", "heading"}:
        return Node(kind, canon_attributes(node), canon_inline(node.content))
    if kind == "codeBlock":
        text = _code(node)
        return Node(kind, canon_attributes(node), (Text(text),) if text else ())
    children = tuple(canon(child) for child in node.content if isinstance(child, Node))
    if kind in ITEMS and (not children or children[0].type != "paragraph"):
        children = (EMPTY_PARAGRAPH, *children)
    elif kind in {"blockquote", "tableCell", "tableHeader"} and not children:
        children = (EMPTY_PARAGRAPH,)
    elif kind in {"horizontalRule", "hardBreak", "image", "opaque"}:
        children = ()
    elif kind == "table":
        table = Node(kind, {}, children)
        return complete(table, {}) or table
    return Node(kind, canon_attributes(node), children)


def _code(node: Node) -> str:
    parts = [item.text if isinstance(item, Text) else _stand_in(item) for item in node.content]
    return _NEWLINE.sub("\n", clean("".join(parts)))


def _stand_in(node: Node) -> str:
    return "\n" if node.type == "hardBreak" else CARRIER + placeholder(canon(node))


def canon_attributes(node: Node) -> Attrs:
    """The attributes of a node that Markdown says, a stock editor's defaults left out."""
    spell = _ATTRIBUTES.get(node.type)
    return dict(spell(node.attrs)) if spell else {}


def _heading(attrs: Attrs) -> Iterator[tuple[str, Any]]:
    yield "level", whole(attrs.get("level"), 1, 1, MAX_LEVEL)


def _ordered(attrs: Attrs) -> Iterator[tuple[str, Any]]:
    if (start := whole(attrs.get("start"), 1, 0, MAX_START)) != 1:
        yield "start", start


def _task(attrs: Attrs) -> Iterator[tuple[str, Any]]:
    if attrs.get("checked"):
        yield "checked", True


def _language(attrs: Attrs) -> Iterator[tuple[str, Any]]:
    yield from _strings(attrs, "language")


def _cell(attrs: Attrs) -> Iterator[tuple[str, Any]]:
    for name, most in (("colspan", MAX_COLSPAN), ("rowspan", MAX_ROWSPAN)):
        value = attrs.get(name, 1)
        if value != 1 and (span := whole(value, 1, 1, most)) != 1:
            yield name, span
    if attrs.get("align") in _ALIGNMENTS:
        yield "align", attrs["align"]


def _image(attrs: Attrs) -> Iterator[tuple[str, Any]]:
    yield from _strings(attrs, "src", "alt", "title")


def _opaque(attrs: Attrs) -> Iterator[tuple[str, Any]]:
    yield "tag", clean(str(attrs.get("tag") or "unknown"))
    yield "ref", clean(str(attrs.get("ref") or ""))


def _strings(attrs: Attrs, *names: str) -> Iterator[tuple[str, Any]]:
    for name in names:
        value = attrs.get(name)
        if isinstance(value, str) and value:
            yield name, clean(value)


_ATTRIBUTES: Final[dict[str, Callable[[Attrs], Iterator[tuple[str, Any]]]]] = {
    "heading": _heading,
    "orderedList": _ordered,
    "taskItem": _task,
    "codeBlock": _language,
    "tableCell": _cell,
    "tableHeader": _cell,
    "image": _image,
    "opaque": _opaque,
}


def canon_inline(content: Iterable[Node | Text]) -> Inline:
    """Inline content: known marks in fixed order, newlines as breaks, emphasis off edge blanks."""
    content = tuple(content)
    if len(content) == 1 and _is_plain(content[0]):
        return content  # as most are
    items = [piece for item in content for piece in _pieces(item)]
    marked = {mark for item in items if isinstance(item, Text) for mark in item.marks}
    for mark in _EMPHASIS:
        if mark in marked:
            items = _trim(items, mark)
    return merge(items)


def _is_plain(item: Node | Text) -> bool:
    if isinstance(item, Node) or item.marks or not item.text:
        return False
    return _ODD.search(item.text) is None


def merge(items: Iterable[Node | Text]) -> Inline:
    """Equal neighbouring runs made one, empty ones left out."""
    merged: list[Node | Text] = []
    for item in items:
        last = merged[-1] if merged else None
        if isinstance(item, Text):
            if not item.text:
                continue
            if isinstance(last, Text) and last.marks == item.marks:
                merged[-1] = Text(last.text + item.text, item.marks)
                continue
        merged.append(item)
    return tuple(merged)


def _pieces(item: Node | Text) -> Iterator[Node | Text]:
    if isinstance(item, Node):
        yield HARD_BREAK if item.type == "hardBreak" else Text(_stand_in(item))
        return
    marks = canon_marks(item.marks) if item.marks else {}
    text = clean(item.text)
    lines = _NEWLINE.split(text) if "\n" in text or "\r" in text else [text]
    for number, line in enumerate(lines):
        if number:
            yield HARD_BREAK
        if line:  # an empty run would keep marks on the blanks beside it
            yield Text(line, marks)


def canon_marks(marks: dict[str, Attrs]) -> dict[str, Attrs]:
    """The marks Markdown can say, in fixed order, without target, rel and class."""
    told: dict[str, Attrs] = {}
    for key, attrs in marks.items():
        name = mark_name(key)
        if name == "link":
            if not isinstance(attrs.get("href"), str):
                continue
            href = {"href": clean(attrs["href"])}
            told[name] = {**href, **dict(_strings(attrs, "title"))}
        elif name == "highlight":
            told[name] = dict(_strings(attrs, "color"))
        elif name in MARK_ORDER:
            told[name] = {}
    return {name: told[name] for name in MARK_ORDER if name in told}


def _trim(items: list[Node | Text], mark: str) -> list[Node | Text]:
    """`mark` taken off the white space at both ends of each of its spans; breaks do not end one."""
    result: list[Node | Text] = []
    span: list[Node | Text] = []
    for item in items:
        if isinstance(item, Node) or mark in item.marks:
            span.append(item)
            continue
        if span:
            result += _trim_span(span, mark)
            span = []
        result.append(item)
    return result + _trim_span(span, mark) if span else result


def _trim_span(span: list[Node | Text], mark: str) -> list[Node | Text]:
    if _is_tight(span[0], 0) and _is_tight(span[-1], -1):
        return span
    first = next((n for n, item in enumerate(span) if _solid(item)), None)
    if first is None:
        return [_without(item, mark) for item in span]
    last = max(n for n, item in enumerate(span) if _solid(item))
    result = [_without(item, mark) for item in span[:first]]
    for number, item in enumerate(span[first : last + 1], first):
        result += _split(item, mark, left=number == first, right=number == last)
    return result + [_without(item, mark) for item in span[last + 1 :]]


def _is_tight(item: Node | Text, end: int) -> bool:
    """Whether an item begins (0) or ends (-1) with what a mark may stay on: nearly all do."""
    if isinstance(item, Node):
        return False
    return "code" in item.marks or (bool(item.text) and item.text[end] not in WHITE)


def _solid(item: Node | Text) -> bool:
    return isinstance(item, Text) and ("code" in item.marks or bool(item.text.strip(WHITE)))


def _without(item: Node | Text, mark: str) -> Node | Text:
    if isinstance(item, Node):
        return item
    return Text(item.text, {name: attrs for name, attrs in item.marks.items() if name != mark})


def _split(item: Node | Text, mark: str, *, left: bool, right: bool) -> list[Node | Text]:
    if isinstance(item, Node) or "code" in item.marks:
        return [item]
    text = item.text
    start = len(text) - len(text.lstrip(WHITE)) if left else 0
    end = len(text.rstrip(WHITE)) if right else len(text)
    before, after = Text(text[:start], item.marks), Text(text[end:], item.marks)
    return [_without(before, mark), Text(text[start:end], item.marks), _without(after, mark)]


def read_placeholder(text: str) -> Node | None:
    """The opaque node a comment stands for; None for every other comment."""
    return None if text.startswith(CARRIER) else from_placeholder(text)
