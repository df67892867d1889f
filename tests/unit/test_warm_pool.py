"""The warm pool: refilled, within its limits, first come first served."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import anyio
import pytest

from actors.background import Background
from actors.directory.warm_pool import WarmPool
from actors.ports import Holder, SlotLostError
from shared.limits import SURPLUS_BEATS
from tests.unit.cluster_double import FakeSlots, until

pytestmark = pytest.mark.anyio


@pytest.fixture
async def background() -> AsyncIterator[Background]:
    async with Background.open() as opened:
        yield opened


def pool(
    slots: FakeSlots, background: Background, *, target: int = 2, at_once: int = 1, room: int = 10
) -> WarmPool:
    made = WarmPool("n1", slots, background, target=target, starts_at_once=at_once, room=room)
    made.refill()
    return made


async def test_keeps_its_target(background: Background) -> None:
    slots = FakeSlots()
    warm = pool(slots, background)
    await until(lambda: len(warm.blanks) == 2)
    await warm.take()
    await until(lambda: len(warm.blanks) == 2)
    assert len(slots.slots) == 3


async def test_the_replacement_of_a_taken_slot_starts_a_moment_later(
    background: Background, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actors.directory.warm_pool.REFILL_PAUSE_S", 3600)
    slots = FakeSlots()
    warm = pool(slots, background, target=4)
    await until(lambda: len(warm.blanks) == 4)
    await warm.take()
    await warm.take()
    assert warm.starting == 0
    await warm.take()
    assert warm.starting == 1  # less than half is left
    await until(lambda: len(warm.blanks) == 4)


async def test_never_starts_more_than_so_many_at_once(background: Background) -> None:
    slots = FakeSlots()
    warm = pool(slots, background, target=6, at_once=2)
    await until(lambda: len(warm.blanks) == 6)
    assert slots.most_starting == 2


async def test_who_waits_is_served_in_order(background: Background) -> None:
    slots = FakeSlots()
    slots.may_start.clear()
    warm = pool(slots, background, target=0)
    served: list[int] = []

    async def take(number: int) -> None:
        await warm.take()
        served.append(number)

    async with anyio.create_task_group() as group:
        for number in range(4):
            group.start_soon(take, number)
            await until(lambda number=number: warm.waiting == number + 1)  # type: ignore[misc]
        slots.may_start.set()
    assert served == [0, 1, 2, 3]


async def test_who_gave_up_waiting_gets_no_slot_and_costs_none(background: Background) -> None:
    slots = FakeSlots()
    slots.may_start.clear()
    warm = pool(slots, background, target=1)
    with anyio.move_on_after(0.01):
        await warm.take()
    slots.may_start.set()
    await until(lambda: len(warm.blanks) == 1)
    assert (warm.waiting, warm.taken) == (0, 0)


async def test_slot_given_back_goes_to_who_waits(background: Background) -> None:
    slots = FakeSlots()
    warm = pool(slots, background, target=0, room=1)
    first = await warm.take()
    second: list[Holder] = []

    async def take() -> None:
        second.append(await warm.take())

    async with anyio.create_task_group() as group:
        group.start_soon(take)
        await until(lambda: warm.waiting == 1)
        warm.give_back(first)
    assert second == [first]
    assert len(slots.slots) == 1


async def test_room_bounds_all_slots_of_the_node(background: Background) -> None:
    slots = FakeSlots()
    warm = pool(slots, background, target=1, room=2)
    for _ in range(2):
        await warm.take()
    await until(lambda: len(warm.blanks) == 1)  # the one kept warm for the next to come
    assert len(slots.slots) == 3
    await asyncio.sleep(0)
    assert slots.starting == 0


async def test_dead_blank_is_replaced(background: Background) -> None:
    slots = FakeSlots()
    warm = pool(slots, background, target=1)
    await until(lambda: len(warm.blanks) == 1)
    dead = warm.blanks[0]
    warm.gone(dead)
    await until(lambda: len(warm.blanks) == 1)
    assert warm.blanks[0] != dead


async def test_more_are_kept_once_when_documents_are_expected_back(background: Background) -> None:
    slots = FakeSlots()
    warm = pool(slots, background, target=1)
    warm.warm_up(3)
    warm.refill()
    await until(lambda: len(warm.blanks) == 4)
    for _ in range(3):
        await warm.take()
    await until(lambda: slots.starting == 0)
    assert len(warm.blanks) == 1


async def test_closed_pool_tells_who_waits(background: Background) -> None:
    slots = FakeSlots()
    slots.may_start.clear()
    warm = pool(slots, background, target=0)

    async def close_when_waiting() -> None:
        await until(lambda: warm.waiting == 1)
        warm.close()

    async with anyio.create_task_group() as group:
        group.start_soon(close_when_waiting)
        with pytest.raises(SlotLostError):
            await warm.take()


async def test_paused_pool_starts_nothing_until_it_goes_on(background: Background) -> None:
    slots = FakeSlots()
    warm = pool(slots, background, target=1)
    await until(lambda: len(warm.blanks) == 1)
    taken = await warm.take()
    await until(lambda: len(warm.blanks) == 1)
    warm.pause()
    warm.gone(warm.blanks[0])
    warm.give_back(taken)
    await asyncio.sleep(0)
    assert (slots.starting, warm.blanks, warm.taken) == (0, (taken,), 0)
    warm.gone(taken)
    warm.resume()
    await until(lambda: len(warm.blanks) == 1)


async def test_no_more_slots_are_started_than_fit_into_memory(background: Background) -> None:
    slots = FakeSlots()
    warm = WarmPool("n1", slots, background, target=4, starts_at_once=9, room=9, most=3)
    warm.refill()
    await until(lambda: len(warm.blanks) == 3)
    await warm.take()
    await asyncio.sleep(0)
    assert (slots.starting, len(slots.slots)) == (0, 3)


async def test_blanks_beyond_the_target_are_let_go_a_share_at_a_time(
    background: Background,
) -> None:
    slots = FakeSlots()
    warm = pool(slots, background, room=20)
    taken = [await warm.take() for _ in range(10)]
    await until(lambda: len(warm.blanks) == 2)
    for holder in taken:
        warm.give_back(holder)
    for _ in range(SURPLUS_BEATS):  # at the last heartbeat they were all in use
        assert warm.let_go() == ()
    kept = []
    while gone := warm.let_go():
        assert not set(gone) & set(warm.blanks)
        kept.append(len(warm.blanks))
    assert kept == [9, 7, 5, 4, 3, 2]
    assert warm.taken == 0


async def test_slots_that_one_document_leaves_and_the_next_takes_are_kept(
    background: Background,
) -> None:
    warm = pool(FakeSlots(), background, room=20)
    taken = [await warm.take() for _ in range(10)]
    for holder in taken:
        warm.give_back(holder)
    for _ in range(4 * SURPLUS_BEATS):
        for holder in [await warm.take() for _ in range(10)]:
            warm.give_back(holder)
        assert warm.let_go() == ()


async def test_blanks_of_documents_that_are_expected_back_are_kept(background: Background) -> None:
    warm = pool(FakeSlots(), background, room=20)
    warm.warm_up(3)
    warm.refill()
    await until(lambda: len(warm.blanks) == 5)
    for _ in range(2 * SURPLUS_BEATS):
        assert warm.let_go() == ()
