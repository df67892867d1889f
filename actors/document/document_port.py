"""What the editors' hub needs of a document and of a link, as types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

from actors.document.readers import Readers
from actors.document.roster import Roster
from shared.errors import DocactorError
from shared.protocol import Caller

Verdict = Literal["applied", "unchanged", "gap", "refused", "leftover"]


class ApplyOutcome(Protocol):
    """What became of an update.

    `gap`: it builds on something of its own sender that never came, nothing was applied.
    `leftover`: applied but for what waits for another client's blocks; not to be acknowledged.
    `refused`: nothing was applied, and `reason` says why.
    """

    @property
    def verdict(self) -> Verdict: ...
    @property
    def reason(self) -> str: ...


class Committed(Protocol):
    """A batch that is on disk: its updates merged, and the head of the change log after it."""

    @property
    def seq(self) -> int: ...
    @property
    def update(self) -> bytes: ...
    @property
    def change_seq(self) -> int: ...
    @property
    def principals(self) -> frozenset[str]: ...
    @property
    def event_seq(self) -> int: ...


class DocumentPort(Protocol):
    """What the hub needs of a document. All but `updates_since` answer at once.

    While the document is being loaded again, what reads or writes it raises `DocactorError`;
    `on_reload` tells when that is over.
    """

    @property
    def backlogged(self) -> bool:
        """Whether batches are waiting to be written: links stop reading."""

    @property
    def seq(self) -> int:
        """The last batch on disk."""

    @property
    def change_seq(self) -> int:
        """The head of the change log on disk."""

    @property
    def event_seq(self) -> int:
        """The last event on disk."""

    @property
    def roster(self) -> Roster:
        """The agents that have joined."""

    @property
    def readers(self) -> Readers:
        """Told of every session, and of what its client says of being seen."""

    def state_vector(self) -> bytes: ...

    def diff(self, state_vector: bytes) -> bytes:
        """What a peer at `state_vector` lacks now. Raises ValueError when it is not one."""

    def apply(self, update: bytes, caller: Caller, *, guarded: bool = False) -> ApplyOutcome:
        """`guarded`: the session has brought nothing yet, and may not know all there is."""

    def after_commit(self, callback: Callable[[DocactorError | None], None]) -> None:
        """Calls back when all that is visible now is on disk, at once when it is; in order.

        With an error when that batch failed.
        """

    def subscribe(self, on_commit: Callable[[Committed], None]) -> None:
        """Calls once per batch, before the `after_commit` callbacks of that batch."""

    def on_reload(self, listener: Callable[[], None]) -> None:
        """Calls whenever the document was loaded again, or takes writes again."""

    async def updates_since(self, seq: int) -> bytes | None:
        """The updates of all batches after `seq`, merged; None when they are merged away."""


class Peer(Protocol):
    """A link, as the hub sees it. `send` never waits; a link that is gone drops what it gets."""

    def send(self, frame: bytes) -> None: ...
