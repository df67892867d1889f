"""Doctor on documents' files: what it finds, what it mends, and what it says is lost."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import anyio
import pytest

from actors.document.document import Document
from actors.upkeep.repair import check_file, finish_exchange, repair_file
from shared.checkup import CheckRequest, Repaired
from shared.errors import DocumentCorrupt, InvalidCursor
from shared.limits import DAY_MS
from shared.markdown.parse import parse
from shared.protocol import InsertRequest
from shared.protocol_history import (
    ListVersionsRequest,
    ReadVersionRequest,
    SaveVersionRequest,
)
from tests.integration.stored_documents import (
    ANN,
    DOC_ID,
    KEY,
    TEXT,
    StoredDocument,
    append,
    changes,
    delete,
    markdown,
    read,
)

pytestmark = pytest.mark.anyio
NOW = 1_800_000_000_000
FLIP = "SET data = CAST(substr(data, 1, 9) || x'ff' || substr(data, 11) AS BLOB) WHERE seq = "
BROKEN_UPDATE = "UPDATE updates " + FLIP
BROKEN_CHECKPOINT = "UPDATE checkpoints " + FLIP


@pytest.fixture
def stored(tmp_path: Path) -> StoredDocument:
    return StoredDocument(tmp_path / f"{DOC_ID}.sqlite3")


async def in_another_process(path: Path) -> str:
    code = (
        "import json, sys; from pathlib import Path; from actors.upkeep import repair;"
        "repair.LOCK_WAIT_S = 0;"
        "print(json.dumps([p.code for p in repair.check_file(Path(sys.argv[1])).problems]))"
    )
    done = await anyio.run_process([sys.executable, "-c", code, str(path)])
    return done.stdout.decode()


def codes(stored: StoredDocument) -> list[str]:
    return [problem.code for problem in check_file(stored.path).problems]


def mended(stored: StoredDocument) -> Repaired:
    """Repairs, and makes sure that the old file is kept and the new one is sound."""
    before = stored.path.read_bytes()
    repaired = repair_file(stored.path, check_file(stored.path), NOW)
    assert repaired.left == ()
    assert Path(repaired.aside).read_bytes() == before
    assert Path(repaired.aside).name == f"{DOC_ID}.sqlite3.broken-{NOW}"
    assert check_file(stored.path).problems == ()
    return repaired


async def test_a_sound_document_has_no_problems_and_is_not_touched(stored: StoredDocument) -> None:
    await stored.make("three", "four")
    before = stored.path.read_bytes()
    found = check_file(stored.path)
    assert found.problems == ()
    assert (found.doc_id, found.updates, found.checkpoints, found.blocks) == (DOC_ID, 3, 3, 5)
    assert repair_file(stored.path, found, NOW) == Repaired(DOC_ID)
    assert stored.path.read_bytes() == before
    assert [path.name for path in stored.path.parent.iterdir()] == [stored.path.name]


async def test_a_document_edited_in_every_way_checks_itself_sound(stored: StoredDocument) -> None:
    async with stored.opened(seed=TEXT) as document:
        for number in range(4):
            await append(document, f"number {number}")
            await delete(document, 1)
        assert (await document.check(ANN, CheckRequest(DOC_ID))).problems == ()
    assert codes(stored) == []


async def test_a_damaged_newest_checkpoint_is_left_out_and_nothing_is_lost(
    stored: StoredDocument,
) -> None:
    await stored.make("three", "four")
    async with stored.opened() as document:
        cursor = (await read(document)).cursor
    stored.sql(BROKEN_CHECKPOINT + "3")
    assert codes(stored) == ["checkpoint_damaged"]
    with pytest.raises(DocumentCorrupt):
        await stored.text()
    repaired = mended(stored)
    assert repaired.lost == ()
    assert await stored.text() == TEXT + "\nthree\n\nfour\n"
    async with stored.opened() as document:
        assert (await changes(document, cursor)).cursor == cursor  # the feed goes on


async def test_a_damaged_update_before_a_checkpoint_costs_history_alone(
    stored: StoredDocument,
) -> None:
    await stored.make("three", "four", "five")
    stored.sql(BROKEN_UPDATE + "2")
    assert codes(stored) == ["update_damaged"]
    assert "history before update 3" in mended(stored).lost[0]
    assert await stored.text() == TEXT + "\nthree\n\nfour\n\nfive\n"
    assert stored.ask("SELECT seq FROM updates") == [(3,), (4,)]


async def test_a_damaged_update_behind_every_checkpoint_is_cut_off_and_said_to_be_lost(
    stored: StoredDocument,
) -> None:
    await stored.make()
    async with stored.opened() as document:
        cursor = (await read(document)).cursor
        for words in ("three", "four", "five"):
            await append(document, words)
    stored.sql("DELETE FROM checkpoints WHERE seq > 1", BROKEN_UPDATE + "3")
    assert codes(stored) == ["update_damaged"]
    repaired = mended(stored)
    assert repaired.lost[0].startswith("Update 3 by ann at ")
    assert (await stored.text()).startswith(TEXT + "\nthree\n")
    async with stored.opened() as document:
        with pytest.raises(InvalidCursor):
            await changes(document, cursor)
        await append(document, "six")
    assert codes(stored) == []


async def test_what_does_not_build_on_a_lost_update_is_kept(stored: StoredDocument) -> None:
    await stored.make()
    async with stored.opened() as document:
        await append(document, "three")
    async with stored.opened() as document:  # a new author: each opening has a client id of its own
        request = InsertRequest(parse("four").blocks, "start")
        await document.insert(ANN, request)
    stored.sql("DELETE FROM checkpoints WHERE seq > 1", BROKEN_UPDATE + "2")
    repaired = mended(stored)
    assert any(line.startswith("Update 2 ") for line in repaired.lost)
    assert await stored.text() == "four\n\n" + TEXT


async def test_a_missing_update_is_a_gap(stored: StoredDocument) -> None:
    await stored.make("three")
    stored.sql("DELETE FROM checkpoints", "DELETE FROM updates WHERE seq = 1")
    assert codes(stored) == ["log_gap"]
    repaired = repair_file(stored.path, check_file(stored.path), NOW)
    assert "Restore a backup" in repaired.left[-1].text
    assert codes(stored) == ["log_gap"]  # untouched


@pytest.mark.parametrize(
    "damage, code",
    [
        ("UPDATE checkpoints SET block_index = x'93019090'", "checkpoint_damaged"),
        ("DELETE FROM block_changes", "change_rows"),
        ("UPDATE block_changes SET kind = 'removed'", "change_rows"),
        ("UPDATE meta SET value = 99 WHERE key = 'head'", "change_rows"),
        ("DELETE FROM meta WHERE key = 'secret'", "meta"),
        ("DELETE FROM meta WHERE key = 'update_seq'", "meta"),
        ("UPDATE meta SET value = 'zzzzzzzzzzzz' WHERE key = 'doc_id'", "meta"),
    ],
)
async def test_what_the_rest_says_better_is_made_again(
    stored: StoredDocument, damage: str, code: str
) -> None:
    await stored.make("three")
    async with stored.opened() as document:
        await delete(document, 1)
    stored.sql(damage)
    if code != "change_rows" or "DELETE" not in damage:
        assert code in codes(stored)
        mended(stored)
    assert await stored.text() == "# Plan\n\ntwo\n\nthree\n"
    assert codes(stored) == []


async def test_an_index_that_does_not_fit_is_built_again_and_ids_stay(
    stored: StoredDocument,
) -> None:
    await stored.make()
    async with stored.opened() as document:
        before = [block.anchor for block in document.anchors()]
    stored.sql("DELETE FROM checkpoints", "UPDATE updates SET splice = x''")
    assert "update_damaged" in codes(stored)  # the checksum is over both
    stored.rehash()
    assert codes(stored) == ["index_misfit"]
    repaired = mended(stored)
    assert "index was built again" in " ".join(repaired.done)
    async with stored.opened() as document:
        assert [block.anchor for block in document.anchors()] == before


async def test_foreign_content_in_the_root_becomes_a_paragraph(stored: StoredDocument) -> None:
    await stored.make()
    stored.poison()
    assert codes(stored) == ["foreign_children"]
    mended(stored)
    assert "poison" in await stored.text()


async def test_a_file_cut_off_is_told_and_what_is_left_of_it_is_recovered(
    stored: StoredDocument,
) -> None:
    await stored.make("three " * 2000)
    size = stored.path.stat().st_size
    with stored.path.open("rb+") as file:
        file.truncate(size - 4096)
    assert codes(stored)[0] == "unreadable"
    with pytest.raises(DocumentCorrupt):
        await stored.text()
    repaired = repair_file(stored.path, check_file(stored.path), NOW)
    if not repaired.left:
        assert check_file(stored.path).problems == ()
    assert (await stored.text()).startswith("# Plan\n\none\n\ntwo\n")


async def test_an_empty_or_foreign_file_is_told_and_left_alone(stored: StoredDocument) -> None:
    for content in (b"", b"not a database" * 100):
        stored.path.write_bytes(content)
        assert codes(stored) == ["unreadable"]
        with pytest.raises(DocumentCorrupt):
            await Document.open(stored.path, KEY)
        repaired = repair_file(stored.path, check_file(stored.path), NOW)
        assert repaired.left
        assert stored.path.read_bytes() == content


async def test_a_file_in_use_is_not_repaired(stored: StoredDocument) -> None:
    async with stored.opened(seed=TEXT) as document:
        await append(document, "three")
        # Another process, as it is with a server: locks of our own would not stop us.
        assert json.loads(await in_another_process(stored.path)) == ["locked"]
        assert (await markdown(document)).endswith("three\n")


async def test_an_interrupted_exchange_is_finished(stored: StoredDocument) -> None:
    await stored.make("three")
    stored.path.rename(stored.path.with_name(stored.path.name + ".repaired"))
    assert finish_exchange(stored.path)
    assert not finish_exchange(stored.path)
    assert await stored.text() == TEXT + "\nthree\n"


async def test_a_document_whose_old_updates_were_merged_is_sound_and_can_be_repaired(
    stored: StoredDocument,
) -> None:
    await stored.make("three", "four")
    async with stored.opened() as document:
        for paragraph in ("here", "there", "now"):
            await append(document, paragraph)
        await document.save_version(ANN, SaveVersionRequest("as agreed"))
        await append(document, "five")
    text = await stored.text()
    async with stored.opened() as document:
        late = document.last_change_at + 2 * DAY_MS
        document._keeper.retention._clock = lambda: late
        await document._keeper.retention.step()
    assert stored.ask("SELECT max(merged) FROM updates")[0] > (1,)
    assert codes(stored) == []
    newest = stored.ask("SELECT max(seq) FROM checkpoints")[0][0]
    stored.sql(BROKEN_CHECKPOINT + str(newest))
    mended(stored)
    assert await stored.text(epoch=9) == text
    async with stored.opened(epoch=10) as document:
        (version,) = (await document.list_versions(ANN, ListVersionsRequest())).versions
        assert version.name == "as agreed"
        read_back = await document.read_version(ANN, ReadVersionRequest("as agreed"))
        assert read_back.markdown == text.removesuffix("\nfive\n")
    assert stored.ask("SELECT count(*) FROM authors")[0] > (0,)
