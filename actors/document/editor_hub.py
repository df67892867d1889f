"""The editors of one document: their sessions, what they send and what they are told, in order.

The hub lives on the actor's loop beside the document. Links hand it frames; it applies updates
through the document's port and sends what is on disk, and only that:

    frame in        done now                      sent when the batch open now is on disk
    STEP1           the step 2 is computed        STEP2
    UPDATE          applied                       ACK; BROADCAST to every link, once per batch
    AWARENESS       states taken                  AWARENESS to every link, its sender included

So nobody is shown text that could still be lost, and a caret never comes before its text.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from actors.document.document_port import Committed, DocumentPort, Peer, Verdict
from shared.access import allows, may_open
from shared.errors import CapabilityDenied, DocactorError, DocumentNotFound
from shared.limits import (
    MAX_AWARENESS_ENTRIES,
    MAX_SESSIONS_PER_DOCUMENT,
    MAX_STEP2_REQUESTS,
    RENEWAL_S,
)
from shared.protocol import Caller
from shared.wire import close_codes
from shared.wire.awareness import AwarenessRoom
from shared.wire.frames import (
    EVERYBODY,
    Ack,
    Frame,
    Kick,
    Kind,
    Notice,
    Open,
    UpdateKind,
    Welcome,
    decode_control,
    encode_ack,
    encode_control,
    encode_frame,
    encode_session,
    pack,
    split_session,
)
from shared.wire.lib0 import MalformedMessage, var_uint
from shared.wire.y_protocol import (
    EMPTY_STATE_VECTOR,
    AwarenessEntry,
    check_states,
    decode_awareness,
    encode_awareness,
)
from shared.yjs.read_only import adds_nothing


@dataclass(slots=True, eq=False)
class _Session:
    link: _Link
    number: int
    caller: Caller
    read_only: bool
    acks: bool
    unanswered: int = 0  # step 1s of ours that are out
    stale: int = 0  # of these, from before the document was loaded again
    asked: int = 0  # step 1s sent because something was missing
    barred: str | None = None  # why document frames are refused until a fresh handshake
    owed: bytes | None = None  # state vector of a step 1 whose answer failed to commit
    open: bool = True


@dataclass(slots=True, eq=False)
class _Link:
    peer: Peer
    sessions: dict[int, _Session] = field(default_factory=dict)
    held: list[bytes] | None = None  # frames waiting for what the gateway missed
    moved: bool = False  # it has sessions that are not opened here yet, and miss what is not told
    waiting: bool = False

    def send(self, frame: bytes) -> None:
        if self.held is None:
            self.peer.send(frame)
        else:
            self.held.append(frame)


Later = Callable[[float, Callable[[], None]], object]


def call_later(seconds: float, callback: Callable[[], None]) -> None:
    """On the loop that runs now."""
    asyncio.get_running_loop().call_later(seconds, callback)


class EditorHub:
    """All sessions of one document, over all links. Everything runs on the document's loop.

    Args:
        later: Calls back after so many seconds.
    """

    def __init__(self, document: DocumentPort, doc_id: str, later: Later = call_later) -> None:
        self._document = document
        self._doc_id = doc_id
        self._later = later
        self._links: dict[Peer, _Link] = {}
        self._room: AwarenessRoom[_Session] = AwarenessRoom()
        self._presence: dict[int, AwarenessEntry] | None = None  # changes waiting for a commit
        self._renewed: dict[int, AwarenessEntry] = {}  # still present, and nothing else is new
        self._change_seq = document.change_seq
        self._sessions = 0
        self._handlers: dict[int, Callable[[_Link, bytes], None]] = {
            Kind.OPEN: self._open,
            Kind.SHUT: self._shut,
            Kind.STEP1: self._step1,
            Kind.UPDATE: self._update,
            Kind.AWARENESS: self._awareness,
            Kind.QUERY_AWARENESS: self._query_awareness,
            Kind.WAITING: self._waiting,
        }
        document.subscribe(self._committed)
        document.on_reload(self.resync)

    @property
    def sessions(self) -> int:
        """Sessions open now."""
        return self._sessions

    @property
    def waiting(self) -> bool:
        """Whether calls at some gateway wait for a change of this document."""
        return any(link.waiting for link in self._links.values())

    @property
    def backlogged(self) -> bool:
        """Whether links should read no further for now."""
        return self._document.backlogged

    def when_ready(self, callback: Callable[[], None]) -> None:
        """Calls back once what is waiting now is written, for a link that stopped reading."""
        self._document.after_commit(lambda _error: callback())

    # --- links -----------------------------------------------------------------------------

    def join(self, peer: Peer, last_seq: int | None) -> bool:
        """Takes a link whose hello was right; frames may be handed in from now on.

        Returns:
            Whether the gateway missed batches: `catch_up` must then be awaited, and what is sent
            to this link waits for it.
        """
        document = self._document
        missed = last_seq is not None and last_seq != document.seq
        held: list[bytes] | None = [] if missed else None
        self._links[peer] = _Link(peer, held=held, moved=last_seq is not None)
        peer.send(encode_control(Kind.WELCOME, Welcome(document.seq, document.change_seq)))
        return missed

    async def catch_up(self, peer: Peer, last_seq: int) -> None:
        """Sends a link the batches after `last_seq`, then what was held back for it.

        Raises:
            DocactorError: The document cannot be read now; the link is of no use.
        """
        head = self._document.seq
        missing = await self._document.updates_since(last_seq) if last_seq <= head else None
        if missing is None:
            head, missing = await self._whole()
        link = self._links.get(peer)
        if link is None or link.held is None:
            return
        held, link.held = link.held, None
        if missing:
            link.send(encode_frame(Kind.BROADCAST, var_uint(head), missing))
        for frame in held:
            link.send(frame)

    async def _whole(self) -> tuple[int, bytes]:
        """The whole document as one update, once it is on disk, and a batch it surely holds."""
        done: asyncio.Future[DocactorError | None] = asyncio.get_running_loop().create_future()
        head, update = self._document.seq, self._document.diff(EMPTY_STATE_VECTOR)

        def release(error: DocactorError | None) -> None:
            if not done.done():
                done.set_result(error)

        self._document.after_commit(release)
        error = await done
        if error is not None:
            raise error
        return head, update

    def leave(self, peer: Peer) -> None:
        """A link is gone, and its sessions with it."""
        link = self._links.pop(peer, None)
        if link is not None:
            self._end(link.sessions.values())
            link.sessions.clear()

    def receive(self, peer: Peer, frame: Frame) -> None:
        """Does what a frame says.

        Raises:
            MalformedMessage: The frame is none that a gateway sends.
        """
        handler = self._handlers.get(frame.kind)
        link = self._links.get(peer)
        if handler is None or link is None:
            raise MalformedMessage(f"frame of kind {frame.kind} at this point")
        handler(link, frame.payload)

    def fail(self, peer: Peer, frame: Frame) -> None:
        """Ends the session a frame is about, after that frame ran into a fault of ours."""
        link = self._links.get(peer)
        session = link.sessions.get(split_session(frame.payload)[0]) if link is not None else None
        if session is not None:
            self._kick(session, close_codes.FAILED, "internal error")

    def resync(self) -> None:
        """The document was loaded afresh, or takes writes again: every session is asked anew.

        Not those that were refused: what they would send is what may have done the damage.
        """
        for link in self._links.values():
            for session in tuple(link.sessions.values()):
                owed, session.owed = session.owed, None
                if owed is not None:
                    self._answer_step1(session, owed)
                if session.open and session.barred is None:
                    session.asked = 0
                    session.stale = session.unanswered
                    self._ask(session)

    # --- sessions --------------------------------------------------------------------------

    def _open(self, link: _Link, payload: bytes) -> None:
        number, body = split_session(payload)
        if number == EVERYBODY or number in link.sessions:
            raise MalformedMessage(f"session {number} cannot be opened")
        if self._sessions >= MAX_SESSIONS_PER_DOCUMENT:
            reason = f"a document takes {MAX_SESSIONS_PER_DOCUMENT} editors"
            link.send(_kick(number, close_codes.TRY_AGAIN, reason))
            return
        opened = decode_control(body, Open)
        if not may_open(opened.caller, self._doc_id):
            link.send(_kick(number, close_codes.NOT_FOUND, DocumentNotFound.code))
            return
        if not allows(opened.caller, "read"):
            link.send(_kick(number, close_codes.FORBIDDEN, CapabilityDenied.code))
            return
        # Whatever the gateway says: who may write is decided here.
        read_only = opened.read_only or not allows(opened.caller, "write")
        session = _Session(link, number, opened.caller, read_only, opened.acks)
        link.sessions[number] = session
        link.moved = False
        self._sessions += 1
        self._ask(session)
        self._tell_who_is_present(session)

    def _shut(self, link: _Link, payload: bytes) -> None:
        session = link.sessions.pop(split_session(payload)[0], None)
        if session is not None:
            self._end((session,))

    def _end(self, sessions: Iterable[_Session]) -> None:
        gone: list[AwarenessEntry] = []
        for session in sessions:
            session.open = False
            self._sessions -= 1
            gone += self._room.leave(session)
        self._announce(gone)

    def _kick(self, session: _Session, code: int, reason: str) -> None:
        session.link.sessions.pop(session.number, None)
        session.link.send(_kick(session.number, code, reason))
        self._end((session,))

    # --- the document's frames ---------------------------------------------------------------

    def _ask(self, session: _Session) -> None:
        try:
            vector = self._document.state_vector()
        except DocactorError:
            return  # every session is asked when the document is back
        session.unanswered += 1
        session.link.send(encode_session(Kind.STEP1, session.number, vector))

    def _ask_again(self, session: _Session) -> None:
        """What came builds on something missing; one step 1 at a time asks for it."""
        if session.unanswered:
            return
        session.asked += 1
        if session.asked > MAX_STEP2_REQUESTS:
            self._kick(session, close_codes.TRY_AGAIN, "updates build on others that never came")
        else:
            self._ask(session)

    def _step1(self, link: _Link, payload: bytes) -> None:
        number, vector = split_session(payload)
        session = link.sessions.get(number)
        if session is None:
            return
        # A client that counts what is unsaved begins to count anew, and its answer ends that.
        if session.barred is not None or (session.acks and not session.unanswered):
            session.barred = None
            self._ask(session)
        self._answer_step1(session, vector)

    def _answer_step1(self, session: _Session, vector: bytes) -> None:
        try:
            update = self._document.diff(vector)
        except ValueError:
            self._kick(session, close_codes.MALFORMED, "not a state vector")
            return
        except DocactorError:
            session.owed = vector
            return

        def release(error: DocactorError | None) -> None:
            if error is not None:
                session.owed = vector
            elif session.open:
                session.link.send(encode_session(Kind.STEP2, session.number, update))

        self._document.after_commit(release)

    def _update(self, link: _Link, payload: bytes) -> None:
        number, body = split_session(payload)
        if not body:
            raise MalformedMessage("an update frame without its kind")
        session = link.sessions.get(number)
        if session is None:
            return
        step2 = body[0] == UpdateKind.STEP_2
        stale = step2 and self._answers_stale(session)
        if session.barred is not None:
            self._acknowledge(session, Ack.REFUSED, session.barred)
            return
        try:
            verdict, reason = self._apply(session, body[1:])
        except DocactorError:
            self._acknowledge(session, Ack.ASKED_AGAIN, "")
            return
        if verdict in ("applied", "leftover"):
            self._presence = None  # presence from now on may point into what was just applied
        if verdict == "refused":
            session.barred = reason
            self._acknowledge(session, Ack.REFUSED, reason)
        elif verdict in ("gap", "leftover"):
            self._acknowledge(session, Ack.ASKED_AGAIN, "")
            self._ask_again(session)
        else:
            if step2:
                session.asked = 0
            self._acknowledge(session, Ack.ASKED_AGAIN if stale else Ack.SAVED, "")

    @staticmethod
    def _answers_stale(session: _Session) -> bool:
        """A step 2 came: whether it answers what a document asked that has since been lost.

        That one held more than was on disk, so its client did not send it all; it will.
        """
        if session.unanswered:
            session.unanswered -= 1
        if not session.stale:
            return False
        session.stale -= 1
        return True

    def _apply(self, session: _Session, update: bytes) -> tuple[Verdict, str]:
        if not session.read_only:
            outcome = self._document.apply(update, session.caller)
            return outcome.verdict, outcome.reason
        vector = self._document.state_vector()
        try:
            nothing = adds_nothing(update, vector, self._document.diff(vector))
        except ValueError:
            nothing = False
        return ("unchanged", "") if nothing else ("refused", "you may read this document only")

    def _acknowledge(self, session: _Session, ack: Ack, reason: str) -> None:
        if not session.acks and ack is not Ack.REFUSED:
            return

        def release(error: DocactorError | None) -> None:
            told = Ack.ASKED_AGAIN if error is not None and ack is Ack.SAVED else ack
            if session.open:
                session.link.send(encode_ack(session.number, told, reason))

        self._document.after_commit(release)

    def _committed(self, batch: Committed) -> None:
        broadcast = notice = None
        if batch.update:
            broadcast = encode_frame(Kind.BROADCAST, var_uint(batch.seq), batch.update)
        if batch.change_seq > self._change_seq:
            self._change_seq = batch.change_seq
            notice = encode_control(Kind.NOTICE, Notice(batch.change_seq, batch.principals))
        for link in self._links.values():
            if broadcast is not None and (link.sessions or link.moved):
                link.send(broadcast)
            if notice is not None:
                link.send(notice)

    # --- presence --------------------------------------------------------------------------

    def presence(self) -> list[tuple[str, bytes]]:
        """Principals who are present, and their awareness states."""
        return [(session.caller.principal, state) for session, state in self._room.states()]

    def _awareness(self, link: _Link, payload: bytes) -> None:
        number, update = split_session(payload)
        session = link.sessions.get(number)
        if session is None:
            return
        try:
            entries = decode_awareness(update, MAX_AWARENESS_ENTRIES)
            check_states(entries)
        except MalformedMessage as error:
            self._kick(session, close_codes.MALFORMED, str(error))
            return
        change = self._room.apply(session, entries)
        self._announce(change.accepted)
        self._renew(change.renewed)
        if change.corrections:
            corrected = encode_awareness(change.corrections)
            link.send(encode_session(Kind.AWARENESS, number, corrected))

    def _announce(self, entries: Iterable[AwarenessEntry]) -> None:
        """Tells everybody, once all that was applied before is on disk, or has failed.

        Changes between two updates go out together; of one client only the last.
        """
        changed = {entry.client: entry for entry in entries}
        if not changed:
            return
        for client in changed:
            self._renewed.pop(client, None)
        if self._presence is not None:
            self._presence |= changed
            return
        self._presence = changed
        self._document.after_commit(partial(self._send_presence, changed))

    def _renew(self, entries: Iterable[AwarenessEntry]) -> None:
        """Tells everybody, a little later and together, who is still there.

        Every client says so each 15 s, and each of them would be told so of each at a time of its
        own: of 300 idle ones that is 6,000 frames a second.
        """
        if entries and not self._renewed:
            self._later(RENEWAL_S, self._send_renewed)
        self._renewed |= {entry.client: entry for entry in entries}

    def _send_renewed(self) -> None:
        renewed, self._renewed = self._renewed, {}
        self._announce(renewed.values())

    def _send_presence(
        self, changed: dict[int, AwarenessEntry], _error: DocactorError | None
    ) -> None:
        if self._presence is changed:
            self._presence = None
        update = encode_awareness(tuple(changed.values()))
        frame = encode_session(Kind.AWARENESS, EVERYBODY, update)
        for link in self._links.values():
            if link.sessions:
                link.send(frame)

    def _query_awareness(self, link: _Link, payload: bytes) -> None:
        session = link.sessions.get(split_session(payload)[0])
        if session is not None:
            self._tell_who_is_present(session)

    def _tell_who_is_present(self, session: _Session) -> None:
        others = self._room.others(session)
        if not others:
            return
        frame = encode_session(Kind.AWARENESS, session.number, encode_awareness(others))

        def release(_error: DocactorError | None) -> None:
            if session.open:
                session.link.send(frame)

        self._document.after_commit(release)

    def _waiting(self, link: _Link, payload: bytes) -> None:
        link.waiting = payload != b"\x00"


def _kick(number: int, code: int, reason: str) -> bytes:
    return encode_session(Kind.KICK, number, pack(Kick(code, reason)))
