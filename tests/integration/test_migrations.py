"""Files of earlier versions: brought up to this one, or left exactly as they were."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path
from typing import Final

import anyio
import pytest

from actors.directory.catalog import SqliteCatalog
from actors.storage.migrations import CATALOG, DOCUMENT, Migrations, NewerSchemaError, NoSchemaError
from actors.storage.sql import SCHEMA, load_queries, section
from actors.upkeep.repair import check_file
from shared.errors import StorageUnavailable
from tests.integration.stored_documents import DOC_ID, TEXT, StoredDocument, append

SCHEMA_V1: Final = Path(__file__).parents[1] / "data" / "schema_v1.sql"
CATALOG_V1: Final = SCHEMA_V1.with_name("catalog_v1.sql")
KEPT: Final = ("meta", "updates", "checkpoints", "block_changes", "principals", "views", "answers")


@pytest.fixture
async def old(tmp_path: Path) -> StoredDocument:
    """A document with history in a file as version 1 made it."""
    new = StoredDocument(tmp_path / "new" / f"{DOC_ID}.sqlite3")
    await new.make("three")
    stored = StoredDocument(tmp_path / f"{DOC_ID}.sqlite3")
    db = sqlite3.connect(stored.path)
    db.executescript(SCHEMA_V1.read_text(encoding="utf-8"))
    db.execute("ATTACH ? AS new", (str(new.path),))
    with db:
        for table in KEPT:
            columns = ", ".join(row[1] for row in db.execute(f"PRAGMA main.table_info({table})"))
            db.execute(f"INSERT INTO {table} SELECT {columns} FROM new.{table}")  # noqa: S608
        db.execute("DELETE FROM meta WHERE key = 'depth'")
        db.execute("PRAGMA user_version = 1")
    db.close()
    return stored


def bring_up(path: Path, version: int) -> None:
    """Takes a file of version 1 as far as a server of that time took it."""
    steps = load_queries("migrations_document.sql")
    db = sqlite3.connect(path, isolation_level=None)
    Migrations({n: steps[f"from_{n}"] for n in range(1, version)}).migrate(db)
    db.close()


@pytest.mark.anyio
async def test_a_document_of_version_1_opens_with_all_it_had(old: StoredDocument) -> None:
    assert check_file(old.path).problems == ()  # looked at as it will be, and not changed
    assert old.ask("PRAGMA user_version") == [(1,)]
    assert await old.text() == TEXT + "\nthree\n"
    assert old.ask("PRAGMA user_version") == [(DOCUMENT.version,)]
    assert old.ask("SELECT value FROM meta WHERE key = 'depth'") == [(100,)]
    assert await old.text() == TEXT + "\nthree\n"


@pytest.mark.anyio
@pytest.mark.parametrize("version", range(1, DOCUMENT.version))
async def test_a_document_of_any_earlier_version_opens_and_goes_on(
    old: StoredDocument, version: int
) -> None:
    bring_up(old.path, version)
    assert old.ask("PRAGMA user_version") == [(version,)]
    assert await old.text() == TEXT + "\nthree\n"
    async with old.opened() as document:
        await append(document, "four")
    assert await old.text() == TEXT + "\nthree\n\nfour\n"
    assert old.ask("SELECT DISTINCT merged FROM updates") == [(1,)]
    assert check_file(old.path).problems == ()


@pytest.mark.anyio
@pytest.mark.parametrize("version", range(1, DOCUMENT.version))
async def test_an_old_file_and_a_new_one_have_the_same_tables(
    old: StoredDocument, version: int
) -> None:
    bring_up(old.path, version)
    await old.text()
    fresh = sqlite3.connect(":memory:")
    fresh.executescript(section(SCHEMA, "document"))
    query = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'index') ORDER BY name"
    tables = [name for (name,) in fresh.execute(query)]
    assert [name for (name,) in old.ask(query)] == tables
    for table in tables:
        columns = f"PRAGMA table_info({table})"
        assert old.ask(columns) == fresh.execute(columns).fetchall()
    fresh.close()


@pytest.mark.anyio
async def test_a_step_that_fails_leaves_the_old_file(old: StoredDocument) -> None:
    before = old.ask("SELECT * FROM meta ORDER BY key")
    broken = Migrations({1: "DELETE FROM meta;\nINSERT INTO nowhere VALUES (1);\n"})
    db = sqlite3.connect(old.path, isolation_level=None)
    with pytest.raises(sqlite3.OperationalError):
        broken.migrate(db)
    db.close()
    assert old.ask("PRAGMA user_version") == [(1,)]
    assert old.ask("SELECT * FROM meta ORDER BY key") == before
    assert await old.text() == TEXT + "\nthree\n"


@pytest.mark.anyio
async def test_a_crash_in_the_middle_leaves_the_old_file(old: StoredDocument) -> None:
    code = (
        "import os, sqlite3, sys; from actors.storage.migrations import Migrations;"
        "db = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "db.execute('PRAGMA journal_mode = WAL');"
        "db.create_function('die', 0, lambda: os.kill(os.getpid(), 9));"
        "Migrations({1: 'DELETE FROM updates;\\nSELECT die();\\n'}).migrate(db)"
    )
    died = await anyio.run_process([sys.executable, "-c", code, str(old.path)], check=False)
    assert died.returncode == -9
    assert old.ask("PRAGMA user_version") == [(1,)]
    assert await old.text() == TEXT + "\nthree\n"


@pytest.mark.parametrize("kind", [DOCUMENT, CATALOG])
def test_a_later_version_and_none_at_all_are_refused(kind: Migrations) -> None:
    for version, error in ((kind.version + 1, NewerSchemaError), (0, NoSchemaError)):
        db = sqlite3.connect(":memory:", isolation_level=None)
        db.execute("CREATE TABLE meta (key, value)")
        db.execute(f"PRAGMA user_version = {version}")
        with pytest.raises(error):
            kind.migrate(db)
        assert db.execute("SELECT count(*) FROM meta").fetchone() == (0,)
        db.close()


@pytest.mark.anyio
async def test_a_catalog_of_version_1_gets_the_tables_of_a_new_one(tmp_path: Path) -> None:
    old, new = tmp_path / "old.sqlite3", tmp_path / "new.sqlite3"
    db = sqlite3.connect(old)
    db.executescript(CATALOG_V1.read_text(encoding="utf-8"))
    db.execute("PRAGMA user_version = 1")
    db.execute(
        "INSERT INTO documents VALUES ('abcdef123456', 'plan', 'Plan', 'ready', 1, 2, 'ann')"
    )
    db.commit()
    db.close()
    tables = []
    for path in (old, new):
        catalog = await SqliteCatalog.open(path)
        found_row = await catalog.document("plan")
        assert (found_row is not None and found_row.title == "Plan") == (path == old)
        await catalog.close()
        db = sqlite3.connect(path)
        names = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'index') ORDER BY name"
        found = [name for (name,) in db.execute(names)]
        tables.append({name: db.execute(f"PRAGMA table_info({name})").fetchall() for name in found})
        db.close()
    assert tables[0] == tables[1]


@pytest.mark.anyio
async def test_the_catalog_takes_the_same_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "catalog.sqlite3"
    catalog = await SqliteCatalog.open(path)
    await catalog.set_number("kept", 7)
    await catalog.close()
    step = "INSERT INTO meta (key, value) VALUES ('new', 1);\n"
    later = Migrations({CATALOG.version: step})
    later.version = CATALOG.version + 1
    monkeypatch.setattr("actors.directory.catalog.CATALOG", later)
    catalog = await SqliteCatalog.open(path)
    assert (await catalog.number("kept"), await catalog.number("new")) == (7, 1)
    await catalog.close()
    monkeypatch.undo()
    with pytest.raises(StorageUnavailable) as refused:  # an older server on a newer catalog
        await SqliteCatalog.open(path)
    assert refused.value.as_dict()["retryable"] is False
