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
from shared.markdown.grid import complete
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
    changed = _edit(work, raw, (), _Side(old, forms[0]), _Side(new, forms[1]))
    return work.finish() or changed


class _Side(msgspec.Struct):
    """A node and its canonical form, which is made once, for the whole block."""

    node: Node
    form: Node

    def children(self) -> list[_Side]:
        """The child nodes; `canon` may have put an empty paragraph before them."""
        nodes = [child for child in self.node.content if isinstance(child, Node)]
        forms = [child for child in self.form.content if isinstance(child, Node)]
        if self.node.type in ("table", "tableRow") and len(nodes) != len(forms):
            return [_Side(child, canon(child)) for child in nodes]  # a grid with holes: as it is
        return [_Side(*both) for both in zip(nodes, forms[len(forms) - len(nodes) :], strict=True)]


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


def _edit(work: Workspace, raw: RawChild, path: Path, old: _Side, new: _Side) -> bool:
    """Edit one node that differs; whether anything changed besides removals."""
    changed = isinstance(raw, RawElement) and _edit_attributes(work.txn, raw, old, new)
    kind = old.node.type
    if kind in TEXTBLOCKS:
        assert isinstance(raw, RawElement | RawText)
        return edit_inline(work, raw, path, new.node) or changed
    if kind in _LEAVES:
        return changed
    assert isinstance(raw, RawElement)
    return _edit_children(work, raw, path, old, new) or changed


def _edit_attributes(txn: RawTransaction, raw: RawElement, old: _Side, new: _Side) -> bool:
    """Set what reads differently, and what `new` says of attributes Markdown cannot say."""
    kind, was, told = new.node.type, old.form.attrs, new.form.attrs
    spoken = ATTRIBUTES.get(kind, {}).keys() - UNSPOKEN
    names = {name for name in {*was, *told} if was.get(name) != told.get(name)}
    names |= new.node.attrs.keys() - spoken
    if not names or kind == "opaque":
        return False
    wanted: Attrs = stock_attributes(kind, new.node.attrs)
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


def _edit_children(work: Workspace, raw: RawElement, path: Path, old: _Side, new: _Side) -> bool:
    children = raw.children(work.txn)
    olds, news = old.children(), new.children()
    changed = False
    pairs = pair([_child(side) for side in olds], [_child(side) for side in news])
    for at, (i, j) in enumerate(pairs):  # removals wait, so every pair takes one place
        if i is None:
            assert j is not None
            build(raw, work.txn, at, news[j].node, work.known)
            changed = True
        elif j is None:
            work.remove(raw, at)
        elif olds[i].form != news[j].form:
            changed |= _edit(work, children[i], (*path, i), olds[i], news[j])
    return changed


def _child(side: _Side) -> Child:
    return Child(
        key=_KEY.encode(side.form),
        kind=(side.node.type, side.node.attrs.get("tag")),
        text=plain_text(side.node),
    )
