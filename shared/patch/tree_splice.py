"""Replacing characters of a block as it reads: its marks and what else it holds stay."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

import msgspec

from shared.editor_shape import TEXTBLOCKS
from shared.markdown.schema import plain_text
from shared.tree import Attrs, Block, Node, Text

Item = Node | Text
Path = tuple[int, ...]
_LITERAL: Final = frozenset({"code"})  # marks whose text is never Markdown


class Reads(msgspec.Struct, frozen=True):
    """A textblock of a block, at the end of `path`, and how it reads."""

    path: Path
    text: str


class Splice(msgspec.Struct, frozen=True):
    """Characters `start` to `end` of the textblock at `path` become `text`, which is Markdown."""

    path: Path
    start: int
    end: int
    text: str


def readings(node: Node, path: Path = ()) -> Iterator[Reads]:
    """Every textblock with its plain text, in document order."""
    if node.type in TEXTBLOCKS:
        yield Reads(path, plain_text(node))
        return
    for at, child in enumerate(node.content):
        if isinstance(child, Node):
            yield from readings(child, (*path, at))


def spliced(node: Node, splices: Sequence[Splice], parse: Callable[[str], Sequence[Block]]) -> Node:
    """The block with every splice made; none overlaps another."""
    for splice in sorted(splices, key=lambda one: (one.path, one.start), reverse=True):
        node = _at(node, splice.path, partial(_splice, splice=splice, parse=parse))
    return node


def _at(node: Node, path: Path, change: Callable[[Node], Node]) -> Node:
    if not path:
        return change(node)
    child = node.content[path[0]]
    assert isinstance(child, Node)
    content = list(node.content)
    content[path[0]] = _at(child, path[1:], change)
    return msgspec.structs.replace(node, content=tuple(content))


def _splice(textblock: Node, splice: Splice, parse: Callable[[str], Sequence[Block]]) -> Node:
    before, inside, after = _cut(textblock.content, splice.start, splice.end)
    marks = _common_marks(inside)
    if textblock.type == "codeBlock" or not _LITERAL.isdisjoint(marks):
        new: Sequence[Item] = (Text(splice.text, marks),) if splice.text else ()
    else:
        new = _inline(splice.text, marks, parse)
    # What takes no room among the characters was not asked to go.
    kept = [item for item in inside if isinstance(item, Node) and item.type != "hardBreak"]
    content = (*before, *new, *kept, *after)
    return msgspec.structs.replace(textblock, content=content)


def _cut(
    content: Sequence[Item], start: int, end: int
) -> tuple[list[Item], list[Item], list[Item]]:
    parts: tuple[list[Item], list[Item], list[Item]] = ([], [], [])
    at = 0
    for item in content:
        if isinstance(item, Node):
            size = 1 if item.type == "hardBreak" else 0
            where = 0 if at < start or (at == start and not size) else 1 if at < end else 2
            parts[where].append(item)
            at += size
            continue
        text = item.text
        cuts = [min(max(cut - at, 0), len(text)) for cut in (start, end)]
        pieces = (text[: cuts[0]], text[cuts[0] : cuts[1]], text[cuts[1] :])
        for part, piece in zip(parts, pieces, strict=True):
            if piece:
                part.append(Text(piece, item.marks))
        at += len(text)
    return parts


def _common_marks(items: Sequence[Item]) -> dict[str, Attrs]:
    """The marks all of it has."""
    runs = [item.marks for item in items if isinstance(item, Text)]
    first = runs[0] if runs else {}
    return {
        name: attrs
        for name, attrs in first.items()
        if all(marks.get(name) == attrs for marks in runs)
    }


def _inline(
    text: str, marks: dict[str, Attrs], parse: Callable[[str], Sequence[Block]]
) -> Sequence[Item]:
    """Markdown as the inside of a paragraph; what would be another block is just text."""
    bare = text.strip()
    if not bare:
        return (Text(text, marks),) if text else ()
    lead, _, trail = text.partition(bare)
    blocks = parse(bare)
    if len(blocks) == 1 and blocks[0].node.type == "paragraph" and blocks[0].anchor is None:
        content: Sequence[Item] = blocks[0].node.content
    else:
        content = (Text(" ".join(bare.split("\n"))),)
    return [
        Text(item.text, {**marks, **item.marks}) if isinstance(item, Text) else item
        for item in (Text(lead), *content, Text(trail))
        if not isinstance(item, Text) or item.text
    ]
