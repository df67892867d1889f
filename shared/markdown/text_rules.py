"""Block rules of markdown-it-py that strip more than CommonMark does, each wrapped.

CommonMark takes spaces and tabs off the ends of a line; markdown-it-py takes every Unicode space,
so `　a` (most Japanese paragraphs) would come back without its first character. The rules here run
the original and put the text's ends back where they were touched.
"""

from __future__ import annotations

import re
from typing import Final

from markdown_it import MarkdownIt
from markdown_it import rules_block as base
from markdown_it.common.utils import MD_TRIM_CHARS
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

_EXOTIC: Final = frozenset(MD_TRIM_CHARS) - frozenset(" \t\n")


def _touched(state: StateBlock, start: int, end: int) -> bool:
    """Whether the text on lines `start`…`end` (excluded) begins or ends with what was stripped."""
    first = state.src[state.bMarks[start] + state.tShift[start]]
    last = state.src[state.bMarks[end - 1] : state.eMarks[end - 1]].rstrip(" \t")[-1:]
    return first in _EXOTIC or last in _EXOTIC


def _restore(state: StateBlock, start: int, end: int) -> None:
    if _touched(state, start, end):
        text = state.getLines(start, end, state.blkIndent, keepLastLF=False)
        state.tokens[-2].content = text.strip(" \t\n")


def paragraph(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    base.paragraph(state, start, end, silent)
    _restore(state, start, state.line)
    return True


def lheading(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if not base.lheading(state, start, end, silent):
        return False
    _restore(state, start, state.line - 1)
    return True


def heading(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if not base.heading(state, start, end, silent):
        return False
    if not silent:
        line = state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]]
        state.tokens[-2].content = _heading_text(line)
    return True


def _heading_text(line: str) -> str:
    """The text of an ATX heading: a closing sequence counts only behind a blank."""
    text = line.lstrip("#").rstrip(" \t")
    cut = text.rstrip("#")
    return (cut if cut[-1:] in {" ", "\t"} or not cut else text).strip(" \t")


def reference(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A link reference definition, which also says what its source was."""
    if not base.reference(state, start, end, silent):
        return False
    if not silent:
        token = state.tokens[-1]
        token.content = state.getLines(start, state.line, state.blkIndent, keepLastLF=False)
    return True


def table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A GFM table whose cells keep their spaces and whose surplus cells are not dropped."""
    first = len(state.tokens)
    if not base.table(state, start, end, silent):
        return False
    if not silent:
        _refill(state, first)
    return True


def _refill(state: StateBlock, first: int) -> None:
    """The cells of a table's tokens cut again from its lines."""
    cells: list[str] = []
    column = 0
    width = sum(token.type == "th_open" for token in state.tokens[first:])
    for token in state.tokens[first:]:
        if token.type == "tr_open":
            cells = _cells(state, token, width)
            column = 0
        elif token.type == "inline":
            token.content = cells[column] if column < len(cells) else ""
            column += 1


def _cells(state: StateBlock, row: Token, width: int) -> list[str]:
    line = row.map[0] if row.map else 0
    cells = split_row(state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]])
    if len(cells) > width:
        row.meta["surplus"] = len(cells) - width
        cells[width - 1 :] = [" ".join(filter(None, cells[width - 1 :]))]
    return cells


def split_row(line: str) -> list[str]:
    """The cells of a table row; a pipe behind a backslash belongs to its cell."""
    bare = line.strip(MD_TRIM_CHARS)
    lead, _, trail = line.partition(bare) if bare else (line, "", "")
    cells = [part.replace("\\|", "|") for part in re.split(r"(?<!\\)\|", bare)]
    if cells and not cells[0]:
        cells.pop(0)
    if cells and not cells[-1]:
        cells.pop()
    if cells:
        cells[0] = lead.strip(" \t") + cells[0]
        cells[-1] += trail.strip(" \t")
    return [cell.strip(" \t") for cell in cells]


def install(md: MarkdownIt) -> None:
    """Replace the originals; which rules they may end stays as it was."""
    md.block.ruler.at("paragraph", paragraph)
    md.block.ruler.at("lheading", lheading)
    md.block.ruler.at("heading", heading, {"alt": ["paragraph", "reference", "blockquote"]})
    md.block.ruler.at("reference", reference)
    md.block.ruler.at("table", table, {"alt": ["paragraph", "reference"]})
