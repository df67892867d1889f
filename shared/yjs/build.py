"""Blocks written into an XmlFragment: built from a tree, or copied from another place.

Called inside a transaction; what could fail is looked at before anything is changed, because a
transaction does not roll back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from pycrdt import XmlElement, XmlFragment, XmlText

from shared.editor_shape import (
    CARRIER,
    PLACEHOLDER,
    TEXTBLOCKS,
    from_placeholder,
    placeholder,
    stock_attributes,
    stock_mark,
)
from shared.errors import UnsupportedMarkup
from shared.tree import Node, Text
from shared.yjs.raw_xml import (
    RawChild,
    RawElement,
    RawParent,
    RawText,
    RawTransaction,
    insert_value,
    raw_transaction,
    tag_of,
    wrap,
)

OpaqueName = tuple[str, str]  # tag and ref
Known = Mapping[OpaqueName, RawElement]
NOTHING_KNOWN: Final[Known] = {}


def insert(fragment: XmlFragment, at: int, node: Node, block_id: str | None) -> XmlElement:
    """Build `node` as the child at `at`, as a stock editor would, with attribute `id` if given.

    Raises:
        UnsupportedMarkup: The tree holds a character no document can; nothing was changed.
    """
    require_text(node)
    txn = raw_transaction(fragment)
    raw = build(fragment.integrated, txn, at, node)
    if block_id is not None:
        raw.insert_attribute(txn, "id", block_id)
    return wrap(raw, fragment)


def insert_all(
    fragment: XmlFragment, at: int, blocks: Sequence[tuple[Node, str | None]]
) -> list[XmlElement]:
    """`insert` for many blocks in a row, the first one at `at`.

    The last one goes in first: the binding walks to an index from the start, and a document
    appended to block by block would be walked through once a block.

    Raises:
        UnsupportedMarkup: As `insert`; nothing was changed.
    """
    for node, _ in blocks:
        require_text(node)
    return [insert(fragment, at, *block) for block in reversed(blocks)][::-1]


def require_text(node: Node) -> None:
    """Refuse lone surrogates: the binding fails on them halfway.

    Raises:
        UnsupportedMarkup: There is one.
    """
    for child in node.content:
        if isinstance(child, Node):
            require_text(child)
            continue
        try:
            child.text.encode()
        except UnicodeEncodeError as error:
            raise UnsupportedMarkup("markdown: the text holds a lone surrogate.") from error


def build(
    parent: RawParent, txn: RawTransaction, at: int, node: Node, known: Known = NOTHING_KNOWN
) -> RawElement:
    """Build `node` below `parent`.

    An opaque node is copied when it is `known`, else becomes the text that stands for it.
    """
    if node.type == "opaque":
        if source := known.get(opaque_name(node)):
            return copy_element(parent, txn, at, source)
        node = Node("codeBlock", {"language": "=html"}, (Text(placeholder(node)),))
    raw = parent.insert_element_prelim(txn, at, node.type)
    for name, value in stock_attributes(node.type, node.attrs).items():
        raw.insert_attribute(txn, name, value)
    if node.type in TEXTBLOCKS:
        build_inline(raw, txn, node.content, known)
        return raw
    for child in reversed(node.content):  # as in `insert_all`
        if isinstance(child, Node):
            build(raw, txn, 0, child, known)
    return raw


def build_inline(
    parent: RawElement, txn: RawTransaction, content: Iterable[Node | Text], known: Known
) -> None:
    """Fill an empty textblock with runs, hard breaks, copies of known elements, the last first."""
    runs: list[Text] = []
    for item in reversed(list(split_placeholders(content, known.__contains__))):
        source = known.get(opaque_name(item)) if isinstance(item, Node) else None
        if isinstance(item, Text):
            runs.append(item)
        elif item.type == "opaque" and source is None:
            runs.append(Text(CARRIER + placeholder(item)))
        else:
            _build_text(parent, txn, runs)
            runs = []
            if source is None:
                parent.insert_element_prelim(txn, 0, item.type)
            else:
                copy_element(parent, txn, 0, source)
    _build_text(parent, txn, runs)


def opaque_name(node: Node) -> OpaqueName:
    """What tells opaque nodes apart: tag and ref."""
    return str(node.attrs.get("tag", "")), str(node.attrs.get("ref", ""))


def split_placeholders(
    content: Iterable[Node | Text], is_known: Callable[[OpaqueName], bool]
) -> Iterator[Node | Text]:
    """The content with every placeholder of a known object as the opaque node it stands for."""
    for item in content:
        if isinstance(item, Node) or CARRIER not in item.text:
            yield item
            continue
        done = 0
        for match in PLACEHOLDER.finditer(item.text):
            named = from_placeholder(match[0])
            if named is not None and is_known(opaque_name(named)):
                yield Text(item.text[done : match.start()], item.marks)
                yield named
                done = match.end()
        yield Text(item.text[done:], item.marks)


def _build_text(parent: RawElement, txn: RawTransaction, backwards: list[Text]) -> None:
    """One XmlText in front, or none where there are no characters, as editors do."""
    runs = [run for run in backwards if run.text]
    if not runs:
        return
    text = parent.insert_str(txn, 0, "")
    values = [
        (run.text, {k: stock_mark(k, attrs) for k, attrs in run.marks.items()}) for run in runs
    ]
    fill_text(values, lambda at, value, marks: insert_value(text, txn, at, value, marks))


def fill_text(
    backwards: Sequence[tuple[Any, dict[str, Any]]],
    insert: Callable[[int, Any, dict[str, Any]], int],
) -> None:
    """Fill an empty text with runs, given from the last to the first.

    Few go in from the front, which makes the smaller update: each begins where the marks of the
    one before it end. Many go in from the back, as in `insert_all`.
    """
    if len(backwards) > _FEW_RUNS:
        for value, marks in backwards:
            insert(0, value, marks)
        return
    length = 0
    ended: dict[str, Any] = {}
    for value, marks in reversed(backwards):
        length += insert(length, value, ended | marks)
        ended = dict.fromkeys(marks)


_FEW_RUNS: Final = 64


def copy(fragment: XmlFragment, source: XmlElement | XmlText, at: int, block_id: str) -> XmlElement:
    """A deep copy of `source` at `at` under `block_id`: Yjs has no move.

    Everything comes along as it is, known or not; a text at the top level becomes a paragraph.

    Raises:
        UnsupportedMarkup: Something in it cannot be copied; nothing was changed.
    """
    txn = raw_transaction(fragment)
    raw = source.integrated
    require_copyable(raw, txn)
    if isinstance(raw, RawText):
        twin = fragment.integrated.insert_element_prelim(txn, at, "paragraph")
        _copy_text(twin, txn, 0, raw)
    else:
        twin = copy_element(fragment.integrated, txn, at, raw)
    twin.insert_attribute(txn, "id", block_id)
    return wrap(twin, fragment)


def require_copyable(raw: RawChild, txn: RawTransaction) -> None:
    """Refuse what the binding can show but not build.

    Raises:
        UnsupportedMarkup: There is some in or below `raw`.
    """
    if not is_copyable(raw, txn):
        raise UnsupportedMarkup("block: it holds content that cannot be copied.")


def is_copyable(raw: Any, txn: RawTransaction) -> bool:
    """Whether all of it can be built again: no maps, arrays or texts inside texts."""
    waiting = [raw]
    while waiting:
        item = waiting.pop()
        if isinstance(item, RawText):
            values = [value for value, _ in item.diff(txn)]
            if any(isinstance(value, RawText) for value in values):
                return False
            waiting += values
        elif isinstance(item, RawElement):
            children = item.children(txn)
            if len(children) != item.len(txn):
                return False
            waiting += children
        elif not is_json(item):
            return False
    return True


def is_json(value: object) -> bool:
    """Whether a value found in a text is plain data, not a shared type."""
    return value is None or isinstance(value, str | int | float | bool | list | dict | bytes)


def copy_element(
    parent: RawParent, txn: RawTransaction, at: int, raw: RawElement, tag: str = ""
) -> RawElement:
    """A deep copy of `raw` below `parent`, attributes included, named `tag` if given."""
    twin = parent.insert_element_prelim(txn, at, tag or tag_of(raw))
    _fill_copy(twin, txn, raw)
    return twin


def _fill_copy(twin: RawElement, txn: RawTransaction, raw: RawElement) -> None:
    for name, value in raw.attributes(txn):
        twin.insert_attribute(txn, name, value)
    for child in reversed(raw.children(txn)):
        if isinstance(child, RawText):
            _copy_text(twin, txn, 0, child)
        elif isinstance(child, RawElement):
            copy_element(twin, txn, 0, child)


def _copy_text(parent: RawElement, txn: RawTransaction, at: int, raw: RawText) -> None:
    twin = parent.insert_str(txn, at, "")
    values = [(value, marks or {}) for value, marks in reversed(raw.diff(txn))]
    fill_text(values, lambda at, value, marks: copy_value(twin, txn, at, value, marks))


def copy_value(
    text: RawText, txn: RawTransaction, at: int, value: Any, marks: dict[str, Any]
) -> int:
    """Insert characters or a copy of an object embedded in a text; return the length."""
    if not isinstance(value, RawElement):
        return insert_value(text, txn, at, value, marks)
    twin = text.insert_xmlelement_prelim(  # type: ignore[attr-defined] # the stub forgot it
        txn, at, tag_of(value), iter(marks.items())
    )
    _fill_copy(twin, txn, value)
    return 1
