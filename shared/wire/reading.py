"""How long an editor has been open and visible: whether somebody has read what it shows.

Stock editors say nothing of it, and count as visible. A page that knows better says so in its
awareness state, in the key `visible`: `awareness.setLocalStateField('visible', !document.hidden)`.
Time is only taken when a client is heard of; they say that they are there every 15 s.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from shared.limits import READING_MS
from shared.wire.y_protocol import AwarenessEntry

_KEY: Final = b'"visible"'


class Reading(msgspec.Struct, frozen=True):
    """One session, in milliseconds since 1970.

    Attributes:
        visible_since: None: it is hidden.
        read_at: The last instant at which it had been visible for READING_MS; None: there was none.
            Edits are no shortcut: an editor makes some by merely opening a document.
    """

    visible_since: int | None
    read_at: int | None = None

    def heard(self, now: int, visible: bool | None = None) -> Reading:
        """The client was heard of; `visible`: what it says of itself, None: nothing."""
        since, read_at = self.visible_since, self.read_at
        if since is not None and now - since >= READING_MS:
            read_at = now
        if visible is False:
            since = None
        elif visible and since is None:
            since = now
        return Reading(since, read_at)


class _Said(msgspec.Struct):
    visible: object = None


def visibility(entries: Iterable[AwarenessEntry]) -> bool | None:
    """What awareness states say of it; None: nothing."""
    said: bool | None = None
    for entry in entries:
        if entry.state is not None and _KEY in entry.state:
            try:
                state = msgspec.json.decode(entry.state, type=_Said)
            except (msgspec.DecodeError, RecursionError):
                continue
            if isinstance(state.visible, bool):
                said = state.visible
    return said
