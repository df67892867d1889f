"""A past state as Markdown, as much of it as was asked for."""

from __future__ import annotations

from collections.abc import Sequence

from shared.history.states import PastBlock
from shared.markdown.join import join, joined_chars


def shown(blocks: Sequence[PastBlock], max_chars: int) -> tuple[str, int, bool]:
    """Markdown of the first blocks that fit into `max_chars`, one at least; the characters of all
    of them; and whether that was cut.
    """
    texts = [one.text for one in blocks]
    fits = chars = 0
    for text in texts:
        chars += len(text) + 2  # a blank line behind it
        if fits and chars > max_chars:
            break
        fits += 1
    return join(texts[:fits]), joined_chars(texts), fits < len(texts)
