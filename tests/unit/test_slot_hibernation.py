"""When a slot leaves its document's sessions to their gateway."""

from __future__ import annotations

import anyio
import pytest

from shared.protocol import ReadChangesRequest, RouteKey
from tests.unit.test_slot import ANN, KEY, ORDER, READ, Process

pytestmark = pytest.mark.anyio


@pytest.fixture
async def process() -> Process:
    """Its document has sessions at g1."""
    made = Process()
    await made.slot.activate(ORDER)
    made.link.session_count, made.link.sole_gateway = 1, "g1"
    return made


async def test_the_sessions_are_left_and_the_document_closed(process: Process) -> None:
    assert await process.slot.hibernate(KEY, "g1", 0.0)
    assert process.link.slept == 1
    assert process.document.closed
    assert (await process.slot.whoami()).state == "blank"


@pytest.mark.parametrize(
    "key,gateway,still_s",
    [(RouteKey(KEY.doc_id, 2, "x"), "g1", 0.0), (KEY, "g2", 0.0), (KEY, "g1", 60.0)],
)
async def test_not_another_activation_nor_elsewhere_nor_too_soon(
    process: Process, key: RouteKey, gateway: str, still_s: float
) -> None:
    assert not await process.slot.hibernate(key, gateway, still_s)
    assert process.link.slept == 0
    assert (await process.slot.whoami()).state == "active"


async def test_not_while_something_is_under_way_at_the_link(process: Process) -> None:
    process.link.may_sleep = False
    assert not await process.slot.hibernate(KEY, "g1", 0.0)
    assert (await process.slot.whoami()).state == "active"


async def test_not_while_a_call_is_answered_nor_degraded(process: Process) -> None:
    process.document.may_answer.clear()
    async with anyio.create_task_group() as group:
        group.start_soon(process.slot.call, "read_document", KEY, ANN, READ)
        while not process.document.reading:
            await anyio.lowlevel.checkpoint()
        assert (await process.slot.beat()).sole_gateway == ""
        assert not await process.slot.hibernate(KEY, "g1", 0.0)
        process.document.may_answer.set()
    process.document.degraded = True
    assert (await process.slot.beat()).sole_gateway == ""
    assert not await process.slot.hibernate(KEY, "g1", 0.0)


async def test_a_call_is_work_and_a_look_of_a_waiting_one_is_not(process: Process) -> None:
    before = (await process.slot.beat()).still_s
    await process.slot.call("read_changes", KEY, ANN, ReadChangesRequest(look=True))
    looked = (await process.slot.beat()).still_s
    assert looked > before
    await process.slot.call("read_document", KEY, ANN, READ)
    assert (await process.slot.beat()).still_s < looked


async def test_an_edit_over_the_link_is_work(process: Process) -> None:
    process.link.stirred_at = anyio.current_time() + 1
    assert (await process.slot.beat()).still_s < 0
