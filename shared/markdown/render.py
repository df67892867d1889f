"""Block trees to Markdown: one canonical spelling, as a person would write it."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from shared.editor_shape import placeholder
from shared.errors import UnsupportedMarkup
from shared.markdown.build import LIST_BREAK
from shared.markdown.build_inline import alt_of
from shared.markdown.canon import EMPTY_PARAGRAPH, LISTS, MAX_START, canon
from shared.markdown.destination import info_string, link_tail
from shared.markdown.escape import Run, caution, escape, escape_all
from shared.markdown.fidelity import unshown
from shared.markdown.inline_writer import Place
from shared.markdown.layout import (
    effective_hints,
    is_carrier,
    is_loose,
    items,
    needs_blank,
    shown_children,
)
from shared.markdown.parse import parse_lines
from shared.markdown.parser import inline_tokens
from shared.markdown.render_inline import render_inline
from shared.markdown.render_table import table_lines
from shared.tree import NO_HINTS, Hints, Node, Text

_TICKS: Final = re.compile("`{3,}")
_RULE_LIKE: Final = re.compile(r"(?:-[ \t]*){3,}\Z")
_DEFINITION: Final = re.compile(r" {0,3}\[(?!\^)(?:[^\\\[\]]|\\.)*\]:", re.DOTALL)


class Rendered(msgspec.Struct, frozen=True):
    """The Markdown of one block.

    Attributes:
        text: Without a newline at the end.
        fidelity: What Markdown does not show of the block.
    """

    text: str
    fidelity: tuple[str, ...] = ()


def render(node: Node, hints: Hints = NO_HINTS, block_id: str = "") -> Rendered:
    """The Markdown of a top-level block, which depends on that block alone and stands alone.

    Args:
        node: Any tree an editor can hold; it need not be canonical.
        hints: The style of a top-level list.
        block_id: Names an opaque block in its placeholder.
    """
    form = canon(node)
    if form.type == "opaque" and block_id:
        form = Node("opaque", {**form.attrs, "ref": block_id})
    lines = _top_lines(form, effective_hints(form, hints))
    return Rendered("\n".join(lines), unshown(node))


def _top_lines(node: Node, hints: Hints) -> list[str]:
    if node.type in LISTS:
        return _list_lines(node, hints)
    return block_lines(node, top=True)


def block_lines(node: Node, *, top: bool = False) -> list[str]:
    """The lines of a canonical block; only at the `top` front matter and definitions stand bare."""
    kind = node.type
    if kind == "paragraph":
        return render_inline(node.content, Place.PARAGRAPH).split("\n")
    if kind == "heading":
        signs = "#" * node.attrs["level"]
        return [f"{signs} {render_inline(node.content, Place.HEADING)}".rstrip(" ")]
    if kind == "codeBlock":
        return _code_lines(node, top=top)
    if kind in LISTS:
        return _list_lines(node, effective_hints(node, NO_HINTS))
    if kind == "blockquote":
        return _quote_lines(node)
    if kind == "table":
        return table_lines(node)
    if kind == "image":
        return [image_text(node)]
    if kind == "horizontalRule":
        return ["---"]
    return [placeholder(node)]


def image_text(node: Node) -> str:
    """`![alt](src "title")`, the description escaped no more than it takes to be read back."""
    alt = node.attrs.get("alt", "")
    tail = link_tail(node.attrs.get("src", ""), node.attrs.get("title", ""))
    text = _image(escape(alt, caution([alt], {"link"}), _LINKED), tail)
    return text if _reads_as(text, alt) else _image(escape_all(alt), tail)


_LINKED: Final = Run(linked=True, last=True)


def _image(description: str, tail: str) -> str:
    return f"![{description}]{tail}".replace("\n", "&#10;").replace("\r", "&#13;")


def _reads_as(text: str, alt: str) -> bool:
    try:
        tokens = inline_tokens(text)
    except UnsupportedMarkup:
        return False
    return [token.type for token in tokens] == ["image"] and alt_of(tokens[0]) == alt


# --- code and carriers ---------------------------------------------------------------------


def _code_lines(node: Node, *, top: bool) -> list[str]:
    language = node.attrs.get("language", "")
    text = _text(node)
    if is_carrier(node) and (bare := _bare(language, text, top=top)) is not None:
        return bare.split("\n")
    return fence_lines(language, text)


def _text(node: Node) -> str:
    return "".join(item.text for item in node.content if isinstance(item, Text))


def fence_lines(language: str, text: str) -> list[str]:
    """A fenced code block, its fence longer than any in the text."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    body = text.split("\n") if text else []
    return [fence + info_string(language), *body, fence]


def _bare(language: str, text: str, *, top: bool) -> str | None:
    """Carried source without a fence, if it stands for exactly this block whatever follows."""
    if language == "=yaml":
        bare = f"---\n{text}\n---" if text else "---\n---"
    elif language in {"=html", "=markdown"} and text:
        bare = text
    else:
        return None
    # Elsewhere front matter is none, a definition would bind text of other blocks, and blanks at
    # the start would be an item's indentation.
    if not top and (language == "=yaml" or text[:1] == " " or _DEFINITION.match(text)):
        return None
    if bare.strip() == LIST_BREAK:
        return None
    try:
        blocks = parse_lines(f"{bare}\n\nx").blocks
    except UnsupportedMarkup:
        return None
    expected = Node("codeBlock", {"language": language}, (Text(text),) if text else ())
    follows = Node("paragraph", {}, (Text("x"),))
    return bare if [canon(block.node) for block in blocks] == [expected, follows] else None


# --- quotes and lists ----------------------------------------------------------------------


def _quote_lines(node: Node) -> list[str]:
    if node.content == (EMPTY_PARAGRAPH,):
        return [">"]
    lines = _stack(items(node), loose=True)
    return [f"> {line}" if line else ">" for line in lines]


def _stack(blocks: tuple[Node, ...], *, loose: bool) -> list[str]:
    """Blocks inside a quote or an item, with what stands between them."""
    lines: list[str] = []
    for number, block in enumerate(blocks):
        if number:
            lines += gap(blocks[number - 1], block, loose=loose)
        lines += ["***"] if block.type == "horizontalRule" and not loose else block_lines(block)
    return lines


def gap(before: Node, after: Node, *, loose: bool) -> list[str]:
    """The lines between two neighbours."""
    if {before.type, after.type} == {"taskList", "bulletList"}:
        return []
    blank = [""] if loose or needs_blank(before, after) else []
    if before.type == after.type and before.type in LISTS:
        return [*blank, LIST_BREAK, *blank]
    return blank


def _list_lines(node: Node, hints: Hints) -> list[str]:
    loose = is_loose(node, hints)
    lines: list[str] = []
    start = node.attrs.get("start", 1)
    for number, item in enumerate(items(node)):
        if number and loose:
            lines.append("")
        marker = "-"
        if node.type == "orderedList":
            marker = f"{min(start + number, MAX_START)}{hints.delimiter}"
        lines += _item_lines(item, marker, loose=loose, bullet=node.type == "bulletList")
    return lines


def _item_lines(item: Node, marker: str, *, loose: bool, bullet: bool) -> list[str]:
    children = shown_children(item)
    body = _item_body(item, children, loose=loose, bullet=bullet)
    indent = " " * (len(marker) + 1)
    lines = [f"{marker} {body[0]}".rstrip(" ")]
    if _RULE_LIKE.match(lines[0]):  # `- - -`: the empty first paragraph has to show
        body = ["&nbsp;", *gap(items(item)[0], children[0], loose=loose), *body]
        lines = [f"{marker} {body[0]}"]
    return lines + [indent + line if line else "" for line in body[1:]]


def _item_body(item: Node, children: tuple[Node, ...], *, loose: bool, bullet: bool) -> list[str]:
    first, *rest = children
    task = item.type == "taskItem"
    if first.type == "paragraph":
        empty = first == EMPTY_PARAGRAPH
        if task:
            text = "" if empty else render_inline(first.content, Place.TASK)
            box = "[x]" if item.attrs.get("checked") else "[ ]"
            body = f"{box} {text}".rstrip(" ").split("\n")
        elif empty and not rest:
            body = [""]
        else:
            body = render_inline(first.content, Place.BULLET if bullet else Place.PARAGRAPH).split(
                "\n"
            )
    elif first.type == "horizontalRule":
        body = ["***"]
    else:
        body = block_lines(first)
    if rest:
        body += gap(first, rest[0], loose=loose)
        body += _stack(tuple(rest), loose=loose)
    return body
