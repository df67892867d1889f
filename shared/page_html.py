"""Blocks as HTML for reading: every character of a document is text, nothing of it is markup."""

from __future__ import annotations

import re
from html import escape
from typing import Final

from shared.editor_shape import mark_name
from shared.tree import Attrs, Node, Text

_MARKS: Final = {
    "bold": "strong",
    "italic": "em",
    "strike": "s",
    "underline": "u",
    "code": "code",
    "subscript": "sub",
    "superscript": "sup",
    "highlight": "mark",
}
_HOLDERS: Final = {
    "paragraph": "p",
    "bulletList": "ul",
    "taskList": "ul",
    "listItem": "li",
    "blockquote": "blockquote",
    "tableRow": "tr",
    "tableCell": "td",
    "tableHeader": "th",
    "heading": "",  # by its level
    "orderedList": "ol",
}
# Addresses that may be clicked; anything else, `javascript:` above all, is shown as text.
_SAFE: Final = re.compile(r"(?:https?://|mailto:|/(?!/)|#)[^\s\x00-\x1f\\]*\Z", re.IGNORECASE)
_ALIGNED: Final = frozenset({"left", "center", "right"})
_LEVELS: Final = range(1, 7)


def block_html(node: Node, block_id: str = "") -> str:
    """A top-level block. `block_id` becomes the id of its element."""
    return _node(node, f' id="{escape(block_id)}"' if block_id else "")


def _node(node: Node, extra: str = "") -> str:
    attrs = node.attrs
    match node.type:
        case "horizontalRule":
            return f"<hr{extra}>"
        case "hardBreak":
            return "<br>"
        case "image":
            return f"<p{extra}>{_image(attrs)}</p>"
        case "codeBlock":
            return f"<pre{extra}><code>{_inside(node)}</code></pre>"
        case "table":
            return f"<table{extra}><tbody>{_inside(node)}</tbody></table>"
        case "taskItem":
            box = " checked" if attrs.get("checked") is True else ""
            return f'<li{extra}><input type="checkbox" disabled{box}> {_inside(node)}</li>'
        case kind if kind in _HOLDERS:
            tag, more = _holder(kind, attrs)
            return f"<{tag}{extra}{more}>{_inside(node)}</{tag}>"
    return f'<p{extra} class="opaque">{escape(str(attrs.get("tag", node.type)))}</p>'


def _holder(kind: str, attrs: Attrs) -> tuple[str, str]:
    """The element for a node that is nothing but what it holds, and its attributes."""
    if kind == "heading":
        level = attrs.get("level")
        return f"h{level if level in _LEVELS else 1}", ""
    if kind == "orderedList":
        return "ol", _number("start", attrs.get("start"))
    return _HOLDERS[kind], _cell(attrs) if kind in ("tableCell", "tableHeader") else ""


def _inside(node: Node) -> str:
    return "".join(_text(item) if isinstance(item, Text) else _node(item) for item in node.content)


def _text(run: Text) -> str:
    html = escape(run.text)
    for key, attrs in run.marks.items():
        name = mark_name(key)
        if name == "link":
            html = _link(attrs.get("href"), html)
        elif name in _MARKS:
            html = f"<{_MARKS[name]}>{html}</{_MARKS[name]}>"
    return html


def _image(attrs: Attrs) -> str:
    """A link to it: showing it would tell whoever wrote the address who reads the document."""
    source = attrs.get("src")
    return _link(source, escape(str(attrs.get("alt") or source or "image")))


def _link(address: object, html: str) -> str:
    if not isinstance(address, str) or not _SAFE.match(address):
        return html
    return f'<a href="{escape(address)}" rel="noopener noreferrer nofollow">{html}</a>'


def _cell(attrs: Attrs) -> str:
    spans = _number("colspan", attrs.get("colspan")) + _number("rowspan", attrs.get("rowspan"))
    align = attrs.get("align")
    return spans + (f' class="{align}"' if align in _ALIGNED else "")


def _number(name: str, value: object) -> str:
    known = isinstance(value, int) and not isinstance(value, bool) and value != 1
    return f' {name}="{value}"' if known else ""
