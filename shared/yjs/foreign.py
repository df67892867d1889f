"""The guard of the root: children that are neither elements nor texts.

A client that opens the root as another type leaves them. Iterating over the fragment then stops at
the first one without an error: the document looks empty, and what is written next builds on that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from pycrdt import XmlElement, XmlFragment

from shared.tree import Node, Text
from shared.yjs.build import insert
from shared.yjs.raw_xml import (
    RawElement,
    RawText,
    byte_length,
    raw_transaction,
    root_as_array,
    root_as_text,
)


class Foreign(msgspec.Struct, frozen=True):
    """A run of foreign children.

    Attributes:
        at: Where it begins in the root seen as a text (bytes; every other child counts 1).
        length: How long it is there.
        child: How many children that may stay come before it.
        text: The characters in it.
    """

    at: int
    length: int
    child: int
    text: str


def foreign_children(fragment: XmlFragment, name: str = "default") -> list[Foreign]:
    """What the root `name` holds that is no block, in order; empty for a sound document.

    A sound document costs one length and one iteration.
    """
    txn = raw_transaction(fragment)
    if fragment.integrated.len(txn) == len(fragment.integrated.children(txn)):
        return []
    found: list[Foreign] = []
    at = child = 0
    for value, _ in root_as_text(fragment, name).diff(txn):
        text = value if isinstance(value, str) else ""
        length = byte_length(text) or 1
        if isinstance(value, RawElement | RawText):
            child += 1
        elif found and found[-1].at + found[-1].length == at:
            last = found.pop()
            found.append(Foreign(last.at, last.length + length, child, last.text + text))
        else:
            found.append(Foreign(at, length, child, text))
        at += length
    return found


def remove_foreign(
    fragment: XmlFragment,
    foreign: Sequence[Foreign],
    name: str = "default",
    block_id: str | None = None,
) -> XmlElement | None:
    """Take out all that is no block; keep the text `foreign` has as one paragraph at its place.

    `foreign` is what `foreign_children` found, which is what a client put there as a text or map;
    values of an array are seen by neither and go as well.

    Returns:
        The paragraph, or None when there was no text.
    """
    txn = raw_transaction(fragment)
    root = root_as_text(fragment, name)
    for item in reversed(foreign):
        root.remove_range(txn, item.at, item.length)
    values: Any = root_as_array(fragment, name)
    for at in reversed(range(values.len(txn))):
        if not isinstance(values.get(txn, at), RawElement | RawText):
            values.remove_range(txn, at, 1)
    text = "".join(item.text for item in foreign)
    if not text.strip():
        return None
    return insert(fragment, foreign[0].child, Node("paragraph", {}, (Text(text),)), block_id)
