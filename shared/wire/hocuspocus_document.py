"""One document on a Hocuspocus socket: how what the document says looks to its provider.

The methods are those of `SyncSession`; this one answers to an address and keeps the account of what
its provider counts as unsaved.
"""

from __future__ import annotations

from typing import Final

from shared.wire.frames import Ack, UpdateKind
from shared.wire.hocuspocus_protocol import (
    SYNC_REFUSED,
    SYNC_SAVED,
    authenticated_message,
)
from shared.wire.lib0 import var_string
from shared.wire.sync_debt import SyncDebt
from shared.wire.y_protocol import (
    awareness_message,
    query_awareness_message,
    step1_message,
    step2_message,
    update_message,
)


class HocuspocusDocument:
    """A document that was admitted. Each result is one frame.

    Attributes:
        wire: Names all that its frames for everybody depend on.
        acks: The document is to answer every update.
    """

    acks: Final = True

    def __init__(self, address: str) -> None:
        self.wire = f"hocuspocus {address}"
        self._address = var_string(address)
        self._debt = SyncDebt()

    def authenticated(self, *, read_only: bool) -> bytes:
        return self._address + authenticated_message(read_only=read_only)

    def recast(self, *, read_only: bool) -> list[bytes]:
        """Whether the client may write from now on: its provider takes this at any time."""
        return [self.authenticated(read_only=read_only)]

    def step1(self, state_vector: bytes) -> bytes:
        """A question to the client, to be sent at once."""
        self._debt.asked()
        return self._address + step1_message(state_vector)

    def step2(self, update: bytes) -> bytes:
        return self._address + step2_message(update)

    def update(self, update: bytes) -> bytes:
        return self._address + update_message(update)

    def awareness(self, update: bytes) -> bytes:
        return self._address + awareness_message(update)

    def query_awareness(self) -> bytes:
        return self._address + query_awareness_message()

    def acknowledge(self, ack: Ack, _reason: str) -> list[bytes]:
        """Frames that tell what became of an update. The wire has no words for why."""
        if ack is Ack.REFUSED:
            self._debt.answered(ack)
            return [self._address + SYNC_REFUSED]
        return [self._address + SYNC_SAVED] * self._debt.answered(ack)

    def began(self) -> None:
        """The client sent a step 1."""
        self._debt.began()

    def passed_on(self, kind: UpdateKind, *, sent: bool) -> None:
        """The client sent an update; `sent`: there was an actor to take it."""
        if kind is UpdateKind.UPDATE:
            self._debt.update(sent=sent)
        else:
            self._debt.step2(sent=sent)

    def moved(self) -> None:
        """Another actor has the document now."""
        self._debt.moved()
