"""The binding below pycrdt's wrappers, and the units its indices have.

Reading and building a block through the wrappers takes four times as long: each of them makes an
object and enters a transaction per call. pycrdt's version is pinned; this is the one module that
knows its private names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from pycrdt import XmlElement, XmlFragment, XmlText
from pycrdt._pycrdt import Text as RawShared
from pycrdt._pycrdt import Transaction as RawTransaction
from pycrdt._pycrdt import XmlElement as RawElement
from pycrdt._pycrdt import XmlFragment as RawFragment
from pycrdt._pycrdt import XmlText as RawText

__all__ = [
    "RawChild",
    "RawElement",
    "RawFragment",
    "RawParent",
    "RawText",
    "RawTransaction",
    "byte_length",
    "byte_offsets",
    "insert_value",
    "raw_transaction",
    "root_as_text",
    "tag_of",
    "wrap",
]

RawChild = RawElement | RawText | RawFragment
RawParent = RawElement | RawFragment

_FIRST_SURROGATE: Final = "\ud800"
_LAST_SURROGATE: Final = "\udfff"


def raw_transaction(element: XmlFragment | XmlElement | XmlText) -> RawTransaction:
    """The binding's transaction of the one the caller has open.

    Raises:
        RuntimeError: None is open.
    """
    current = element.doc._txn  # noqa: SLF001 - the wrapper has no name for it
    raw = None if current is None else current._txn  # noqa: SLF001 - as above
    if raw is None:
        raise RuntimeError("blocks are read and written inside a transaction")
    return raw


def root_as_text(fragment: XmlFragment, name: str) -> RawShared:
    """The root `name` of the fragment's document, seen as a text: the one view of all it holds.

    Where the root also holds characters, indices into the fragment are useless: iteration stops at
    the first, reading one panics, and removing a range beside an emoji may never return.
    """
    document = fragment.doc._doc  # noqa: SLF001 - the wrapper would make it a second root
    return document.get_or_insert_text(raw_transaction(fragment), name)


def root_as_array(fragment: XmlFragment, name: str) -> Any:
    """The same seen as an array: the one view in which every value can be read by its index."""
    document = fragment.doc._doc  # noqa: SLF001 - as above
    return document.get_or_insert_array(raw_transaction(fragment), name)


def tag_of(raw: RawElement) -> str:
    """The element's name; another client may have left it out."""
    return raw.tag() or ""  # type: ignore[attr-defined] # the stub forgot it


def wrap(raw: RawElement, beside: XmlFragment | XmlElement | XmlText) -> XmlElement:
    """Pycrdt's element around the binding's, in the document of `beside`."""
    return XmlElement(_doc=beside.doc, _integrated=raw)


def byte_offsets(text: str, positions: Iterable[int]) -> list[int]:
    """Code point positions in `text`, ascending, as the indices Yjs takes here: UTF-8 bytes.

    An index inside a character is accepted by the binding and edits the wrong place, so nothing
    else converts. A lone surrogate stands for an embedded object, which has length 1.
    """
    if text.isascii():
        return list(positions)
    offsets: list[int] = []
    done = offset = 0
    for position in positions:
        offset += byte_length(text[done:position])
        offsets.append(offset)
        done = position
    return offsets


def byte_length(text: str) -> int:
    """The length of `text` in the units of `byte_offsets`."""
    if text.isascii():
        return len(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        return sum(
            1 if _FIRST_SURROGATE <= char <= _LAST_SURROGATE else len(char.encode())
            for char in text
        )


def insert_value(
    text: RawText, txn: RawTransaction, at: int, value: Any, marks: dict[str, Any]
) -> int:
    """Insert characters, an element (empty, to be filled) or a JSON value; return its length."""
    attrs = iter(marks.items())
    if isinstance(value, str):
        text.insert(txn, at, value, attrs)
        return byte_length(value)
    text.insert_embed(txn, at, value, attrs)  # type: ignore[attr-defined] # the stub forgot it
    return 1
