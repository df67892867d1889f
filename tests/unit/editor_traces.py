"""Recorded editors: what they sent, and what a person would say happened.

The files in tests/data/editor_traces were recorded from real editors; their format is told there.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from pycrdt import Doc, XmlElement, XmlFragment, XmlText

from shared.feed.block_changes import Draft
from shared.index.block_index import BlockIndex, Settled
from shared.index.reader import BlockReader, StockReader
from shared.tree import Node, Text

FOLDER = Path(__file__).parent.parent / "data" / "editor_traces"
EDITORS = ("prosemirror", "tiptap", "tiptap-id", "tiptap-id-keep", "tiptap-unique-id")
WALKS = tuple(f"walk-{n}" for n in range(1, 6))
STEP_MS = 500  # what passes between two acts
KINDS = {
    "added": ("added",),
    "removed": ("removed",),
    "back": ("added",),
    "changed": ("changed", "moved"),
}


def load(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return data


class ForeignSchemaReader(StockReader):
    """Reads what a stock editor has no node for (`bullet_list`) as if it had."""

    def read(self, element: XmlElement | XmlText, block_id: str = "") -> Node:
        if isinstance(element, XmlText):
            return super().read(element, block_id)
        content: list[Node | Text] = []
        for child in element.children:
            if isinstance(child, XmlText):
                content += [Text(str(text), dict(marks or {})) for text, marks in child.diff()]
            elif isinstance(child, XmlElement):
                content.append(self.read(child))
        view: Any = element.attributes  # its own annotations do not let it be iterated
        attributes = {key: value for key, value in view if key != "id"}
        names = [part.capitalize() for part in (element.tag or "").split("_")]
        name = "".join(names)
        return Node(name[:1].lower() + name[1:], attributes, tuple(content))


class Server:
    """A document and its index, fed with updates."""

    def __init__(self, state: str, root: str, reader: BlockReader | None = None) -> None:
        self.doc: Doc[XmlFragment] = Doc()
        self.fragment = self.doc.get(root, type=XmlFragment)
        self.doc.apply_update(b64decode(state))
        numbers = count()
        self.index, _ = BlockIndex.attach(
            self.fragment, None, lambda: f"new{next(numbers):05}", 0, reader
        )
        self.now = 0

    def feed(self, updates: Sequence[str]) -> Iterator[Settled]:
        for update in updates:
            self.doc.apply_update(b64decode(update))
            yield self.index.settle(self.now)


def servers(name: str) -> Iterator[tuple[str, Server, list[dict[str, Any]]]]:
    """Each trace of a file: its title, a server holding its fixture, its steps."""
    data = load(name)
    for trace in data["traces"]:
        state = data["fixtures"][trace["fixture"]]["state"]
        reader = ForeignSchemaReader() if name == "prosemirror" else None
        title = f"{trace['act']} ({trace['fixture']})"
        yield title, Server(state, data["root"], reader), trace["steps"]


def collapse(kinds: Sequence[str]) -> str | None:
    """What rows of one block in one step come to."""
    if kinds[0] == "added":
        return None if kinds[-1] == "removed" else "added"
    if kinds[-1] == "removed":
        return "removed"
    return "moved" if {"added", "moved"} & set(kinds) else "changed"


def rows_of(drafts: Sequence[Draft]) -> dict[str, str]:
    by_block: dict[str, list[str]] = {}
    for draft in drafts:
        by_block.setdefault(draft.block_id, []).append(draft.kind)
    told = {block_id: collapse(kinds) for block_id, kinds in by_block.items()}
    return {block_id: kind for block_id, kind in told.items() if kind is not None}


class Names:
    """Who is who in one trace: the names of `expect` and the ids they stand for."""

    def __init__(self, ids: Sequence[str]) -> None:
        self.id_of = {f"b{n}": block_id for n, block_id in enumerate(ids)}

    def match(self, expected: Sequence[str], ids: Sequence[str]) -> list[str]:
        """What is wrong with `ids`; binds names that are new."""
        if len(expected) != len(ids):
            return [f"{len(ids)} blocks for {len(expected)}"]
        wrong = []
        for place, (names, block_id) in enumerate(zip(expected, ids, strict=True)):
            if not any(self._is(name, block_id) for name in names.split("|")):
                wrong.append(f"place {place}: {block_id} is not {names}")
        return wrong

    def _is(self, name: str, block_id: str) -> bool:
        if name == "?":
            return True
        if name in self.id_of:
            return self.id_of[name] == block_id
        if block_id in self.id_of.values():
            return False
        self.id_of[name] = block_id
        return True


def wrong_rows(
    expect: dict[str, Any], names: Names, rows: dict[str, str], had: set[str]
) -> list[str]:
    """Rows that are missing and rows that are noise. `had`: the ids before the step."""
    rows = dict(rows)
    rows.pop(names.id_of.get("trailing", ""), None)
    wrong = []
    told = {names.id_of[name] for name in expect["changed"]}
    told |= {block_id for block_id, kind in rows.items() if kind == "moved"}
    for key, kinds in KINDS.items():
        for name in expect[key]:
            block_id = names.id_of[name]
            kind = rows.pop(block_id, None)
            stayed = key == "back" and block_id in had  # kept by a block without words meanwhile
            if name != "trailing" and kind not in kinds and not stayed:
                wrong.append(f"{name} should be {key}, is {kind}")
    sets = [{names.id_of[name] for name in one} for one in expect.get("moved", [])]
    if sets and not any(one <= told for one in sets):
        wrong.append(f"nothing of {expect['moved']} has moved: {rows}")
    may_move = set[str]().union(*sets)
    noise = {block_id: kind for block_id, kind in rows.items() if block_id not in may_move}
    return [*wrong, f"noise: {noise}"] if noise else wrong
