"""Too many, too slow, too loud, not who they say: real editors of both wires beside such ones.

Whoever is over a limit is told so, or read more slowly; nobody else notices.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from typing import Final

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from shared.limits import MAX_FRAME_BYTES, MAX_SESSIONS_PER_DOCUMENT, SOCKET_PING_S
from shared.wire import close_codes
from shared.wire.hocuspocus_protocol import addressed
from shared.wire.lib0 import var_string
from shared.wire.y_protocol import awareness_message, update_message
from tests.acceptance.conftest import OpenEditor
from tests.acceptance.editors import HOCUSPOCUS_CLIENTS, Y_CLIENTS, until
from tests.acceptance.faults import holder
from tests.acceptance.server import Server
from tests.acceptance.sockets import Typist, bare, reset

WIRES: Final = (Y_CLIENTS[0], HOCUSPOCUS_CLIENTS[0])
LOUD: Final = 20  # sockets
FRAMES: Final = 500  # that each of them sends
VISITS: Final = 400
PIECE: Final = 200_000  # characters
PIECES: Final = 250  # 50 MB: more than the outbox and all buffers on the way take

# Ben says that Ann has gone, at a clock beyond all that she will ever reach.
BANISH: Final = """
const awareness = provider.awareness
awareness.meta.set(ANN, { clock: Number.MAX_SAFE_INTEGER, lastUpdated: Date.now() })
awareness.states.delete(ANN)
awareness.emit('update', [{ added: [], updated: [], removed: [ANN] }, 'banished'])
"""


@pytest.fixture(params=WIRES)
def client(request: pytest.FixtureRequest) -> str:
    """One client of each wire."""
    name: str = request.param
    return name


def test_a_full_document_takes_a_newcomer_as_soon_as_somebody_leaves(
    server: Server, editor: OpenEditor
) -> None:
    doc = server.create("Full")
    with ExitStack() as stack:
        sockets = [stack.enter_context(bare(server, doc)) for _ in range(MAX_SESSIONS_PER_DOCUMENT)]
        for socket in sockets:
            socket.recv(20)  # our step 1: it has its place
        waiting = [editor(doc, client, synced=False) for client in WIRES]
        for one in waiting:
            assert one.wait_closed() == close_codes.TRY_AGAIN
        assert all(one.texts == [] for one in waiting)
        for _ in waiting:
            sockets.pop().close()
        for one in waiting:
            one.wait_texts(["Full"])


def test_who_does_not_read_is_sent_away_misses_nothing_and_slows_nobody(
    server: Server, editor: OpenEditor, client: str
) -> None:
    doc = server.create("Top")
    ann, ben, cem = editor(doc), editor(doc, client), editor(doc, client)
    ben.ask("presence", state={"name": "Ben"})
    slow = ben.me
    until("Ben at Cem's", lambda: slow in cem.present)
    ben.freeze()
    frozen = time.monotonic()
    for _ in range(PIECES // 10):
        ann.run(
            "for (let n = 0; n < 10; n++) {"
            f"leaf(0).insert(3, 'x'.repeat({PIECE})); leaf(0).delete(3, {PIECE}) }}"
        )
        until("Cem has it", lambda: cem.vector == ann.vector)
    until("Ben sent away", lambda: slow not in cem.present)
    assert time.monotonic() - frozen < SOCKET_PING_S, "it was the ping that found him"
    ann.type("!")
    cem.wait_texts(["Top!"])
    ben.thaw()
    ben.wait_texts(["Top!"])
    assert ben.connections == 2
    assert ann.connections == cem.connections == 1
    ben.type("?")
    cem.wait_texts(["Top!?"])


def test_what_is_too_large_for_a_message_comes_whole_by_another_way(
    server: Server, editor: OpenEditor, client: str
) -> None:
    """As an update it ends the connection; the sync after that may be as large as a document."""
    doc = server.create("Top")
    ann, ben = editor(doc), editor(doc, client)
    third = MAX_FRAME_BYTES // 3
    ben.run(f"root.push(Array.from({{ length: 3 }}, () => paragraph('x'.repeat({third}))))")
    whole = len("Top") + third * 3
    until("all of it at Ann's", lambda: sum(map(len, ann.texts)) == whole)
    assert ben.connections == 2
    assert {event["code"] for event in ben.events("closed")} == {close_codes.TOO_BIG}
    ann.type("!")
    until("Ben hears on", lambda: ben.texts[0] == "Top!")
    assert ann.connections == 1


def test_nobody_takes_anothers_presence_away(
    server: Server, editor: OpenEditor, client: str
) -> None:
    doc = server.create("Room")
    ann, ben, cem = editor(doc), editor(doc, client), editor(doc, client)
    ann.ask("presence", state={"name": "Ann"})
    for one in (ben, cem):
        until("Ann", lambda o=one: ann.me in o.present)  # type: ignore[misc]
    ben.run(BANISH.replace("ANN", ann.me))
    ben.ask("presence", state={"name": "Ben"})
    until("Ben, later", lambda: cem.present.get(ben.me) == {"name": "Ben"})
    assert cem.present[ann.me] == {"name": "Ann"}
    ann.ask("presence", state={"name": "Ann, still"})
    until("Ann", lambda: cem.present.get(ann.me) == {"name": "Ann, still"})


def test_a_flood_of_garbage_costs_its_senders_alone(
    server: Server, editor: OpenEditor, rng: random.Random
) -> None:
    doc = server.create("Calm")
    editors = [editor(doc, client) for client in WIRES]
    gateways = {process.pid for process in server.gateways()}
    with flood(server, doc, rng):
        for number in range(40):
            editors[number % 2].type(f" {number}")
            editors[1 - number % 2].wait_texts(
                ["Calm" + "".join(f" {n}" for n in range(number + 1))]
            )
    assert [one.connections for one in editors] == [1, 1]
    assert {process.pid for process in server.gateways()} == gateways
    expected = "Calm" + "".join(f" {number}" for number in range(40))
    assert server.read(doc) == f"{expected}\n"
    for client in WIRES:
        editor(doc, client).wait_texts([expected])


def test_who_comes_and_goes_leaves_no_descriptor_behind(server: Server, editor: OpenEditor) -> None:
    """In the short: `python -m bench --only flood` has 10,000, and memory."""
    doc = server.create("Doorway")
    editor(doc)
    keeper = holder(server, doc)

    def visit(number: int) -> None:
        with bare(server, doc) as connection:
            Typist(connection)
            if number % 2:
                reset(connection)

    def descriptors() -> int:
        return sum(process.num_fds() for process in (*server.gateways(), keeper))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(visit, range(40)))
        settled = min(descriptors() for _ in range(20))
        list(threads.map(visit, range(VISITS)))
    until("no more of them than before", lambda: descriptors() <= settled)


@contextmanager
def flood(server: Server, doc: str, rng: random.Random) -> Iterator[None]:
    """Garbage on both wires for as long as the block lasts, and until all of it is sent."""
    seeds = [rng.getrandbits(64) for _ in range(LOUD)]
    threads = [
        threading.Thread(target=shout, args=(server, doc, random.Random(seed), number % 2 == 0))
        for number, seed in enumerate(seeds)
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for thread in threads:
            thread.join()


def shout(server: Server, doc: str, rng: random.Random, over_y: bool) -> None:
    """Sends its frames over as many sockets as it takes: most end with the first that is bad."""
    left = FRAMES
    while left:
        with suppress(ConnectionClosed, OSError), hostile(server, doc, over_y) as connection:
            while left:
                left -= 1
                garbage = nonsense(rng)
                connection.send(garbage if over_y else addressed(doc, garbage))


@contextmanager
def hostile(server: Server, doc: str, over_y: bool) -> Iterator[ClientConnection]:
    """A socket of somebody who is let in."""
    if over_y:
        with bare(server, doc) as connection:
            yield connection
        return
    with connect(server.hocuspocus, max_size=None, compression=None, close_timeout=1) as connection:
        connection.send(addressed(doc, b"\x02\x00" + var_string(server.token)))
        yield connection


def nonsense(rng: random.Random) -> bytes:
    """Mostly of unknown types, which are ignored: they come in floods on one socket."""
    kind = rng.random()
    if kind < 0.9:
        return bytes((rng.randrange(11, 128),)) + rng.randbytes(rng.randrange(40))
    if kind < 0.94:
        return rng.randbytes(rng.randrange(60))
    if kind < 0.97:
        return update_message(rng.randbytes(rng.randrange(60)))
    return awareness_message(rng.randbytes(rng.randrange(60)))
