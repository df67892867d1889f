"""A document open on an editor's socket, whichever wire the socket speaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from gateway.editors.link import DocumentLink
from gateway.editors.link_session import Shared
from gateway.editors.outbox import Outbox
from gateway.live_tokens import LiveTokens
from shared.access import allows, may_open, require
from shared.errors import DocumentNotFound, Unauthenticated
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


def check_may_read(caller: Caller) -> None:
    """Raises CapabilityDenied when the caller's token does not allow reading."""
    require(caller, "read")


def check_may_open(caller: Caller, link: DocumentLink, ref: str) -> None:
    """Raises DocumentNotFound when the caller's token is for other documents.

    The document asks this too; here the client hears it as it hears of one that does not exist.
    """
    if not may_open(caller, link.doc_id):
        raise DocumentNotFound.for_document(ref)


def is_read_only(caller: Caller) -> bool:
    """Whether edits of this caller are refused."""
    return not allows(caller, "write")


class OpenDocument:
    """One session: its client's values go to the document, the document's news to the outbox.

    Args:
        link: To the document; the session begins at once.
        caller: Whose session it is.
        wire: Its client's.
        outbox: Of the socket.
        kicked: Called, after the session ended, with a close code and a reason.
        live: Tells when the caller's token ends; the session then ends too.
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
        opened = Open(caller, read_only=is_read_only(caller), acks=wire.acks)
        self._session = link.open_session(self, opened)
        self._leave = live.add(caller, self._token_ended)

    def close(self) -> None:
        """Ends the session."""
        self._leave()
        self._session.close()

    def _token_ended(self) -> None:
        self.close()
        self._kicked(close_codes.UNAUTHENTICATED, Unauthenticated.code)

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
