"""A textblock's content as one string, in which a surrogate stands for a break or an object.

No text holds a lone surrogate: Yjs stores UTF-8, and trees with one are refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from shared.editor_shape import CARRIER, placeholder
from shared.tree import Node
from shared.yjs.blocks import EMBED_TAG, FRAGMENT_TAG, Path
from shared.yjs.build import Known, OpaqueName, opaque_name, split_placeholders
from shared.yjs.raw_xml import RawChild, RawElement, RawText, RawTransaction, tag_of
from shared.yjs.run_edit import BREAK, FIRST_OBJECT, SYMBOL, Flat, Marks

_NEWLINE: Final = re.compile("(\r\n?|\n)")
_LAST_OBJECT: Final = 0xDFFF


class Stored(msgspec.Struct):
    """The content there is, flat, with newlines as breaks where they read as such.

    Attributes:
        stored: The same text with newlines as they are.
        spans: For each child where it begins and ends.
        objects: What each surrogate stands for.
        names: Each object's symbol.
        embedded: The symbols of those that stand inside a text.
    """

    flat: Flat
    stored: str
    spans: list[tuple[int, int]]
    objects: dict[str, Any]
    names: dict[OpaqueName, str]
    embedded: set[str]


def flatten(
    children: Sequence[RawChild], txn: RawTransaction, path: Path, *, breaks: bool
) -> Stored:
    """The content of a textblock's children; `breaks`: a newline reads as a hard break."""
    flat = _Builder()
    old = Stored(Flat("", [], []), "", [], {}, {}, set())

    def add_object(value: Any, tag: str, place: Path) -> str:
        symbol = chr(min(FIRST_OBJECT + len(old.names), _LAST_OBJECT))
        old.objects[symbol] = value
        old.names[tag, ".".join(map(str, place))] = symbol
        flat.add_symbol(symbol)
        return symbol

    for at, child in enumerate(children):
        start = len(flat.owners)
        if isinstance(child, RawText):
            for piece, (value, marks) in enumerate(child.diff(txn)):
                if isinstance(value, str):
                    flat.add(value, marks or {})
                else:
                    old.embedded.add(add_object(value, EMBED_TAG, (*path, at, piece)))
        elif isinstance(child, RawElement) and tag_of(child) == "hardBreak":
            flat.add_symbol(BREAK)
        else:
            tag = tag_of(child) if isinstance(child, RawElement) else FRAGMENT_TAG
            add_object(child, tag, (*path, at))
        old.spans.append((start, len(flat.owners)))
    old.stored = "".join(flat.parts)
    text = old.stored.replace("\n", BREAK) if breaks else old.stored
    old.flat = Flat(text, flat.owners, flat.runs)
    return old


def flatten_new(new: Node, old: Stored, known: Known, *, breaks: bool) -> Flat:
    """The new content; an object of another place gets a symbol of its own in `old.objects`."""
    symbols = _Symbols(old, known)
    flat = _Builder()
    for item in split_placeholders(new.content, symbols.__contains__):
        if isinstance(item, Node):
            if item.type == "hardBreak":
                flat.add_symbol(BREAK if breaks else "\n")
            elif symbol := symbols.take(opaque_name(item)):
                flat.add_symbol(symbol)
            else:
                flat.add(CARRIER + placeholder(item), {})
        elif breaks:
            for number, piece in enumerate(_NEWLINE.split(item.text)):
                if number % 2:
                    flat.add_symbol(BREAK)
                else:
                    flat.add(piece, item.marks)
        else:
            flat.add(item.text, item.marks)
    return Flat("".join(flat.parts), flat.owners, flat.runs)


class _Builder:
    """Gathers a `Flat`."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.owners: list[int] = []
        self.runs: list[Marks] = [{}]

    def add(self, text: str, marks: Marks) -> None:
        """A run of characters."""
        if text:
            self.parts.append(text)
            self.owners += [len(self.runs)] * len(text)
            self.runs.append(marks)

    def add_symbol(self, symbol: str) -> None:
        """A break or an object."""
        self.parts.append(symbol)
        self.owners.append(SYMBOL)


class _Symbols:
    """Finds the object an opaque node means: by tag and path, else the next of that tag."""

    def __init__(self, old: Stored, known: Known) -> None:
        self._old = old
        self._known = known
        self._free = dict(old.names)

    def __contains__(self, name: OpaqueName) -> bool:
        return name in self._known or any(tag == name[0] for tag, _ in self._old.names)

    def take(self, name: OpaqueName) -> str | None:
        """Its symbol; None when there is no such object."""
        if (symbol := self._free.pop(name, None)) is not None:
            return symbol
        if name in self._known and name not in self._old.names:
            symbol = chr(FIRST_OBJECT + len(self._old.objects))
            if ord(symbol) < _LAST_OBJECT:
                self._old.objects[symbol] = self._known[name]
                return symbol
        alike = next((free for free in self._free if free[0] == name[0]), None)
        return None if alike is None else self._free.pop(alike)
