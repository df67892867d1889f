"""Where a quoted text stands in a document, and what to tell its author when it does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Final

import msgspec
from rapidfuzz import fuzz, process

from shared.limits import (
    MAX_MATCHES_TOLD,
    MAX_MERGE_WORDS,
    MAX_NEAREST_TOLD,
    MIN_LIKENESS,
)
from shared.patch.refusals import SNIPPET_CHARS, headings
from shared.patch.text_find import Spot, Texts, as_written, nearly
from shared.patch.tree_splice import Path, readings
from shared.patch.types import Present
from shared.sections import section_of
from shared.tree import Node

_AROUND: Final = 40  # characters shown on each side of a place
_SHOWN: Final = 240  # at most of the place itself
_COMPARED: Final = 200  # characters of a quote that likeness is judged by


class Found(msgspec.Struct, frozen=True):
    """A place in the document.

    Attributes:
        position: Of the block.
        path: Of the textblock in whose plain text it stands; None: it stands in the Markdown.
        exact: Found to the letter.
    """

    position: int
    start: int
    end: int
    path: Path | None
    exact: bool


class _Plain(msgspec.Struct, frozen=True):
    """The document as it reads.

    Attributes:
        owners: Of each text its block's position and its path there.
        firsts: The first text of each block, and behind the last block the number of texts.
    """

    texts: Texts
    owners: tuple[tuple[int, Path], ...]
    firsts: tuple[int, ...]


class Finder:
    """Looks for quotes in one document.

    Args:
        node_of: The tree of a block that is present.
    """

    def __init__(self, present: Sequence[Present], node_of: Callable[[str], Node]) -> None:
        self._present = present
        self._node_of = node_of
        self._source = Texts([block.text for block in present])

    def find(self, quote: str, first: int, last: int) -> list[Found]:
        """Every place in the blocks `first` to `last` (half-open), by the first reading that has
        one: Markdown, text, and both again with spaces, quotes and escapes folded.
        """
        for search in (as_written, nearly):
            exact = search is as_written
            spots = search(self._source, quote, first, last)
            if spots:
                return [Found(s.text, s.start, s.end, None, exact) for s in spots]
            plain = self._plain
            spots = search(plain.texts, quote, plain.firsts[first], plain.firsts[last])
            if spots:
                return [self._in_text(spot, exact=exact) for spot in spots]
        return []

    def _in_text(self, spot: Spot, *, exact: bool) -> Found:
        position, path = self._plain.owners[spot.text]
        return Found(position, spot.start, spot.end, path, exact)

    @cached_property
    def _plain(self) -> _Plain:
        texts: list[str] = []
        owners: list[tuple[int, Path]] = []
        firsts: list[int] = []
        for position, block in enumerate(self._present):
            firsts.append(len(texts))
            for one in readings(self._node_of(block.block_id)):
                texts.append(one.text)
                owners.append((position, one.path))
        return _Plain(Texts(texts), tuple(owners), (*firsts, len(texts)))

    # --- what is told of a quote that does not fit ------------------------------------------------

    def matches(self, found: Sequence[Found]) -> list[dict[str, Any]]:
        """Places with what to name them by, and the text around each."""
        sections = headings(self._present)
        told = []
        for one in found[:MAX_MATCHES_TOLD]:
            block = self._present[one.position]
            heading = section_of(sections, one.position)
            told.append(
                {
                    "anchor": block.anchor,
                    "section_id": heading.block_id if heading else None,
                    "snippet": self._around(one),
                }
            )
        return told

    def nearest(self, quote: str, first: int, last: int) -> list[dict[str, Any]]:
        """Blocks with something like it, the likest first, and that part of each."""
        wanted = quote.strip()[:_COMPARED]
        if not wanted:
            return []
        texts = [block.text[:MAX_MERGE_WORDS] for block in self._present[first:last]]
        likest = process.extract(
            wanted,
            texts,
            scorer=fuzz.partial_ratio,
            limit=MAX_NEAREST_TOLD,
            score_cutoff=MIN_LIKENESS,
        )
        return [
            {
                "anchor": self._present[first + offset].anchor,
                "text": _alike(wanted, text, len(quote)),
            }
            for text, _, offset in likest
        ]

    def _around(self, found: Found) -> str:
        text = self._present[found.position].text
        if found.path is not None:
            node = self._node_of(self._present[found.position].block_id)
            text = next(one.text for one in readings(node) if one.path == found.path)
        end = min(found.end, found.start + _SHOWN)
        return text[max(0, found.start - _AROUND) : end + _AROUND]


def _alike(wanted: str, text: str, length: int) -> str:
    """The part of a text that is like what was wanted, with as much behind it as was quoted."""
    aligned = fuzz.partial_ratio_alignment(wanted, text)
    start = aligned.dest_start if aligned else 0
    end = start + min(max(length, SNIPPET_CHARS), _SHOWN)
    return text[max(0, start - _AROUND) : end + _AROUND]
