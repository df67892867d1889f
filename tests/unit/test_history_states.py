"""A document's past: what it was at an instant, block by block."""

from __future__ import annotations

import asyncio
import random

import msgspec
import pytest

from actors.storage.stored import StoreClosedError
from shared.errors import DocumentCorrupt, ShuttingDown
from shared.stored import StoredState
from tests.amount import amount
from tests.unit.documents import ANN, Bench, anchors, block_id

pytestmark = pytest.mark.anyio
Texts = list[tuple[str, str]]


async def texts_at(bench: Bench, at: int) -> Texts | None:
    blocks = await bench.document.history.blocks_at(at)
    return None if blocks is None else [(one.block_id, one.text) for one in blocks]


async def texts_now(bench: Bench) -> Texts:
    mirror = await bench.mirror()
    return [(one, mirror.texts[one]) for one in mirror.order]


async def test_every_instant_is_what_a_reader_saw_then() -> None:
    bench = await Bench.of("# Plan\n\none\n\n- a\n- b\n\ntwo\n")
    seen = {bench.now: await texts_now(bench)}
    rng = random.Random(1)
    editors = [bench.editor(keeps_ids=True), bench.editor(keeps_ids=False)]
    for step in range(amount(60, 600)):
        bench.now += rng.choice([0, 1, 400, 90_000])
        editor = rng.choice(editors)
        editor.pull()
        editor.act(rng)
        editor.hand_over()
        if step % 20 == 10:  # a checkpoint lies between
            await bench.restart()
            for one in editors:
                one.document = bench.document
        seen[bench.now] = await texts_now(bench)
    for at, texts in seen.items():
        assert await texts_at(bench, at) == texts, at
        state = await bench.document.history.state_at(at + 399)
        assert state is not None
        assert state.at <= at + 399


async def test_before_the_first_update_it_is_empty_and_later_it_is_as_last_stored() -> None:
    bench = await Bench.of("one\n")
    assert await texts_at(bench, bench.now - 1) == []
    assert await texts_at(bench, bench.now + 10**9) == await texts_now(bench)


async def test_what_is_no_longer_kept_is_none() -> None:
    bench = await Bench.of("one\n")
    created = bench.now
    bench.now += 1000
    await bench.type(0, "!")
    await bench.restart()  # leaves a checkpoint
    await bench.store.trim(bench.now)
    assert await texts_at(bench, created) is None
    assert await texts_at(bench, bench.now) == await texts_now(bench)


async def test_a_block_keeps_its_id_and_its_trees_are_whole() -> None:
    bench = await Bench.of("one\n\n1) x\n")
    first = anchors(await bench.read())
    then = bench.now
    bench.now += 1000
    await bench.delete(*first)
    blocks = await bench.document.history.blocks_at(then)
    assert blocks is not None
    assert [one.block_id for one in blocks] == [block_id(one) for one in first]
    assert blocks[1].block.hints.delimiter == ")"
    assert blocks[1].block.node.type == "orderedList"


async def test_an_index_that_does_not_fit_is_said_to_be_damage() -> None:
    bench = await Bench.of("one\n")
    update = bench.store.updates[1]
    bench.store.updates[1] = msgspec.structs.replace(update, splice=b"")
    with pytest.raises(DocumentCorrupt):
        await bench.document.history.state_at(bench.now)
    bench.store.updates[1] = msgspec.structs.replace(update, data=b"\x01")
    with pytest.raises(DocumentCorrupt):
        await bench.document.history.state_at(bench.now)


async def test_a_store_closed_under_the_question_is_asked_again() -> None:
    bench = await Bench.of("one\n")
    store, asked = bench.store, 0

    async def closed_once() -> None:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise StoreClosedError

    store.before_look = closed_once
    assert await texts_at(bench, bench.now) == await texts_now(bench)
    assert asked == 2


async def test_few_states_are_rebuilt_at_a_time() -> None:
    bench = await Bench.of("one\n")
    running, most = 0, 0
    ask = bench.store.state_at_time

    async def watched(at: int) -> StoredState | None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        state = await ask(at)
        await asyncio.sleep(0)
        running -= 1
        return state

    bench.store.state_at_time = watched  # type: ignore[method-assign]
    await asyncio.gather(*(bench.document.history.state_at(bench.now) for _ in range(10)))
    assert most == 2


async def test_whoever_asks_is_told_why_there_is_no_document() -> None:
    bench = await Bench.of("one\n", ANN)
    await bench.document.close()
    with pytest.raises(ShuttingDown):
        await bench.document.history.state_at(bench.now)
