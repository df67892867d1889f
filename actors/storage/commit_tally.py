"""How many commits a document has made, and how long they took."""

from __future__ import annotations

from bisect import bisect_left

from shared.metrics import COMMIT_BUCKETS
from shared.protocol import CommitTotals


class CommitTally:
    """One document's commits since it was opened, over all its committers."""

    def __init__(self) -> None:
        self._commits = self._failed = self._bytes = 0
        self._seconds = 0.0
        self._buckets = [0] * (len(COMMIT_BUCKETS) + 1)

    def committed(self, seconds: float, log_bytes: int) -> None:
        """A batch is on disk.

        Args:
            seconds: How long its transaction took.
            log_bytes: What the document's log grew by.
        """
        self._commits += 1
        self._seconds += seconds
        self._bytes += log_bytes
        self._buckets[bisect_left(COMMIT_BUCKETS, seconds)] += 1

    def failed(self) -> None:
        self._failed += 1

    def totals(self) -> CommitTotals:
        return CommitTotals(
            self._commits, self._failed, self._bytes, self._seconds, tuple(self._buckets)
        )
