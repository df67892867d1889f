"""Elements as values that hold all there is of them: known to Markdown or not, opaque or not.

A tree of blocks (`shared.tree`) says what a reader sees. What is put back as it was needs the rest,
too: unknown attributes and marks, elements of other editors.
"""

from __future__ import annotations

from typing import Any

import msgspec
from pycrdt import XmlElement, XmlFragment, XmlText

from shared.yjs.build import fill_text, is_copyable
from shared.yjs.raw_xml import (
    RawElement,
    RawParent,
    RawText,
    RawTransaction,
    insert_value,
    raw_transaction,
    tag_of,
)


class Exact(msgspec.Struct, frozen=True):
    """An element. Neighbouring texts are one, empty ones and those without a value are none.

    Attributes:
        attributes: By name; without the block's own `id`.
        content: Elements, and texts: tuples of (a string, embedded element or JSON value, marks).
    """

    tag: str
    attributes: dict[str, Any]
    content: tuple[Any, ...]


def read_exact(element: XmlElement | XmlText) -> Exact | None:
    """The block; None: it holds what can be shown and not be built. In a transaction."""
    txn = raw_transaction(element)
    raw = element.integrated
    if not is_copyable(raw, txn):
        return None
    if isinstance(raw, RawText):  # a text at the top level becomes a paragraph
        return Exact("paragraph", {}, _texts(raw, txn))
    return _read(raw, txn, top=True)


def write_exact(fragment: XmlFragment, at: int, exact: Exact, block_id: str) -> None:
    """Builds it as the child at `at` under this id, in a transaction the caller has opened."""
    txn = raw_transaction(fragment)
    raw = _write(fragment.integrated, txn, at, exact)
    raw.insert_attribute(txn, "id", block_id)


def _read(raw: RawElement, txn: RawTransaction, *, top: bool = False) -> Exact:
    pairs: list[tuple[str, Any]] = raw.attributes(txn)  # any JSON value, whatever the stub says
    attributes = {
        name: value
        for name, value in sorted(pairs, key=lambda pair: pair[0])
        if value is not None and not (top and name == "id")
    }
    content: list[Any] = []
    for child in raw.children(txn):
        if isinstance(child, RawElement):
            content.append(_read(child, txn))
            continue
        assert isinstance(child, RawText)  # it is copyable
        texts = _texts(child, txn)
        if texts and content and isinstance(content[-1], tuple):
            content[-1] = _joined(content[-1] + texts)
        elif texts:
            content.append(texts)
    return Exact(tag_of(raw), attributes, tuple(content))


def _texts(raw: RawText, txn: RawTransaction) -> tuple[tuple[Any, dict[str, Any]], ...]:
    found: list[tuple[Any, dict[str, Any]]] = []
    for value, marks in raw.diff(txn):
        kept = {name: mark for name, mark in (marks or {}).items() if mark is not None}
        found.append((_read(value, txn) if isinstance(value, RawElement) else value, kept))
    return _joined(tuple(found))


def _joined(
    texts: tuple[tuple[Any, dict[str, Any]], ...],
) -> tuple[tuple[Any, dict[str, Any]], ...]:
    found: list[tuple[Any, dict[str, Any]]] = []
    for value, marks in texts:
        before, was = found[-1] if found else (None, {})
        if isinstance(value, str) and isinstance(before, str) and was == marks:
            found[-1] = (before + value, marks)
        elif value != "":
            found.append((value, marks))
    return tuple(found)


def _write(parent: RawParent, txn: RawTransaction, at: int, exact: Exact) -> RawElement:
    twin = parent.insert_element_prelim(txn, at, exact.tag)
    _fill(twin, txn, exact)
    return twin


def _fill(twin: RawElement, txn: RawTransaction, exact: Exact) -> None:
    for name, value in exact.attributes.items():
        twin.insert_attribute(txn, name, value)
    for child in reversed(exact.content):  # from the back, as in `build.insert_all`
        if isinstance(child, Exact):
            _write(twin, txn, 0, child)
            continue
        text = twin.insert_str(txn, 0, "")

        def put(at: int, value: Any, marks: dict[str, Any], text: RawText = text) -> int:
            return _put(text, txn, at, value, marks)

        fill_text(child[::-1], put)


def _put(text: RawText, txn: RawTransaction, at: int, value: Any, marks: dict[str, Any]) -> int:
    if not isinstance(value, Exact):
        return insert_value(text, txn, at, value, marks)
    twin = text.insert_xmlelement_prelim(  # type: ignore[attr-defined] # the stub forgot it
        txn, at, value.tag, iter(marks.items())
    )
    _fill(twin, txn, value)
    return 1
