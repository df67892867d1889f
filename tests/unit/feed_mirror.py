"""A reader that follows the change feed by its published rule and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shared.feed.block_changes import ChangeLog, Page
from shared.feed.cursor import Cursor


class Mirror:
    """Blocks in order and their texts, as far as the feed has told."""

    def __init__(self, order: Sequence[str], text: Callable[[str], str], seq: int) -> None:
        self.order = list(order)
        self.texts = {block_id: text(block_id) for block_id in order}
        self.cursor = Cursor(seq)

    def follow(
        self,
        log: ChangeLog,
        order: Sequence[str],
        text: Callable[[str], str],
        max_chars: int = 10**9,
    ) -> Page:
        """Ask once and apply the answer."""
        page = log.page(self.cursor, order, lambda one: len(text(one)), max_chars)
        assert not page.too_old
        for block_id in page.removed:
            self._take_out(block_id)
        for entry in page.entries:
            self._take_out(entry.block_id)
        for entry in page.entries:
            at = 0 if entry.after is None else self.order.index(entry.after) + 1
            self.order.insert(at, entry.block_id)
            self.texts[entry.block_id] = text(entry.block_id)
        self.cursor = Cursor(page.seq, page.cut)
        return page

    def _take_out(self, block_id: str) -> None:
        if self.texts.pop(block_id, None) is not None:
            self.order.remove(block_id)
