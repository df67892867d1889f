"""A document built again from what is stored, update by update, as a load builds it.

Everything is made and read in the thread that calls: a Yjs document belongs to one.
"""

from __future__ import annotations

from collections.abc import Iterable

from pycrdt import Doc, XmlElement, XmlFragment, XmlText, get_update

from actors.storage.checkpointing import fits, holds_its_document
from shared.document.live_document import ROOT
from shared.errors import DocumentCorrupt
from shared.index.block_index import SavedIndex
from shared.markdown.schema import plain_text
from shared.slugs import UNTITLED, single_line
from shared.stored import Checkpoint, StoredUpdate
from shared.yjs import blocks
from shared.yjs.update import (
    MalformedUpdateError,
    decode_state_vector,
    has_gap,
    leaves_over,
)


class ReplayError(Exception):
    """An update does not apply; the message says why. The replay is not to be used any more."""


class Replay:
    """The document after `base` and the updates applied since.

    Raises ValueError when `base` is no update.
    """

    def __init__(
        self, base: Checkpoint | None = None, updates: Iterable[StoredUpdate] = ()
    ) -> None:
        self.doc: Doc[XmlFragment] = Doc()
        if base is not None:
            self.doc.apply_update(base.data)
        self.fragment = self.doc.get(ROOT, type=XmlFragment)
        for update in updates:
            self.apply(update.data)

    @property
    def clocks(self) -> dict[int, int]:
        return decode_state_vector(self.doc.get_state())

    def can_apply(self, data: bytes) -> bool:
        """Whether nothing that the update builds on is missing."""
        scratch = Replay()
        scratch.doc.apply_update(self.doc.get_update())
        try:
            scratch.apply(data)
        except ReplayError:
            return False
        return True

    def apply(self, data: bytes) -> None:
        """Raises ReplayError."""
        try:
            waits = has_gap(data, self.clocks)
            if not waits:
                self.doc.apply_update(data)
                waits = leaves_over(get_update(data, self.doc.get_state()), self.clocks)
        except (MalformedUpdateError, ValueError) as error:
            raise ReplayError(f"it is not an update: {error}") from error
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # pyo3's panics are no Exceptions
            raise ReplayError(f"applying it failed: {error}") from error
        if waits:
            raise ReplayError("it builds on an edit that is not in the log")


def differs(replay: Replay, checkpoint: Checkpoint) -> bool:
    """Whether the checkpoint holds anything else than the replay of the log up to it."""
    if not holds_its_document(checkpoint):
        return True
    entries = SavedIndex.load(checkpoint.block_index, []).entries
    return Replay(checkpoint).clocks != replay.clocks or not fits(replay.fragment, entries)


def is_usable(checkpoint: Checkpoint) -> bool:
    """Whether a load from it gives a whole document."""
    try:
        return holds_its_document(checkpoint)
    except DocumentCorrupt:
        return False


def first_words(replay: Replay) -> str:
    """The text of the first heading, else of the first block that has any."""
    found = ""
    with replay.doc.transaction():
        for child in replay.fragment.children:
            if not isinstance(child, XmlElement | XmlText):
                break
            node = blocks.read(child)
            text = single_line(" ".join(plain_text(node).split()))
            if node.type == "heading" and text:
                return text
            found = found or text
    return found or UNTITLED
