"""A waiting read_changes: when it answers, and with what."""

from __future__ import annotations

from typing import Any

import anyio
import msgspec
import pytest

from gateway.mcp.held import Held
from gateway.mcp.waiting import ChangesWait
from shared.errors import Overloaded, RateLimited
from shared.ids import BlockRef
from shared.limits import WAITS_OF_ONE, WOKEN_READS
from shared.protocol import Caller, ReadChangesRequest, ReadChangesResult, ReplaceRequest
from shared.tree import Block, Node
from tests.unit.gateway.fakes import OWNER, READER, FakeDocument, FakeRouter

pytestmark = pytest.mark.anyio

LONG = 50.0


@pytest.fixture
async def document(router: FakeRouter) -> FakeDocument:
    blocks = (Block(Node("paragraph"), source="one"),)
    await router.directory("create_document", OWNER, "Plan", None, blocks, None)
    return router.document("plan")


def edit(document: FakeDocument, text: str, caller: Caller = OWNER) -> None:
    blocks = (Block(Node("paragraph"), source=text),)
    document.replace(caller, ReplaceRequest(BlockRef(document.order[0]), None, blocks))


class Reader:
    """A reader that waits, in the background."""

    def __init__(
        self, router: FakeRouter, cursor: int | None, *, exclude_self: bool = False
    ) -> None:
        self.held = Held()
        self.router = router
        self.result: ReadChangesResult | None = None
        request = ReadChangesRequest(cursor=cursor, exclude_self=exclude_self)
        self.wait = ChangesWait(router, self.held, "plan", READER, request)

    async def run(self, wait_s: float, settle_s: float) -> None:
        self.result = await self.wait.answer(wait_s, settle_s)

    @property
    def reads(self) -> int:
        """What it read for itself, and its answer."""
        return len(self.router.requests)

    @property
    def answers(self) -> int:
        """Reads that count as shown to the caller."""
        return sum(not request.look for _, _, request in self.router.requests)

    def texts(self) -> list[str]:
        assert self.result is not None
        return [block.text for block in self.result.blocks]


async def until_waiting(document: FakeDocument) -> None:
    with anyio.fail_after(5):
        while not document.link.waiting:
            await anyio.lowlevel.checkpoint()


async def test_without_waiting_it_answers_at_once(
    router: FakeRouter, document: FakeDocument
) -> None:
    reader = Reader(router, document.cursor())
    await reader.run(0, 3)
    assert reader.texts() == []
    assert reader.reads == 1


async def test_it_answers_when_something_changes(
    router: FakeRouter, document: FakeDocument
) -> None:
    reader = Reader(router, document.cursor())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(reader.run, LONG, 0.0)
        await until_waiting(document)
        edit(document, "two")
    assert reader.texts() == ["two"]
    assert (reader.reads, reader.answers) == (3, 1)


async def test_it_answers_once_what_changed_is_quiet(
    router: FakeRouter, document: FakeDocument
) -> None:
    reader = Reader(router, document.cursor())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(reader.run, LONG, 0.2)
        for text in ("t", "tw", "two"):
            await until_waiting(document)
            edit(document, text)
            await anyio.wait_all_tasks_blocked()
    assert reader.texts() == ["two"]
    assert (reader.reads, reader.answers) == (3, 1)


async def test_changes_that_are_there_wait_for_quiet_only(
    router: FakeRouter, document: FakeDocument
) -> None:
    cursor = document.cursor()
    edit(document, "two")
    reader = Reader(router, cursor)
    await reader.run(LONG, 0.05)
    assert reader.texts() == ["two"]
    assert (reader.reads, reader.answers) == (2, 1)


async def test_what_comes_while_it_settles_is_in_the_answer(
    router: FakeRouter, document: FakeDocument
) -> None:
    cursor = document.cursor()
    edit(document, "two")
    reader = Reader(router, cursor)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(reader.run, LONG, 0.2)
        await until_waiting(document)
        edit(document, "three")
    assert reader.texts() == ["three"]
    assert reader.answers == 1


async def test_it_answers_at_its_time_with_nothing(
    router: FakeRouter, document: FakeDocument
) -> None:
    reader = Reader(router, document.cursor())
    await reader.run(0.05, 3)
    assert reader.texts() == []
    assert reader.result is not None
    assert reader.result.cursor == document.cursor()


async def test_somebody_who_types_on_does_not_hold_it_beyond_its_time(
    router: FakeRouter, document: FakeDocument
) -> None:
    cursor = document.cursor()
    edit(document, "two")
    reader = Reader(router, cursor)
    with anyio.fail_after(5):
        await reader.run(0.1, 30)
    assert reader.texts() == ["two"]


async def test_a_truncated_answer_does_not_wait(router: FakeRouter, document: FakeDocument) -> None:
    reader = Reader(router, None)
    with anyio.fail_after(5):
        await reader.run(LONG, 30)
    assert reader.result is not None
    assert reader.result.truncated


async def test_own_edits_do_not_wake_who_excludes_them(
    router: FakeRouter, document: FakeDocument
) -> None:
    reader = Reader(router, document.cursor(), exclude_self=True)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(reader.run, LONG, 0.0)
        await until_waiting(document)
        edit(document, "mine", READER)
        await anyio.wait_all_tasks_blocked()
        assert reader.result is None
        edit(document, "theirs")
    assert reader.texts() == ["theirs"]


async def test_a_stop_ends_the_wait_with_what_there_is(
    router: FakeRouter, document: FakeDocument
) -> None:
    reader = Reader(router, document.cursor())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(reader.run, LONG, 3.0)
        await until_waiting(document)
        reader.held.release()
    assert reader.texts() == []
    later = Reader(router, document.cursor())
    later.held.release()
    with anyio.fail_after(5):
        await later.run(LONG, 3)
    assert later.texts() == []


async def test_an_error_of_the_link_is_the_callers(
    router: FakeRouter, document: FakeDocument
) -> None:
    document.link.failure = Overloaded("The document keeps moving.")
    with pytest.raises(Overloaded):
        await Reader(router, document.cursor()).run(LONG, 3)


async def test_hundreds_who_wait_ask_nothing_and_are_all_answered(
    router: FakeRouter, document: FakeDocument
) -> None:
    held, answers = Held(), list[ReadChangesResult]()
    request = ReadChangesRequest(cursor=document.cursor())

    async def follow(number: int) -> None:
        caller = msgspec.structs.replace(READER, principal=f"agent:ann:{number}")
        wait = ChangesWait(router, held, "plan", caller, request)
        answers.append(await wait.answer(LONG, 0.0))

    async with anyio.create_task_group() as tasks:
        for number in range(500):
            tasks.start_soon(follow, number)
        await anyio.wait_all_tasks_blocked()
        assert (held.waiting, document.link.waiting) == (500, 500)
        asked = len(router.requests)
        await anyio.wait_all_tasks_blocked()
        assert len(router.requests) == asked == 500
        edit(document, "two")
    assert [answer.blocks[0].text for answer in answers] == ["two"] * 500
    assert len(router.requests) == 3 * 500


async def test_one_caller_has_so_many_calls_waiting_and_others_wait_beside_them(
    router: FakeRouter, document: FakeDocument
) -> None:
    held, request = Held(), ReadChangesRequest(cursor=document.cursor())
    waits = [ChangesWait(router, held, "plan", READER, request) for _ in range(WAITS_OF_ONE)]
    async with anyio.create_task_group() as group:
        for wait in waits:
            group.start_soon(wait.answer, LONG, 0.0)
        with anyio.fail_after(10):
            while held.waiting < WAITS_OF_ONE:
                await anyio.lowlevel.checkpoint()
        with pytest.raises(RateLimited) as refused:
            await ChangesWait(router, held, "plan", READER, request).answer(LONG, 0.0)
        assert refused.value.data["limit"] == WAITS_OF_ONE
        at_once = await ChangesWait(router, held, "plan", READER, request).answer(0.0, 0.0)
        assert at_once.blocks == ()
        group.start_soon(ChangesWait(router, held, "plan", OWNER, request).answer, LONG, 0.0)
        with anyio.fail_after(10):
            while held.waiting < WAITS_OF_ONE + 1:
                await anyio.lowlevel.checkpoint()
        held.release()
    await ChangesWait(router, held, "plan", READER, request).answer(LONG, 0.0)


async def test_those_who_are_woken_at_once_read_in_turn(
    router: FakeRouter, document: FakeDocument, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, reading, most = Held(), 0, 0
    call = router.call

    async def counted(*arguments: Any) -> Any:
        nonlocal reading, most
        reading += 1
        most = max(most, reading)
        try:
            return await call(*arguments)
        finally:
            reading -= 1

    monkeypatch.setattr(router, "call", counted)
    request = ReadChangesRequest(cursor=document.cursor())
    async with anyio.create_task_group() as tasks:
        for _ in range(100):
            wait = ChangesWait(router, held, "plan", READER, request)
            tasks.start_soon(wait.answer, LONG, 0.0)
        await anyio.wait_all_tasks_blocked()
        edit(document, "two")
    assert most == WOKEN_READS


async def test_a_sleeping_document_is_not_woken_to_say_that_nothing_changed(
    router: FakeRouter, document: FakeDocument
) -> None:
    reader = Reader(router, document.cursor())
    doc_id = (await router.admit("plan", READER)).doc_id
    router.asleep[doc_id] = 4
    await reader.run(0.01, 3)  # it fell asleep under this wait
    assert (reader.reads, reader.answers) == (1, 0)
    again = ChangesWait(
        router, reader.held, "plan", READER, ReadChangesRequest(cursor=document.cursor())
    )
    assert await again.answer(0.01, 3) == reader.result
    assert reader.reads == 1
    router.asleep[doc_id] = 5  # somebody had it awake in between
    await again.answer(0.01, 3)
    assert reader.reads == 2


async def test_somebody_else_or_another_question_does_wake_it(
    router: FakeRouter, document: FakeDocument
) -> None:
    reader = Reader(router, document.cursor())
    router.asleep[(await router.admit("plan", READER)).doc_id] = 4
    await reader.run(0.01, 3)
    for caller, request in (
        (OWNER, ReadChangesRequest(cursor=document.cursor())),
        (READER, ReadChangesRequest(cursor=document.cursor(), format="anchored")),
    ):
        reads = reader.reads
        await ChangesWait(router, reader.held, "plan", caller, request).answer(0.01, 3)
        assert reader.reads > reads
    reads = reader.reads
    await reader.run(0, 3)  # who does not wait asks the document
    assert reader.reads == reads + 1


async def test_what_comes_while_it_sleeps_is_waited_for_and_read(
    router: FakeRouter, document: FakeDocument
) -> None:
    reader = Reader(router, document.cursor())
    doc_id = (await router.admit("plan", READER)).doc_id
    router.asleep[doc_id] = 4
    await reader.run(0.01, 3)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(reader.run, LONG, 0.0)
        await until_waiting(document)
        assert reader.reads == 1
        del router.asleep[doc_id]
        edit(document, "two")
    assert reader.texts() == ["two"]
