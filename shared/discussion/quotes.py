"""Whether a quote can be commented on, and where it stands: one function decides.

A quote is plain text out of one textblock (`shared.discussion.flat`) under its heading, which
occurs once in the whole document; overlapping hits count, and so do headings, cells and code. It is
looked for without white space at its ends, and stored as it was given. Characters are code points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from shared.discussion.flat import Flat, textblocks
from shared.errors import InvalidArgument, UnsupportedMarkup
from shared.limits import MAX_QUOTE_CHARS
from shared.markdown.parse import parse
from shared.stored_annotations import TextRange

REFUSED: Final = (
    "quote: copy plain text from one paragraph under this heading, with no Markdown, that appears"
    " once in the document."
)
TOO_LONG: Final = (
    "quote: copy plain text from one paragraph under this heading, with no Markdown, that appears"
    f" once in the document, at most {MAX_QUOTE_CHARS} characters."
)
LINE_BREAKS: Final = frozenset("\r\n\v\f\u0085\u2028\u2029")
# What `String.prototype.trim` takes off: an editor looks for the quote in JavaScript.
WHITE_SPACE: Final = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)

Blocks = Sequence[str]  # ids in document order
FlatOf = Callable[[str], Flat]
Inside = range  # positions of the blocks under the heading


def needle_of(quote: str) -> str:
    """What is looked for."""
    return quote.strip(WHITE_SPACE)


def hits(needle: str, text: str, most: int = 2) -> list[int]:
    """Where `needle` begins in `text`, overlapping ones too; no more than `most` are looked for."""
    found: list[int] = []
    at = text.find(needle)
    while at >= 0 and len(found) < most:
        found.append(at)
        at = text.find(needle, at + 1)
    return found


def find(quote: str, texts: Sequence[str]) -> tuple[int, int, int] | None:
    """The first of some textblocks that holds the quote, and from where to where.

    This is how a reader jumps to a quote; None: there it is not.
    """
    needle = needle_of(quote)
    for number, text in enumerate(texts):
        at = text.find(needle) if needle else -1
        if at >= 0:
            return number, at, at + len(needle)
    return None


def place_quote(quote: str, ids: Blocks, flat_of: FlatOf, inside: Inside) -> TextRange:
    """Where a quote stands.

    Args:
        quote: As it was given.
        ids: All blocks of the document.
        flat_of: Any of them, flat.
        inside: Positions of those under the heading, without the heading.

    Raises:
        InvalidArgument: It is no quote; with `suggestion` when it is one once its Markdown is read.
    """
    if len(quote) > MAX_QUOTE_CHARS:
        raise InvalidArgument(TOO_LONG, field="quote")
    place = _placed(quote, ids, flat_of, inside)
    if place is not None:
        return place
    for plain in _without_markdown(quote):
        if _placed(plain, ids, flat_of, inside) is not None:
            raise InvalidArgument(REFUSED, field="quote", suggestion=plain)
    raise InvalidArgument(REFUSED, field="quote")


def _placed(quote: str, ids: Blocks, flat_of: FlatOf, inside: Inside) -> TextRange | None:
    needle = needle_of(quote)
    if not needle or not LINE_BREAKS.isdisjoint(quote):
        return None
    place: TextRange | None = None
    for position, block_id in enumerate(ids):
        flat = flat_of(block_id)
        found = hits(needle, flat.text)
        if not found:
            continue
        if place is not None or len(found) > 1 or position not in inside:
            return None
        place = flat.range(block_id, found[0], found[0] + len(needle))
    return place


def _without_markdown(quote: str) -> Iterator[str]:
    """The quote as it reads, when it is Markdown of one textblock."""
    try:
        blocks = parse(quote).blocks
    except UnsupportedMarkup:
        return
    texts = [text for block in blocks for _, text in textblocks(block.node)]
    if len(texts) == 1 and texts[0] != quote:
        yield texts[0]
