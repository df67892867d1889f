"""A document as it was: its blocks after some update, rebuilt from what is stored."""

from __future__ import annotations

from collections.abc import Sequence

from pycrdt import Doc, XmlElement, XmlFragment, XmlText

from shared.document.live_document import ROOT
from shared.index.block_index import SavedIndex
from shared.markdown.render import render
from shared.stored import Checkpoint, StoredUpdate
from shared.yjs import blocks
from shared.yjs.surrogates import replay


def blocks_at(
    checkpoint: Checkpoint | None, updates: Sequence[StoredUpdate]
) -> tuple[tuple[str, str], ...] | None:
    """Ids and Markdown of the blocks after the last of `updates`, which follow `checkpoint`.

    None when the index of that instant does not fit the blocks: nothing can be said then. It makes
    a document of its own, so it may run in any thread. Raises ValueError, DocumentCorrupt.
    """
    doc: Doc[XmlFragment] = Doc()
    if checkpoint is not None:
        doc.apply_update(checkpoint.data)
    replay(doc, updates)
    saved = SavedIndex.load(
        checkpoint.block_index if checkpoint else b"", [update.splice for update in updates]
    )
    children = list(doc.get(ROOT, type=XmlFragment).children)
    if len(children) != len(saved.entries):
        return None
    found = []
    with doc.transaction():
        for child, entry in zip(children, saved.entries, strict=True):
            if not isinstance(child, XmlElement | XmlText):
                return None
            node = blocks.read(child, entry.known.id)
            found.append((entry.known.id, render(node, entry.hints, entry.known.id).text))
    return tuple(found)
