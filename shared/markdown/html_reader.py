"""Reading back the tables that GFM cannot say: a small, closed subset of HTML.

Whatever is not in the subset, or not where the subset has it, makes the whole block plain HTML
source again: nothing is interpreted by guess.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Final

import msgspec

from shared.editor_shape import stock_attributes, stock_mark
from shared.limits import MAX_COLSPAN, MAX_ROWSPAN, MAX_SOURCE_FILLING
from shared.markdown.build_inline import TAG_MARKS
from shared.markdown.canon import EMPTY_PARAGRAPH, HARD_BREAK, read_placeholder
from shared.markdown.grid import complete
from shared.tree import Attrs, Node, Text

_STARTS: Final = "<table"
_FLOW: Final = frozenset({"td", "th", "li", "blockquote"})
_SECTIONS: Final = frozenset({"thead", "tbody"})
_LINES: Final = frozenset({"p", "h1", "h2", "h3", "h4", "h5", "h6"})
_BLOCKS: Final = _LINES | {"ul", "ol", "pre", "blockquote", "table"}
# tag -> where it may stand; the flow containers take blocks
_PARENTS: Final[dict[str, frozenset[str]]] = {
    "thead": frozenset({"table"}),
    "tbody": frozenset({"table"}),
    "tr": frozenset({"table", "thead", "tbody"}),
    "td": frozenset({"tr"}),
    "th": frozenset({"tr"}),
    "li": frozenset({"ul", "ol"}),
    **dict.fromkeys(_BLOCKS, _FLOW),
}
_ATTRIBUTES: Final[dict[str, dict[str, str]]] = {
    "td": {
        "colspan": "[1-9][0-9]{0,8}",
        "rowspan": "[1-9][0-9]{0,8}",
        "align": "left|center|right",
    },
    "th": {
        "colspan": "[1-9][0-9]{0,8}",
        "rowspan": "[1-9][0-9]{0,8}",
        "align": "left|center|right",
    },
    "ul": {"data-type": "taskList"},
    "ol": {"start": "[0-9]{1,9}"},
    "li": {"data-checked": "true|false"},
    "code": {"class": "(?s:language-.+)"},
    "a": {"href": "(?s:.*)", "title": "(?s:.*)"},
    "img": {"src": "(?s:.*)", "alt": "(?s:.*)", "title": "(?s:.*)"},
    "mark": {"data-color": "(?s:.*)"},
}
_SPANS: Final = {"colspan": MAX_COLSPAN, "rowspan": MAX_ROWSPAN}
_INLINE: Final = {**TAG_MARKS, "a": "link", "code": "code"}
_SPACE_AROUND_NEWLINE: Final = re.compile(r"[ \t]*\n[ \t\n]*")


class _ForeignMarkup(Exception):
    """Not of the subset."""


class _Frame(msgspec.Struct):
    """An element being read.

    Attributes:
        blocks: Finished children.
        inline: Text and breaks since the last of them.
    """

    tag: str
    attrs: dict[str, str]
    blocks: list[Node] = msgspec.field(default_factory=list)
    inline: list[Node | Text] = msgspec.field(default_factory=list)


def read_table(text: str, room: int) -> Node | None:
    """The table an HTML block is; None when it is anything else.

    Args:
        text: The source of the block.
        room: How deep elements may still nest; deeper is None as well.
    """
    if not text.lstrip(" ").startswith(_STARTS) or "<![" in text or "<?" in text:
        return None
    reader = _Reader(room)
    try:
        reader.feed(text)
        reader.close()
        return reader.result()
    except _ForeignMarkup:
        return None


class _Reader(HTMLParser):
    def __init__(self, room: int) -> None:
        super().__init__(convert_charrefs=True)
        self._room = room
        self._root = _Frame("td", {})
        self._frames = [self._root]
        self._marks: list[tuple[str, str, Attrs]] = []

    def result(self) -> Node:
        self._flush()
        if len(self._frames) > 1 or len(self._root.blocks) != 1:
            raise _ForeignMarkup
        return self._root.blocks[0]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = _checked(tag, attrs)
        frame = self._frames[-1]
        if tag in _PARENTS:
            self._open(tag, named)
        elif tag == "br" and self._takes_text():
            frame.inline.append(HARD_BREAK)
        elif tag in {"hr", "img"} and frame.tag in _FLOW:
            self._flush()
            frame.blocks.append(Node("horizontalRule") if tag == "hr" else Node("image", {**named}))
        elif tag == "code" and frame.tag == "pre" and not frame.inline:
            frame.attrs.update(named)
            self._marks.append((tag, "", {}))
        elif tag in _INLINE and self._takes_text() and not (tag == "code" and named):
            self._mark(tag, named)
        else:
            raise _ForeignMarkup

    def _open(self, tag: str, attrs: dict[str, str]) -> None:
        frame = self._frames[-1]
        if self._marks or frame.tag not in _PARENTS[tag] or len(self._frames) > self._room:
            raise _ForeignMarkup
        self._flush()
        self._frames.append(_Frame(tag, attrs))

    def _mark(self, tag: str, named: dict[str, str]) -> None:
        mark = _INLINE[tag]
        attrs: Attrs = {"color" if name == "data-color" else name: named[name] for name in named}
        if mark == "link" and "href" not in attrs:
            raise _ForeignMarkup
        self._marks.append((tag, mark, stock_mark(mark, attrs)))

    def handle_endtag(self, tag: str) -> None:
        if self._marks:
            if self._marks.pop()[0] != tag:
                raise _ForeignMarkup
            return
        frame = self._frames[-1]
        if frame.tag != tag or len(self._frames) == 1:
            raise _ForeignMarkup
        node_or_rows = self._finish(frame)
        self._frames.pop()
        self._frames[-1].blocks += node_or_rows

    def handle_data(self, data: str) -> None:
        frame = self._frames[-1]
        if frame.tag == "pre" and self._marks:
            frame.inline.append(Text(data))
            return
        text = _SPACE_AROUND_NEWLINE.sub("\n", data)
        if not self._takes_text():
            if text.strip():
                raise _ForeignMarkup
        else:
            marks = {mark: attrs for _, mark, attrs in self._marks}
            frame.inline.append(Text(text, marks))

    def handle_comment(self, data: str) -> None:
        node = read_placeholder(f"<!--{data}-->")
        if node is None or self._marks or self._frames[-1].tag not in _FLOW:
            raise _ForeignMarkup
        self._flush()
        self._frames[-1].blocks.append(node)

    def handle_decl(self, decl: str) -> None:
        del decl
        raise _ForeignMarkup

    def _takes_text(self) -> bool:
        return self._frames[-1].tag in _FLOW or self._frames[-1].tag in _LINES

    def _flush(self) -> None:
        """Text directly in a cell or item is a paragraph; newlines between blocks are nothing."""
        frame = self._frames[-1]
        content = _line(frame.inline)
        frame.inline = []
        if content and frame.tag in _FLOW:
            frame.blocks.append(Node("paragraph", {}, content))

    def _finish(self, frame: _Frame) -> list[Node]:
        if frame.tag in _SECTIONS:
            return frame.blocks
        if frame.tag in _LINES or frame.tag == "pre":
            return [_textblock(frame)]
        self._flush()
        return [_BUILDERS[frame.tag](frame)]


def _checked(tag: str, attrs: list[tuple[str, str | None]]) -> dict[str, str]:
    """The attributes, each of them one the subset knows."""
    allowed = _ATTRIBUTES.get(tag, {})
    named: dict[str, str] = {}
    for name, value in attrs:
        if value is None or name not in allowed or not re.fullmatch(allowed[name], value):
            raise _ForeignMarkup
        named[name] = value
    return named


def _line(items: list[Node | Text]) -> tuple[Node | Text, ...]:
    """Items of a textblock with newlines at its ends taken off and others made one space."""
    if items and isinstance(first := items[0], Text):
        items[0] = Text(first.text.removeprefix("\n"), first.marks)
    if items and isinstance(last := items[-1], Text):
        items[-1] = Text(last.text.removesuffix("\n"), last.marks)
    spaced = [_spaced(item) for item in items]
    return tuple(item for item in spaced if isinstance(item, Node) or item.text)


def _spaced(item: Node | Text) -> Node | Text:
    return Text(item.text.replace("\n", " "), item.marks) if isinstance(item, Text) else item


def _textblock(frame: _Frame) -> Node:
    if frame.tag == "pre":
        language = frame.attrs.get("class", "").removeprefix("language-")
        text = "".join(item.text for item in frame.inline if isinstance(item, Text))
        content = (Text(text),) if text else ()
        return Node(
            "codeBlock", stock_attributes("codeBlock", {"language": language or None}), content
        )
    content_line = _line(frame.inline)
    if frame.tag == "p":
        return Node("paragraph", {}, content_line)
    return Node("heading", {"level": int(frame.tag[1])}, content_line)


def _list(frame: _Frame) -> Node:
    kind = "taskList" if "data-type" in frame.attrs else "bulletList"
    if frame.tag == "ol":
        kind = "orderedList"
    item = "taskItem" if kind == "taskList" else "listItem"
    if not frame.blocks or any(child.type != item for child in frame.blocks):
        raise _ForeignMarkup
    attrs = {"start": int(frame.attrs.get("start", "1"))} if frame.tag == "ol" else {}
    return Node(kind, attrs, tuple(frame.blocks))


def _item(frame: _Frame) -> Node:
    content = tuple(frame.blocks)
    if not content or content[0].type != "paragraph":
        content = (EMPTY_PARAGRAPH, *content)
    if "data-checked" in frame.attrs:
        return Node("taskItem", {"checked": frame.attrs["data-checked"] == "true"}, content)
    return Node("listItem", {}, content)


def _cell(frame: _Frame) -> Node:
    attrs: Attrs = {name: int(frame.attrs[name]) for name in _SPANS if name in frame.attrs}
    if any(span > _SPANS[name] for name, span in attrs.items()):
        raise _ForeignMarkup
    if "align" in frame.attrs:
        attrs["align"] = frame.attrs["align"]
    kind = "tableHeader" if frame.tag == "th" else "tableCell"
    content = tuple(frame.blocks) or (EMPTY_PARAGRAPH,)
    return Node(kind, stock_attributes(kind, attrs), content)


def _table(frame: _Frame) -> Node:
    if not frame.blocks:
        raise _ForeignMarkup
    plain = stock_attributes("tableCell", {})
    table = complete(Node("table", {}, tuple(frame.blocks)), plain, MAX_SOURCE_FILLING)
    if table is None:  # an editor would have too much to add
        raise _ForeignMarkup
    return table


_BUILDERS: Final[dict[str, Callable[[_Frame], Node]]] = {
    "table": _table,
    "tr": lambda frame: Node("tableRow", {}, tuple(frame.blocks)),
    "td": _cell,
    "th": _cell,
    "li": _item,
    "ul": _list,
    "ol": _list,
    "blockquote": lambda frame: Node("blockquote", {}, tuple(frame.blocks) or (EMPTY_PARAGRAPH,)),
}
