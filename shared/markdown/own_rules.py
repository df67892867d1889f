"""Block and inline rules of our own: anchors, front matter, footnotes, display math, task boxes."""

from __future__ import annotations

import re
from typing import Final

from markdown_it import MarkdownIt
from markdown_it import rules_inline as base
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from shared.errors import UnsupportedMarkup

_ANCHOR: Final = r"\[[0-9a-z]{8}-[0-9a-f]{6}\][ \t]*"
ANCHOR_LINE: Final = re.compile(rf"{_ANCHOR}(?:\n|\Z)")
# A line with an anchor and directly below it one that is neither blank nor another anchor.
_ANCHOR_ABOVE: Final = re.compile(rf"{_ANCHOR}\n(?![ \t]*(?:\n|\Z))(?!{_ANCHOR}(?:\n|\Z))")
_FOOTNOTE: Final = re.compile(r"\[\^[^\s\[\]]+\]:")
# Not before `(`: `[^a](b)` is a link.
FOOTNOTE_REFERENCE: Final = re.compile(r"\[\^[^\s\[\]\\^`<>&*_~!]+\](?!\()")
_FENCE: Final = "---"
_MATH: Final = "$$"
TASK_BOX: Final = re.compile(r"\[([ xX])\](?:[ \t]+|\n|\Z)")
_SIGN: Final = re.compile(r"[\n\\`*_~\[<&]")  # what an inline rule may begin at
_EVERYWHERE: Final[RuleOptionsType] = {"alt": ["paragraph", "reference", "blockquote", "list"]}
_IN_TEXT: Final[RuleOptionsType] = {"alt": ["paragraph", "reference"]}
_CODE_INDENT: Final = 4


def anchor(state: StateBlock, start: int, _end: int, silent: bool) -> bool:
    """`[<id>-<hash>]` alone in the first column, right above a block: that block's anchor."""
    pos = state.bMarks[start]
    if state.tShift[start] or not state.src.startswith("[", pos):
        return False
    if pos and state.src[pos - 1] != "\n":  # inside a quote
        return False
    if not _ANCHOR_ABOVE.match(state.src, pos):
        return False
    if silent:
        return True
    if state.level:
        return False
    token = state.push("anchor", "", 0)
    token.content = state.src[pos + 1 : state.src.index("]", pos)]
    token.map = [start, start + 1]
    state.line = start + 1
    return True


def front_matter(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """YAML between `---` lines at the start of a text, or right below the anchor that starts it.

    The line below the first `---` is not blank, as in Pandoc: a text that starts with a rule is
    then never taken for front matter, whatever rules follow.
    """
    if silent or state.level or not (start == 0 or _below_anchor(state, start)):
        return False
    if _line(state, start) != _FENCE or start + 1 >= end or state.isEmpty(start + 1):
        return False
    for line in range(start + 1, end):
        if _line(state, line) in {_FENCE, "..."}:
            token = state.push("front_matter", "", 0)
            token.content = state.src[state.bMarks[start + 1] : max(state.bMarks[line] - 1, 0)]
            if line == start + 1:
                token.content = ""
            token.map = [start, line + 1]
            state.line = line + 1
            return True
    return False


def _below_anchor(state: StateBlock, start: int) -> bool:
    return start == 1 and bool(state.tokens) and state.tokens[-1].type == "anchor"


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] : state.eMarks[line]].rstrip(" \t")


def footnote(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """`[^label]: …` with the lines that belong to it: lazy ones, then ones indented by four."""
    pos = state.bMarks[start] + state.tShift[start]
    if state.is_code_block(start) or not _FOOTNOTE.match(state.src, pos):
        return False
    if silent:
        return True
    last = line = start + 1
    after_blank = False
    terminators = state.md.block.ruler.getRules("paragraph")
    while line < end:
        if state.isEmpty(line):
            after_blank = True
        elif state.sCount[line] - state.blkIndent >= _CODE_INDENT:
            last, after_blank = line + 1, False
        elif (
            after_blank
            or state.sCount[line] < state.blkIndent
            or any(rule(state, line, end, True) for rule in terminators)
        ):
            break
        else:
            last = line + 1
        line += 1
    _push_verbatim(state, start, last)
    return True


def math(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """`$$ … $$` on one line or several; a blank line inside means it is none."""
    pos = state.bMarks[start] + state.tShift[start]
    if not state.src.startswith(_MATH, pos) or state.is_code_block(start):
        return False
    text = state.src[pos : state.eMarks[start]].rstrip(" \t")
    if len(text) > 2 * len(_MATH) and text.endswith(_MATH):
        last = start + 1
    else:
        last = _math_end(state, start, end)
    if last and not silent:
        _push_verbatim(state, start, last)
    return bool(last)


def _math_end(state: StateBlock, start: int, end: int) -> int:
    """The line behind the one that closes the math opened on line `start`; 0 when none does.

    A search in vain is remembered: the lines it looked at need no other one.
    """
    seen: dict[tuple[int, int], int] = state.env.setdefault("math_open", {})
    key = state.blkIndent, end
    if start < seen.get(key, 0):
        return 0
    line = start + 1
    while line < end and not state.isEmpty(line) and state.sCount[line] >= state.blkIndent:
        pos = state.bMarks[line] + state.tShift[line]
        if state.src[pos : state.eMarks[line]].rstrip(" \t").endswith(_MATH):
            return line + 1
        line += 1
    seen[key] = line
    return 0


def _push_verbatim(state: StateBlock, start: int, end: int) -> None:
    token = state.push("verbatim", "", 0)
    token.content = state.getLines(start, end, state.blkIndent, keepLastLF=False)
    token.map = [start, end]
    state.line = end


def footnote_reference(state: StateInline, silent: bool) -> bool:
    """`[^label]`, whether or not its definition is in this text: a block stands alone."""
    match = FOOTNOTE_REFERENCE.match(state.src, state.pos)
    if not match or match.end() > state.posMax:
        return False
    if not silent:
        state.push("footnote_reference", "", 0).content = match[0]
    state.pos = match.end()
    return True


def image(state: StateInline, silent: bool) -> bool:
    """An image that remembers its source."""
    start = state.pos
    if not base.image(state, silent):
        return False
    if not silent:
        state.tokens[-1].meta["source"] = state.src[start : state.pos]
    return True


def task_boxes(state: StateCore) -> None:
    """`[ ]` and `[x]` at the start of a bullet's first paragraph: taken off, noted on the item."""
    lists: list[bool] = []
    tokens = state.tokens
    for number, token in enumerate(tokens):
        if token.type == "list_item_open" and lists[-1]:
            _take_box(token, tokens[number + 1 : number + 3])
        elif token.type in {"bullet_list_open", "ordered_list_open"}:
            lists.append(token.type == "bullet_list_open")
        elif token.type in {"bullet_list_close", "ordered_list_close"}:
            lists.pop()


def _take_box(item: Token, first: list[Token]) -> None:
    if first[0].type == "paragraph_open" and (match := TASK_BOX.match(first[1].content)):
        item.meta["checked"] = match[1] != " "
        first[1].content = first[1].content[match.end() :].lstrip(" \t")


def inline(state: StateCore) -> None:
    """The content of textblocks; one without a sign that any rule looks for is text, unread."""
    for token in state.tokens:
        if token.type != "inline":
            continue
        text = token.content
        if _SIGN.search(text):
            token.children = _read(state, token)
        else:
            token.children = [Token("text", "", 0, content=text)] if text else []


def _read(state: StateCore, token: Token) -> list[Token]:
    try:
        return state.md.inline.parse(token.content, state.md, state.env, [])
    except RecursionError:
        line = token.map[0] + 1 if token.map else 1
        raise UnsupportedMarkup(
            f"markdown: brackets nested too deep to be read, from line {line:,} on."
        ) from None


def install(md: MarkdownIt) -> None:
    """Add the rules; anchors come first, definitions before CommonMark's own."""
    md.block.ruler.before("table", "anchor", anchor, _EVERYWHERE)
    md.block.ruler.before("table", "front_matter", front_matter)
    md.block.ruler.before("reference", "math", math, _EVERYWHERE)
    md.block.ruler.before("reference", "footnote", footnote, _IN_TEXT)
    md.inline.ruler.before("link", "footnote_reference", footnote_reference)
    md.inline.ruler.at("image", image)
    md.core.ruler.before("inline", "task_boxes", task_boxes)
    md.core.ruler.at("inline", inline)
