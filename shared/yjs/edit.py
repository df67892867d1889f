"""A block edited in place: only what differs is touched, at every depth.

Somebody typing in the same paragraph, item or cell keeps every keystroke; what the server does not
know (marks, attributes, elements of other editors) stays on everything that is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pycrdt import XmlElement, XmlText

from shared.editor_shape import ATTRIBUTES, TEXTBLOCKS, UNSPOKEN, stock_attributes
from shared.markdown.canon import canon
from shared.markdown.grid import complete
from shared.tree import Attrs, Node
from shared.yjs.blocks import EMBED_TAG, Path, read
from shared.yjs.build import (
    Known,
    OpaqueName,
    build,
    copy_element,
    is_copyable,
    opaque_name,
    require_text,
)
from shared.yjs.edit_side import Side
from shared.yjs.inline_edit import Workspace, edit_inline
from shared.yjs.pairing import Layout, lay_out
from shared.yjs.raw_xml import RawChild, RawElement, RawText, RawTransaction, raw_transaction
from shared.yjs.table_layout import by_kind, column_layout
from shared.yjs.table_widths import has_widths, resized, settled

_LEAVES: Final = frozenset({"horizontalRule", "image", "opaque"})


def can_edit(element: XmlElement | XmlText, new: Node) -> bool:
    """Whether `edit` can make `element` into `new`: the node type is the same."""
    old = read(element)
    return old.type == new.type and old.attrs.get("tag") == new.attrs.get("tag")


def edit(element: XmlElement | XmlText, new: Node) -> bool:
    """Make `element` read as `new` with the smallest change; whether anything changed.

    Trees that are equal under `canon` touch nothing. An attribute that Markdown cannot say stays
    when `new` does not mention it, and is removed when `new` has it as None.

    Raises:
        ValueError: The node type is another one (see `can_edit`); nothing was changed.
        UnsupportedMarkup: `new` holds a lone surrogate; nothing was changed.
    """
    txn = raw_transaction(element)
    old = read(element)
    if old.type != new.type:
        raise ValueError(f"a {old.type} cannot be edited into a {new.type}")
    require_text(new)
    if new.type == "table":
        new = complete(new, stock_attributes("tableCell", {})) or new  # as it would be built
    forms = canon(old), canon(new)
    if forms[0] == forms[1]:
        return False
    raw = element.integrated
    known: Known = {}
    if isinstance(raw, RawElement) and _holds_opaque(old):
        known = dict(_opaque_elements(raw, txn, old))
    work = Workspace(txn, known)
    changed = _edit(work, raw, (), Side(old, forms[0]), Side(new, forms[1]))
    changed |= work.finish()
    if isinstance(raw, RawElement) and (has_widths(old) or has_widths(new)):
        changed |= _settle_widths(txn, raw, read(element))
    return changed


def _settle_widths(txn: RawTransaction, raw: RawElement, node: Node) -> bool:
    """Give the cells of every table in `raw`, which reads as `node`, their columns' widths."""
    children: list[Any] = raw.children(txn)
    changed = False
    if node.type == "table":
        for row, at, widths in settled(node):
            children[row].children(txn)[at].insert_attribute(txn, "colwidth", widths)
            changed = True
    for child, inner in zip(children, node.content, strict=False):
        if node.type not in TEXTBLOCKS and isinstance(child, RawElement):
            assert isinstance(inner, Node)
            changed |= _settle_widths(txn, child, inner)
    return changed


def _holds_opaque(node: Node) -> bool:
    children = [child for child in node.content if isinstance(child, Node)]
    return any(child.type == "opaque" or _holds_opaque(child) for child in children)


def _opaque_elements(
    raw: RawElement, txn: RawTransaction, node: Node
) -> Iterator[tuple[OpaqueName, RawElement]]:
    """The opaque elements below `raw` that can be copied to another place in the block."""
    children = raw.children(txn)
    inner = [child for child in node.content if isinstance(child, Node)]
    if node.type in TEXTBLOCKS:
        found = [child for child in inner if child.type == "opaque" and not _is_embed(child)]
        places = [int(opaque_name(child)[1].rpartition(".")[2]) for child in found]
    else:
        found, places = inner, list(range(len(inner)))
    for child, place in zip(found, places, strict=True):
        element = children[place]
        if not isinstance(element, RawElement):
            continue
        if child.type != "opaque":
            yield from _opaque_elements(element, txn, child)
        elif is_copyable(element, txn):
            yield opaque_name(child), element


def _is_embed(node: Node) -> bool:
    return node.attrs.get("tag") == EMBED_TAG


def _edit(
    work: Workspace,
    raw: RawChild,
    path: Path,
    old: Side,
    new: Side,
    layout: Layout | None = None,
) -> bool:
    """Edit one node that differs; whether anything changed besides removals.

    Args:
        work: What the edits of the block share.
        raw: The element or text, which reads as `old`.
        path: Where it is in the block, or was: opaque nodes in it are named by that.
        old: What it is.
        new: What it becomes.
        layout: Of its children, where something around it decides that.
    """
    changed = isinstance(raw, RawElement) and _edit_attributes(work.txn, raw, old, new)
    kind = old.node.type
    if kind in TEXTBLOCKS:
        assert isinstance(raw, RawElement | RawText)
        return edit_inline(work, raw, path, new.node) or changed
    if kind in _LEAVES:
        return changed
    assert isinstance(raw, RawElement)
    return _edit_children(work, raw, path, old, new, layout) or changed


def _edit_attributes(txn: RawTransaction, raw: RawElement, old: Side, new: Side) -> bool:
    """Set what reads differently, and what `new` says of attributes Markdown cannot say."""
    kind, was, told = new.node.type, old.form.attrs, new.form.attrs
    spoken = ATTRIBUTES.get(kind, {}).keys() - UNSPOKEN
    names = {name for name in {*was, *told} if was.get(name) != told.get(name)}
    names |= new.node.attrs.keys() - spoken
    if not names or kind == "opaque":
        return False
    wanted: Attrs = stock_attributes(kind, new.node.attrs)
    if "colspan" in names and "colwidth" not in names and "colwidth" in old.node.attrs:
        names.add("colwidth")
        wanted |= stock_attributes("", {"colwidth": resized(old.node.attrs, wanted["colspan"])})
    changed = False
    for name in sorted(names):
        if wanted.get(name) == old.node.attrs.get(name):
            continue
        changed = True
        if name in wanted:
            raw.insert_attribute(txn, name, wanted[name])
        else:
            raw.remove_attribute(txn, name)
    return changed


def _edit_children(
    work: Workspace,
    raw: RawElement,
    path: Path,
    old: Side,
    new: Side,
    layout: Layout | None = None,
) -> bool:
    children = raw.children(work.txn)
    olds, news = old.children(), new.children()
    if layout is None:
        layout = lay_out([side.child() for side in olds], [side.child() for side in news])
    else:
        layout = by_kind(layout, olds, news)
    columns = column_layout(layout, olds, news) if new.node.type == "table" else None
    changed = False
    for at, (i, j) in enumerate(layout.pairs):  # removals wait, so every pair takes one place
        if j is None:
            work.remove(raw, at)
        elif i is None:
            changed = True
            source = layout.sources.get(j)
            twin = None if source is None else _twin(work, raw, at, children[source], news[j])
            if source is None or twin is None:
                build(raw, work.txn, at, news[j].node, work.known)
            elif olds[source].form != news[j].form:
                _edit(work, twin, (*path, source), olds[source], news[j], columns)
        elif olds[i].form != news[j].form:
            changed |= _edit(work, children[i], (*path, i), olds[i], news[j], columns)
    return changed


def _twin(
    work: Workspace, parent: RawElement, at: int, source: RawChild, new: Side
) -> RawElement | None:
    """A copy of what `new` was at another place, or as another kind of cell.

    So what the server does not know of it stays. None when it cannot be copied.
    """
    if (
        new.node.type == "opaque"
        or not isinstance(source, RawElement)
        or not is_copyable(source, work.txn)
    ):
        return None
    return copy_element(parent, work.txn, at, source, new.node.type)
