"""Reading a checkpoint back: does it really hold the document it was taken of?"""

from __future__ import annotations

from collections.abc import Sequence

from pycrdt import Doc, XmlElement, XmlFragment, XmlText

from shared.document.live_document import ROOT
from shared.errors import DocumentCorrupt
from shared.index.block_index import SavedIndex
from shared.index.reader import StockReader
from shared.index.record import Entry
from shared.stored import Checkpoint


def holds_its_document(checkpoint: Checkpoint) -> bool:
    """Whether a fresh document from the checkpoint has the blocks its index says.

    Everything is made and read in the thread that calls: documents belong to one.
    """
    doc: Doc[XmlFragment] = Doc()
    try:
        doc.apply_update(checkpoint.data)
        entries = SavedIndex.load(checkpoint.block_index, []).entries
    except (ValueError, DocumentCorrupt):
        return False
    return fits(doc.get(ROOT, type=XmlFragment), entries)


def fits(fragment: XmlFragment, entries: Sequence[Entry]) -> bool:
    """Whether the fragment has exactly the blocks of an index: same order, same content."""
    children = list(fragment.children)
    if len(children) != len(entries):
        return False
    reader = StockReader()
    with fragment.doc.transaction():
        for child, entry in zip(children, entries, strict=True):
            if not isinstance(child, XmlElement | XmlText):
                return False
            node = reader.read(child, entry.known.id)
            if reader.fingerprint(node, entry.hints) != entry.fingerprint:
                return False
    return True
