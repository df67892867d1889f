"""A document in memory, its hub, a link that keeps what it is sent, and editors on it."""

from __future__ import annotations

from collections.abc import Callable

from pycrdt import Doc, Text

from actors.document.editor_hub import EditorHub
from shared.limits import LINK_FRAME_BYTES
from shared.protocol import Caller
from shared.wire.frames import (
    Ack,
    Frame,
    FrameReader,
    Kind,
    Open,
    UpdateKind,
    encode_session,
    pack,
    split_session,
)
from shared.wire.y_protocol import AwarenessEntry, encode_awareness
from tests.unit.wire.fakes import ANNA, BEN, FakeDocument

Told = tuple[Kind, int, bytes]


class FakePeer:
    """A link that keeps what it is sent."""

    def __init__(self) -> None:
        self._reader = FrameReader(LINK_FRAME_BYTES)

    def send(self, frame: bytes) -> None:
        self._reader.feed(frame)

    def frames(self) -> list[Frame]:
        """What came since the last call."""
        found = []
        while (frame := self._reader.next()) is not None:
            found.append(frame)
        return found

    def told(self) -> list[Told]:
        """What came since the last call: kind, session or seq, body; control frames undecoded."""
        return [
            (Kind(kind), -1, payload)
            if kind in {Kind.WELCOME, Kind.NOTICE}
            else (Kind(kind), *split_session(payload))
            for kind, payload in self.frames()
        ]

    def kinds(self) -> list[Kind]:
        return [kind for kind, _, _ in self.told()]


class Editor:
    """A Yjs client whose frames go straight to the hub, as one session of one link."""

    def __init__(self, hub: EditorHub, peer: FakePeer, number: int, text: str = "") -> None:
        self.doc: Doc[Text] = Doc()
        self.text = self.doc.get("text", type=Text)
        self.hub = hub
        self.peer = peer
        self.number = number
        if text:
            self.type(text)

    def open(self, caller: Caller = ANNA, *, read_only: bool = False, acks: bool = True) -> None:
        self.frame(Kind.OPEN, pack(Open(caller, read_only, acks)))

    def frame(self, kind: Kind, *parts: bytes) -> None:
        payload = encode_session(kind, self.number, *parts)[5:]
        self.hub.receive(self.peer, Frame(kind, payload))

    def type(self, text: str) -> bytes:
        """Types at the end and returns the update, which is not sent."""
        before = self.doc.get_state()
        self.text += text
        return self.doc.get_update(before)

    def update(self, update: bytes, kind: UpdateKind = UpdateKind.UPDATE) -> None:
        self.frame(Kind.UPDATE, bytes((kind,)), update)

    def step2(self) -> None:
        self.update(self.doc.get_update(), UpdateKind.STEP_2)

    def present(self, clock: int, name: bytes = b"x") -> AwarenessEntry:
        entry = AwarenessEntry(self.number, clock, b'{"name":"%s"}' % name)
        self.frame(Kind.AWARENESS, encode_awareness([entry]))
        return entry


class Stage:
    """A document, its hub, one link and two editors on it."""

    def __init__(self) -> None:
        self.document = FakeDocument()
        self.later: list[tuple[float, Callable[[], None]]] = []  # what the hub put off
        self.hub = EditorHub(self.document, "abcdefghijkl", lambda *what: self.later.append(what))
        self.peer = FakePeer()
        self.hub.join(self.peer, None)
        self.anna = Editor(self.hub, self.peer, 1)
        self.ben = Editor(self.hub, self.peer, 2)
        self.anna.open(ANNA)
        self.ben.open(BEN)
        self.peer.told()

    def acks(self) -> list[tuple[int, Ack]]:
        return [(n, Ack(body[0])) for kind, n, body in self.peer.told() if kind is Kind.ACK]
