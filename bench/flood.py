"""What two editors notice of a flood of garbage, and what thousands of short visits leave behind.

The flood comes from a process of its own, which takes its share of the machine. So it is compared
with the same flood into a sink, a server that reads and drops it.

python -m bench.flood garbage|visits URL TOKEN DOCUMENT AMOUNT
python -m bench.flood sink PORT
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import psutil
from pycrdt import Doc, create_sync_message
from pycrdt import create_update_message as update_message
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed, InvalidMessage
from websockets.typing import Subprotocol

from bench.leaks import SETTLE_S, Held, held
from bench.processes import free_port, is_listening, running, wait_until, wait_until_quiet
from bench.results import Row, alone
from bench.servers import ROOT, Server, docactor
from bench.typist import Typist

WORK: Final = "flood"
SESSIONS: Final = 20
BAR: Final = 2.0  # p99 while it floods us against p99 while it floods the sink
MEMORY_BAR: Final = 1.1
MORE_FILES: Final = 4  # which of Ray's own connections are open differs from time to time
TYPED: Final = 400  # words, each seen by the other editor before the next
VISITORS: Final = 8  # at a time
WARM_VISITS: Final = 200  # before anything is counted: buffers have their size then
PATIENCE_S: Final = 30.0
RESTS: Final = 0.02  # seconds between two words: a person who types fast
FLOOD_S: Final = 30.0  # what the flood is spread over, at least: time to type
AT_ONCE: Final = 50  # frames of a session in one go

_BAD: Final = (OSError, ConnectionClosed, InvalidMessage, TimeoutError)


class Told(NamedTuple):
    """How long words took from one editor to the other, in milliseconds, and how many."""

    p50: float
    p99: float
    words: int


def rows(folder: Path, *, frames: int) -> list[Row]:
    """Two editors beside a flood of `frames`, and in it; then a tenth as many visits."""
    visits = frames // 10
    with docactor(folder) as server, _sink(folder) as sink:
        doc = server.create("# Calm\n\nWater.")
        with Typist(server, doc) as ann, Typist(server, doc) as ben:
            wait_until_quiet(server.process)
            quiet = _typed(ann, ben, TYPED)
            before = _pids(server)
            with _beside("garbage", server._replace(url=sink), doc, frames) as flood:
                beside = _typed_while(ann, ben, flood)
            with _beside("garbage", server, doc, frames) as flood:
                loud = _typed_while(ann, ben, flood)
            crashed = len(before - _pids(server))
        visited = _visited(server, doc, visits)
    print(f"  quiet {quiet}\n  beside {beside}\n  flood {loud}")
    print(f"  before {visited[0]}\n  after  {visited[1]}")
    return [
        alone(WORK, "p99_ms_quiet", quiet.p99),
        alone(WORK, "p99_ms_while_it_floods_a_sink", beside.p99),
        alone(WORK, f"p99_ms_while_{frames}_garbage_frames", loud.p99, BAR * beside.p99),
        alone(WORK, "p50_ms_quiet", quiet.p50),
        alone(WORK, "p50_ms_while_it_floods_a_sink", beside.p50),
        alone(WORK, "p50_ms_while_it_floods", loud.p50),
        alone(WORK, "processes_crashed", crashed, 0),
        *_left(visits, *visited),
    ]


def _left(visits: int, before: Held, after: Held) -> Iterator[Row]:
    ratio = after.private_mb / before.private_mb
    yield alone(WORK, f"memory_ratio_after_{visits}_visits", ratio, MEMORY_BAR)
    yield alone(WORK, "more_files_than_before", after.files - before.files, MORE_FILES)
    yield alone(WORK, "more_sockets_than_before", after.sockets - before.sockets, MORE_FILES)


def _pids(server: Server) -> set[int]:
    """Gateways and the actors that hold a document; blank slots come and go."""
    family = server.process.children(recursive=True)
    wanted = ("gateway.worker", "ray::DirectoryActor")
    return {one.pid for one in family if any(part in _command(one) for part in wanted)}


def _command(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.Error):
        return " ".join(process.cmdline())
    return ""


def _visited(server: Server, doc: str, visits: int) -> tuple[Held, Held]:
    """What is held before and after so many came and went."""
    with _beside("visits", server, doc, WARM_VISITS) as visitors:
        visitors.wait()
    time.sleep(SETTLE_S)
    before = held(server.process)
    with _beside("visits", server, doc, visits) as visitors:
        visitors.wait()
    time.sleep(SETTLE_S)
    return before, held(server.process)


def _typed(ann: Typist, ben: Typist, words: int) -> Told:
    return _told([_word(ann, ben, n) for n in range(words)])


def _typed_while(ann: Typist, ben: Typist, flood: subprocess.Popen[bytes]) -> Told:
    """Words typed for as long as the flood lasts."""
    took: list[float] = []
    while flood.poll() is None:
        took.append(_word(ann, ben, len(took)))
    return _told(took)


def _word(ann: Typist, ben: Typist, number: int) -> float:
    """Milliseconds from one editor to the other; they take turns."""
    sender, reader = (ann, ben) if number % 2 else (ben, ann)
    word = f" {number}."
    began = time.perf_counter()
    sender.type(1, word)
    reader.wait_for(1, word, PATIENCE_S)
    took = (time.perf_counter() - began) * 1000
    time.sleep(RESTS)
    return took


def _told(took: list[float]) -> Told:
    cuts = statistics.quantiles(took, n=100)
    return Told(round(cuts[49], 2), round(cuts[98], 2), len(took))


@contextlib.contextmanager
def _sink(folder: Path) -> Iterator[str]:
    """Address of a server that reads frames and drops them."""
    port = free_port()
    log = folder / "sink.log"
    command = [sys.executable, "-m", "bench.flood", "sink", str(port)]
    with running(command, cwd=ROOT, log=log) as process:
        wait_until(lambda: is_listening(port), process, log)
        yield f"ws://127.0.0.1:{port}"


@contextlib.contextmanager
def _beside(what: str, server: Server, doc: str, amount: int) -> Iterator[subprocess.Popen[bytes]]:
    """A process that floods or visits; it ends by itself when it is done."""
    command = [sys.executable, "-m", "bench.flood", what, server.url, server.token, doc]
    with subprocess.Popen([*command, str(amount)], cwd=ROOT) as process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        msg = f"bench.flood {what} ended with {process.returncode}"
        raise RuntimeError(msg)


# --- the process beside ----------------------------------------------------------------------


def nonsense(rng: random.Random) -> bytes:
    """Mostly of unknown types, which are ignored: they come in floods on one socket."""
    kind = rng.random()
    if kind < 0.9:
        return bytes((rng.randrange(11, 128),)) + rng.randbytes(rng.randrange(40))
    if kind < 0.95:
        return rng.randbytes(rng.randrange(60))
    return update_message(rng.randbytes(rng.randrange(60)))


async def sink(port: int) -> None:
    """Reads and drops; what we would close a socket for closes it here."""

    async def drop(socket: ServerConnection) -> None:
        async for frame in socket:
            assert isinstance(frame, bytes)
            if not frame or not 11 <= frame[0] < 128:
                await socket.close(1007)

    serving = serve(
        drop, "127.0.0.1", port, select_subprotocol=_any, compression=None, close_timeout=0.1
    )
    async with serving as server:
        await server.serve_forever()


def _any(_: ServerConnection, offered: Sequence[Subprotocol]) -> Subprotocol | None:
    return offered[0] if offered else None


def _connected(url: str, token: str) -> connect:
    protocols = [Subprotocol(f"docactor.{token}")]
    return connect(url, subprotocols=protocols, max_size=None, compression=None, close_timeout=2)


async def garbage(url: str, token: str, frames: int, seed: int) -> None:
    """Sends so many over as many sockets as it takes: each ends with the first that is bad."""
    rng = random.Random(seed)
    left = frames
    while left > 0:
        with contextlib.suppress(*_BAD):
            async with _connected(url, token) as socket:
                while left > 0:
                    for _ in range(AT_ONCE):
                        left -= 1
                        await socket.send(nonsense(rng))
                    await asyncio.sleep(FLOOD_S * AT_ONCE / frames)


async def visit(url: str, token: str, visits: int) -> None:
    """Connects, asks for the document, takes a look and leaves: half of them without a word."""
    for number in range(visits):
        async with _connected(url, token) as socket:
            await socket.send(create_sync_message(Doc()))
            await _until_answered(socket)
            if number % 2:
                socket.transport.abort()


async def _until_answered(socket: ClientConnection) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while (await socket.recv())[:2] != b"\x00\x01":  # a step 2
            continue


async def _all(what: str, url: str, token: str, amount: int) -> None:
    async with asyncio.TaskGroup() as tasks:
        if what == "garbage":
            for seed in range(SESSIONS):
                tasks.create_task(garbage(url, token, amount // SESSIONS, seed))
        else:
            for _ in range(VISITORS):
                tasks.create_task(visit(url, token, amount // VISITORS))


if __name__ == "__main__":
    if sys.argv[1] == "sink":
        asyncio.run(sink(int(sys.argv[2])))
    else:
        _what, _url, _token, _doc, _amount = sys.argv[1:]
        asyncio.run(_all(_what, f"{_url}/{_doc}", _token, int(_amount)))
