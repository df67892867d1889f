"""A live document as one text with what is suggested in it, in CriticMarkup."""

from __future__ import annotations

from shared.document.live_document import LiveDocument
from shared.document.writing import as_now
from shared.protocol import Caller
from shared.suggestions.critic import exported


def marked(live: LiveDocument, caller: Caller, now: int) -> str:
    """With all open suggestions that can be brought onto the text as it is."""
    those = list(live.suggestions.listed("open"))
    return exported(as_now(live, caller, now), those, live.names)
