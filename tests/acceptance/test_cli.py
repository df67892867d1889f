"""The command line against a whole server."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest

from gateway.cli import NO_SERVER, REFUSED, main, parser
from gateway.mcp import profiles
from tests.acceptance.agents import agent
from tests.acceptance.conftest import OpenEditor
from tests.acceptance.editors import until
from tests.acceptance.server import Server

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDERS: Final = (".", "docs/tutorial", "docs/how-to", "docs/reference", "docs/discussion")
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def data(server: Server, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder through which the commands find the server and the owner's token."""
    for name in ("DOCACTOR_TOKEN", "DOCACTOR_DATA"):
        monkeypatch.delenv(name, raising=False)
    return server.data


def commands(top: argparse.ArgumentParser, *before: str) -> Iterator[str]:
    """Every command and action there is."""
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, sub in action.choices.items():
                yield " ".join((*before, name))
                yield from commands(sub, *before, name)


def docactor(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gateway.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def export(data: Path, file: Path, capsys: Captured) -> str:
    """What comes out of a document made from the file."""
    assert main(["create", str(file), "--data", str(data)]) == 0
    doc_id = capsys.readouterr().out.split()[0]
    assert main(["export", doc_id, "--data", str(data)]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("folder", FOLDERS)
def test_our_own_pages_are_the_same_after_one_pass(
    data: Path, folder: str, tmp_path: Path, capsys: Captured
) -> None:
    pages = [page.read_text(encoding="utf-8") for page in sorted((ROOT / folder).glob("*.md"))]
    assert pages
    file = tmp_path / "pages.md"
    file.write_text("\n".join(pages), encoding="utf-8")
    once = export(data, file, capsys)
    assert re.sub(r"\W", "", once) == re.sub(r"\W", "", file.read_text(encoding="utf-8"))
    file.write_text(once, encoding="utf-8")
    assert export(data, file, capsys).encode() == once.encode()


def test_commands_find_the_server_through_its_folder(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "bread.md"
    file.write_text("# Sourdough bread\n\nFlour.\n", encoding="utf-8")
    made = docactor("create", str(file), "--slug", "sourdough", "--data", str(data))
    doc_id, slug, url = made.stdout.split()
    assert (made.returncode, slug) == (0, "sourdough")
    for ref in (doc_id, slug, url):
        assert docactor("export", ref, "--data", str(data)).stdout == file.read_text()
    listed = docactor("list", "--query", "SOURDOUGH", "--data", str(data)).stdout
    assert [line.split()[0] for line in listed.splitlines()] == [doc_id]
    assert json.loads(docactor("status", "--data", str(data)).stdout)["ready"] is True


def edit(data: Path, doc: str, script: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """`docactor edit` with a Python script for an editor: it has the text in `text`."""
    program = "import pathlib, sys; path = pathlib.Path(sys.argv[1]); text = path.read_text()\n"
    saved = f"{program}{script}\npath.write_text(text)"
    editor = shlex.join([sys.executable, "-c", saved])
    command = [sys.executable, "-m", "gateway.cli", "edit", doc, "--data", str(data), *flags]
    environment = os.environ | {"VISUAL": editor}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def kept_text(told: subprocess.CompletedProcess[str]) -> str:
    """What stands in the file that an edit that was not sent names."""
    path = Path(told.stderr.split("your text is in ")[1].split("\n")[0])
    text = path.read_text()
    path.unlink()
    path.parent.rmdir()
    return text


def test_an_edit_in_the_terminal_sends_what_changed_and_others_see_who_is_there(
    server: Server, data: Path, editor: OpenEditor
) -> None:
    doc = server.create("# Rolls\n\nFlour.\n\nWater.")
    ann = editor(doc)
    url = f"{server.url}/api/documents/{doc}.md"
    others = (
        "import urllib.request, time\n"
        f"headers = {{'Authorization': 'Bearer {server.token}'}}\n"
        f"get = lambda: urllib.request.urlopen(urllib.request.Request({url!r}, headers=headers))\n"
        "deadline = time.monotonic() + 30\n"
        "while b'Salt' not in get().read() and time.monotonic() < deadline: time.sleep(0.05)\n"
        "text = text.replace('Flour', 'Rye flour')"
    )
    with ThreadPoolExecutor() as threads:
        editing = threads.submit(edit, data, doc, others)
        until(
            "somebody at Ann's",
            lambda: any("docactor edit" in str(state) for state in ann.present.values()),
        )
        ann.insert("Salt.")
        told = editing.result()
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.startswith("Blocks: 1 replaced.")
    ann.wait_texts(["Rolls", "Rye flour.", "Water.", "Salt."])
    until("nobody", lambda: not any("docactor edit" in str(s) for s in ann.present.values()))


def test_an_edit_that_is_not_sent_leaves_the_document_and_names_the_text(
    server: Server, data: Path
) -> None:
    doc = server.create("\n\n".join(f"Paragraph {number}." for number in range(20)))
    before = server.read(doc)
    assert edit(data, doc, "").stdout == "Nothing changed.\n"
    told = edit(data, doc, "text = 'all gone'")
    assert told.returncode == REFUSED
    assert kept_text(told) == "all gone"
    assert edit(data, doc, "sys.exit(3)").returncode == REFUSED
    assert server.read(doc) == before
    assert edit(data, doc, "text = 'all gone'", "--allow-large-delete").returncode == 0
    assert server.read(doc) == "all gone\n"


@pytest.mark.anyio
@pytest.mark.parametrize("scope, tools", [("read", profiles.READER), ("write", profiles.AUTHOR)])
async def test_a_token_lets_an_agent_in(
    server: Server, data: Path, scope: str, tools: frozenset[str]
) -> None:
    made = docactor("token", "create", "--agent", "Bob", "--scope", scope, "--data", str(data))
    assert made.returncode == 0
    async with agent(server.mcp, made.stdout.strip()) as bob:
        assert set(await bob.tools()) == tools
        assert (await bob.call("list_documents", limit=1))["documents"] is not None


def test_the_settings_in_force_are_printed_with_where_they_come_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docactor.toml").write_text("port = 1\nidle_s = 5\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("DOCACTOR_PORT", "2")
    told = docactor("config", "--workers", "3")
    assert told.returncode == 0
    lines = {line.split(" = ")[0]: line for line in told.stdout.splitlines()}
    assert "docactor.toml" in lines["idle_s"]
    assert "2 " in lines["port"]
    assert "DOCACTOR_PORT" in lines["port"]
    assert "--workers" in lines["workers"]


def test_without_a_server_the_code_is_3(tmp_path: Path) -> None:
    told = docactor("list", "--data", str(tmp_path), "--url", "http://127.0.0.1:9")
    assert (told.returncode, told.stdout) == (NO_SERVER, "")
    assert "docactor serve" in told.stderr


def test_a_refusal_of_the_server_is_one_line_and_1(data: Path) -> None:
    told = docactor("export", "no-such-document", "--data", str(data))
    assert (told.returncode, told.stdout) == (REFUSED, "")
    assert len(told.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", list(commands(parser())))
def test_every_command_explains_itself(capsys: Captured, command: str) -> None:
    with pytest.raises(SystemExit) as caught:
        main([*command.split(), "--help"])
    assert caught.value.code == 0
    told = capsys.readouterr().out
    assert f"usage: docactor {command}" in told
    assert len(told.splitlines()) > 4
