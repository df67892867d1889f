"""Block trees: the values that Markdown is parsed to and rendered from.

A tree says what a stock Tiptap editor can hold and nothing else (`shared.markdown.schema` has the
content rules). It is immutable; equality of meaning is `shared.markdown.schema.canon`.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

Attrs = dict[str, Any]  # JSON values, as an editor writes them


class Text(msgspec.Struct, frozen=True, tag_field="kind", tag="text"):
    """A run of characters with the same marks. A plain mark has `{}` as its attributes."""

    text: str
    marks: dict[str, Attrs] = {}


class Node(msgspec.Struct, frozen=True, tag_field="kind", tag="node"):
    """An element: block, list item, row, cell or `hardBreak`.

    A node of an unknown type is `Node("opaque", {"tag": <its name>, "ref": <block id or path>})`.
    """

    type: str
    attrs: Attrs = {}
    content: tuple[Node | Text, ...] = ()


class Hints(msgspec.Struct, frozen=True, array_like=True):
    """What Markdown says of a top-level list and no stock editor can keep; lives in the index."""

    loose: bool = False
    delimiter: Literal[".", ")"] = "."


NO_HINTS: Final = Hints()


class Block(msgspec.Struct, frozen=True):
    """A top-level block as parsed.

    Attributes:
        source: The Markdown it came from, as sent, without the anchor line.
        anchor: `<id>-<hash>` when a line `[<id>-<hash>]` stood right above it.
    """

    node: Node
    hints: Hints = NO_HINTS
    source: str = ""
    anchor: str | None = None


class Fidelity(msgspec.Struct, frozen=True):
    """Something that could not be represented exactly: which block (position), and what."""

    index: int
    what: str
