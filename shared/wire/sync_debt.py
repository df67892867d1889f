"""What a Hocuspocus client counts as unsaved, and which answers of the document settle it.

A provider counts 1 when it begins to sync and 1 more for each update it sends; each "saved" takes 1
off, and at 0 it tells people that all is saved. So one "saved" too few worries them for ever, and
one too many hides a loss. Its answer to *our* step 1 is not counted by it, but brings whatever got
lost on the way: once on disk it settles all that was counted when it came.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from shared.wire.frames import Ack

_NOTHING: Final = -1  # its answer settles nothing
_ITSELF: Final = 0  # an update: its answer settles one
# Any other entry is a step 2: its answer settles all up to so many.


class SyncDebt:
    """The account of one session; call each method when what it names happens, in order.

    The document answers what it was sent in the order it was sent.
    """

    def __init__(self) -> None:
        self._counted = 0  # by the client since its last step 1
        self._settled = 0  # of these
        self._pending: deque[int] = deque()  # sent to the document, not answered
        self._asked = 0  # our step 1s the client has not answered
        self._stale = 0  # of these, from before the document moved

    @property
    def unsaved(self) -> int:
        """What the client's counter stands at, once it has read all it was sent."""
        return self._counted - self._settled

    def began(self) -> None:
        """The client sent a step 1, and counts from 1 again."""
        self._counted, self._settled = 1, 0
        self._pending = deque(_NOTHING for _ in self._pending)

    def asked(self) -> None:
        """A step 1 of ours goes to the client."""
        self._asked += 1

    def update(self, *, sent: bool) -> None:
        """The client sent an update. `sent`: on to the document; else there was none to take it."""
        self._counted += 1
        if sent:
            self._pending.append(_ITSELF)

    def step2(self, *, sent: bool) -> None:
        """The client answered a step 1 of ours.

        One that the document asked before it moved says nothing of what was lost in moving.
        """
        stale = self._stale > 0
        self._stale -= stale
        self._asked -= self._asked > 0
        if sent:
            self._pending.append(_NOTHING if stale or not self._counted else self._counted)

    def moved(self) -> None:
        """The document is elsewhere: what is pending is not answered any more."""
        self._pending.clear()
        self._stale = self._asked

    def answered(self, ack: Ack) -> int:
        """The document answered: how many times "saved" the client is to be told."""
        entry = self._pending.popleft() if self._pending else _NOTHING
        if ack is not Ack.SAVED or entry == _NOTHING:
            return 0
        upto = self._settled + 1 if entry == _ITSELF else entry
        news = max(0, min(upto, self._counted) - self._settled)
        self._settled += news
        return news
