"""One contract for the catalog and its double."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from actors.directory.catalog import SqliteCatalog
from actors.directory.catalog_memory import MemoryCatalog
from actors.ports import Assignment, Catalog, Creation, Holder, Who
from shared.directory_protocol import AuditRow, DocumentRow, Member, TokenRow
from shared.errors import StorageUnavailable

pytestmark = pytest.mark.anyio

SLOT = Holder("doc-slot-1", "n1", 100, 7)
ANN = Who("person:ann", "person:ann")
NOTE = AuditRow(5, "person:ann", "some.act", "something")


def row(name: str, updated_at: int = 10) -> DocumentRow:
    doc_id = name.rjust(12, "0")
    return DocumentRow(doc_id, f"slug-{name}", f"Title {name}", "creating", 1, updated_at, "ann")


async def ready(catalog: Catalog, made: DocumentRow) -> None:
    assert await catalog.reserve(made, None, 1)
    await catalog.make_ready(made.doc_id, b"")


async def test_document_is_found_only_when_ready(catalog: Catalog) -> None:
    one = row("1")
    assert await catalog.reserve(one, None, 1)
    assert await catalog.document(one.doc_id) is None
    assert await catalog.creating() == (one.doc_id,)
    await catalog.make_ready(one.doc_id, b"")
    found = await catalog.document(one.slug)
    assert found is not None
    assert (found.doc_id, found.state) == (one.doc_id, "ready")
    assert found == await catalog.document(one.doc_id)
    assert await catalog.creating() == ()


async def test_id_wins_over_a_slug(catalog: Catalog) -> None:
    one = row("1")
    await ready(catalog, one)
    await ready(catalog, DocumentRow("f" * 12, one.doc_id, "T", "creating", 1, 1, "ann"))
    found = await catalog.document(one.doc_id)
    assert found is not None
    assert found.doc_id == one.doc_id


async def test_slug_is_reserved_until_forgotten_or_deleted(catalog: Catalog) -> None:
    one = row("1")
    again = DocumentRow("e" * 12, one.slug, "T", "creating", 1, 1, "ann")
    assert await catalog.reserve(one, None, 1)
    assert not await catalog.reserve(again, None, 1)
    await catalog.forget(one.doc_id)
    assert await catalog.reserve(again, None, 1)
    await catalog.make_ready(again.doc_id, b"")
    await catalog.forget(again.doc_id)  # a document that is ready is not forgotten
    assert await catalog.document(one.slug) is not None
    assert await catalog.delete_document(again.doc_id, 5, NOTE)
    assert not await catalog.delete_document(again.doc_id, 5, NOTE)
    assert await catalog.reserve(one, None, 1)


async def test_creation_keeps_its_answer_and_goes_with_its_document(catalog: Catalog) -> None:
    one = row("1")
    creation = Creation("ann", "key", b"digest", one.doc_id)
    assert await catalog.reserve(one, creation, 1)
    assert await catalog.creation("ann", "key") == creation
    assert await catalog.creation("bob", "key") is None
    await catalog.make_ready(one.doc_id, b"answer")
    kept = await catalog.creation("ann", "key")
    assert kept is not None
    assert kept.answer == b"answer"
    two = row("2")
    assert await catalog.reserve(two, Creation("ann", "other", b"", two.doc_id), 1)
    await catalog.forget(two.doc_id)
    assert await catalog.creation("ann", "other") is None


async def test_pages_are_by_last_change_and_filtered_whatever_the_case(catalog: Catalog) -> None:
    for n in range(5):
        await ready(catalog, row(str(n), updated_at=n // 2))
    first = await catalog.page("", None, 3, ANN, all_of=True)
    assert [r.doc_id[-1] for r in first] == ["4", "3", "2"]
    before = first[-1].updated_at, first[-1].doc_id
    rest = await catalog.page("", before, 3, ANN, all_of=True)
    assert [r.doc_id[-1] for r in rest] == ["1", "0"]
    await ready(catalog, DocumentRow("d" * 12, "other", "Ärger", "creating", 1, 1, "ann"))
    assert [r.slug for r in await catalog.page("ÄRG", None, 9, ANN, all_of=True)] == ["other"]
    assert [r.slug for r in await catalog.page("ITLE 3", None, 9, ANN, all_of=True)] == ["slug-3"]
    assert await catalog.page("%", None, 9, ANN, all_of=True) == ()


async def test_report_never_turns_time_back_or_blanks_a_title(catalog: Catalog) -> None:
    one = row("1")
    await ready(catalog, one)
    await catalog.report(one.doc_id, "New", 50)
    await catalog.report(one.doc_id, "", 40)
    found = await catalog.document(one.doc_id)
    assert found is not None
    assert (found.title, found.updated_at) == ("New", 50)


async def test_epoch_only_rises(catalog: Catalog) -> None:
    one = row("1")
    await ready(catalog, one)
    assert await catalog.assignment(one.doc_id) is None
    assert await catalog.raise_epoch(one.doc_id, SLOT, 0, 1) == 1
    assert await catalog.raise_epoch(one.doc_id, SLOT, 0, 1) == 2
    assert await catalog.raise_epoch(one.doc_id, SLOT, 40, 1) == 40
    assert await catalog.held() == (Assignment(one.doc_id, 40, SLOT),)
    await catalog.hand_back(one.doc_id, 2, 1)  # not the holder any more
    assert await catalog.held() != ()
    await catalog.hand_back(one.doc_id, 40, 1)
    assert await catalog.held() == ()
    assert await catalog.assignment(one.doc_id) == Assignment(one.doc_id, 40, None)
    assert await catalog.raise_epoch(one.doc_id, SLOT, 3, 1) == 41


async def test_numbers(catalog: Catalog) -> None:
    assert await catalog.number("x") == 0
    await catalog.set_number("x", 5)
    await catalog.set_number("x", 6)
    assert await catalog.number("x") == 6


async def test_catalog_is_there_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite3"
    catalog = await SqliteCatalog.open(path)
    await ready(catalog, row("1"))
    await catalog.raise_epoch(row("1").doc_id, SLOT, 0, 1)
    await catalog.close()
    catalog = await SqliteCatalog.open(path)
    assert await catalog.document("slug-1") is not None
    assert await catalog.held() == (Assignment(row("1").doc_id, 1, SLOT),)
    await catalog.close()


async def test_second_directory_does_not_get_the_catalog(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite3"
    catalog = await SqliteCatalog.open(path)
    with pytest.raises(StorageUnavailable, match="locked"):
        await SqliteCatalog.open(path, takeover_s=0.0)
    await catalog.close()


async def test_catalog_of_a_newer_server_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite3"
    newer = sqlite3.connect(path)
    newer.execute("PRAGMA user_version = 99")
    newer.close()
    with pytest.raises(StorageUnavailable, match="schema 99"):
        await SqliteCatalog.open(path)


async def test_damaged_catalog_is_told(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite3"
    path.write_bytes(b"this is no database" * 100)
    with pytest.raises(StorageUnavailable, match="cannot be read"):
        await SqliteCatalog.open(path)


async def gone(catalog: Catalog, name: str, at: int) -> DocumentRow:
    made = row(name)
    await ready(catalog, made)
    assert await catalog.delete_document(made.doc_id, at, NOTE)
    return made


async def test_deleted_document_is_found_among_the_deleted_only(catalog: Catalog) -> None:
    one = await gone(catalog, "1", 50)
    assert await catalog.document(one.doc_id) is None
    assert await catalog.document(one.slug) is None
    found = await catalog.deleted_document(one.doc_id)
    assert found is not None
    assert (found.state, found.deleted_at, found.updated_at) == ("deleted", 50, one.updated_at)
    assert await catalog.deleted_document(one.slug) == found
    assert await catalog.deleted_document("other") is None


async def test_last_deleted_of_a_slug_is_found_and_an_id_wins(catalog: Catalog) -> None:
    one = await gone(catalog, "1", 50)
    again = DocumentRow("e" * 12, one.slug, "T", "creating", 1, 1, "ann")
    await ready(catalog, again)
    assert await catalog.deleted_document(one.slug) is not None
    await catalog.delete_document(again.doc_id, 60, NOTE)
    for ref, doc_id in ((one.slug, again.doc_id), (one.doc_id, one.doc_id)):
        found = await catalog.deleted_document(ref)
        assert found is not None
        assert found.doc_id == doc_id


async def test_undeleted_document_needs_a_free_slug(catalog: Catalog) -> None:
    one = await gone(catalog, "1", 50)
    await ready(catalog, DocumentRow("e" * 12, one.slug, "T", "creating", 1, 1, "ann"))
    assert not await catalog.undelete(one.doc_id, one.slug, None, NOTE)
    assert await catalog.undelete(one.doc_id, "free", 99, NOTE)
    back = await catalog.document("free")
    assert back is not None
    assert (back.doc_id, back.state, back.expires_at) == (one.doc_id, "ready", 99)
    assert back.deleted_at is None
    assert not await catalog.undelete(one.doc_id, "free-too", None, NOTE)  # it is not deleted


async def test_deleted_page_is_by_deletion_and_filtered(catalog: Catalog) -> None:
    for name, at in (("1", 30), ("2", 10), ("3", 20), ("4", 20)):
        await gone(catalog, name, at)
    await ready(catalog, row("5"))
    first = await catalog.deleted_page("", None, 3, ANN, all_of=True)
    assert [r.doc_id[-1] for r in first] == ["1", "4", "3"]
    rest = await catalog.deleted_page("", (20, first[-1].doc_id), 3, ANN, all_of=True)
    assert [r.doc_id[-1] for r in rest] == ["2"]
    third = await catalog.deleted_page("TITLE 3", None, 3, ANN, all_of=True)
    assert [r.doc_id[-1] for r in third] == ["3"]


async def test_documents_expire_in_the_order_of_their_times(catalog: Catalog) -> None:
    for name, at in (("1", 30), ("2", None), ("3", 10), ("4", 20), ("5", 90)):
        made = msgspec.structs.replace(row(name), expires_at=at)
        await ready(catalog, made)
        found = await catalog.document(made.doc_id)
        assert found is not None
        assert found.expires_at == at
    assert [doc_id[-1] for doc_id in await catalog.expired(30, 9)] == ["3", "4", "1"]
    assert [doc_id[-1] for doc_id in await catalog.expired(30, 2)] == ["3", "4"]
    await catalog.delete_document(row("3").doc_id, 40, NOTE)
    assert [doc_id[-1] for doc_id in await catalog.expired(30, 9)] == ["4", "1"]


async def test_purgeable_are_those_deleted_long_enough_ago_from_a_place_on(
    catalog: Catalog,
) -> None:
    made = [await gone(catalog, name, at) for name, at in (("1", 30), ("2", 10), ("3", 10))]
    places = await catalog.purgeable(30, (-1, ""), 9)
    assert places == ((10, made[1].doc_id), (10, made[2].doc_id), (30, made[0].doc_id))
    assert await catalog.purgeable(29, places[0], 9) == places[1:2]
    assert await catalog.purgeable(30, (-1, ""), 1) == places[:1]


async def test_purged_document_leaves_nothing(catalog: Catalog) -> None:
    one = row("1")
    assert await catalog.reserve(one, Creation("ann", "key", b"", one.doc_id), 1)
    await catalog.make_ready(one.doc_id, b"")
    await catalog.raise_epoch(one.doc_id, SLOT, 0, 1)
    await catalog.purge(one.doc_id, NOTE)  # it is not deleted
    assert await catalog.document(one.doc_id) is not None
    await catalog.delete_document(one.doc_id, 5, NOTE)
    await catalog.purge(one.doc_id, NOTE)
    assert await catalog.states() == {}
    assert await catalog.assignment(one.doc_id) is None
    assert await catalog.creation("ann", "key") is None


async def test_counts_are_by_state(catalog: Catalog) -> None:
    assert await catalog.counts() == {}
    await ready(catalog, row("1"))
    await ready(catalog, row("2"))
    await gone(catalog, "3", 5)
    assert await catalog.counts() == {"ready": 2, "deleted": 1}


async def test_drained_nodes_are_remembered_until_taken_back(catalog: Catalog) -> None:
    for node in ("n1", "n2", "n1"):
        await catalog.set_drained(node, 1)
    assert await catalog.drained() == {"n1", "n2"}
    await catalog.set_drained("n1", None)
    await catalog.set_drained("n3", None)
    assert await catalog.drained() == {"n2"}


async def test_catalog_of_the_first_version_keeps_its_documents(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite3"
    old = sqlite3.connect(path)
    old.executescript(FIRST_CATALOG)
    old.close()
    catalog = await SqliteCatalog.open(path)
    found = await catalog.document("kept")
    assert found is not None
    assert (found.doc_id, found.expires_at, found.deleted_at) == ("a" * 12, None, None)
    deleted = await catalog.deleted_document("b" * 12)
    assert deleted is not None
    assert deleted.deleted_at == 7
    assert await catalog.expired(10**15, 9) == ()
    assert await catalog.drained() == frozenset()
    await catalog.close()
    new = tmp_path / "new.sqlite3"
    await (await SqliteCatalog.open(new)).close()
    assert _schema(path) == _schema(new)


def _schema(path: Path) -> set[tuple[str, ...]]:
    """Tables by their columns, and indexes."""
    db = sqlite3.connect(path)
    try:
        names = [r[0] for r in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        columns = {(n, *map(str, r)) for n in names for r in db.execute(f"PRAGMA table_info({n})")}
        indexes = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'index'")
        return columns | {(n, " ".join((sql or "").split())) for n, sql in indexes}
    finally:
        db.close()


FIRST_CATALOG = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value ANY NOT NULL) STRICT;
CREATE TABLE documents (
  doc_id TEXT PRIMARY KEY, slug TEXT NOT NULL, title TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('creating', 'ready', 'deleted')),
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, owner TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX documents_by_slug ON documents (slug) WHERE state <> 'deleted';
CREATE INDEX documents_by_update ON documents (updated_at, doc_id) WHERE state = 'ready';
CREATE TABLE assignments (
  doc_id TEXT PRIMARY KEY REFERENCES documents (doc_id) ON DELETE CASCADE,
  epoch INTEGER NOT NULL, actor TEXT, node TEXT, pid INTEGER, started INTEGER,
  at INTEGER NOT NULL
) STRICT;
CREATE TABLE tokens (
  id TEXT PRIMARY KEY, hash BLOB NOT NULL UNIQUE, name TEXT NOT NULL, person TEXT NOT NULL,
  principal TEXT NOT NULL, agent INTEGER NOT NULL CHECK (agent IN (0, 1)), scopes TEXT NOT NULL,
  created INTEGER NOT NULL, expires INTEGER, last_used INTEGER, revoked INTEGER
) STRICT;
CREATE TABLE creations (
  principal TEXT NOT NULL, key TEXT NOT NULL, arguments BLOB NOT NULL,
  doc_id TEXT NOT NULL REFERENCES documents (doc_id) ON DELETE CASCADE, answer BLOB,
  at INTEGER NOT NULL, PRIMARY KEY (principal, key)
) STRICT;
INSERT INTO documents VALUES ('aaaaaaaaaaaa', 'kept', 'Kept', 'ready', 1, 5, 'person:ann');
INSERT INTO documents VALUES ('bbbbbbbbbbbb', 'gone', 'Gone', 'deleted', 1, 7, 'person:ann');
PRAGMA user_version = 1;
"""


async def test_a_catalog_that_fails_says_so_whatever_it_is_asked(
    catalog: Catalog, tmp_path: Path
) -> None:
    one = row("1")
    await ready(catalog, one)
    token = TokenRow("t1", "bot", "p", "a", True, frozenset({"read"}), 1, 99, None, None)
    calls: tuple[Callable[[], Awaitable[object]], ...] = (
        lambda: catalog.document(one.slug),
        lambda: catalog.access([(one.slug, ANN)]),
        lambda: catalog.reserve(row("2"), None, 1),
        lambda: catalog.make_ready(one.doc_id, b""),
        lambda: catalog.forget(one.doc_id),
        catalog.creating,
        lambda: catalog.creation("ann", "key"),
        lambda: catalog.delete_document(one.doc_id, 5, NOTE),
        lambda: catalog.deleted_document(one.slug),
        lambda: catalog.deleted_page("", None, 9, ANN, all_of=False),
        lambda: catalog.undelete(one.doc_id, "free", None, NOTE),
        lambda: catalog.expired(1, 9),
        lambda: catalog.purgeable(1, (0, ""), 9),
        lambda: catalog.purge(one.doc_id, NOTE),
        catalog.counts,
        catalog.drained,
        lambda: catalog.set_drained("n1", 1),
        lambda: catalog.page("", None, 9, ANN, all_of=True),
        lambda: catalog.report(one.doc_id, "T", 50),
        lambda: catalog.assignment(one.doc_id),
        catalog.held,
        lambda: catalog.raise_epoch(one.doc_id, SLOT, 0, 1),
        lambda: catalog.fall_asleep(one.doc_id, 1, "g1"),
        lambda: catalog.hand_back(one.doc_id, 1, 1),
        lambda: catalog.add_token(token, b"hash", NOTE),
        lambda: catalog.token(b"hash"),
        lambda: catalog.token_of("t1"),
        catalog.tokens,
        lambda: catalog.revoke_token("t1", 1, NOTE),
        lambda: catalog.token_used("t1", 1),
        lambda: catalog.notes(1),
        lambda: catalog.number("x"),
        lambda: catalog.set_number("x", 1),
        lambda: catalog.secret("key", b"fresh"),
        lambda: catalog.last_left("ann"),
        lambda: catalog.members(one.doc_id),
        lambda: catalog.set_member(one.doc_id, Member("person:bob", "viewer", 1, "ann"), NOTE),
        lambda: catalog.remove_member(one.doc_id, "person:bob", NOTE),
        lambda: catalog.set_link_role(one.doc_id, "viewer", NOTE),
        catalog.states,
        lambda: catalog.back_up(tmp_path / "copy"),
        catalog.integrity,
    )
    named = {name for name in vars(Catalog) if not name.startswith("_")} - {"close"}
    assert len(calls) == len(named), "every method of the port"
    await fail(catalog, StorageUnavailable("The disk is gone."))
    for call in calls:
        with pytest.raises(StorageUnavailable):
            await call()
    await fail(catalog, None)
    assert await catalog.document(one.slug) is not None
    for call in calls:
        await call()


async def fail(catalog: Catalog, error: StorageUnavailable | None) -> None:
    if isinstance(catalog, SqliteCatalog):
        # Whatever SQLite is asked for ends at its first step.
        await catalog._connection.set_progress_handler((lambda: 1) if error else None, 1)  # type: ignore[arg-type]
    else:
        assert isinstance(catalog, MemoryCatalog)
        catalog.failing = error


async def test_a_full_disk_is_told_and_everything_works_when_there_is_room(tmp_path: Path) -> None:
    catalog = await SqliteCatalog.open(tmp_path / "catalog.sqlite3")
    await ready(catalog, row("1"))
    await catalog._connection.execute("PRAGMA max_page_count = 1")  # SQLite takes what it has
    made: list[str] = []

    async def fill() -> None:
        while True:
            await catalog.reserve(row(f"x{len(made)}"), None, 1)
            made.append(f"x{len(made)}")

    with pytest.raises(StorageUnavailable, match="full"):
        await fill()
    assert await catalog.document(row("1").doc_id) is not None
    await catalog._connection.execute("PRAGMA max_page_count = 100000")
    assert await catalog.reserve(row("y"), None, 1)
    assert len(await catalog.creating()) == len(made) + 1
    await catalog.close()


async def test_a_catalog_that_was_closed_says_so(tmp_path: Path) -> None:
    catalog = await SqliteCatalog.open(tmp_path / "catalog.sqlite3")
    await catalog.close()
    with pytest.raises(StorageUnavailable, match="closed"):
        await catalog.states()


async def test_integrity_of_a_broken_file_is_a_finding(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite3"
    catalog = await SqliteCatalog.open(path)
    for number in range(50):
        await ready(catalog, row(str(number)))
    await catalog.close()
    content = bytearray(path.read_bytes())
    page = content.index(b"Title 20") // 4096 * 4096
    content[page + 8 : page + 4096] = b"\xff" * 4088
    path.write_bytes(content)
    catalog = await SqliteCatalog.open(path)
    assert await catalog.integrity() != ()
    with pytest.raises(StorageUnavailable, match="cannot be read"):
        await catalog.page("", None, 9, ANN, all_of=True)
    await catalog.close()


async def test_when_people_left_only_rises_and_goes_with_the_document(catalog: Catalog) -> None:
    one, other = row("1"), row("2")
    for each in (one, other):
        await ready(catalog, each)
    await catalog.report(one.doc_id, "", 1, {"ann": 5, "bob": 9})
    await catalog.report(one.doc_id, "", 1, {"ann": 3})
    await catalog.report(other.doc_id, "", 1, {"ann": 7})
    await catalog.report("nothing", "", 1, {"ann": 7})
    assert await catalog.last_left("ann") == {one.doc_id: 5, other.doc_id: 7}
    assert await catalog.last_left("eve") == {}
    await catalog.delete_document(one.doc_id, 9, NOTE)
    await catalog.purge(one.doc_id, NOTE)
    assert await catalog.last_left("ann") == {other.doc_id: 7}
