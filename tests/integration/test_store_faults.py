"""A document on a disk that fails: the named error, nothing told that is not stored, and back.

Where each known way to lose a document is tested:

| case | |
|---|---|
| P02 updates that wait for others are lost | tests/unit/test_document_durable.py |
| P11 documents in documents | tests/acceptance/test_editor_faults.py |
| P12 restart between edits | tests/acceptance/test_restart.py |
| P13 opened twice while loading | test_one_writer.py; tests/unit/test_directory.py |
| P14 a load that fails is no empty document | here, and test_store_contract.py |
| P15 kill -9 in the middle of a write | test_killed_writers.py, here, and tests/acceptance |
| P16 dropping log that no checkpoint holds | here |
| P17 one document in two processes | here, test_one_writer.py, test_fencing.py |
| P18 (a) written right before the stop | here, tests/acceptance/test_restart.py |
| P18 (b) closed while somebody comes back | test_one_writer.py |
| P18 (c) many documents at a stop | test_killed_writers.py, tests/acceptance/test_restart.py |
| P23 the server's own writes set it off | tests/unit/test_document_feed.py |
| P56 a write repeated after a timeout | test_one_writer.py, tests/unit/test_document_durable.py |
| P65 a locked file | here |
| P66 writers that read first | here |
| P67 a full disk | here; the catalog's in test_catalog_contract.py |
| P68 a process that cannot end | here |
| P69 a restored file beside an old log | here, test_backup.py, tests/acceptance/test_restore.py |

P58 to P61, the life of actors: tests/acceptance/test_failover.py.

The faults of the disk come from tests/data/faulty_disk.c, which a C compiler makes.
"""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import anyio
import pytest

from actors.document.document import Document
from actors.storage.document_files import DocumentFiles
from actors.storage.openers import SqliteOpener
from actors.storage.store import NewFile, SqliteStore
from actors.storage.stored import Batch, DocumentStore, NotCommittedError
from actors.storage.wal import wal_of
from actors.upkeep.repair import check_file, repair_file
from shared.errors import DocumentCorrupt, StorageUnavailable
from shared.markdown.parse import parse
from shared.stored import Checkpoint, Effects, StoredUpdate
from tests.integration.stored_documents import (
    ANN,
    DOC_ID,
    KEY,
    TEXT,
    StoredDocument,
    append,
    markdown,
)
from tests.integration.writer_process import Writer

pytestmark = pytest.mark.anyio
DISK: Final = Path(__file__).parents[1] / "data" / "faulty_disk.c"
NOW: Final = 1_800_000_000_000


@pytest.fixture
def stored(tmp_path: Path) -> StoredDocument:
    return StoredDocument(tmp_path / f"{DOC_ID}.sqlite3")


@pytest.fixture(scope="session")
def faulty_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler, "the tests of failing disks need a C compiler"
    library = tmp_path_factory.mktemp("disk") / "faulty_disk.so"
    command = [compiler, "-shared", "-fPIC", "-o", str(library), str(DISK), "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    return library


@pytest.fixture
def on_faulty_disk(
    stored: StoredDocument, faulty_disk: Path, tmp_path: Path
) -> Iterator[tuple[Writer, Callable[[str], None], Callable[[], None]]]:
    """A process with the document, and what breaks its disk and mends it."""
    folder = tmp_path / "faults"
    folder.mkdir()

    def break_it(fault: str) -> None:
        (folder / fault).touch()

    def mend_it() -> None:
        for fault in folder.iterdir():
            fault.unlink()

    environment = {"LD_PRELOAD": str(faulty_disk), "FAULT_FOLDER": str(folder)}
    with Writer(stored.path, **environment) as writer:
        yield writer, break_it, mend_it


Disk = tuple[Writer, Callable[[str], None], Callable[[], None]]


# --- the disk fails under a document that is open -------------------------------------------------


@pytest.mark.parametrize("fault", ["full", "fsync"])
def test_p67_a_disk_that_takes_no_writes_acknowledges_none_and_comes_back(
    stored: StoredDocument, on_faulty_disk: Disk, fault: str
) -> None:
    writer, break_it, mend_it = on_faulty_disk
    assert writer.ask("append before") == "done"
    break_it(fault)
    refused = writer.ask("append lost")
    assert refused in ("!storage_unavailable", "!outcome_unknown")
    mend_it()
    while writer.ask("append after") != "done":  # it looks every two seconds
        pass
    text = writer.ask("read")
    assert "before" in text
    assert text.endswith("after\n")
    assert refused == "!outcome_unknown" or "lost" not in text
    writer.kill()
    assert check_file(stored.path).problems == ()


def test_a_full_disk_still_answers_readers(on_faulty_disk: Disk) -> None:
    writer, break_it, _ = on_faulty_disk
    assert writer.ask("append before") == "done"
    break_it("full")
    assert writer.ask("append lost") == "!storage_unavailable"
    assert writer.ask("read") == TEXT + "\nbefore\n"


def test_a_read_only_file_is_refused_until_it_can_be_written(on_faulty_disk: Disk) -> None:
    writer, break_it, mend_it = on_faulty_disk
    assert writer.ask("append before") == "done"
    assert writer.ask("close") == "done"
    break_it("readonly")
    assert writer.ask("append lost") == "!storage_unavailable"
    mend_it()
    assert writer.ask("append after") == "done"
    assert writer.ask("read") == TEXT + "\nbefore\n\nafter\n"


async def test_a_folder_that_takes_no_files_is_told_as_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "documents").write_text("no folder")
    files = DocumentFiles(tmp_path)
    path = Path(files.path(DOC_ID))
    with pytest.raises(StorageUnavailable):
        await SqliteStore.create(path, NewFile(DOC_ID, 1, b"s" * 16))
    with pytest.raises(StorageUnavailable):
        await SqliteStore.open(path, epoch=1)
    with pytest.raises(StorageUnavailable):
        await files.write_epoch(DOC_ID, 2)


async def test_nothing_is_written_while_nobody_can_say_who_may(tmp_path: Path) -> None:
    path = tmp_path / "doc.sqlite3"
    store = await SqliteStore.create(path, NewFile(DOC_ID, 1, b"s" * 16))
    batch = Batch()
    batch.add(Effects(update(1), "Ann"))
    path.with_suffix(".epoch").mkdir()  # it cannot be read
    with pytest.raises(NotCommittedError):
        await store.commit(batch)
    path.with_suffix(".epoch").rmdir()
    await store.commit(batch)
    assert [u.seq for u in (await store.load()).updates] == [1]
    await store.close()


async def test_on_a_slow_disk_nothing_is_told_early_and_nobody_waits_for_each_other(
    stored: StoredDocument,
) -> None:
    slow = SlowOpener(stored.path, 0.5)
    document = await Document.start(slow, seed=parse(TEXT).blocks, caller=ANN)
    began = anyio.current_time()
    writes = [asyncio.create_task(append(document, f"line {n}")) for n in range(20)]
    for done, write in enumerate(asyncio.as_completed(writes), start=1):
        await write
        assert slow.on_disk >= done  # no answer before its line is on disk
    assert anyio.current_time() - began < 3  # three commits at most, not twenty
    await document.close()
    assert (await stored.text()).count("line") == 20


class SlowOpener(SqliteOpener):
    """Every commit takes `seconds` more."""

    def __init__(self, path: Path, seconds: float) -> None:
        super().__init__(path, KEY, None, b"s" * 16)
        self.seconds = seconds
        self.on_disk = -1  # the seed is none of the lines

    async def __call__(self) -> DocumentStore:
        store = await super().__call__()
        commit = store.commit

        async def slowly(batch: Batch) -> None:
            await anyio.sleep(self.seconds)
            await commit(batch)
            self.on_disk += len(batch.updates)

        store.commit = slowly  # type: ignore[method-assign]  # the disk under it
        return store


async def test_a_clock_that_jumps_back_takes_no_time_back(stored: StoredDocument) -> None:
    times = iter(range(2_000_000, 1_000_000, -1000))
    opener = SqliteOpener(stored.path, KEY, None, b"s" * 16)
    document = await Document.start(
        opener, seed=parse(TEXT).blocks, caller=ANN, clock=lambda: next(times)
    )
    for number in range(5):
        await append(document, f"line {number}")
    await document.close()
    assert stored.ask("SELECT count(DISTINCT at) FROM updates") == [(1,)]
    assert check_file(stored.path).problems == ()


# --- locks ----------------------------------------------------------------------------------------


async def test_p65_a_locked_file_is_told_retryable_and_opens_when_it_is_free(
    stored: StoredDocument,
) -> None:
    await stored.make("three")
    hold = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1], isolation_level=None);"
    hold += "db.execute('BEGIN IMMEDIATE'); print('held', flush=True); sys.stdin.read()"
    holder = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", hold, str(stored.path)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    await holder.stdout.readline()
    with pytest.raises(StorageUnavailable) as refused:
        await stored.text()
    assert refused.value.as_dict()["retryable"] is True
    await holder.communicate(b"")
    assert await stored.text() == TEXT + "\nthree\n"


def test_p17_a_second_process_gets_the_document_only_after_the_first(
    stored: StoredDocument,
) -> None:
    with Writer(stored.path) as first, Writer(stored.path) as second:
        assert first.ask("append from one") == "done"
        assert second.ask("append from two") == "!storage_unavailable"
        assert first.ask("close") == "done"
        assert second.ask("append from two") == "done"
        assert second.ask("read") == TEXT + "\nfrom one\n\nfrom two\n"


async def test_p66_writers_of_many_commits_never_meet_a_stale_snapshot(tmp_path: Path) -> None:
    async def write(name: str) -> None:
        store = await SqliteStore.create(tmp_path / name, NewFile(DOC_ID, 1, b"s" * 16))
        for seq in range(1, 201):
            batch = Batch()
            batch.add(Effects(update(seq), "Ann"))
            await store.commit(batch)
        assert [u.seq for u in (await store.load()).updates] == list(range(1, 201))
        await store.close()

    async with anyio.create_task_group() as group:
        group.start_soon(write, "one.sqlite3")
        group.start_soon(write, "two.sqlite3")


def update(seq: int) -> StoredUpdate:
    return StoredUpdate(seq, 1000 + seq, "ann", "editor", b"\0\0", b"", 0)


# --- what a killed process leaves -----------------------------------------------------------------


def test_p15_what_was_acknowledged_is_there_after_kill_9(stored: StoredDocument) -> None:
    told: list[str] = []
    for round_ in range(4):
        with Writer(stored.path) as writer:
            for number in range(8):
                words = f"line {round_} {number}"
                writer.tell(f"append {words}")
                if number == 7 - round_:
                    break  # killed with this one under way
                assert writer.answer() == "done"
                told.append(words)
        assert check_file(stored.path).problems == ()
    with Writer(stored.path) as writer:
        text = writer.ask("read")
    assert [words for words in told if text.count(words) != 1] == []
    assert text.startswith(TEXT)


async def test_p16_updates_that_come_while_the_log_is_trimmed_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "doc.sqlite3"
    store = await SqliteStore.create(path, NewFile(DOC_ID, 1, b"s" * 16))
    first = Batch()
    first.add(Effects(update(1), "Ann"))
    first.checkpoint = Checkpoint(1, 1001, b"state", b"index")
    await store.commit(first)

    async def commit(seq: int) -> None:
        batch = Batch()
        batch.add(Effects(update(seq), "Ann"))
        await store.commit(batch)

    trims = [asyncio.create_task(store.trim(5000)) for _ in range(2)]
    for seq in range(2, 22):
        await commit(seq)
    await asyncio.gather(*trims)
    await store.close()
    store = await SqliteStore.open(path, epoch=1)
    loaded = await store.load()
    await store.close()
    assert [u.seq for u in loaded.updates] == list(range(2, 22))


async def test_p18_what_was_typed_right_before_closing_is_there_when_it_is_opened_again(
    stored: StoredDocument,
) -> None:
    async with stored.opened(seed=TEXT) as document:
        write = asyncio.create_task(append(document, "last words"))
        await asyncio.sleep(0)  # the write is under way when the document is closed
    await write
    assert await stored.text() == TEXT + "\nlast words\n"


def killed_with_a_log(stored: StoredDocument) -> bytearray:
    """The log of a writer that was killed after five lines."""
    with Writer(stored.path) as writer:
        for number in range(5):
            assert writer.ask(f"append line {number}") == "done"
    log = bytearray(wal_of(stored.path).read_bytes())
    assert len(log) > 10 * 4096
    return log


async def test_a_flipped_bit_in_the_middle_of_a_log_is_no_silent_loss(
    stored: StoredDocument,
) -> None:
    log = killed_with_a_log(stored)
    log[len(log) * 3 // 4] ^= 1  # behind the tables and the first text
    wal_of(stored.path).write_bytes(log)
    assert [problem.code for problem in check_file(stored.path).problems] == ["wal_damaged"]
    for _ in range(2):  # opening it once does not make it forget
        with pytest.raises(DocumentCorrupt):
            await Document.open(stored.path, KEY)
    repaired = repair_file(stored.path, check_file(stored.path), NOW)
    assert "commits" in repaired.lost[0]
    assert repaired.left == ()
    text = await stored.text()
    assert text.startswith(TEXT)
    assert text.count("line") < 5
    assert check_file(stored.path).problems == ()


async def test_a_torn_last_transaction_was_never_acknowledged_and_is_dropped(
    stored: StoredDocument,
) -> None:
    log = killed_with_a_log(stored)
    wal_of(stored.path).write_bytes(log[:-100])
    assert (await stored.text()).count("line") == 4


@pytest.mark.parametrize("table", ["updates", "checkpoints"])
async def test_p14_a_flipped_bit_is_told_and_nothing_is_written(
    stored: StoredDocument, table: str
) -> None:
    await stored.make("three")
    (data,) = stored.ask(f"SELECT data FROM {table} WHERE seq = 2")[0]  # noqa: S608  a constant
    if table == "updates":
        stored.sql("DELETE FROM checkpoints")  # else no load would read it
    assert isinstance(data, bytes)
    flipped = data[-60:-30] + bytes([data[-30] ^ 4]) + data[-29:]
    content = stored.path.read_bytes().replace(data[-60:], flipped)
    stored.path.write_bytes(content)
    with pytest.raises(DocumentCorrupt):
        await stored.text()
    assert stored.path.read_bytes() == content


async def test_p14_a_load_that_fails_once_is_no_empty_document(stored: StoredDocument) -> None:
    await stored.make("three")
    first = await SqliteStore.open(stored.path, epoch=1)

    def fails(_db: sqlite3.Connection) -> None:
        raise sqlite3.OperationalError("database is locked")

    run = first._run
    first._run = lambda _work: run(fails)  # type: ignore[method-assign,assignment,arg-type]
    with pytest.raises(StorageUnavailable):
        await first.load()
    await first.close()
    assert await stored.text() == TEXT + "\nthree\n"


async def test_p68_a_process_that_could_not_open_a_file_ends(stored: StoredDocument) -> None:
    await stored.make()
    stored.sql("PRAGMA user_version = 99")
    code = (
        "import asyncio, sys; from pathlib import Path;"
        "from actors.storage.store import SqliteStore;"
        "asyncio.run(SqliteStore.open(Path(sys.argv[1]), 1))"
    )
    with anyio.fail_after(20):
        done = await anyio.run_process([sys.executable, "-c", code, str(stored.path)], check=False)
    assert done.returncode == 1
    assert b"has schema 99" in done.stderr


async def test_p69_a_restored_copy_is_exactly_what_was_copied(stored: StoredDocument) -> None:
    async with stored.opened(seed=TEXT) as document:
        await append(document, "A")
        copy = stored.path.with_name("copy")
        await document._keeper.store.back_up(copy)
        await append(document, "B")
        assert (await markdown(document)).endswith("B\n")
    log = killed_with_a_log(stored)
    restored = StoredDocument(stored.path.with_name("restored") / stored.path.name)
    restored.path.parent.mkdir()
    copy.rename(restored.path)
    assert await restored.text() == TEXT + "\nA\n"
    assert bytes(log) == wal_of(stored.path).read_bytes()
