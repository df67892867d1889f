"""A document as it was: what its blocks said after some update, for whoever planned on it."""

from __future__ import annotations

from collections.abc import Sequence

from shared.history.states import past_blocks
from shared.stored import Checkpoint, StoredUpdate


def blocks_at(
    checkpoint: Checkpoint | None, updates: Sequence[StoredUpdate]
) -> tuple[tuple[str, str], ...] | None:
    """Ids and Markdown of the blocks after the last of `updates`, which follow `checkpoint`.

    None when the index of that instant does not fit the blocks: nothing can be said then. It makes
    a document of its own, so it may run in any thread. Raises ValueError, DocumentCorrupt.
    """
    found = past_blocks(checkpoint, updates)
    return None if found is None else tuple((one.block_id, one.text) for one in found)
