"""Commit, then tell: what a document says when its store is slow, fails, or is opened again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pycrdt import Array, Doc, Map, Text, XmlElement, XmlText

from actors.storage.stored import CommitUnknownError, FencedError, NotCommittedError
from shared.errors import (
    BaseRequired,
    DocactorError,
    DocumentCorrupt,
    IdempotencyMismatch,
    Moved,
    OutcomeUnknown,
    StorageUnavailable,
)
from shared.limits import CHECKPOINT_MAX_UPDATES, MAX_DEPTH, PROBE_S
from tests.unit.documents import ANN, Bench, anchors, block_id, text_of

pytestmark = pytest.mark.anyio
TEXT = "# Plan\n\nFirst words.\n"


class Gate:
    """Holds the store's commits, or what looks into it, until it is opened."""

    def __init__(self, bench: Bench, *, looks: bool = False) -> None:
        self.reached = asyncio.Event()
        self._open = asyncio.Event()
        if looks:
            bench.store.before_look = self._wait
        else:
            bench.store.before_commit = self._wait

    async def _wait(self) -> None:
        self.reached.set()
        await self._open.wait()

    def open(self) -> None:
        self._open.set()


async def test_neither_writer_nor_reader_is_told_before_it_is_on_disk() -> None:
    bench = await Bench.of(TEXT)
    gate, broadcasts = Gate(bench), list[int]()
    bench.document.subscribe(lambda committed: broadcasts.append(committed.seq))
    write = asyncio.create_task(bench.insert("New."))
    await gate.reached.wait()
    read = asyncio.create_task(bench.markdown())
    await asyncio.sleep(0)
    assert not write.done()
    assert not read.done()
    assert broadcasts == []
    gate.open()
    assert "New." in await read
    await write
    assert broadcasts == [bench.document.seq]


async def test_a_batch_that_failed_is_not_there_and_its_author_is_told() -> None:
    bench = await Bench.of(TEXT)
    reloads = list[None]()
    bench.document.on_reload(lambda: reloads.append(None))
    bench.store.fail = NotCommittedError("disk full")
    with pytest.raises(StorageUnavailable):
        await bench.insert("Lost.")
    assert await bench.markdown() == TEXT
    assert len(reloads) == 2  # loaded again; then the store took a write again
    await bench.insert("Kept.")
    assert await bench.markdown() == TEXT + "\nKept.\n"


async def test_a_batch_whose_commit_raised_but_is_stored_counts_as_done() -> None:
    bench = await Bench.of(TEXT)
    bench.store.fail_after = CommitUnknownError("fsync")
    result = await bench.insert("Stored after all.")
    assert result.inserted == 1
    assert "Stored after all." in await bench.markdown()


async def test_what_was_gathered_behind_a_failed_batch_fails_with_it() -> None:
    bench = await Bench.of(TEXT)
    gate = Gate(bench)
    bench.store.fail = NotCommittedError("disk full")
    first = asyncio.create_task(bench.insert("One."))
    await gate.reached.wait()
    second = asyncio.create_task(bench.insert("Two."))
    read = asyncio.create_task(bench.read())
    await asyncio.sleep(0)
    gate.open()
    for task in (first, second, read):
        with pytest.raises(StorageUnavailable):
            await task
    assert await bench.markdown() == TEXT


async def test_when_the_store_does_not_come_back_the_outcome_is_unknown() -> None:
    bench = await Bench.of(TEXT)

    async def gone() -> None:
        raise StorageUnavailable("The disk is gone.")

    bench.document._keeper._opener = gone  # type: ignore[assignment]
    bench.store.fail = CommitUnknownError("I/O error")
    with pytest.raises(OutcomeUnknown):
        await bench.insert("Who knows.")
    assert bench.document.failed is not None
    with pytest.raises(StorageUnavailable):
        await bench.markdown()


async def test_while_storage_refuses_writes_reads_answer_and_it_mends_itself() -> None:
    bench = await Bench.of(TEXT)
    loaded, mended = asyncio.Event(), asyncio.Event()

    def reloaded() -> None:
        (mended if loaded.is_set() else loaded).set()

    bench.document.on_reload(reloaded)
    bench.store.full = True
    with pytest.raises(StorageUnavailable):
        await bench.insert("No room.")
    assert await bench.markdown() == TEXT
    for refused in (bench.insert("Still none."), bench.type(1, "x")):
        with pytest.raises(StorageUnavailable):
            await refused
    states = [bench.document.degraded]
    bench.store.full = False
    async with asyncio.timeout(3 * PROBE_S):
        await mended.wait()
    states.append(bench.document.degraded)
    assert states == [True, False]
    await bench.type(1, " Back.")
    assert await bench.markdown() == TEXT.replace("words.", "words. Back.")


async def test_whoever_lost_the_document_acknowledges_nothing() -> None:
    bench = await Bench.of(TEXT)
    bench.store.fail = FencedError("epoch 2")
    with pytest.raises(Moved):
        await bench.insert("Not from here.")
    assert isinstance(bench.document.failed, Moved)
    with pytest.raises(Moved):
        await bench.markdown()
    assert len(bench.store.updates) == 1


async def test_who_looks_for_an_answer_while_the_document_is_lost_is_sent_on() -> None:
    """A retry that meets a zombie between its fence and its end goes to whoever has it now."""
    bench = await Bench.of(TEXT)
    gate = Gate(bench, looks=True)
    repeated = asyncio.create_task(bench.insert("New.", idempotency_key="k"))
    await gate.reached.wait()
    bench.store.fail = FencedError("a newer epoch")
    with pytest.raises(Moved):
        await bench.insert("Lost.")
    gate.open()
    with pytest.raises(Moved):
        await repeated


async def test_who_looks_for_an_answer_while_the_document_is_loaded_again_gets_it() -> None:
    bench = await Bench.of(TEXT)
    first = await bench.insert("New.", idempotency_key="k")
    gate = Gate(bench, looks=True)
    repeated = asyncio.create_task(bench.insert("New.", idempotency_key="k"))
    await gate.reached.wait()
    bench.store.fail = NotCommittedError("disk full")
    with pytest.raises(StorageUnavailable):
        await bench.insert("Lost.")
    gate.open()
    assert await repeated == first
    assert (await bench.markdown()).count("New.") == 1


async def test_an_update_that_would_break_a_limit_is_refused_whole() -> None:
    bench = await Bench.of(TEXT)
    editor = bench.editor()
    with editor.doc.transaction():
        inner: XmlElement = XmlElement("paragraph", {}, [])
        for _ in range(MAX_DEPTH):
            inner = XmlElement("blockquote", {}, [inner])
        editor.root.children.append(inner)
    before = bench.document.state_vector()
    for update in editor._outgoing:
        applied = bench.document.apply(update, ANN)
        assert applied.verdict == "refused"
        assert "nested" in applied.reason
    assert bench.document.state_vector() == before
    assert await bench.markdown() == TEXT


@pytest.mark.parametrize("kind", ["text", "array"])
async def test_a_root_poisoned_by_another_type_is_mended_and_its_words_kept(kind: str) -> None:
    bench = await Bench.of(TEXT)
    cursor = bench.document.cursor()
    other: Doc[Any] = Doc()
    if kind == "text":
        other.get("default", type=Text).insert(0, "stray words 🐙")
    else:
        other.get("default", type=Array).extend([1, "two", Map({"a": 1})])
    assert bench.document.apply(other.get_update(), ANN).verdict == "applied"
    await bench.type(2 if "stray" in (await bench.markdown()).splitlines()[0] else 1, "!")
    markdown = await bench.markdown()
    assert ("stray words 🐙" in markdown) == (kind == "text")
    assert "First words.!" in markdown
    told = await bench.changes(cursor)
    assert [block.change for block in told.blocks].count("added") == (kind == "text")
    await bench.restart()
    assert await bench.markdown() == markdown


async def test_a_gap_in_a_senders_history_is_not_applied_until_it_is_filled() -> None:
    bench = await Bench.of(TEXT)
    cursor = bench.document.cursor()
    editor = bench.editor()
    for letter in "abc":
        text_of(editor, 1).insert(0, letter)
    first, second, third = editor._outgoing
    assert bench.document.apply(first, ANN).verdict == "applied"
    assert bench.document.apply(third, ANN).verdict == "gap"
    assert await bench.markdown() == TEXT.replace("First", "aFirst")
    assert bench.document.apply(second, ANN).verdict == "applied"
    assert bench.document.apply(third, ANN).verdict == "applied"
    assert await bench.markdown() == TEXT.replace("First", "cbaFirst")
    assert len((await bench.changes(cursor)).blocks) == 1
    await bench.restart()
    assert await bench.markdown() == TEXT.replace("First", "cbaFirst")


async def test_editors_acks_and_what_they_are_told_wait_for_the_disk_too() -> None:
    bench = await Bench.of(TEXT)
    editor = bench.editor()
    gate, acks = Gate(bench), list[DocactorError | None]()
    text_of(editor, 1).insert(0, "x")
    editor.push()
    bench.document.after_commit(acks.append)
    await gate.reached.wait()
    assert acks == []
    gate.open()
    await bench.markdown()
    assert acks == [None]


async def test_loading_gives_exactly_what_was_there(rng: object) -> None:
    bench = await Bench.of(TEXT)
    await bench.type(1, "0123456789")
    await bench.insert("- a\n- b")
    before = await bench.read(), bench.document.state_vector()
    for _ in range(2):  # from the log, then from the checkpoint that closing made
        await bench.restart()
        assert (await bench.read(), bench.document.state_vector()) == before


async def test_words_are_known_to_the_first_edit_after_a_load() -> None:
    """An editor that strips ids swaps two lines and changes both: only words say which is which.

    Words are read behind the first answers, and this edit comes before.
    """
    bench = await Bench.of("The river runs to the sea.\n\nStones lie on the ground.\n")
    river, stones = map(block_id, anchors(await bench.read()))
    editor = bench.editor(keeps_ids=False)
    await bench.restart()
    editor.document = bench.document
    with editor.doc.transaction():
        del editor.root.children[0:2]
        for line in ("Stones lie on the wet ground.", "The river runs to the wide sea."):
            editor.root.children.append(XmlElement("paragraph", {}, [XmlText(line)]))
    editor.push()
    assert [*map(block_id, anchors(await bench.read()))] == [stones, river]


async def test_a_long_history_is_loaded_from_its_checkpoint() -> None:
    bench = await Bench.of(TEXT)
    editor = bench.editor()
    text = text_of(editor, 1)
    for _ in range(CHECKPOINT_MAX_UPDATES + 1):
        text.insert(0, "x")
    editor.push()
    await bench.markdown()
    (checkpoint,) = bench.store.checkpoints.values()
    loaded = await bench.store.reopened().load()
    assert len(loaded.updates) == bench.document.seq - checkpoint.seq
    assert len(loaded.updates) < 10


async def test_a_log_that_does_not_apply_is_never_an_empty_document() -> None:
    bench = await Bench.of(TEXT)
    await bench.document.close()
    seq = next(iter(bench.store.checkpoints))
    broken = bench.store.checkpoints[seq]
    bench.store.checkpoints[seq] = type(broken)(seq, broken.at, b"\xff\xff", broken.block_index)
    with pytest.raises(DocumentCorrupt):
        await bench._start()


async def test_time_never_goes_back() -> None:
    bench = await Bench.of(TEXT)
    await bench.insert("One.")
    bench.now -= 3_600_000
    await bench.insert("Two.")
    times = [update.at for update in bench.store.updates.values()]
    assert times == sorted(times)


async def test_a_write_with_a_key_happens_once_even_across_a_restart() -> None:
    bench = await Bench.of(TEXT)
    first = await bench.insert("Once.", idempotency_key="k1")
    assert await bench.insert("Once.", idempotency_key="k1") == first
    await bench.restart()
    assert await bench.insert("Once.", idempotency_key="k1") == first
    assert (await bench.markdown()).count("Once.") == 1
    with pytest.raises(IdempotencyMismatch):
        await bench.insert("Other.", idempotency_key="k1")
    assert (await bench.insert("Once.", caller=ANN, idempotency_key="k1")).inserted == 1


async def test_two_calls_with_one_key_at_once_are_one_write() -> None:
    bench = await Bench.of(TEXT)
    gate = Gate(bench)
    calls = [asyncio.create_task(bench.insert("Once.", idempotency_key="k")) for _ in range(3)]
    await gate.reached.wait()
    gate.open()
    first, *others = await asyncio.gather(*calls)
    assert others == [first, first]
    assert (await bench.markdown()).count("Once.") == 1


async def test_a_caller_that_left_does_not_take_the_others_with_it() -> None:
    bench = await Bench.of(TEXT)
    gate = Gate(bench)
    first = asyncio.create_task(bench.insert("Once.", idempotency_key="k"))
    await gate.reached.wait()
    second = asyncio.create_task(bench.insert("Once.", idempotency_key="k"))
    await asyncio.sleep(0)
    first.cancel()
    gate.open()
    assert (await second).inserted == 1
    assert (await bench.markdown()).count("Once.") == 1


async def test_a_refusal_is_not_kept_under_its_key() -> None:
    bench = await Bench.of(TEXT)
    with pytest.raises(BaseRequired):
        await bench.patch("# New\n", idempotency_key="k")
    await bench.read()
    assert (await bench.patch("# New\n\nFirst words.\n", idempotency_key="k")).replaced == 1


async def test_what_was_shown_is_known_after_a_restart() -> None:
    bench = await Bench.of(TEXT)
    read = await bench.read()
    await bench.restart()
    result = await bench.patch("# Plan\n\nRewritten.\n", base=read.cursor)
    assert result.replaced == 1
    await bench.restart()
    assert len(anchors(await bench.read())) == 2
