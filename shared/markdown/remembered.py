"""Reading a text of which most was read before.

An agent sends a whole document back with one sentence changed. The text is cut at lines where a
block begins whatever stands before, and what stands between two cuts is read once.

A line behind a blank one begins a block of the top level unless it is indented or a list's marker,
which may go on with a list, or stands in a fence, an HTML block or a formula that is still open.
So a piece begins with none of the first, and is kept only if no block of its text reaches past its
end. What a piece says then depends on it alone, but for link definitions and footnotes, which
count everywhere: a text that may have some is read as a whole.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import pairwise
from typing import Final

import msgspec

from shared.errors import TooLarge, UnsupportedMarkup
from shared.limits import MAX_BLOCKS, MAX_REMEMBERED_CHARS, MIN_REMEMBERED_CHARS
from shared.markdown.build import LIST_BREAK
from shared.markdown.parse import Lines, Parsed, parse, parse_lines, parse_placed
from shared.tree import Block, Node, Text

_CUT: Final = re.compile(r"\n(?:[ \t]*\n)+(?=[^\W\d_]|[#\[(&|>\"“]|\*{1,2}\w|`\w)")
# A definition; or a line between two lists with an anchor's line above: it is none, or the anchor
# is another block's, by what stands before; or what would be front matter, were it at the start.
_WHOLE: Final = re.compile(
    rf"\]:|\][ \t]*\n[ \t]*{LIST_BREAK}|\n\[[^\]\n]*\][ \t]*\n---[ \t]*\n(?=[ \t]*[^ \t\n])"
)
_FRONT: Final = re.compile(r"(?:\[[^\]\n]*\][ \t]*\n)?---[ \t]*\n(?=[ \t]*[^ \t\n])")
_FRONT_END: Final = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE)
_END: Final = Block(Node("paragraph", {}, (Text("end"),)), source="end")
_NODE_WEIGHT: Final = 200  # bytes of a node, and of an entry, roughly; a character is one
_MAX_WEIGHT: Final = 10_000  # of one piece

Blocks = tuple[Block, ...]


class _Piece(msgspec.Struct, frozen=True):
    """`text[start:end]`, without the blank lines behind it. `line` is its first."""

    start: int
    end: int
    line: int


class Remembered:
    """Pieces of the texts read last.

    Args:
        lock: Held for moments; one is needed where several threads read.
        room: See `MAX_REMEMBERED_CHARS`.
    """

    def __init__(
        self, lock: AbstractContextManager[object] | None = None, room: int = MAX_REMEMBERED_CHARS
    ) -> None:
        self._room = room
        self._used = 0
        self._blocks: OrderedDict[str, tuple[Blocks, int]] = OrderedDict()
        self._lock = lock or nullcontext()

    def parse(self, text: str) -> Parsed:
        """As `shared.markdown.parse.parse`, the same refusals included."""
        return parse(text, self._parse_lines)

    def _parse_lines(self, text: str) -> Parsed:
        if len(text) < MIN_REMEMBERED_CHARS or _WHOLE.search(text):
            return parse_lines(text)
        pieces = _pieces(text)
        known = self._known([text[piece.start : piece.end] for piece in pieces])
        if known.count(None) * 2 > len(pieces):
            parsed, lines = parse_placed(text)
            # Nothing behind the last piece tells that it ends there.
            self._keep(text, pieces, parsed, lines)
            return parsed
        return self._joined(text, pieces, known) or parse_lines(text)

    def _joined(
        self, text: str, pieces: Sequence[_Piece], known: Sequence[Blocks | None]
    ) -> Parsed | None:
        """What is known and, read now, what is not; None where that cannot be told from the rest,
        or is refused: then the whole text says where.
        """
        found: list[Block] = []
        fidelity = []
        at = 0
        while at < len(pieces):
            if (blocks := known[at]) is not None:
                found += blocks
                at += 1
                continue
            first = at
            while at < len(pieces) and known[at] is None:
                at += 1
            run = text[pieces[first].start : pieces[at - 1].end]
            try:
                parsed, lines = parse_placed(f"{run}\n\n{_END.source}")
            except (TooLarge, UnsupportedMarkup):
                return None
            if not parsed.blocks or parsed.blocks[-1] != _END:
                return None
            end = _Piece(len(run) + 2, len(run) + 2, lines[-1][0])
            self._keep(run, [*_within(pieces[first:at]), end], parsed, lines)
            fidelity += [
                msgspec.structs.replace(note, index=note.index + len(found))
                for note in parsed.fidelity
            ]
            found += parsed.blocks[:-1]
        return Parsed(tuple(found), tuple(fidelity)) if len(found) <= MAX_BLOCKS else None

    def _known(self, texts: Sequence[str]) -> list[Blocks | None]:
        with self._lock:
            known: list[Blocks | None] = []
            for text in texts:
                entry = self._blocks.get(text)
                if entry is not None:
                    self._blocks.move_to_end(text)
                known.append(entry[0] if entry else None)
            return known

    def _keep(self, text: str, pieces: Sequence[_Piece], parsed: Parsed, lines: Lines) -> None:
        """Keeps all of `pieces` but the last, as far as each is by itself."""
        noted = {note.index for note in parsed.fidelity}
        kept: dict[str, tuple[Blocks, int]] = {}
        at = past = 0  # the next block, the first line behind those before
        for piece, following in pairwise(pieces):
            alone, first = past <= piece.line, at
            while at < len(lines) and lines[at][0] < following.line:
                past = max(past, lines[at][1])
                at += 1
            blocks = parsed.blocks[first:at]
            if not alone or past > following.line or not noted.isdisjoint(range(first, at)):
                continue
            source = text[piece.start : piece.end]
            weight = len(source) + _NODE_WEIGHT * (1 + sum(_nodes(one.node) for one in blocks))
            if weight <= _MAX_WEIGHT:
                kept[source] = (blocks, weight)
        with self._lock:
            for source, entry in kept.items():
                self._used += entry[1] - self._blocks.pop(source, ((), 0))[1]
                self._blocks[source] = entry
            while self._used > self._room:
                self._used -= self._blocks.popitem(last=False)[1][1]


def _pieces(text: str) -> list[_Piece]:
    pieces: list[_Piece] = []
    start = line = 0
    for cut in _CUT.finditer(text, _front(text)):
        pieces.append(_Piece(start, cut.start(), line))
        line += text.count("\n", start, cut.end())
        start = cut.end()
    return [*pieces, _Piece(start, len(text.rstrip("\n")), line)]


def _front(text: str) -> int:
    """Where the front matter ends; 0: there is none."""
    opened = _FRONT.match(text)
    closed = _FRONT_END.search(text, opened.end()) if opened else None
    return closed.end() if closed else 0


def _within(pieces: Sequence[_Piece]) -> Iterator[_Piece]:
    """The same places in the text that begins with the first of them."""
    start, line = pieces[0].start, pieces[0].line
    return (_Piece(one.start - start, one.end - start, one.line - line) for one in pieces)


def _nodes(node: Node) -> int:
    """How many nodes and runs of text it is made of."""
    return 1 + sum(_nodes(one) if isinstance(one, Node) else 1 for one in node.content)
