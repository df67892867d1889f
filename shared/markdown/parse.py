"""Markdown to block trees."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import msgspec

from shared.errors import TooLarge, UnsupportedMarkup
from shared.limits import MAX_MARKDOWN_CHARS
from shared.markdown.build import BlockBuilder
from shared.markdown.parser import block_tokens
from shared.tree import Block, Fidelity

_LINE_END: Final = re.compile("\r\n?")
_FORBIDDEN: Final = re.compile("[\x00\ud800-\udfff]")
_BYTE_ORDER_MARK: Final = "\ufeff"


class Parsed(msgspec.Struct, frozen=True):
    """What a text holds.

    Attributes:
        blocks: Top-level blocks in order.
        fidelity: What of the text could not be represented exactly.
    """

    blocks: tuple[Block, ...]
    fidelity: tuple[Fidelity, ...] = ()


Lines = list[tuple[int, int]]  # of each block the first line and the one behind it


def parse(text: str, lines: Callable[[str], Parsed] | None = None) -> Parsed:
    """The blocks of a Markdown text.

    Carriage returns are line ends; a byte order mark at the start is none of the text. `lines`
    reads what is left, instead of `parse_lines`.

    Raises:
        TooLarge: More than `MAX_MARKDOWN_CHARS` characters or `MAX_BLOCKS` blocks.
        UnsupportedMarkup: NUL or a lone surrogate in it, or nested too deep.
    """
    if len(text) > MAX_MARKDOWN_CHARS:
        raise TooLarge(
            f"markdown: {len(text):,} characters, at most {MAX_MARKDOWN_CHARS:,} in one write.",
            limit=MAX_MARKDOWN_CHARS,
        )
    text = _LINE_END.sub("\n", text.removeprefix(_BYTE_ORDER_MARK))
    if match := _FORBIDDEN.search(text):
        raise UnsupportedMarkup(_forbidden(text, match.start()))
    return (lines or parse_lines)(text)


def _forbidden(text: str, at: int) -> str:
    line = text.count("\n", 0, at) + 1
    column = at - text.rfind("\n", 0, at)
    name = "a NUL character" if text[at] == "\x00" else f"the lone surrogate U+{ord(text[at]):04X}"
    return f"markdown: {name} in line {line}, column {column}."


def parse_lines(text: str) -> Parsed:
    """`parse` of a text known to be short and clean, whose only line ends are newlines.

    Raises:
        TooLarge: More than `MAX_BLOCKS` blocks.
        UnsupportedMarkup: Nested too deep.
    """
    return parse_placed(text)[0]


def parse_placed(text: str) -> tuple[Parsed, Lines]:
    """`parse_lines`, and where in the text each block stands."""
    builder = BlockBuilder(block_tokens(text), text)
    return Parsed(tuple(builder.blocks()), tuple(builder.fidelity)), builder.lines
