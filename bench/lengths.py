"""Growth of one document: its blocks, and the updates it has had."""

from __future__ import annotations

import asyncio
import itertools
import secrets
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import anyio
from pycrdt import Doc, XmlElement, XmlFragment, XmlText

from actors.storage.store import NewFile, SqliteStore
from actors.storage.stored import Batch
from bench import pool
from bench.agent import Agent
from bench.agents import WHOLE
from bench.keystrokes import ANN, measure
from bench.scratch import scratch
from bench.servers import Server, docactor
from bench.typist import Typist
from shared.document.live_document import ROOT, LiveDocument
from shared.index.block_index import BlockIndex
from shared.markdown.parse import parse
from shared.stored import Checkpoint, StoredUpdate

BLOCKS: Final = (100, 1_000, 5_000, 10_000, 20_000)
KEYSTROKES: Final = 300
REPEATS: Final = 5
ENVIRONMENT: Final = {"DOCACTOR_IDLE_S": "1"}

HISTORIES: Final = (1, 100, 1_000, 10_000, 100_000, 1_000_000)
PARAGRAPHS: Final = 200
# At most 2,000 updates lie behind the newest checkpoint (CHECKPOINT_MAX_UPDATES): half of them do.
TAIL: Final = 1_000
BATCH: Final = 1_000
RUN: Final = 40  # letters typed at the end of a paragraph before its author goes on to another

Curve = list[tuple[float, float]]


def blocks() -> dict[str, dict[str, Curve]]:
    """What one edit, reading after it, opening and patching take in documents of more blocks."""
    ours, yrs = [], []
    for count in BLOCKS:
        cost = measure(document(count), KEYSTROKES)
        ours.append((float(count), cost.all_us - cost.yrs_us))
        yrs.append((float(count), cost.yrs_us))
    calls: dict[str, Curve] = {}
    with scratch() as folder, docactor(folder, ENVIRONMENT) as server:
        for count in BLOCKS:
            for name, taken in _over_mcp(server, count).items():
                calls.setdefault(name, []).append((count, taken))
                print(f"  {count} blocks: {name} {taken:.1f} ms", flush=True)
    keystroke = {"what docactor adds": ours, "yrs itself": yrs}
    return {"a keystroke in the actor, µs": keystroke, "over MCP and websocket, p50 ms": calls}


def document(count: int) -> str:
    """Short paragraphs, so that 20,000 of them are within what may be sent."""
    return "\n\n".join(f"Paragraph {n} of a long text." for n in range(count))


def _over_mcp(server: Server, count: int) -> dict[str, float]:
    doc = server.create(document(count))
    taken: dict[str, list[float]] = {"read after one edit": [], "patch of a sentence": []}
    with Agent(server.mcp, server.token) as agent, Typist(server, doc) as typist:
        cursor = agent.call("read_document", doc_id=doc)[1]["cursor"]
        for n in range(REPEATS):
            typist.type(n, f" {n}")
            changes = agent.call("read_changes", doc_id=doc, cursor=cursor, wait_s=10, settle_s=0)
            cursor = changes[1]["cursor"]
            taken["read after one edit"].append(agent.call("read_document", doc_id=doc)[0])
            taken["patch of a sentence"].append(_patch(agent, doc, n))
    opened = [_cold_open(server, doc) for _ in range(REPEATS)]
    return {name: statistics.median(times) for name, times in taken.items()} | {
        "cold open": statistics.median(opened)
    }


def _patch(agent: Agent, doc: str, number: int) -> float:
    """The whole document sent back with one paragraph rewritten."""
    read = agent.call("read_document", doc_id=doc, max_chars=WHOLE, format="markdown")[1]
    paragraphs = read["markdown"].split("\n\n")
    paragraphs[number + REPEATS] = f"Rewritten, number {number}."
    sent = {"markdown": "\n\n".join(paragraphs), "base": read["cursor"]}
    return agent.call("patch", doc_id=doc, **sent)[0]


def _cold_open(server: Server, doc: str) -> float:
    """From an editor's connecting to its first sync, the document being passive."""
    pool.wait_passive(server)
    pool.wait_warm(server)
    started = time.perf_counter()
    with Typist(server, doc):
        return (time.perf_counter() - started) * 1000


# --- history -------------------------------------------------------------------------------------


def history() -> dict[str, dict[str, Curve]]:
    """What loading takes, as a document's log gets longer; checkpoints keep it flat."""
    with scratch() as folder:
        loads, sizes = asyncio.run(_histories(folder / "document.sqlite3"))
    return {"loading the document, ms": {"p50": loads}, "its file, MB": {"size": sizes}}


async def _histories(path: Path) -> tuple[Curve, Curve]:
    """One file that grows, written by the store itself; loaded at each size."""
    author = _Author()
    store = await SqliteStore.create(path, NewFile("doc", 1, secrets.token_bytes(16)))
    live, effects = LiveDocument.seed(
        await store.load(), parse(document(PARAGRAPHS)).blocks, ANN, 0, author.mint
    )
    batch = Batch()
    for one in effects:
        batch.add(one)
    await store.commit(batch)
    author.begin(live.diff(b"\0"))
    loads, sizes = [], []
    for count in HISTORIES:
        if count > live.update_seq + 2 * TAIL:
            live = await _in_bulk(store, live, author, count - TAIL)
        await _typed(store, live, author, count)
        await store.close()
        taken = [await _load(path, author.mint) for _ in range(REPEATS)]
        loads.append((float(count), statistics.median(taken)))
        size = (await anyio.Path(path).stat()).st_size
        sizes.append((float(count), size / 2**20))
        print(f"  {count} updates: {loads[-1][1]:.1f} ms, {sizes[-1][1]:.1f} MB", flush=True)
        store = await SqliteStore.open(path, 1)
    await store.close()
    return loads, sizes


async def _in_bulk(
    store: SqliteStore, live: LiveDocument, author: _Author, upto: int
) -> LiveDocument:
    """Updates that a checkpoint covers: nothing but the log ever reads them again."""
    copy: Doc[XmlFragment] = Doc()
    copy.apply_update(live.diff(b"\0"))
    seq, head = live.update_seq, live.log.head
    live.close()
    while seq < upto:
        batch = Batch()
        for update in itertools.islice(author.updates(), min(BATCH, upto - seq)):
            seq += 1
            copy.apply_update(update)
            batch.updates.append(StoredUpdate(seq, seq, ANN.principal, "editor", update, b"", head))
        if seq == upto:
            fragment = copy.get(ROOT, type=XmlFragment)
            index, _ = BlockIndex.attach(fragment, None, author.mint, seq)
            batch.checkpoint = Checkpoint(seq, seq, copy.get_update(), index.save())
            index.detach()
        await store.commit(batch)
    return LiveDocument.load(await store.load(), seq, author.mint)[0]


async def _typed(store: SqliteStore, live: LiveDocument, author: _Author, upto: int) -> None:
    """Updates as the actor takes them in."""
    while live.update_seq < upto:
        batch = Batch()
        for update in itertools.islice(author.updates(), min(BATCH, upto - live.update_seq)):
            for one in live.apply(update, ANN, live.update_seq).effects:
                batch.add(one)
        await store.commit(batch)


async def _load(path: Path, mint: Callable[[], str]) -> float:
    """Milliseconds from opening the file until the document can be read."""
    started = time.perf_counter()
    store = await SqliteStore.open(path, 1)
    live, _ = LiveDocument.load(await store.load(), 0, mint)
    taken = (time.perf_counter() - started) * 1000
    live.close()
    await store.close()
    return taken


class _Author:
    """Types letter by letter at the end of paragraphs, and takes back what was typed before."""

    def __init__(self) -> None:
        self._doc: Doc[XmlFragment] = Doc()
        self._sent: list[bytes] = []
        self._names = (f"{n:08d}" for n in itertools.count())
        self._updates = self._type()
        self._observed = self._doc.observe(lambda event: self._sent.append(event.update))

    def mint(self) -> str:
        return next(self._names)

    def begin(self, state: bytes) -> None:
        self._doc.apply_update(state)
        self._sent.clear()

    def updates(self) -> Iterator[bytes]:
        """Endless; each goes on where the last one ended."""
        return self._updates

    def _type(self) -> Iterator[bytes]:
        fragment = self._doc.get(ROOT, type=XmlFragment)
        for at in itertools.cycle(range(PARAGRAPHS)):
            element = fragment.children[at]
            assert isinstance(element, XmlElement)
            text = element.children[0]
            assert isinstance(text, XmlText)
            begun = len(str(text))
            for n in range(RUN):
                text.insert(begun + n, "x")
                yield self._sent.pop()
            del text[begun : begun + RUN]
            yield self._sent.pop()
