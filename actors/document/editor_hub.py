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
import logging
from collections.abc import Callable, Collection
from contextlib import suppress

from actors.document.agent_seats import AgentSeats
from actors.document.document_port import Committed, DocumentPort, Peer, Verdict
from actors.document.hub_sessions import Link, Session, is_read_only, kick
from actors.document.presence import Later, Presence
from shared.access import allows, may_open
from shared.errors import CapabilityDenied, DocactorError, DocumentNotFound
from shared.limits import (
    MAX_AWARENESS_ENTRIES,
    MAX_SESSIONS_PER_DOCUMENT,
    MAX_STEP2_REQUESTS,
)
from shared.protocol import Caller
from shared.wire import close_codes
from shared.wire.frames import (
    EVERYBODY,
    Ack,
    Frame,
    Kind,
    Left,
    Notice,
    Open,
    Read,
    Shut,
    Sleep,
    UpdateKind,
    Welcome,
    decode_control,
    encode_ack,
    encode_control,
    encode_frame,
    encode_session,
    split_session,
)
from shared.wire.lib0 import MalformedMessage, var_uint
from shared.wire.reading import visibility
from shared.wire.sync_session import READ_ONLY
from shared.wire.y_protocol import (
    EMPTY_STATE_VECTOR,
    check_states,
    decode_awareness,
)
from shared.yjs.read_only import adds_nothing
from shared.yjs.update import brings_something

log = logging.getLogger(__name__)


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
        self._links: dict[Peer, Link] = {}
        self._readers = document.readers
        self._presence: Presence[Session] = Presence(
            document.after_commit, self._tell_presence, later
        )
        self._agents = AgentSeats(document.roster, self._presence, doc_id, later)
        self._heads = (document.change_seq, document.event_seq)
        self._sessions = 0
        self._handlers: dict[int, Callable[[Link, bytes], None]] = {
            Kind.OPEN: self._open,
            Kind.RECAST: self._recast,
            Kind.SHUT: self._shut,
            Kind.STEP1: self._step1,
            Kind.UPDATE: self._update,
            Kind.LEFT: self._left,
            Kind.READ: self._read,
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
        self._links[peer] = Link(peer, held=held, moved=last_seq is not None)
        at = Welcome(document.seq, document.change_seq, document.event_seq)
        peer.send(encode_control(Kind.WELCOME, at))
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

    def _open(self, link: Link, payload: bytes) -> None:
        number, body = split_session(payload)
        if number == EVERYBODY or number in link.sessions:
            raise MalformedMessage(f"session {number} cannot be opened")
        if self._sessions >= MAX_SESSIONS_PER_DOCUMENT:
            reason = f"a document takes {MAX_SESSIONS_PER_DOCUMENT} editors"
            link.send(kick(number, close_codes.TRY_AGAIN, reason))
            return
        opened = decode_control(body, Open)
        if (refusal := self._refusal(opened.caller)) is not None:
            link.send(kick(number, close_codes.of_error(refusal), refusal))
            return
        session = Session(link, number, opened.caller, is_read_only(opened), opened.acks)
        session.inserted = opened.inserted
        link.sessions[number] = session
        link.moved = False
        self._sessions += 1
        self._readers.opened(session, opened.caller, opened.reading)
        self._ask(session)
        self._presence.tell_others(session, returns=opened.reading is not None)

    def _refusal(self, caller: Caller) -> str | None:
        if not may_open(caller, self._doc_id):
            return DocumentNotFound.code
        return None if allows(caller, "read") else CapabilityDenied.code

    def _recast(self, link: Link, payload: bytes) -> None:
        number, body = split_session(payload)
        session = link.sessions.get(number)
        if session is None:
            return
        opened = decode_control(body, Open)
        if (refusal := self._refusal(opened.caller)) is not None:
            self._kick(session, close_codes.of_error(refusal), refusal)
            return
        may_write = session.read_only and not is_read_only(opened)
        session.caller, session.read_only = opened.caller, is_read_only(opened)
        if may_write:  # what was typed and refused before is asked for again
            session.barred = None
            self._ask(session)

    def _shut(self, link: Link, payload: bytes) -> None:
        number, body = split_session(payload)
        session = link.sessions.pop(number, None)
        if session is not None:
            self._readers.ended(session, decode_control(body, Shut).read_at if body else None)
            self._end((session,))

    def _end(self, sessions: Collection[Session]) -> None:
        for session in sessions:
            session.open = False
            self._readers.ended(session)
            self._sessions -= 1
        self._presence.ended(sessions)

    def _kick(self, session: Session, code: int, reason: str) -> None:
        session.link.sessions.pop(session.number, None)
        session.link.send(kick(session.number, code, reason))
        self._end((session,))

    # --- the document's frames ---------------------------------------------------------------

    def _ask(self, session: Session) -> None:
        try:
            vector = self._document.state_vector()
        except DocactorError:
            return  # every session is asked when the document is back
        session.unanswered += 1
        session.link.send(encode_session(Kind.STEP1, session.number, vector))

    def _ask_again(self, session: Session) -> None:
        """What came builds on something missing; one step 1 at a time asks for it."""
        if session.unanswered:
            return
        session.asked += 1
        if session.asked > MAX_STEP2_REQUESTS:
            self._kick(session, close_codes.TRY_AGAIN, "updates build on others that never came")
        else:
            self._ask(session)

    def _step1(self, link: Link, payload: bytes) -> None:
        number, vector = split_session(payload)
        session = link.sessions.get(number)
        if session is None:
            return
        self._readers.heard(session)
        # A client that counts what is unsaved begins to count anew, and its answer ends that.
        if session.barred is not None or (session.acks and not session.unanswered):
            session.barred = None
            self._ask(session)
        self._answer_step1(session, vector)

    def _answer_step1(self, session: Session, vector: bytes) -> None:
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

    def _update(self, link: Link, payload: bytes) -> None:
        number, body = split_session(payload)
        if not body:
            raise MalformedMessage("an update frame without its kind")
        session = link.sessions.get(number)
        if session is None:
            return
        self._readers.heard(session)
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
            self._presence.applied()
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

    def _left(self, link: Link, payload: bytes) -> None:
        """Takes what a session sent while there was no actor: it may be over by now."""
        left = decode_control(payload, Left)
        caller, inserted = left.opened.caller, left.opened.inserted
        verdict: Verdict = "refused"
        if self._refusal(caller) is None:
            sender = Session(link, EVERYBODY, caller, is_read_only(left.opened), inserted=inserted)
            with suppress(DocactorError):  # the store takes no writes; who is still there is asked
                verdict, _ = self._apply(sender, left.update)
        if verdict in ("applied", "leftover"):
            self._presence.applied()
        elif verdict != "unchanged":
            log.warning("an update of a session that may be over is not taken: %s", verdict)

    def _read(self, _link: Link, payload: bytes) -> None:
        """Takes what somebody read whose session ended while there was no actor."""
        read = decode_control(payload, Read)
        self._readers.read(read.person, read.read_at)
        self._readers.left(read.person)

    @staticmethod
    def _answers_stale(session: Session) -> bool:
        """A step 2 came: whether it answers what a document asked that has since been lost.

        That one held more than was on disk, so its client did not send it all; it will.
        """
        if session.unanswered:
            session.unanswered -= 1
        if not session.stale:
            return False
        session.stale -= 1
        return True

    def _apply(self, session: Session, update: bytes) -> tuple[Verdict, str]:
        if not session.read_only:
            outcome = self._document.apply(update, session.caller, guarded=not session.inserted)
            if outcome.verdict == "applied" and brings_something(update):
                session.inserted = True
            return outcome.verdict, outcome.reason
        vector = self._document.state_vector()
        try:
            nothing = adds_nothing(update, vector, self._document.diff(vector))
        except ValueError:
            nothing = False
        return ("unchanged", "") if nothing else ("refused", READ_ONLY)

    def _acknowledge(self, session: Session, ack: Ack, reason: str) -> None:
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
        if (batch.change_seq, batch.event_seq) != self._heads:
            self._heads = (batch.change_seq, batch.event_seq)
            told = Notice(batch.change_seq, batch.principals, batch.event_seq)
            notice = encode_control(Kind.NOTICE, told)
        for link in self._links.values():
            if broadcast is not None and (link.sessions or link.moved):
                link.send(broadcast)
            if notice is not None:
                link.send(notice)

    # --- presence --------------------------------------------------------------------------

    def presence(self) -> list[tuple[str, bytes]]:
        """Principals who are present in an editor, and their awareness states."""
        return [(one.caller.principal, state) for one, state in self._presence.states() if one.open]

    def _awareness(self, link: Link, payload: bytes) -> None:
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
        self._readers.heard(session, visibility(entries))
        self._presence.said(session, entries)

    def _tell_presence(self, session: Session | None, update: bytes) -> None:
        if session is not None:
            if session.open:
                session.link.send(encode_session(Kind.AWARENESS, session.number, update))
            return
        frame = encode_session(Kind.AWARENESS, EVERYBODY, update)
        for link in self._links.values():
            if link.sessions:
                link.send(frame)

    def _query_awareness(self, link: Link, payload: bytes) -> None:
        session = link.sessions.get(split_session(payload)[0])
        if session is not None:
            self._presence.tell_others(session)

    # --- sleep -----------------------------------------------------------------------------

    @property
    def sole_user(self) -> Peer | None:
        """The one link that all sessions and waiting calls are at; None: there is none, or more."""
        users = [link.peer for link in self._links.values() if link.sessions or link.waiting]
        return users[0] if len(users) == 1 else None

    def sleep(self, heard: int) -> bool:
        """Tells the sole user that the sessions are its own from now on.

        Args:
            heard: Bytes of its frames that were handed in.

        Returns:
            Whether it was told: not while anything is still to be committed or told.
        """
        link = self._links.get(self.sole_user) if self.sole_user is not None else None
        settled = list[bool]()
        self._document.after_commit(lambda error: settled.append(error is None))
        if link is None or link.held is not None or link.moved or settled != [True]:
            return False
        self._agents.withdraw()
        self._presence.tell_renewed()  # or some would be missed for 30 s, and taken for gone
        present = tuple(
            (session.number, entry.client, entry.clock, entry.state)
            for session, entry in self._presence.room.present()
            if entry.state is not None
        )
        link.send(encode_control(Kind.SLEEP, Sleep(heard, present, self._presence.room.left)))
        return True

    def _waiting(self, link: Link, payload: bytes) -> None:
        link.waiting = payload != b"\x00"
