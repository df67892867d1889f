"""How many things one principal may have going on at once, so that there is room for others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from shared.errors import RateLimited


def too_many(most: int, of: str) -> RateLimited:
    """What a principal is told of which as much goes on as may."""
    return RateLimited(
        f"concurrency: {most} {of} of yours are going on; nothing was applied.",
        budget="concurrency",
        limit=most,
        remaining=0,
        retry_after_s=1,
    )


class Concurrency:
    """Counts what goes on, by principal.

    Args:
        most: Of one principal.
        of: What is counted, for the refusal.
    """

    def __init__(self, most: int, of: str) -> None:
        self._most = most
        self._of = of
        self._going: Counter[str] = Counter()

    @contextmanager
    def one_more(self, principal: str) -> Iterator[None]:
        """Counted while the block runs. Raises RateLimited, and the block does not begin."""
        if self._going[principal] >= self._most:
            raise too_many(self._most, self._of)
        self._going[principal] += 1
        try:
            yield
        finally:
            self._going[principal] -= 1
            if not self._going[principal]:
                del self._going[principal]
