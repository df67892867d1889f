"""Texts that were told: in full while there is room, as digests for a day."""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from shared.limits import (
    MAX_OLDER_BLOCKS,
    MAX_OLDER_TEXTS,
    MAX_TOLD_BYTES,
    VIEW_TTL_MS,
)
from shared.patch.types import digest_of, same

_ENTRY_BYTES = 200  # what an entry costs besides its text


class ToldTexts:
    """Block texts for three-way merges: the most lately told, up to `room` bytes.

    Never saved: without them two edits of one block are a conflict instead of a merge.
    """

    def __init__(self, room: int = MAX_TOLD_BYTES) -> None:
        self._room = room
        self._texts: dict[str, dict[str, str]] = {}
        self._order: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._used = 0

    def remember(self, block_id: str, text: str) -> None:
        key = (block_id, digest_of(text))
        if key in self._order:
            self._order.move_to_end(key)
            return
        self._texts.setdefault(block_id, {})[key[1]] = text
        self._order[key] = len(text.encode()) + _ENTRY_BYTES
        self._used += self._order[key]
        while self._used > self._room:
            self._forget_oldest()

    def find(self, block_id: str, digest: str) -> str | None:
        """The text of that digest, or whose digest begins so."""
        # A large patch is planned in a thread while others are told more: hence the copy.
        for known, text in list(self._texts.get(block_id, {}).items()):
            if same(known, digest):
                return text
        return None

    def _forget_oldest(self) -> None:
        (block_id, digest), size = self._order.popitem(last=False)
        self._used -= size
        texts = self._texts[block_id]
        del texts[digest]
        if not texts:
            del self._texts[block_id]


class OlderTexts(msgspec.Struct, array_like=True):
    """Digests of texts one principal was shown and that are not the newest any more.

    Attributes:
        at: Block id to digest to when it was superseded, in milliseconds.
    """

    at: dict[str, dict[str, int]] = {}

    def __bool__(self) -> bool:
        return bool(self.at)

    def add(self, block_id: str, digest: str, now: int) -> None:
        times = self.at.pop(block_id, {})
        times.pop(digest, None)
        times[digest] = now
        if len(times) > MAX_OLDER_TEXTS:
            del times[next(iter(times))]
        self.at[block_id] = times
        if len(self.at) > MAX_OLDER_BLOCKS:
            del self.at[next(iter(self.at))]

    def expire(self, now: int) -> None:
        """Forget what is a day old. The oldest stand first."""
        for block_id in list(self.at):
            times = self.at[block_id]
            if now - next(reversed(times.values())) < VIEW_TTL_MS:
                break
            del self.at[block_id]

    def digests(self) -> dict[str, frozenset[str]]:
        return {block_id: frozenset(times) for block_id, times in self.at.items()}
