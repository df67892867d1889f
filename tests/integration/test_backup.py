"""Backup of a running server and restore into a stopped one, with real actors and files."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from actors.directory.catalog import SqliteCatalog
from actors.document.document import Document
from actors.storage.copying import settled
from actors.storage.document_files import DocumentFiles
from actors.storage.migrations import CATALOG as SCHEMAS
from actors.storage.wal import wal_of
from actors.upkeep.backup import (
    CATALOG_FILE,
    UNFINISHED,
    Manifest,
    Restored,
    document_file,
    restore,
    write_manifest,
)
from actors.upkeep.doctor import Doctor
from gateway.router import Router
from gateway.server.data_lock import refuse_half_restored
from gateway.upkeep import Step, back_up, check_all
from shared.checkup import CATALOG, Copied
from shared.directory_protocol import Created
from shared.errors import InvalidArgument, InvalidCursor, StorageUnavailable
from shared.protocol import Caller, RouteKey
from tests.integration.stored_documents import append, changes, markdown
from tests.integration.test_actor_life import append as append_there
from tests.integration.test_actor_life import create, pid_of
from tests.ray_first import DATA

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(90)]
ADMIN = Caller("person:owner", "Owner", scopes=frozenset({"admin"}))
CATALOG_V1 = Path(__file__).parents[1] / "data" / "catalog_v1.sql"
NOW = 1_800_000_000_000


async def backed_up(router: Router, folder: Path) -> Manifest:
    steps = [step async for step in back_up(router, ADMIN, folder)]
    manifest = steps[-1].manifest
    assert manifest is not None
    assert [step.done for step in steps] == list(range(len(steps)))
    return manifest


async def open_restored(data: Path, doc_id: str, epoch: int) -> Document:
    return await Document.open(Path(DocumentFiles(data).path(doc_id)), RouteKey(doc_id, epoch, "s"))


async def test_a_backup_of_a_running_server_is_restored_whole(
    router: Router, tmp_path: Path
) -> None:
    active = await create(router, "Backed up active")
    await append_there(router, active.doc_id, "Second.")
    passive = await create(router, "Backed up passive")
    manifest = await backed_up(router, tmp_path / "backup")
    assert {document_file(d.doc_id) for d in (active, passive)} <= manifest.files.keys()
    await append_there(router, active.doc_id, "After the backup.")

    data = tmp_path / "data"
    data.mkdir()
    done = restore(data, tmp_path / "backup", NOW)
    assert (done.documents, done.replaced) == (len(manifest.files) - 1, "")
    assert all(not found.problems for found, _ in Doctor(data).run(NOW))
    catalog = await SqliteCatalog.open(data / CATALOG_FILE)
    row = await catalog.document("backed-up-active")
    assert row is not None
    assert row.doc_id == active.doc_id
    assert await catalog.held() == ()
    await catalog.close()
    document = await open_restored(data, active.doc_id, 99)
    assert await markdown(document) == "# Head\n\nFirst.\n\nSecond.\n"
    with pytest.raises(InvalidCursor):  # its numbers are given out a second time
        await changes(document, active.cursor)
    await append(document, "Third.")
    await document.close()


async def test_every_document_of_a_running_server_is_checked(router: Router) -> None:
    made = await create(router, "Checked while running")
    steps: list[Step] = [step async for step in check_all(router, ADMIN)]
    found = {step.checkup.doc_id: step.checkup for step in steps if step.checkup}
    assert found[made.doc_id].problems == ()
    assert found[made.doc_id].blocks == 2
    assert list(found)[-1] == CATALOG
    assert not any(p.code == "file_missing" for p in found[CATALOG].problems)


async def test_a_folder_with_something_in_it_is_refused(router: Router, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InvalidArgument, match="not empty"):
        await backed_up(router, tmp_path)
    with pytest.raises(InvalidArgument, match="absolute"):
        await backed_up(router, Path("relative"))
    with pytest.raises(StorageUnavailable):
        await backed_up(router, tmp_path / "notes.txt" / "below")


async def test_a_document_that_cannot_be_read_is_named_and_the_rest_is_copied(
    router: Router, tmp_path: Path
) -> None:
    broken: Created = await create(router, "Broken for the backup")
    fine = await create(router, "Fine for the backup")
    route = await router.directory("locate", broken.doc_id)
    path = Path(DocumentFiles(DATA).path(broken.doc_id))
    await kill_and_damage(route, path)
    manifest = await backed_up(router, tmp_path / "backup")
    assert list(manifest.missing) == [broken.doc_id]
    assert document_file(fine.doc_id) in manifest.files
    await router.directory("delete_document", ADMIN, broken.doc_id)


async def kill_and_damage(route: Any, path: Path) -> None:
    pid = await pid_of(route)
    os.kill(pid, signal.SIGKILL)
    with anyio.fail_after(10):
        while psutil.pid_exists(pid):  # noqa: ASYNC110  the kernel sets no event
            await anyio.sleep(0.02)
    path.write_bytes(b"no database" * 100)  # noqa: ASYNC240  one small file
    wal_of(path).unlink(missing_ok=True)  # else every page is in there


# --- restore, without a server --------------------------------------------------------------------


def small_backup(folder: Path, version: int = 1) -> Path:
    """A backup of an empty catalog, by the first version there was."""
    folder.mkdir()
    db = sqlite3.connect(folder / CATALOG_FILE)
    db.executescript(CATALOG_V1.read_text(encoding="utf-8") + f"PRAGMA user_version = {version};")
    db.close()
    write_manifest(folder, Manifest(1, 1, {CATALOG_FILE: settled(folder / CATALOG_FILE)}))
    return folder


def test_what_was_there_is_kept_with_its_logs_and_none_is_left_beside(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "documents" / "ab").mkdir(parents=True)
    (data / "documents" / "ab" / "abcdef123456.epoch").write_text("77")
    for end in ("", "-wal", "-shm"):
        (data / (CATALOG_FILE + end)).write_text("old" + end)
    (data / "owner-token").write_text("kept")
    done = restore(data, small_backup(tmp_path / "backup"), NOW)
    assert done == Restored(0, 1, str(data / f"replaced-{NOW}"))
    kept = data / f"replaced-{NOW}"
    assert (kept / "catalog.sqlite3-wal").read_text() == "old-wal"
    assert (kept / "documents" / "ab" / "abcdef123456.epoch").read_text() == "77"
    assert sorted(p.name for p in data.iterdir()) == [
        "catalog.sqlite3",
        "documents",
        "owner-token",
        f"replaced-{NOW}",
    ]


@pytest.mark.parametrize("spoil", ["flip", "cut", "gone", "no manifest", "climb", "later"])
def test_a_backup_that_is_not_as_it_was_written_is_refused(tmp_path: Path, spoil: str) -> None:
    folder = small_backup(tmp_path / "backup")
    copy = folder / CATALOG_FILE
    content = bytearray(copy.read_bytes())
    content[-1] ^= 1
    if spoil == "flip":
        copy.write_bytes(content)
    elif spoil == "cut":
        copy.write_bytes(content[:-1])
    elif spoil == "gone":
        copy.unlink()
    elif spoil == "no manifest":
        (folder / "manifest.json").unlink()
    elif spoil == "climb":
        files = {CATALOG_FILE: settled(copy), "documents/../../x": Copied(0, "")}
        write_manifest(folder, Manifest(1, 1, files))
    else:
        write_manifest(folder, Manifest(2, 1, {CATALOG_FILE: settled(copy)}))
    data = tmp_path / "data"
    data.mkdir()
    (data / CATALOG_FILE).write_text("old")
    with pytest.raises(InvalidArgument):
        restore(data, folder, NOW)
    assert [path.name for path in data.iterdir()] == [CATALOG_FILE]


def test_an_interrupted_restore_keeps_servers_off_until_it_is_run_again(tmp_path: Path) -> None:
    folder, data = small_backup(tmp_path / "backup"), tmp_path / "data"
    data.mkdir()
    (data / UNFINISHED).write_text("")
    with pytest.raises(StorageUnavailable, match="run 'docactor restore' again"):
        refuse_half_restored(data)
    shutil.copytree(folder, data / "restoring")  # what an earlier run had copied
    restore(data, folder, NOW)
    refuse_half_restored(data)


@pytest.mark.parametrize("version", [0, SCHEMAS.version + 1])
def test_a_backup_of_a_later_version_or_of_none_is_refused(tmp_path: Path, version: int) -> None:
    backup = small_backup(tmp_path / "backup", version)
    with pytest.raises(InvalidArgument, match=f"schema {version}; this version knows"):
        restore(tmp_path / "data", backup, NOW)
    assert not (tmp_path / "data" / CATALOG_FILE).exists()
