"""A block edited in place: only what differs is touched, at every depth.

Somebody typing in the same paragraph, item or cell keeps every keystroke; what the server does not
know (marks, attributes, elements of other editors) stays on everything that is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
from pycrdt import XmlElement, XmlText

from shared.block_build import Known, OpaqueName, build, is_copyable, opaque_name, require_text
from shared.blocks import EMBED_TAG, Path, read
from shared.editor_shape import ATTRIBUTES, TEXTBLOCKS, UNSPOKEN, stock_attributes
from shared.inline_edit import Workspace, edit_inline
from shared.markdown.canon import canon
from shared.markdown.schema import plain_text
from shared.pairing import Child, pair
from shared.raw_xml import RawChild, RawElement, RawText, RawTransaction, raw_transaction
from shared.tree import Attrs, Node

_LEAVES: Final = frozenset({"horizontalRule", "image", "opaque"})
_KEY: Final = msgspec.json.Encoder(order="deterministic")


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
    if _same(old, new):
        return False
    raw = element.integrated
    known: Known = {}
    if isinstance(raw, RawElement) and _holds_opaque(old):
        known = dict(_opaque_elements(raw, txn, old))
    work = Workspace(txn, known)
    changed = _edit(work, raw, (), old, new)
    return work.finish() or changed


def _same(old: Node, new: Node) -> bool:
    return old == new or canon(old) == canon(new)


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


def _edit(work: Workspace, raw: RawChild, path: Path, old: Node, new: Node) -> bool:
    """Edit one node; whether anything changed besides removals, which the workspace knows."""
    if old.type == "opaque" or _same(old, new):
        return False
    changed = isinstance(raw, RawElement) and _edit_attributes(work.txn, raw, old, new)
    if old.type in TEXTBLOCKS:
        assert isinstance(raw, RawElement | RawText)
        return edit_inline(work, raw, path, new) or changed
    if old.type in _LEAVES:
        return changed
    assert isinstance(raw, RawElement)
    return _edit_children(work, raw, path, old, new) or changed


def _edit_attributes(txn: RawTransaction, raw: RawElement, old: Node, new: Node) -> bool:
    """Set what reads differently, and what `new` says of attributes Markdown cannot say."""
    had, told = canon(_bare(old)).attrs, canon(_bare(new)).attrs
    names = {name for name in {*had, *told} if had.get(name) != told.get(name)}
    spoken = ATTRIBUTES.get(new.type, {}).keys() - UNSPOKEN
    names |= {name for name in new.attrs if name not in spoken}
    wanted: Attrs = stock_attributes(new.type, new.attrs)
    changed = False
    for name in sorted(names):
        if wanted.get(name) == old.attrs.get(name):
            continue
        changed = True
        if name in wanted:
            raw.insert_attribute(txn, name, wanted[name])
        else:
            raw.remove_attribute(txn, name)
    return changed


def _bare(node: Node) -> Node:
    return Node(node.type, node.attrs)


def _edit_children(work: Workspace, raw: RawElement, path: Path, old: Node, new: Node) -> bool:
    children = raw.children(work.txn)
    olds = [child for child in old.content if isinstance(child, Node)]
    news = [child for child in new.content if isinstance(child, Node)]
    changed = False
    pairs = pair([_child(node) for node in olds], [_child(node) for node in news])
    for at, (i, j) in enumerate(pairs):  # removals wait, so every pair takes one place
        if i is None:
            assert j is not None
            build(raw, work.txn, at, news[j], work.known)
            changed = True
        elif j is None:
            work.remove(raw, at)
        else:
            changed |= _edit(work, children[i], (*path, i), olds[i], news[j])
    return changed


def _child(node: Node) -> Child:
    return Child(
        key=_KEY.encode(canon(node)),
        kind=(node.type, node.attrs.get("tag")),
        text=plain_text(node),
    )
