"""The one Markdown parser: CommonMark 0.31.2, GFM tables, strikethrough, and our own rules."""

from __future__ import annotations

from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from shared.errors import TooLarge, UnsupportedMarkup
from shared.limits import MAX_BLOCKS, MAX_DEPTH
from shared.markdown import own_rules, text_rules

# Above what CommonMark texts nest; the tree's own limit refuses long before.
_MAX_NESTING: Final = 1_000
# A block and the line with its anchor: more can only be too many.
_MAX_TOP_LEVEL: Final = 2 * MAX_BLOCKS + 1
_STARTED: Final = "docactor.started"


def _make() -> MarkdownIt:
    options = {"maxNesting": _MAX_NESTING, "inline_definitions": True, "store_labels": True}
    md = MarkdownIt("commonmark", options)
    md.enable(["table", "strikethrough"])
    # Destinations are kept as written: what may be clicked is the display's business, and a link
    # an editor can hold has to come back.
    links: Any = md
    links.validateLink = lambda _url: True
    links.normalizeLink = links.normalizeLinkText = lambda url: url
    text_rules.install(md)
    own_rules.install(md)
    md.block.ruler.before("table", "too_much", _too_much)
    return md


def _too_much(state: StateBlock, start: int, _end: int, silent: bool) -> bool:
    """Never matches; ends the parse of a text with far too many blocks or levels of them.

    The former would take seconds, the latter end in a `RecursionError` that names no line.
    """
    if silent:
        return False
    if state.level > MAX_DEPTH:
        raise UnsupportedMarkup(
            f"markdown: nested deeper than {MAX_DEPTH} levels in line {start + 1:,}."
        )
    if state.level:
        return False
    started = state.env[_STARTED] = state.env.get(_STARTED, 0) + 1
    if started > _MAX_TOP_LEVEL:
        raise TooLarge(
            f"markdown: more than {MAX_BLOCKS:,} blocks; line {start + 1:,} is far beyond.",
            limit=MAX_BLOCKS,
        )
    return False


MARKDOWN: Final = _make()


def block_tokens(text: str) -> list[Token]:
    """The tokens of a whole text; inline tokens have their children.

    Raises:
        UnsupportedMarkup: Nested too deep.
        TooLarge: Far more than `MAX_BLOCKS` blocks.
    """
    return MARKDOWN.parse(text, {})


def inline_tokens(text: str) -> list[Token]:
    """The tokens of one line of inline content, as in a table cell.

    Raises:
        UnsupportedMarkup: Brackets nested too deep.
    """
    return MARKDOWN.parseInline(text, {})[0].children or []
