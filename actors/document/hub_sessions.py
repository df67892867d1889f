"""What the hub of a document knows of each session and of each link they come over."""

from __future__ import annotations

from dataclasses import dataclass, field

from actors.document.document_port import Peer
from shared.access import may
from shared.protocol import Caller
from shared.wire.frames import Kick, Kind, Open, encode_session, pack


@dataclass(slots=True, eq=False)
class Session:
    link: Link
    number: int
    caller: Caller
    read_only: bool
    acks: bool = False
    unanswered: int = 0  # step 1s of ours that are out
    stale: int = 0  # of these, from before the document was loaded again
    asked: int = 0  # step 1s sent because something was missing
    inserted: bool = False  # something of its own: it is an editor that holds what there is
    barred: str | None = None  # why document frames are refused until a fresh handshake
    owed: bytes | None = None  # state vector of a step 1 whose answer failed to commit
    open: bool = True


@dataclass(slots=True, eq=False)
class Link:
    peer: Peer
    sessions: dict[int, Session] = field(default_factory=dict)
    held: list[bytes] | None = None  # frames waiting for what the gateway missed
    moved: bool = False  # it has sessions that are not opened here yet, and miss what is not told
    waiting: bool = False

    def send(self, frame: bytes) -> None:
        if self.held is None:
            self.peer.send(frame)
        else:
            self.held.append(frame)


def is_read_only(opened: Open) -> bool:
    """Whatever the gateway says: who may write is decided here."""
    return opened.read_only or not may(opened.caller, "write")


def kick(number: int, code: int, reason: str) -> bytes:
    """The frame that ends a session from here."""
    return encode_session(Kind.KICK, number, pack(Kick(code, reason)))
