"""What the pages tell a newcomer to paste works as it stands, but for address, name and token."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

from tests.acceptance import agent_session, review_session
from tests.acceptance.editors import HOCUSPOCUS_CLIENTS, NPM
from tests.acceptance.server import Server

ROOT: Final = Path(__file__).resolve().parents[2]
EDITORS: Final = ROOT / "docs" / "how-to" / "connect-an-editor.md"
SHOW: Final = "\nprovider.SYNCED, () => { console.log(root()); process.exit(0) })"


def snippets(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def run(*command: str, **options: Any) -> str:
    done: subprocess.CompletedProcess[str] = subprocess.run(
        command, capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def bread(server: Server) -> str:
    """The id of a document to put where the pages say `bread`."""
    return server.create("# Loaf")


def node(server: Server, bread: str, snippet: str, client: str, synced: str = "once('sync'") -> str:
    """What an editor made as the snippet says has once it is synced."""
    code = snippet.replace("ws://127.0.0.1:8000/collab", server.collab).replace("'bread'", "name")
    code = code.replace("'<doc id or slug>'", "name").replace("docactor.<token>", "${token}")
    code = code.replace("'${token}'", "`docactor.${token}`").replace("'y-websocket'", f"'{client}'")
    before = (
        "import ws from 'ws'; globalThis.WebSocket = ws\n"
        f"const name = '{bread}', token = '{server.token}', url = '{server.collab}'\n"
        "const root = () => doc.getXmlFragment('default').toString()\n"
    )
    code = before + code + SHOW.replace("SYNCED", synced)
    return run("node", "--input-type=module", "-e", code, cwd=NPM)


@pytest.mark.parametrize("client", ["y-websocket", "y-websocket-2"])
@pytest.mark.parametrize("page", [EDITORS, ROOT / "README.md"], ids=["how-to", "README"])
def test_an_editor_connects_as_the_page_says(
    server: Server, bread: str, page: Path, client: str
) -> None:
    assert "Loaf</heading>" in node(server, bread, snippets(page, "js")[0], client)


def test_an_old_editor_connects_as_the_page_says(server: Server, bread: str) -> None:
    first, second, *_ = snippets(EDITORS, "js")
    imports = first[: first.index("const provider")]
    assert "Loaf</heading>" in node(server, bread, imports + second, "y-websocket-1")


@pytest.mark.parametrize("client", HOCUSPOCUS_CLIENTS)
def test_a_hocuspocus_editor_connects_as_the_page_says(
    server: Server, bread: str, client: str
) -> None:
    (snippet,) = (code for code in snippets(EDITORS, "js") if "HocuspocusProvider" in code)
    code = snippet.replace("ws://127.0.0.1:8000/hocuspocus", server.hocuspocus)
    code = code.replace("'@hocuspocus/provider'", f"'{client}'")
    assert "Loaf</heading>" in node(server, bread, code, client, "on('synced'")


def test_a_python_editor_connects_as_the_page_says(server: Server, bread: str) -> None:
    ours, providers = snippets(EDITORS, "python")
    code = ours.replace("http://127.0.0.1:8000", server.url).replace('"bread"', f'"{bread}"')
    assert run(sys.executable, "-c", code.replace("<token>", server.token)) == "['Loaf']\n"
    assert server.read(bread) == "# Loaf\n\nPreheat the oven.\n"
    code = providers.replace("ws://127.0.0.1:8000/collab/bread", f"{server.collab}/{bread}")
    assert "Loaf</heading>" in run(sys.executable, "-c", code.replace("<token>", server.token))


def test_the_tutorial_holds(server: Server, tmp_path: Path) -> None:
    """Its commands in one shell, but for those that start and end the server."""
    page = ROOT / "docs" / "tutorial" / "first-document.md"
    script = "".join(code for code in snippets(page, "sh") if "docactor serve" not in code)
    # What its reader copies by hand from the answer to `patch`.
    script = re.sub(r"^(call patch .*)$", r"\1 | tee patched", script, flags=re.MULTILINE)
    script = script.replace("<cursor>", """'"$(cursor)"'""")
    before = """set -euo pipefail\ncursor() { sed -E 's/.*"cursor":([0-9]+).*/\\1/' patched; }\n"""
    docactor = rf"{sys.executable} -m gateway.cli \1 --data {server.data}"
    script = re.sub(r"\.venv/bin/docactor ([^)\n]*)", docactor, script)
    script = script.replace("http://127.0.0.1:8000", server.url)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    told = run("bash", "-c", before + script + "wait\n", cwd=tmp_path, env=environment)
    assert '"slug":"bread"' in told
    assert "replaced 1, inserted 1, deleted 0" in told
    assert '"text":"Patience.","change":"added"' in told
    assert "# Bread\n\nFlour, water and time.\n\nSalt.\n\nA hot oven.\n\nPatience.\n" in told


@pytest.mark.parametrize("session", [agent_session, review_session])
def test_the_recorded_session_is_what_happens(server: Server, session: ModuleType) -> None:
    page = session.PAGE.read_text(encoding="utf-8")
    assert session.play(server) == page, "record it again: make docs"
