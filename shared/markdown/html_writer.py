"""Tables that GFM cannot say, as HTML of our own small subset.

A row stands on one line and no line is blank, so the whole table is one HTML block. Every character
of a text is exact: a newline in code is `&#10;`.
"""

from __future__ import annotations

import html
from typing import Final

from shared.editor_shape import placeholder
from shared.markdown.build_inline import TAG_MARKS
from shared.markdown.canon import Inline
from shared.markdown.layout import items
from shared.markdown.spans import Edge, spans
from shared.tree import Attrs, Node, Text

_TAGS: Final = {mark: tag for tag, mark in TAG_MARKS.items()}
_WRAPPERS: Final = {
    "blockquote": "<blockquote>",
    "bulletList": "<ul>",
    "taskList": '<ul data-type="taskList">',
    "listItem": "<li>",
    "table": "<table>",
    "tableRow": "<tr>",
}
_SHORT: Final = frozenset({"listItem", "taskItem", "tableCell", "tableHeader"})


def html_lines(node: Node) -> list[str]:
    """The lines of a canonical table."""
    rows = [_html(row) for row in items(node)]
    return ["<table>", *rows, "</table>"]


def _html(node: Node) -> str:
    kind = node.type
    if kind == "paragraph":
        return f"<p>{_inline(node.content)}</p>"
    if kind == "heading":
        level = node.attrs["level"]
        return f"<h{level}>{_inline(node.content)}</h{level}>"
    if kind == "codeBlock":
        return _code(node)
    if kind == "horizontalRule":
        return "<hr>"
    if kind == "image":
        return _open("img", node.attrs)
    if kind == "opaque":
        return placeholder(node)
    opening = _opening(node)
    tag = opening[1:].partition(" ")[0].rstrip(">")
    return f"{opening}{_children(node)}</{tag}>"


def _children(node: Node) -> str:
    children = items(node)
    if node.type in _SHORT and len(children) == 1 and children[0].type == "paragraph":
        return _inline(children[0].content)
    return "".join(_html(child) for child in children)


def _opening(node: Node) -> str:
    if node.type in _WRAPPERS:
        return _WRAPPERS[node.type]
    if node.type == "orderedList":
        return _open("ol", node.attrs)
    if node.type == "taskItem":
        return _open("li", {"data-checked": "true" if node.attrs.get("checked") else "false"})
    return _open("th" if node.type == "tableHeader" else "td", node.attrs)


def _code(node: Node) -> str:
    language = node.attrs.get("language")
    opening = _open("code", {"class": f"language-{language}"} if language else {})
    text = "".join(_text(item.text) for item in node.content if isinstance(item, Text))
    return f"<pre>{opening}{text}</code></pre>"


def _open(tag: str, attrs: Attrs) -> str:
    spelled = "".join(f' {name}="{_quoted(str(value))}"' for name, value in attrs.items())
    return f"<{tag}{spelled}>"


def _quoted(text: str) -> str:
    return html.escape(text).replace("\n", "&#10;").replace("\r", "&#13;")


def _text(text: str) -> str:
    return html.escape(text, quote=False).replace("\n", "&#10;")


def _inline(content: Inline) -> str:
    return "".join(
        _leaf(content[part]) if isinstance(part, int) else _edge(part) for part in spans(content)
    )


def _leaf(item: Node | Text) -> str:
    if isinstance(item, Node):
        return "<br>"
    return f"<code>{_text(item.text)}</code>" if "code" in item.marks else _text(item.text)


def _edge(edge: Edge) -> str:
    if edge.mark == "link":
        return _open("a", edge.attrs) if edge.opens else "</a>"
    tag = _TAGS[edge.mark]
    if not edge.opens:
        return f"</{tag}>"
    color = edge.attrs.get("color")
    return _open(tag, {"data-color": color} if color is not None else {})
