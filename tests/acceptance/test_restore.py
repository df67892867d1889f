"""A server on what `docactor restore` made of a folder: the documents as they were backed up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from bench.agent import RefusedError
from gateway.cli import main
from tests.acceptance import faults
from tests.acceptance.editors import CLIENTS, Editor, until
from tests.acceptance.faults import Copy, append
from tests.acceptance.server import Server

pytestmark = pytest.mark.timeout(300)

TEXT: Final = "# Plan\n\none\n\ntwo\n"


@pytest.fixture
def old(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path / "data") as server:
        yield server


def blocks(server: Server, doc: str) -> list[tuple[str, str]]:
    """Anchor and text of each block."""
    read = server.tool("read_document", doc_id=doc, format="blocks")
    return [(block["anchor"], block["text"]) for block in read["blocks"]]


def cursor(server: Server, doc: str) -> Any:
    return server.tool("read_document", doc_id=doc, format="blocks")["cursor"]


def changed(server: Server, doc: str, since: Any) -> list[str]:
    told = server.tool("read_changes", doc_id=doc, cursor=since)
    return [block["text"] for block in told["blocks"]]


def assert_as_backed_up(
    server: Server, doc: str, backed_up: list[tuple[str, str]], before: Any, after: Any
) -> None:
    """Text and ids of the backup. Cursors of before are refused: never a silent gap."""
    assert blocks(server, doc) == backed_up
    with faults.agent(server) as agent:
        for given in (before, after):
            with pytest.raises(RefusedError) as refused:
                agent.call("read_changes", doc_id=doc, cursor=given)
            assert refused.value.code == "invalid_cursor"
        now = cursor(server, doc)
        assert changed(server, doc, now) == []
        first = backed_up[1][0]
        agent.call("replace", doc_id=doc, **{"from": first}, markdown="one, by its old anchor")
        copy = Copy(agent, doc)
        append(agent, doc, "new")
        assert copy.follow() == copy.present() == ["# Plan", "one, by its old anchor", "two", "new"]
        assert changed(server, doc, now) == ["one, by its old anchor", "new"]
        assert [i.partition("-")[0] for i, _ in backed_up] == copy.ids[:3]


def test_a_server_goes_on_from_a_restored_folder(
    old: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Into a new folder, and into that of a server killed a moment ago, logs and all."""
    doc, other = old.create(TEXT), old.create("other")
    before = cursor(old, doc)
    with faults.agent(old) as agent:
        backed_up = blocks(old, doc)
        assert main(["backup", str(tmp_path / "backup"), "--data", str(old.data)]) == 0
        append(agent, doc, "after the backup")
    after, late = cursor(old, doc), old.create("later than the backup")
    faults.kill_everything(old)
    until("its processes have ended", lambda: old.family() == [])
    assert list((old.data / "documents").glob("*/*-wal")) != []
    capsys.readouterr()
    fresh = tmp_path / "fresh"
    for data in (fresh, old.data):
        assert main(["restore", str(tmp_path / "backup"), "--data", str(data)]) == 0
        assert "2 documents and the catalog were restored" in capsys.readouterr().out
    for data in (fresh, old.data):
        with Server(data) as server:
            assert server.read(other) == "other\n"
            assert server.request("GET", f"/api/documents/{late}.md").status_code == 404
            assert_as_backed_up(server, doc, backed_up, before, after)
            type_into(server, doc)
            assert server.stop() == 0
        assert main(["doctor", "--data", str(data)]) == 0
        assert "2 documents checked: 2 sound" in capsys.readouterr().out


def type_into(server: Server, doc: str) -> None:
    person = Editor(server.editors(CLIENTS[0]), doc, server.token, CLIENTS[0])
    try:
        person.wait_synced().type(" typed", block=2)
        until("what was typed", lambda: "two typed" in server.read(doc))
    finally:
        person.kill()
