"""A patch of thousands of blocks: planned beside the loop, for the document as it then is."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from shared.document.writing import Draft
from shared.errors import FindNotMatched, InvalidCursor, LargeDelete, StaleBlock
from shared.limits import MAX_DIFF_INLINE, MAX_PLANS, MAX_READ_CHARS
from shared.protocol import WriteResult
from tests.unit.documents import SCRIBE, Bench, anchors, text_of
from tests.unit.editors import Editor

pytestmark = pytest.mark.anyio
BLOCKS = 10_000
T = TypeVar("T")


class Gate:
    """In front of the planner's thread: who comes there waits until it is let through."""

    def __init__(self, bench: Bench) -> None:
        self.came = 0
        self._here = asyncio.Semaphore(0)
        self._through = threading.Semaphore(0)
        bench.document._planner.in_thread = self._hold  # type: ignore[method-assign]

    async def _hold(self, work: Callable[[], T]) -> T:
        self.came += 1
        loop = asyncio.get_running_loop()

        def held() -> T:
            loop.call_soon_threadsafe(self._here.release)
            self._through.acquire()
            return work()  # when the document has changed already

        return await asyncio.to_thread(held)

    async def entered(self) -> None:
        await self._here.acquire()

    def let_through(self, times: int = 1) -> None:
        self._through.release(times)


def text(prefix: str, blocks: int = BLOCKS) -> str:
    return "\n\n".join(f"{prefix} {n}" for n in range(blocks)) + "\n"


@pytest.fixture
async def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Ten blocks, of which more than four unequal ones are many."""
    monkeypatch.setattr("shared.patch.patch.MAX_DIFF_INLINE", 4)
    monkeypatch.setattr("shared.document.writing.MAX_DIFF_INLINE", 4)
    return await Bench.of(text("old", 10))


async def typed(editor: Editor, bench: Bench, words: str) -> None:
    """Returns when the keystroke is on disk."""
    text_of(editor, 0).insert(0, words)
    saved = asyncio.Event()
    editor.push()
    bench.document.after_commit(lambda error: saved.set() if error is None else None)
    await saved.wait()


async def test_a_keystroke_is_not_held_up_by_a_patch_of_ten_thousand_blocks() -> None:
    bench = await Bench.of(text("old"))
    read = await bench.read(max_chars=MAX_READ_CHARS)
    editor = bench.editor()
    gate = Gate(bench)
    many = MAX_DIFF_INLINE + 1
    old = text("old").split("\n\n", many + 1)
    sent = "\n\n".join([old[0], *(f"new {n}" for n in range(1, many + 1)), old[-1]])
    patching = asyncio.create_task(bench.patch(sent, base=read.cursor))
    await gate.entered()  # what was sent is made canonical
    await typed(editor, bench, "1")
    gate.let_through()
    await gate.entered()
    await typed(editor, bench, "2")
    gate.let_through(MAX_PLANS)
    result: WriteResult = await patching
    assert (result.replaced, result.conflicts) == (many, ())
    now = await bench.markdown()
    assert now.startswith("21old 0\n\nnew 1\n\n")


async def patched_with_typing(bench: Bench, times: int, **options: Any) -> tuple[WriteResult, int]:
    """A patch during which somebody types each time it is planned."""
    read = await bench.read()
    editor = bench.editor()
    gate = Gate(bench)
    sent = text("new", 10).replace("new 0\n", "old 0\n").replace("new 9", "old 9")
    patching = asyncio.create_task(bench.patch(sent, base=read.cursor, **options))
    for n in range(times):
        await gate.entered()
        await typed(editor, bench, str(n))
        gate.let_through()
    gate.let_through(MAX_PLANS)
    return await patching, gate.came


async def test_a_plan_for_a_document_that_has_changed_is_made_again(bench: Bench) -> None:
    result, plans = await patched_with_typing(bench, 1)
    assert (result.replaced, result.conflicts, plans) == (8, (), 2)
    assert (await bench.markdown()).startswith("0old 0\n\nnew 1\n")
    assert result.behind


async def test_after_some_tries_the_plan_is_made_on_the_loop(bench: Bench) -> None:
    result, plans = await patched_with_typing(bench, MAX_PLANS)
    assert (result.replaced, plans) == (8, MAX_PLANS)
    assert (await bench.markdown()).startswith("210old 0\n\nnew 1\n")


async def test_a_plan_is_made_once_when_nothing_changes(bench: Bench) -> None:
    result, plans = await patched_with_typing(bench, 0)
    assert (result.replaced, plans) == (8, 1)


async def test_few_unequal_blocks_are_planned_on_the_loop(bench: Bench) -> None:
    read = await bench.read()
    gate = Gate(bench)
    await bench.patch(text("old", 10).replace("old 5", "new 5"), base=read.cursor)
    assert gate.came == 0


async def test_what_another_conversation_reads_meanwhile_does_not_count_as_seen_by_this_one(
    bench: Bench,
) -> None:
    """The views are part of what a plan is made for: its sight is that of the moment it is done."""
    part = await bench.read(max_chars=1)
    gate = Gate(bench)
    patching = asyncio.create_task(bench.patch(text("new", 9), base=part.cursor))
    await gate.entered()
    await bench.read(SCRIBE)
    gate.let_through(2)
    result = await patching
    assert gate.came == 2
    assert result.deleted == 0
    assert "old 9" in await bench.markdown()


async def test_a_keystroke_is_not_held_up_by_quotes_looked_for_in_a_large_document() -> None:
    bench = await Bench.of(text("old"))
    editor = bench.editor()
    gate = Gate(bench)
    replacing = asyncio.create_task(bench.replace_text(("old 9999", "new 9999")))
    await gate.entered()
    await typed(editor, bench, "1")
    gate.let_through()
    await gate.entered()  # the document has changed, and so have its places
    gate.let_through()
    assert (await replacing).replaced == 1
    now = await bench.markdown()
    assert now.startswith("1old 0\n")
    assert now.endswith("\nnew 9999\n")
    assert gate.came == 2


async def test_a_quote_that_is_no_longer_there_when_its_plan_is_carried_out_is_refused() -> None:
    bench = await Bench.of(text("old"))
    editor = bench.editor()
    gate = Gate(bench)
    replacing = asyncio.create_task(bench.replace_text(("old 9999", "new 9999")))
    await gate.entered()
    del editor.root.children[9_999]
    editor.push()
    gate.let_through(MAX_PLANS)
    with pytest.raises(FindNotMatched):
        await replacing
    assert "new" not in await bench.markdown()


async def test_a_quote_in_a_small_document_is_found_on_the_loop(bench: Bench) -> None:
    gate = Gate(bench)
    await bench.replace_text(("old 5", "new 5"))
    assert gate.came == 0


async def test_a_refusal_of_a_plan_made_beside_the_loop_is_told(bench: Bench) -> None:
    read = await bench.read()
    Gate(bench).let_through(9)
    with pytest.raises(LargeDelete):
        await bench.patch("old 0\n", base=read.cursor)
    stale = f"{anchors(read)[3][:8]}-000000"
    with pytest.raises(StaleBlock):
        await bench.patch(text("new", 10), base=read.cursor, anchors=(stale,))
    with pytest.raises(InvalidCursor):
        await bench.patch(text("new", 10), base=5)


async def test_a_refusal_of_a_plan_that_no_longer_fits_is_not_told(bench: Bench) -> None:
    read = await bench.read()
    gate = Gate(bench)
    patching = asyncio.create_task(bench.patch("old 0\n", base=read.cursor))
    await gate.entered()
    editor = bench.editor()
    del editor.root.children[3:]
    editor.push()
    gate.let_through(9)
    result = await patching
    assert result.deleted == 2


async def test_the_document_may_be_loaded_again_while_a_patch_is_planned(bench: Bench) -> None:
    read = await bench.read()
    gate = Gate(bench)
    patching = asyncio.create_task(bench.patch(text("new", 10), base=read.cursor))
    await gate.entered()
    bench.document._keeper.drop()
    gate.let_through(9)
    result = await patching
    assert result.replaced == 10
    assert await bench.markdown() == text("new", 10)


def test_a_draft_needs_no_document() -> None:
    """What goes to a thread holds values alone."""
    assert set(Draft.__struct_fields__) == {
        "caller",
        "options",
        "base",
        "moment",
        "plan",
        "large",
        "note",
    }
