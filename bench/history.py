"""A document with a long history: `python -m bench.history [--updates 1000000]`.

Sixty people-days of typing, written through the real document into its SQLite file by a clock that
runs ahead, merged as the server merges it, then opened, compared over the whole span, and asked
what changed in a week. The figures go to `results/history.json`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import anyio
from pycrdt import Doc, XmlElement, XmlFragment, XmlText

from actors.document.document import Document
from bench import machine, results
from bench.scratch import scratch
from shared.budget import Allowance
from shared.document.live_document import ROOT
from shared.limits import DAY_MS
from shared.markdown.parse import parse
from shared.protocol import Caller, RouteKey
from shared.protocol_changes import GetChangesRequest
from shared.protocol_history import CompareRequest
from shared.times import iso
from shared.wire.y_protocol import EMPTY_STATE_VECTOR

BLOCKS: Final = 500
SPAN_DAYS: Final = 20  # within retention, so that all of it can be compared
BATCH: Final = 500
LOOK_S: Final = 0.002
WHO: Final = Caller("ann", "Ann", allowance=Allowance(reads_per_minute=10**9))
_START: Final = 1_700_000_000_000


def _text(block: object) -> XmlText:
    assert isinstance(block, XmlElement)
    text = block.children[0]
    assert isinstance(text, XmlText)
    return text


class _Story:
    def __init__(self, path: Path, updates: int) -> None:
        self.path = path
        self.updates = updates
        self.now = _START
        self.epoch = 0
        self.rng = random.Random(7)

    async def opened(self, **options: Any) -> Document:
        self.epoch += 1
        key = RouteKey("bench", self.epoch, "bench")
        return await Document.open(self.path, key, clock=lambda: self.now, **options)

    async def write(self) -> None:
        """Keystrokes, each an update of its own, in runs of a sentence in one block."""
        words = [f"Paragraph {n} of those there are." for n in range(BLOCKS)]
        document = await self.opened(seed=parse("\n\n".join(words)).blocks)
        editor: Doc[XmlFragment] = Doc()
        editor.apply_update(document.diff(EMPTY_STATE_VECTOR))
        made: list[bytes] = []
        subscription = editor.observe(lambda event: made.append(event.update))
        texts = [_text(one) for one in editor.get(ROOT, type=XmlFragment).children]
        text = texts[0]
        between = SPAN_DAYS * DAY_MS // self.updates
        for number in range(self.updates):
            if number % 60 == 0:
                text = self.rng.choice(texts)
            if len(text) > 40 and self.rng.random() < 0.4:
                del text[len(text) - 1]
            else:
                text += "x"
            self.now += between
            for update in made:
                document.apply(update, WHO)
            made.clear()
            if number % BATCH == BATCH - 1:
                await document._keeper.committer.settled()  # noqa: SLF001
        subscription.drop()
        await document.close()

    async def shrink(self) -> tuple[int, float]:
        """Steps of merging, and the longest of them in ms."""
        document = await self.opened()
        steps, longest, more = 0, 0.0, True
        while more:
            began = time.perf_counter()
            more = await document._keeper.retention.step()  # noqa: SLF001
            longest = max(longest, time.perf_counter() - began)
            steps += 1
        await document.close()
        return steps, longest * 1000

    async def load_ms(self) -> float:
        taken = []
        for _ in range(5):
            began = time.perf_counter()
            document = await self.opened()
            taken.append((time.perf_counter() - began) * 1000)
            await document.close()
        return statistics.median(taken)

    async def compare_ms(self, at: int) -> float:
        return (await self._asked(lambda it: it.compare(WHO, CompareRequest(iso(at))))).taken_ms

    async def week(self) -> Asked:
        """What changed in the last seven days of the story."""
        since = _START + (SPAN_DAYS - 7) * DAY_MS
        return await self._asked(lambda it: it.get_changes(WHO, GetChangesRequest(since)))

    async def _asked(self, ask: Callable[[Document], Awaitable[object]]) -> Asked:
        """A question to the document just opened, which has forgotten everything."""
        document = await self.opened()
        before, stalls = _peak_mb(), list[float]()
        looking = asyncio.create_task(_look(stalls))
        began = time.perf_counter()
        await ask(document)
        taken = time.perf_counter() - began
        looking.cancel()
        await document.close()
        return Asked(taken * 1000, max(stalls, default=0.0) * 1000, _peak_mb() - before)


class Asked(NamedTuple):
    """How long an answer took, how long it held the loop at most, how far it raised the peak."""

    taken_ms: float
    stall_ms: float
    more_mb: float


def _peak_mb() -> float:
    """The most memory this process has ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def _look(stalls: list[float]) -> None:
    last = time.perf_counter()
    while True:
        await asyncio.sleep(LOOK_S)
        now = time.perf_counter()
        stalls.append(now - last - LOOK_S)
        last = now


async def _measure(path: Path, updates: int) -> dict[str, float]:
    story = _Story(path, updates)
    began = time.perf_counter()
    await story.write()
    written = time.perf_counter() - began
    size = (await anyio.Path(path).stat()).st_size
    before = await story.load_ms()
    story.now += 2 * DAY_MS
    steps, longest = await story.shrink()
    middle = _START + SPAN_DAYS * DAY_MS // 2
    week = await story.week()
    return {
        "updates": updates,
        "written_s": round(written, 1),
        "file_mb": round(size / 2**20, 1),
        "load_ms": round(before, 1),
        "merge_steps": steps,
        "longest_step_ms": round(longest, 1),
        "load_merged_ms": round(await story.load_ms(), 1),
        "get_changes_of_a_week_ms": round(week.taken_ms, 1),
        "get_changes_holds_the_loop_ms": round(week.stall_ms, 1),
        "get_changes_peak_memory_mb": round(week.more_mb, 1),
        "compare_from_start_ms": round(await story.compare_ms(_START + 1), 1),
        "compare_from_middle_ms": round(await story.compare_ms(middle), 1),
    }


def main() -> None:
    """Prints a line of JSON for each length of history, the shorter one first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=1_000_000)
    longest = parser.parse_args().updates
    rows = []
    for updates in (max(1_000, longest // 100), longest):
        with tempfile.TemporaryDirectory() as folder:
            found = asyncio.run(_measure(Path(folder) / "bench.sqlite3", updates))
        print(json.dumps(found), flush=True)
        rows.append(found)
    with scratch() as folder:
        told = {"machine": machine.describe(folder), **machine.versions(), "rows": rows}
    (results.FOLDER / "history.json").write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
