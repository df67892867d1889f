"""Past states of a document: rebuilt from what is stored, block by block, with their ids."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from pycrdt import Doc, XmlElement, XmlFragment, XmlText

from shared.document.live_document import ROOT
from shared.errors import DocumentCorrupt
from shared.index.block_index import SavedIndex
from shared.markdown.render import render
from shared.stored import Checkpoint, StoredState, StoredUpdate
from shared.tree import Block
from shared.yjs import blocks
from shared.yjs.exact import Exact, read_exact
from shared.yjs.surrogates import replay


class PastBlock(msgspec.Struct, frozen=True):
    """A block as it was: its id, tree and style hints then, and how that reads as Markdown.

    Attributes:
        exact: All there was of it, where that was asked for and can be built again.
    """

    block_id: str
    block: Block
    text: str
    exact: Exact | None = None


class PastState(msgspec.Struct, frozen=True):
    """The document after one of its updates.

    Attributes:
        seq: That update; 0: before the first one.
        at: When it was made, in milliseconds since 1970.
        change_seq: Head of the change feed then; None: not known any more.
        blocks: In document order.
    """

    seq: int
    at: int
    change_seq: int | None
    blocks: tuple[PastBlock, ...]


def rebuild(state: StoredState, *, exact: bool = False) -> PastState:
    """The blocks of a stored state. It makes a document of its own: it may run in any thread.

    `exact`: each with all there was of it, to be put back.

    Raises DocumentCorrupt: what is stored does not apply, or its index does not fit its blocks.
    """
    try:
        found = past_blocks(state.checkpoint, state.updates, exact=exact)
    except ValueError as error:
        raise DocumentCorrupt("The document's log does not apply.") from error
    if found is None:
        raise DocumentCorrupt("The block index does not fit the document of that time.")
    return PastState(state.seq, state.at, state.change_seq, found)


def past_blocks(
    checkpoint: Checkpoint | None, updates: Sequence[StoredUpdate], *, exact: bool = False
) -> tuple[PastBlock, ...] | None:
    """The blocks after the last of `updates`, which follow `checkpoint`.

    None when the index of that instant does not fit them. Raises ValueError, DocumentCorrupt.
    """
    doc, saved = replayed(checkpoint, updates)
    children = list(doc.get(ROOT, type=XmlFragment).children)
    if len(children) != len(saved.entries):
        return None
    found = []
    with doc.transaction():
        for child, entry in zip(children, saved.entries, strict=True):
            if not isinstance(child, XmlElement | XmlText):
                return None
            block_id = entry.known.id
            node = blocks.read(child, block_id)
            text = render(node, entry.hints, block_id).text
            whole = read_exact(child) if exact else None
            found.append(PastBlock(block_id, Block(node, entry.hints, text), text, whole))
    return tuple(found)


def checkpoint_of(state: StoredState) -> Checkpoint:
    """The state as a checkpoint of its own. It may run in any thread.

    Raises DocumentCorrupt: what is stored does not apply.
    """
    try:
        doc, saved = replayed(state.checkpoint, state.updates)
    except ValueError as error:
        raise DocumentCorrupt("The document's log does not apply.") from error
    return Checkpoint(state.seq, state.at, doc.get_update(), saved.dump())


def replayed(
    checkpoint: Checkpoint | None, updates: Sequence[StoredUpdate]
) -> tuple[Doc[XmlFragment], SavedIndex]:
    """A document of its own and its index, as they were. Raises ValueError, DocumentCorrupt."""
    doc: Doc[XmlFragment] = Doc()
    if checkpoint is not None:
        doc.apply_update(checkpoint.data)
    replay(doc, updates)
    saved = SavedIndex.load(
        checkpoint.block_index if checkpoint else b"", [update.splice for update in updates]
    )
    return doc, saved
