"""A slot over a document in memory: what it answers in which state, and when it leaves."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec
import pytest

from actors.life import LIFE, Event, State, after
from actors.slots import Identity, Slot
from actors.storage.stored import StaleEpochError
from shared.errors import (
    DocactorError,
    RateLimited,
    StaleAnchor,
    StorageUnavailable,
    WireError,
)
from shared.limits import CALLS_OF_ONE, PLACES_OF_ONE
from shared.protocol import (
    Activated,
    Activation,
    AnchorOnly,
    Caller,
    CommitTotals,
    ReadDocumentRequest,
    RouteKey,
)
from shared.protocol_changes import GetChangesRequest
from tests.unit.cluster_double import until

pytestmark = pytest.mark.anyio

ANN = Caller("person:ann", "Ann", scopes=frozenset({"read", "write"}), role="editor")
KEY = RouteKey("a" * 12, 3, "secret")
ORDER = Activation(KEY, "/data/x.sqlite3")
READ = ReadDocumentRequest()


class FakeDocument:
    """Answers `read_document` with what it was asked, once it is let."""

    def __init__(self) -> None:
        self.failed: DocactorError | None = None
        self.degraded = False
        self.closed = False
        self.error: Exception | None = None
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.fail_close = False
        self.reading = 0

    title = "Title"
    last_change_at = 5
    block_count = 2
    commits = CommitTotals(3, 0, 99, 0.5, (1, 2))
    all_left: dict[str, int] = {"person:ann": 4}  # noqa: RUF012

    def cursor(self) -> int:
        return 9

    def anchors(self) -> tuple[AnchorOnly, ...]:
        return (AnchorOnly("x"),)

    async def read_document(self, caller: Caller, request: ReadDocumentRequest) -> Any:
        self.reading += 1
        await self.may_answer.wait()
        if self.error is not None:
            raise self.error
        return caller, request

    read_changes = get_changes = read_document

    async def close(self) -> None:
        if self.fail_close:
            raise OSError("disk")
        self.closed = True


class FakeLink:
    def __init__(self) -> None:
        self.session_count = 0
        self.waiting = False
        self.sole_gateway = ""
        self.stirred_at = 0.0
        self.may_sleep = True
        self.slept = 0
        self.listening = False
        self.fail_start = False

    async def start(self) -> tuple[str, str]:
        if self.fail_start:
            raise StorageUnavailable("No socket.")
        self.listening = True
        return "unix:/x", "tcp:h:1"

    def sleep(self) -> bool:
        self.slept += self.may_sleep
        return self.may_sleep

    async def stop(self) -> None:
        self.listening = False


class Process:
    """One slot with everything around it in the test's hands."""

    def __init__(self, orphan_s: float = 60.0, takeover_s: float = 10.0) -> None:
        self.document = FakeDocument()
        self.link = FakeLink()
        self.parent = 1
        self.exit_codes: list[int] = []
        self.open_errors: list[Exception] = []
        self.slot = Slot(
            Identity("n1", "127.0.0.1", 100, 1, 7),
            self._open,
            lambda _document, _key, _host: self.link,
            self.exit_codes.append,
            parent=lambda: self.parent,
            takeover_s=takeover_s,
            orphan_s=orphan_s,
            watch_s=0.005,
        )

    async def _open(self, activation: Activation) -> Any:
        del activation
        if self.open_errors:
            raise self.open_errors.pop(0)
        return self.document

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as group:
            group.start_soon(self.slot.watch)
            yield
            group.cancel_scope.cancel()

    async def read(self, key: RouteKey = KEY) -> Any:
        return await self.slot.call("read_document", key, ANN, READ)


def code(answer: Any) -> str:
    assert isinstance(answer, WireError)
    return answer.code


async def active() -> Process:
    process = Process()
    assert isinstance(await process.slot.activate(ORDER), Activated)
    return process


async def test_active_slot_answers_for_exactly_its_document() -> None:
    process = await active()
    assert await process.read() == (ANN, READ)
    for wrong in (
        RouteKey("b" * 12, 3, "secret"),
        RouteKey("a" * 12, 2, "secret"),
        RouteKey("a" * 12, 3, "other"),
    ):
        assert code(await process.read(wrong)) == "moved"


async def test_blank_slot_has_moved() -> None:
    assert code(await Process().read()) == "moved"


async def test_recycled_slot_does_not_answer_for_its_former_document() -> None:
    process = await active()
    assert await process.slot.passivate(KEY, None)
    other = RouteKey("b" * 12, 1, "secret")
    await process.slot.activate(Activation(other, "/data/y.sqlite3"))
    assert code(await process.read(KEY)) == "moved"
    assert await process.read(other) == (ANN, READ)


async def test_second_activation_is_refused() -> None:
    process = await active()
    assert code(await process.slot.activate(ORDER)) == "moved"
    assert await process.read() == (ANN, READ)


async def test_seeded_document_is_described() -> None:
    seeded = Activation(KEY, "/data/x.sqlite3", (), ANN)
    answer = await Process().slot.activate(seeded)
    assert answer == Activated("unix:/x", "tcp:h:1", 9, (AnchorOnly("x"),))


async def test_higher_epoch_in_the_file_is_told_and_the_slot_stays_blank() -> None:
    process = Process()
    process.open_errors = [StaleEpochError(41)]
    answer = await process.slot.activate(ORDER)
    assert code(answer) == "moved"
    assert isinstance(answer, WireError)
    assert answer.data == {"epoch": 41}
    assert (await process.slot.whoami()).state == "blank"


async def test_failed_load_leaves_the_slot_blank_and_the_file_closed() -> None:
    process = Process()
    process.link.fail_start = True
    assert code(await process.slot.activate(ORDER)) == "storage_unavailable"
    assert process.document.closed
    process.link.fail_start = False
    assert isinstance(await process.slot.activate(ORDER), Activated)


def locked() -> StorageUnavailable:
    error = StorageUnavailable("The document's file cannot be opened: database is locked.")
    cause = sqlite3.OperationalError("database is locked")
    cause.sqlite_errorcode = sqlite3.SQLITE_BUSY
    error.__cause__ = cause
    return error


async def test_locked_file_is_waited_for() -> None:
    process = Process()
    process.open_errors = [locked(), locked()]
    assert isinstance(await process.slot.activate(ORDER), Activated)


async def test_file_that_stays_locked_is_told_after_the_takeover_time() -> None:
    process = Process(takeover_s=0.0)
    process.open_errors = [locked(), locked()]
    assert code(await process.slot.activate(ORDER)) == "storage_unavailable"


async def test_domain_error_comes_back_as_a_value() -> None:
    process = await active()
    process.document.error = StaleAnchor("after: gone.", after="x")
    assert await process.read() == WireError("stale_anchor", "after: gone.", {"after": "x"})


async def test_unexpected_error_comes_back_without_its_text() -> None:
    process = await active()
    process.document.error = RuntimeError("password is 1234")
    answer = await process.read()
    assert code(answer) == "internal_error"
    assert "1234" not in repr(answer)


async def test_one_principal_leaves_room_for_others() -> None:
    process = Process()
    await process.slot.activate(ORDER)
    process.document.may_answer.clear()
    async with anyio.create_task_group() as group:
        for _ in range(CALLS_OF_ONE):
            group.start_soon(process.slot.call, "read_document", KEY, ANN, READ)
        await anyio.wait_all_tasks_blocked()
        assert process.document.reading == PLACES_OF_ONE
        refused = await process.slot.call("read_document", KEY, ANN, READ)
        assert isinstance(refused, WireError)
        assert (refused.code, refused.data["limit"]) == (RateLimited.code, CALLS_OF_ONE)
        ben = Caller("person:ben", "Ben", scopes=frozenset({"read"}), role="viewer")
        group.start_soon(process.slot.call, "read_document", KEY, ben, READ)
        await anyio.wait_all_tasks_blocked()
        assert process.document.reading == PLACES_OF_ONE + 1  # at once, before all of Ann's
        process.document.may_answer.set()
    assert await process.slot.call("read_document", KEY, ANN, READ) == (ANN, READ)


async def test_passivating_waits_for_calls_in_flight() -> None:
    process = await active()
    process.document.may_answer.clear()
    answers: list[Any] = []

    async def read() -> None:
        answers.append(await process.read())

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        await until(lambda: process.document.reading == 1)
        group.start_soon(process.slot.passivate, KEY, None)
        await until(lambda: process.slot._state == "draining")
        assert not process.document.closed
        process.document.may_answer.set()
    assert answers == [(ANN, READ)]
    assert process.document.closed
    assert (await process.slot.whoami()).key is None


@pytest.mark.parametrize("reason", ["session", "waiting", "call", "too soon"])
async def test_document_somebody_is_at_is_not_given_back(reason: str) -> None:
    process = await active()
    idle_s = 0.0
    async with anyio.create_task_group() as group:
        if reason == "session":
            process.link.session_count = 1
        elif reason == "waiting":
            process.link.waiting = True
        elif reason == "call":
            process.document.may_answer.clear()
            group.start_soon(process.read)
            await until(lambda: process.document.reading == 1)
        else:
            idle_s = 60.0
        assert not await process.slot.passivate(KEY, idle_s)
        process.document.may_answer.set()
    assert await process.read() == (ANN, READ)


async def test_document_that_does_not_close_ends_the_process() -> None:
    process = await active()
    process.document.fail_close = True
    with pytest.raises(OSError, match="disk"):
        await process.slot.passivate(KEY, None)
    assert process.exit_codes == [1]


async def test_other_parent_fences_the_slot() -> None:
    process = await active()
    async with process.watching():
        process.parent = 2
        await until(lambda: process.exit_codes == [3])
    assert code(await process.read()) == "moved"


async def test_slot_without_a_directory_closes_its_document_and_leaves() -> None:
    process = Process(orphan_s=0.02)
    await process.slot.activate(ORDER)
    async with process.watching():
        await until(lambda: process.exit_codes == [0])
    assert process.document.closed


async def test_slot_that_hears_from_the_directory_stays() -> None:
    process = Process(orphan_s=0.2)
    await process.slot.activate(ORDER)
    async with process.watching():
        for _ in range(60):
            await process.slot.beat()
            await anyio.sleep(0.005)
        assert process.exit_codes == []


async def test_failed_document_ends_the_process() -> None:
    process = await active()
    async with process.watching():
        process.document.failed = StorageUnavailable("The disk is gone.")
        await until(lambda: process.exit_codes == [1])


@pytest.mark.parametrize("what", ["document", "node"])
async def test_slot_that_has_failed_says_so_at_once_when_it_is_asked(what: str) -> None:
    process = await active()
    if what == "document":
        process.document.failed = StorageUnavailable("Somebody else has it.")
    else:
        process.parent = 2
    who = await process.slot.whoami()
    assert who.state == ("dead" if what == "document" else "fenced")
    assert process.exit_codes == [1 if what == "document" else 3]


async def test_heartbeat_reports_the_document_and_how_long_it_is_idle() -> None:
    process = await active()
    beat = await process.slot.beat()
    assert beat.report is not None
    assert (beat.report.title, beat.report.updated_at, beat.report.blocks) == ("Title", 5, 2)
    assert beat.report.commits.log_bytes == 99
    assert not beat.busy
    process.link.session_count = 2
    beat = await process.slot.beat()
    assert (beat.busy, beat.idle_s) == (True, 0.0)
    assert beat.report is not None
    assert beat.report.sessions == 2


async def test_degraded_slot_answers_and_recovers_with_its_document() -> None:
    process = await active()
    process.document.degraded = True
    beat = await process.slot.beat()
    assert beat.whoami.state == "degraded"
    assert beat.report is not None
    assert not beat.busy
    assert await process.read() == (ANN, READ)
    process.document.degraded = False
    assert (await process.slot.whoami()).state == "active"


async def test_degraded_slot_gives_its_document_back() -> None:
    process = await active()
    process.document.degraded = True
    assert (await process.slot.whoami()).state == "degraded"
    assert await process.slot.passivate(KEY, 0.0)
    assert process.document.closed
    assert (await process.slot.whoami()).state == "blank"


async def test_degraded_slot_is_found_out_without_being_asked() -> None:
    process = await active()
    async with process.watching():
        process.document.degraded = True
        await until(lambda: process.slot._state == "degraded")


def test_every_event_of_the_table_leads_to_a_state_of_the_table() -> None:
    for row in LIFE.values():
        assert set(row.values()) <= set(LIFE)


@pytest.mark.parametrize(
    "state,event",
    [("blank", "drain"), ("active", "activate"), ("dead", "activate"), ("fenced", "closed")],
)
def test_illegal_event_is_a_lookup_miss(state: State, event: Event) -> None:
    with pytest.raises(KeyError):
        after(state, event)


async def test_who_may_not_read_it_is_refused_before_anything_is_computed() -> None:
    # The study of docs.plus opens a private document to its owner alone; here to whoever may read.
    process = await active()
    asked = GetChangesRequest(since=0)
    stranger = msgspec.structs.replace(ANN, principal="person:eve", role=None)
    assert code(await process.slot.call("get_changes", KEY, stranger, asked)) == "doc_not_found"
    assert process.document.reading == 0
    viewer = msgspec.structs.replace(ANN, role="viewer")
    assert await process.slot.call("get_changes", KEY, viewer, asked) == (viewer, asked)
    assert process.document.reading == 1


async def test_who_left_when_is_in_its_report() -> None:
    process = await active()
    report = (await process.slot.beat()).report
    assert report is not None
    assert report.left == {"person:ann": 4}
