"""One contract for the catalog and its double."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from actors.catalog import SqliteCatalog
from actors.catalog_memory import MemoryCatalog
from actors.ports import Assignment, Catalog, Creation, Holder
from shared.directory_protocol import DocumentRow, TokenRow
from shared.errors import StorageUnavailable

pytestmark = pytest.mark.anyio

SLOT = Holder("doc-slot-1", "n1", 100, 7)


def row(name: str, updated_at: int = 10) -> DocumentRow:
    doc_id = name.rjust(12, "0")
    return DocumentRow(doc_id, f"slug-{name}", f"Title {name}", "creating", 1, updated_at, "ann")


async def ready(catalog: Catalog, made: DocumentRow) -> None:
    assert await catalog.reserve(made, None, 1)
    await catalog.make_ready(made.doc_id, b"")


@pytest.fixture(params=["sqlite", "memory"])
async def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Catalog]:
    made: Catalog
    if request.param == "sqlite":
        made = await SqliteCatalog.open(tmp_path / "catalog.sqlite3")
    else:
        made = MemoryCatalog()
    yield made
    await made.close()


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
    assert await catalog.delete_document(again.doc_id, 5)
    assert not await catalog.delete_document(again.doc_id, 5)
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
    first = await catalog.page("", None, 3)
    assert [r.doc_id[-1] for r in first] == ["4", "3", "2"]
    rest = await catalog.page("", (first[-1].updated_at, first[-1].doc_id), 3)
    assert [r.doc_id[-1] for r in rest] == ["1", "0"]
    await ready(catalog, DocumentRow("d" * 12, "other", "Ärger", "creating", 1, 1, "ann"))
    assert [r.slug for r in await catalog.page("ÄRG", None, 9)] == ["other"]
    assert [r.slug for r in await catalog.page("ITLE 3", None, 9)] == ["slug-3"]
    assert await catalog.page("%", None, 9) == ()


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


async def test_tokens(catalog: Catalog) -> None:
    made = TokenRow(
        "t1", "bot", "person:ann", "agent:ann:bot", True, frozenset({"read"}), 1, 99, None, None
    )
    await catalog.add_token(made, b"hash")
    assert await catalog.token(b"hash") == made
    assert await catalog.token(b"other") is None
    await catalog.token_used("t1", 5)
    assert await catalog.revoke_token("t1", 6)
    assert not await catalog.revoke_token("t1", 7)
    (kept,) = await catalog.tokens()
    assert (kept.last_used, kept.revoked) == (5, 6)


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
