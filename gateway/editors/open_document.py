"""A document open on an editor's socket, whichever wire the socket speaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from gateway.editors.link import DocumentLink
from gateway.editors.link_session import Shared
from gateway.editors.outbox import Outbox
from gateway.live_tokens import LiveTokens
from shared.access import may, may_open, require
from shared.errors import DocactorError, DocumentNotFound, Unauthenticated
from shared.limits import MAX_FRAME_BYTES
from shared.protocol import Caller
from shared.wire import close_codes
from shared.wire.frames import Ack, Open, UpdateKind
from shared.wire.sync_session import Apply, Awareness, Close, QueryAwareness, Step1, Value


class Wire(Protocol):
    """How one document's session looks to its client: `SyncSession`, `HocuspocusDocument`."""

    @property
    def wire(self) -> str:
        """Names all that `update` and `awareness` depend on."""

    @property
    def acks(self) -> bool:
        """Whether the document is to answer every update."""

    def step1(self, state_vector: bytes) -> bytes: ...
    def step2(self, update: bytes) -> bytes: ...
    def update(self, update: bytes) -> bytes: ...
    def awareness(self, update: bytes) -> bytes: ...
    def query_awareness(self) -> bytes: ...
    def acknowledge(self, ack: Ack, reason: str) -> list[bytes]: ...
    def began(self) -> None: ...
    def passed_on(self, kind: UpdateKind, *, sent: bool) -> None: ...
    def moved(self) -> None: ...
    def recast(self, *, read_only: bool) -> list[bytes]: ...


def check_may_read(caller: Caller) -> None:
    """Raises CapabilityDenied when the caller's token does not allow reading."""
    require(caller, "read")


def check_may_open(caller: Caller, link: DocumentLink, live: LiveTokens) -> None:
    """To be asked when nothing is waited for any more: whether the caller may still come in.

    Raises:
        DocumentNotFound: The link is to another document than the caller was admitted to.
        Unauthenticated: The caller's token has ended meanwhile.
    """
    if not may_open(caller, link.doc_id):
        raise DocumentNotFound.for_document(link.doc_id)
    if live.is_over(caller):
        raise Unauthenticated("token: it has ended.")


def is_read_only(caller: Caller) -> bool:
    """Whether edits of this caller are refused."""
    return not may(caller, "write")


class OpenDocument:
    """One session: its client's values go to the document, the document's news to the outbox.

    Args:
        link: To the document; the session begins at once.
        caller: Whose session it is.
        wire: Its client's.
        outbox: Of the socket.
        kicked: Called, after the session ended, with a close code and a reason.
        live: Tells when the caller's token ends, and the session with it, or its role changes.
    """

    def __init__(
        self,
        link: DocumentLink,
        caller: Caller,
        wire: Wire,
        outbox: Outbox,
        kicked: Callable[[int, str], None],
        live: LiveTokens,
    ) -> None:
        self.link = link
        self.caller = caller
        self._wire = wire
        self._outbox = outbox
        self._kicked = kicked
        self._session = link.open_session(self, self._opened())
        self._leave = live.add(caller, self._ended, link.doc_id, self._recast)

    def parted(self) -> None:
        """The client closes the socket itself."""
        self._session.parted()

    def close(self) -> None:
        """Ends the session."""
        self._leave()
        self._session.close()

    def _opened(self) -> Open:
        return Open(self.caller, read_only=is_read_only(self.caller), acks=self._wire.acks)

    def _ended(self, error: DocactorError) -> None:
        self.close()
        self._kicked(close_codes.of_error(error.code), error.code)

    def _recast(self, caller: Caller) -> None:
        before, self.caller = is_read_only(self.caller), caller
        self._session.recast(self._opened())
        if is_read_only(caller) is not before:
            for message in self._wire.recast(read_only=is_read_only(caller)):
                self._outbox.push(message)

    async def do(self, value: Value) -> bool:
        """Passes on what the client said; whether it was more than echoes of others."""
        match value:
            case Apply(kind, update) if len(update) > MAX_FRAME_BYTES:
                async with self.link.large:
                    self._pass_on(kind, update)
                    await self.link.wait_writable()
            case Apply(kind, update):
                self._pass_on(kind, update)
            case Awareness():
                return self._session.awareness(value)
            case Step1(state_vector):
                self._wire.began()
                self._session.step1(state_vector)
            case QueryAwareness():
                self._session.query_awareness()
            case Close(code, reason):
                self._outbox.close(code, reason)
        return True

    def _pass_on(self, kind: UpdateKind, update: bytes) -> None:
        self._wire.passed_on(kind, sent=self._session.update(kind, update))

    # --- SessionSink -----------------------------------------------------------------------------

    def update(self, shared: Shared) -> None:
        self._outbox.push_shared(shared, self._wire.wire, self._wire.update)

    def awareness(self, shared: Shared) -> None:
        self._outbox.push_shared(shared, self._wire.wire, self._wire.awareness)

    def step1(self, state_vector: bytes) -> None:
        self._outbox.push(self._wire.step1(state_vector))

    def step2(self, update: bytes) -> None:
        self._outbox.push(self._wire.step2(update))

    def acknowledged(self, ack: Ack, reason: str) -> None:
        for message in self._wire.acknowledge(ack, reason):
            self._outbox.push(message)

    def moved(self) -> None:
        self._wire.moved()
        self._outbox.push(self._wire.query_awareness())

    def kicked(self, code: int, reason: str) -> None:
        self._kicked(code, reason)
