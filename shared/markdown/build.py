"""Block tokens to blocks, with the source lines and anchors of the top level."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec
from markdown_it.common.utils import unescapeAll
from markdown_it.token import Token

from shared.errors import TooLarge, UnsupportedMarkup
from shared.limits import MAX_BLOCKS, MAX_DEPTH
from shared.markdown.build_inline import InlineBuilder, alt_of, build_inline
from shared.markdown.canon import EMPTY_PARAGRAPH, LISTS, canon, read_placeholder
from shared.markdown.html_reader import read_table
from shared.markdown.layout import shown_children
from shared.tree import NO_HINTS, Attrs, Block, Fidelity, Hints, Node, Text

EMPTY_TEXT: Final = "&nbsp;"
LIST_BREAK: Final = "<!-- -->"
NO_HEADER: Final = "<!-- no header -->"
_TABLE_DEPTH: Final = 3  # row, cell, paragraph
_ALIGN: Final = re.compile("text-align:(.*)")


class Built(msgspec.Struct):
    """A block with the lines it came from."""

    node: Node
    start: int
    end: int
    anchor: str | None = None
    hints: Hints = NO_HINTS


class _ItemRun(msgspec.Struct):
    """The items of one list so far, and the lines they came from."""

    kind: str
    start: int
    end: int = 0
    loose: bool = False
    items: list[Node] = msgspec.field(default_factory=list)


class BlockBuilder:
    """Walks the tokens of one text once, from front to end.

    Attributes:
        fidelity: What could not be represented exactly.
        lines: Of each block the first line and the one behind it.
    """

    def __init__(self, tokens: list[Token], text: str) -> None:
        self.fidelity: list[Fidelity] = []
        self.lines: list[tuple[int, int]] = []
        self._tokens = tokens
        self._lines = text.split("\n")
        self._at = 0
        self._depth = 0
        self._quotes = 0
        self._used = _used_labels(tokens)
        self._defined: set[str] = set()
        self._done = 0  # top-level blocks finished

    def blocks(self) -> list[Block]:
        """The top-level blocks; `lines` are then those each came from, its anchor's not among them.

        Raises:
            TooLarge: More than `MAX_BLOCKS`.
            UnsupportedMarkup: Nested deeper than `MAX_DEPTH`.
        """
        found = self._children("")
        if len(found) > MAX_BLOCKS:
            raise TooLarge(
                f"markdown: {len(found):,} blocks, at most {MAX_BLOCKS:,};"
                f" the first too many is in line {found[MAX_BLOCKS].start + 1:,}.",
                limit=MAX_BLOCKS,
            )
        self.lines = [(built.start, built.end) for built in found]
        return [
            Block(built.node, built.hints, self._source(built), built.anchor) for built in found
        ]

    def _source(self, built: Built) -> str:
        lines = self._lines[built.start : built.end]
        while lines and not lines[-1].strip(" \t"):
            lines.pop()
        return "\n".join(lines)

    def _children(self, end: str) -> list[Built]:
        """The blocks up to the closing token `end`, which is taken too."""
        built: list[Built] = []
        anchor: str | None = None
        self._depth += 1
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            if token.type == end:
                self._at += 1
                break
            self._check_depth(token)
            if token.type == "anchor":
                anchor = token.content
                self._at += 1
                continue
            before = len(built)
            self._block(token, built)
            if anchor is not None and len(built) > before:
                built[before].anchor, anchor = anchor, None
            if not end:
                self._done = len(built)
        self._depth -= 1
        return built

    def _check_depth(self, token: Token) -> None:
        inside = _TABLE_DEPTH if token.type == "table_open" else 0
        if self._depth + inside > MAX_DEPTH:
            raise UnsupportedMarkup(
                f"markdown: nested deeper than {MAX_DEPTH} levels in line {_start(token) + 1:,}."
            )

    def _nested(self, end: str) -> tuple[Node, ...]:
        return tuple(built.node for built in self._children(end))

    def _block(self, token: Token, built: list[Built]) -> None:
        """Build the block that starts at `token`, or nothing where it stands for nothing."""
        kind = token.type
        start, end = token.map or [0, 0]
        if kind == "paragraph_open":
            node = self._paragraph()
        elif kind == "heading_open":
            content = build_inline(self._tokens[self._at + 1].children or [])
            self._at += 3
            node = Node("heading", {"level": int(token.tag[1:])}, content)
        elif kind in {"bullet_list_open", "ordered_list_open"}:
            built += self._lists(token)
            return
        elif kind == "blockquote_open":
            self._at += 1
            self._quotes += 1
            node = Node("blockquote", {}, self._nested("blockquote_close") or (EMPTY_PARAGRAPH,))
            self._quotes -= 1
        elif kind == "table_open":
            node = self._table()
        else:
            self._at += 1
            self._leaf(token, built)
            return
        built.append(Built(node, start, end))

    def _paragraph(self) -> Node:
        inline = self._tokens[self._at + 1]
        self._at += 3
        children = inline.children or []
        if len(children) == 1 and children[0].type == "image":
            return _image(children[0])
        if inline.content == EMPTY_TEXT:
            return EMPTY_PARAGRAPH
        return Node("paragraph", {}, build_inline(children))

    def _leaf(self, token: Token, built: list[Built]) -> None:
        kind = token.type
        start, end = token.map or [0, 0]
        if kind == "hr":
            node = Node("horizontalRule")
        elif kind in {"fence", "code_block"}:
            node = code_block(unescapeAll(token.info.strip(" \t")), _chomp(token.content))
        elif kind == "html_block":
            self._html_block(token, built)
            return
        elif kind == "front_matter":
            node = code_block("=yaml", token.content)
        elif kind == "definition":
            self._definition(token, built)
            return
        else:  # a footnote definition or display math
            node = code_block("=markdown", token.content)
        built.append(Built(node, start, end))

    def _html_block(self, token: Token, built: list[Built]) -> None:
        text = _chomp(token.content)
        bare = text.strip()
        if bare == LIST_BREAK and built and built[-1].node.type in LISTS:
            return
        start, end = token.map or [0, 0]
        if bare == NO_HEADER and self._headless(end):
            table = self._table(headless=True)
            built.append(Built(table, start, self._last_line(end)))
            return
        node = (
            read_placeholder(bare)
            or read_table(text, MAX_DEPTH - self._depth)
            or code_block("=html", text)
        )
        built.append(Built(node, start, end))

    def _headless(self, line: int) -> bool:
        """Whether the next token is a table that starts on `line` with an empty header row."""
        tokens = self._tokens[self._at : self._at + 1]
        if not tokens or tokens[0].type != "table_open" or _start(tokens[0]) != line:
            return False
        at = self._at
        while self._tokens[at].type != "thead_close":
            if self._tokens[at].content:
                return False
            at += 1
        return self._tokens[at + 1].type == "tbody_open"

    def _last_line(self, start: int) -> int:
        end = self._tokens[self._table_at].map
        return end[1] if end else start

    def _definition(self, token: Token, built: list[Built]) -> None:
        """A link definition stays, as source, when nothing in this text refers to it."""
        label = str(token.meta["id"])
        first = label not in self._defined
        self._defined.add(label)
        if first and label in self._used:
            return
        start, end = token.map or [0, 0]
        last = built[-1] if built else None
        if last and last.end == start and last.node.attrs.get("language") == "=markdown":
            (text,) = last.node.content
            assert isinstance(text, Text)
            if text.text.lstrip(" ")[1:2] != "^" and not text.text.lstrip(" ").startswith("$$"):
                last.node = code_block("=markdown", f"{text.text}\n{token.content}")
                last.end = end
                return
        built.append(Built(code_block("=markdown", token.content), start, end))

    # --- lists ---------------------------------------------------------------------------------

    def _lists(self, opening: Token) -> list[Built]:
        """One list, or several where bullets with and without a box follow each other."""
        ordered = opening.type == "ordered_list_open"
        attrs: Attrs = {"start": int(opening.attrs.get("start", 1))} if ordered else {}
        delimiter: Any = ")" if opening.markup == ")" else "."
        self._at += 1
        runs: list[_ItemRun] = []
        while (token := self._tokens[self._at]).type == "list_item_open":
            self._at += 1
            start, end = token.map or [0, 0]
            self._depth += 1
            children = self._children("list_item_close")
            self._depth -= 1
            item = _item(token, children)
            kind = "orderedList" if ordered else _list_kind(item)
            if not runs or runs[-1].kind != kind:
                runs.append(_ItemRun(kind, start))
            elif not runs[-1].loose:
                runs[-1].loose = self._blank_above(start)
            last = runs[-1]
            last.loose = last.loose or self._spread(children, item)
            last.items.append(item)
            last.end = end
        self._at += 1
        return [
            Built(
                Node(run.kind, attrs, tuple(run.items)),
                run.start,
                run.end,
                hints=Hints(run.loose, delimiter),
            )
            for run in runs
        ]

    def _spread(self, children: list[Built], item: Node) -> bool:
        """Whether a blank line stands between two blocks of an item."""
        skipped = len(children) - len(shown_children(canon(item)))
        return any(self._blank_above(child.start) for child in children[1 + max(skipped, 0) :])

    def _blank_above(self, line: int) -> bool:
        text = self._lines[line - 1]
        for _ in range(self._quotes):
            text = text.lstrip(" \t").removeprefix(">")
        return not text.strip(" \t")

    # --- tables --------------------------------------------------------------------------------

    def _table(self, *, headless: bool = False) -> Node:
        self._table_at = self._at
        rows: list[Node] = []
        cells: list[Node] = []
        while (token := self._tokens[self._at]).type != "table_close":
            if token.type == "tr_open":
                cells = []
                if token.meta.get("surplus"):
                    self._tell(f"{token.meta['surplus']} more cells than columns in a table row")
            elif token.type in {"th_open", "td_open"}:
                cells.append(_cell(token, self._tokens[self._at + 1]))
            elif token.type == "tr_close":
                rows.append(Node("tableRow", {}, tuple(cells)))
            self._at += 1
        self._at += 1
        return Node("table", {}, tuple(rows[1:] if headless else rows))

    def _tell(self, what: str) -> None:
        self.fidelity.append(Fidelity(self._done, what))


def _start(token: Token) -> int:
    return token.map[0] if token.map else 0


def _chomp(text: str) -> str:
    return text.removesuffix("\n")


def code_block(language: str, text: str) -> Node:
    """A code block as an editor holds it: no attribute when it has no language."""
    return Node(
        "codeBlock", {"language": language} if language else {}, (Text(text),) if text else ()
    )


def _image(token: Token) -> Node:
    attrs: Attrs = {"src": str(token.attrs["src"])}
    if alt := alt_of(token):
        attrs["alt"] = alt
    if title := token.attrs.get("title"):
        attrs["title"] = str(title)
    return Node("image", attrs)


def _item(token: Token, children: list[Built]) -> Node:
    content = tuple(child.node for child in children)
    if not content or content[0].type != "paragraph":
        content = (EMPTY_PARAGRAPH, *content)
    if "checked" in token.meta:
        return Node("taskItem", {"checked": token.meta["checked"]}, content)
    return Node("listItem", {}, content)


def _list_kind(item: Node) -> str:
    return "taskList" if item.type == "taskItem" else "bulletList"


def _cell(token: Token, inline: Token) -> Node:
    attrs: Attrs = {"colspan": 1, "rowspan": 1}
    if match := _ALIGN.match(str(token.attrs.get("style", ""))):
        attrs["align"] = match[1]
    if inline.content == EMPTY_TEXT:
        paragraphs: list[list[Node | Text]] = [[]]
    else:
        paragraphs = InlineBuilder(inline.children or [], divided=True).paragraphs
    content = tuple(Node("paragraph", {}, tuple(items)) for items in paragraphs)
    return Node("tableHeader" if token.type == "th_open" else "tableCell", attrs, content)


def _used_labels(tokens: list[Token]) -> set[str]:
    """The labels of definitions that links and images of this text refer to."""
    used: set[str] = set()
    waiting = [token for token in tokens if token.children]
    while waiting:
        for child in waiting.pop().children or []:
            if label := child.meta.get("label"):
                used.add(str(label))
            if child.children:
                waiting.append(child)
    return used
