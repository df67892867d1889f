"""`docactor doctor`, `backup` and `restore`: exit codes, what is said, and when they refuse."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from actors.directory.catalog import SqliteCatalog
from actors.storage.document_files import DocumentFiles
from actors.upkeep.backup import CATALOG_FILE, MANIFEST
from gateway.cli import NO_SERVER, REFUSED, main
from gateway.commands.address_file import write_address
from gateway.owner_token import write_owner_token
from shared.checkup import CatalogCopy, Checkup, Copied, Problem
from tests.in_process import served
from tests.integration.stored_documents import DOC_ID, StoredDocument
from tests.unit.gateway.fakes import FakeRouter

ADD = """
INSERT INTO documents (doc_id, slug, title, state, created_at, updated_at, owner)
VALUES (?, ?, ?, ?, ?, ?, ?)
"""
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with one document and its catalog, in use by nobody."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("DOCACTOR_DATA", str(folder))
    monkeypatch.delenv("DOCACTOR_TOKEN", raising=False)
    write_owner_token(folder, "owner-token")
    anyio.run(_fill, folder)
    return folder


async def _fill(folder: Path) -> None:
    stored = document_of(folder)
    stored.path.parent.mkdir(parents=True)
    await stored.make("three")
    catalog = await SqliteCatalog.open(folder / CATALOG_FILE)
    await catalog.close()


def document_of(folder: Path) -> StoredDocument:
    return StoredDocument(Path(DocumentFiles(folder).path(DOC_ID)))


def state(folder: Path) -> list[tuple[str, str, str]]:
    db = sqlite3.connect(folder / CATALOG_FILE)
    try:
        return db.execute("SELECT doc_id, slug, state FROM documents").fetchall()
    finally:
        db.close()


@pytest.fixture
def server_lock(data: Path) -> Iterator[None]:
    """Another process that has the folder as a server has it."""
    code = (
        "import sys; from pathlib import Path; from gateway.server.data_lock import no_server_on\n"
        "with no_server_on(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(data)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield
        process.kill()


def test_doctor_takes_in_a_document_that_the_catalog_does_not_know(
    data: Path, capsys: Captured
) -> None:
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert f"catalog: row_missing: The file of document {DOC_ID} is not in the catalog." in out
    assert "1 documents checked: 1 sound, 0 with problems." in out
    assert main(["doctor", "--repair"]) == 0
    assert state(data) == [(DOC_ID, "plan", "ready")]
    capsys.readouterr()
    assert main(["doctor"]) == 0
    assert capsys.readouterr().out == "1 documents checked: 1 sound, 0 with problems.\n"


def test_doctor_repairs_a_document_and_says_what_is_lost(data: Path, capsys: Captured) -> None:
    main(["doctor", "--repair"])
    document_of(data).sql(
        "DELETE FROM checkpoints", "UPDATE updates SET data = x'00' WHERE seq = 2"
    )
    capsys.readouterr()
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert f"{DOC_ID}: update_damaged: Update 2 is damaged." in out
    assert "doctor --repair" in out
    assert main(["doctor", "--repair"]) == 0
    out = capsys.readouterr().out
    assert f"{DOC_ID}: lost: Update 2 by ann" in out
    assert "kept in" in out
    assert main(["doctor"]) == 0


def test_doctor_makes_a_catalog_anew_from_the_documents(data: Path, capsys: Captured) -> None:
    (data / CATALOG_FILE).write_bytes(b"no database" * 100)
    assert main(["doctor"]) == 1
    assert main(["doctor", "--repair"]) == 0
    assert state(data) == [(DOC_ID, "plan", "ready")]
    assert "lost: Slugs, owners and tokens." in capsys.readouterr().out
    assert any(".broken-" in path.name for path in data.iterdir())


def test_doctor_takes_out_what_was_never_finished_and_tells_of_missing_files(
    data: Path, capsys: Captured
) -> None:
    main(["doctor", "--repair"])
    db = sqlite3.connect(data / CATALOG_FILE)
    with db:
        for doc_id, state_ in (("z" * 12, "creating"), ("y" * 12, "ready"), ("x" * 12, "deleted")):
            values = (doc_id, "slug-" + doc_id[0], "T", state_, 0, 0, "owner")
            db.execute(ADD, values)
    db.close()
    capsys.readouterr()
    assert main(["doctor", "--repair"]) == 1
    out = capsys.readouterr().out
    assert "creating_left" in out
    assert f"left: Document {'y' * 12} has no file." in out
    assert "x" * 12 not in out
    assert sorted(doc_id for doc_id, _, _ in state(data)) == [DOC_ID, "x" * 12, "y" * 12]


@pytest.mark.usefixtures("server_lock")
def test_repair_and_restore_are_refused_while_a_server_runs(data: Path, capsys: Captured) -> None:
    assert main(["doctor", "--repair"]) == REFUSED
    assert "A server runs here" in capsys.readouterr().err
    (data / "backup").mkdir()
    assert main(["restore", str(data / "backup")]) == REFUSED
    assert "stop it first" in capsys.readouterr().err
    assert main(["doctor", "--url", "http://127.0.0.1:9"]) == NO_SERVER


def test_restore_refuses_what_is_no_backup(data: Path, capsys: Captured) -> None:
    (data / "empty").mkdir()
    assert main(["restore", str(data / "empty")]) == REFUSED
    assert "holds no finished backup" in capsys.readouterr().err


# --- through a running server ---------------------------------------------------------------------


@pytest.fixture
def router(rng: random.Random) -> FakeRouter:
    router = FakeRouter(rng.choice)
    router.answers |= {
        "document_ids": (DOC_ID,),
        "back_up_catalog": CatalogCopy(Copied(3, "abc"), (DOC_ID,)),
        "check_catalog": Checkup("catalog"),
        "back_up": Copied(5, "def"),
        "check": Checkup(DOC_ID),
    }
    return router


@pytest.fixture
def server(router: FakeRouter, data: Path) -> Iterator[str]:
    with served(router) as url:
        write_address(data, url)
        yield url


def test_backup_writes_a_manifest_and_refuses_a_used_folder(
    server: str, tmp_path: Path, capsys: Captured
) -> None:
    assert main(["backup", "copies"]) == 0
    assert "1 documents and the catalog" in capsys.readouterr().out
    manifest = json.loads((tmp_path / "copies" / MANIFEST).read_text())
    assert manifest["files"] == {
        f"documents/ab/{DOC_ID}.sqlite3": {"size": 5, "digest": "def"},
        CATALOG_FILE: {"size": 3, "digest": "abc"},
    }
    assert main(["backup", "copies"]) == REFUSED
    assert "is not empty" in capsys.readouterr().err


def test_doctor_of_a_running_server_asks_it(
    server: str, router: FakeRouter, capsys: Captured
) -> None:
    assert main(["doctor", "--url", server]) == 0
    router.answers["check"] = Checkup(DOC_ID, (Problem("log_gap", "Update 3 is missing."),))
    assert main(["doctor", "--url", server]) == 1
    assert f"{DOC_ID}: log_gap: Update 3 is missing." in capsys.readouterr().out


def test_both_need_an_admin(server: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCACTOR_TOKEN", "reader-token")
    assert main(["backup", "copies"]) == REFUSED
    assert main(["doctor", "--url", server]) == REFUSED
    assert "admin" in capsys.readouterr().err
