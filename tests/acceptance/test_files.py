"""Markdown files against a running server: got, changed and sent back; whole folders in and out."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import httpx

from shared.markdown.join import join
from shared.markdown.parse import parse
from shared.markdown.render import render
from tests.acceptance.server import Server

ROOT: Final = Path(__file__).resolve().parents[2]


def put(
    server: Server, doc: str, text: str, tag: str | None, token: str = "", **params: str
) -> httpx.Response:
    headers = {"Authorization": f"Bearer {token or server.token}"}
    if tag is not None:
        headers["If-Match"] = tag
    url = f"{server.url}/api/documents/{doc}.md"
    return httpx.put(url, content=text, headers=headers, params=params, timeout=60)


def get(server: Server, doc: str) -> tuple[str, str]:
    answer = server.request("GET", f"/api/documents/{doc}.md")
    return answer.text, answer.headers["ETag"]


def test_a_file_sent_back_changes_what_was_changed_in_it(server: Server) -> None:
    doc = server.create("# Plan\n\nOne river.\n\nTwo stones.\n")
    text, tag = get(server, doc)
    same = put(server, doc, text, tag)
    assert (same.status_code, same.json()["charged"]) == (200, 0)
    assert get(server, doc) == (text, tag)

    other = server.create_token("Other")
    server.tool("insert", other, doc_id=doc, markdown="By another.")
    changed = put(server, doc, text.replace("Two", "Three"), tag)
    assert changed.status_code == 200
    assert changed.json()["replaced"] == 1
    merged = "# Plan\n\nOne river.\n\nThree stones.\n\nBy another.\n"
    assert get(server, doc)[0] == merged


def test_a_file_is_refused_as_a_patch_is(server: Server) -> None:
    doc = server.create("\n\n".join(f"Paragraph {number}." for number in range(12)))
    text, tag = get(server, doc)
    other = server.create_token("Other")
    shown = server.tool("read_document", other, doc_id=doc)
    block = shown["blocks"][3]["anchor"]
    server.tool("replace", other, doc_id=doc, **{"from": block}, markdown="Theirs entirely.")
    mine = text.replace("Paragraph 3.", "Mine instead.")
    refused = put(server, doc, mine, tag, on_conflict="reject")
    assert (refused.status_code, refused.json()["code"]) == (409, "stale_block")
    refused = put(server, doc, "Paragraph 0.", get(server, doc)[1])
    assert (refused.status_code, refused.json()["code"]) == (409, "large_delete")
    stranger = server.create_token("Stranger")
    refused = put(server, doc, mine, None, stranger)
    assert (refused.status_code, refused.json()["code"]) == (409, "base_required")
    refused = put(server, doc, mine, '"123"')
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_cursor")
    assert "Theirs entirely." in get(server, doc)[0]


def docactor(server: Server, token: str, *command: str) -> subprocess.CompletedProcess[str]:
    ours = {k: v for k, v in os.environ.items() if not k.startswith(("RAY_", "DOCACTOR_"))}
    return subprocess.run(
        [sys.executable, "-m", "gateway.cli", *command, "--data", str(server.data)],
        env=ours | {"DOCACTOR_TOKEN": token},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_a_folder_goes_in_and_comes_out(server: Server, tmp_path: Path) -> None:
    # Somebody's own: there are only these documents for them, not those of all other tests.
    order = {"name": "Gardener", "person": "gardener", "scope": "write", "agent": False}
    hers = server.request("POST", "/api/tokens", json=order).json()["token"]
    notes = tmp_path / "notes"
    shutil.copytree(ROOT / "docs" / "how-to", notes / "how-to")
    made = docactor(server, hers, "create", str(notes))
    assert made.returncode == 0, made.stderr
    rows = [line.split("  ") for line in made.stdout.splitlines()]
    assert len(rows) == len(list(notes.rglob("*.md")))
    again = docactor(server, hers, "create", str(notes))
    assert again.stdout == made.stdout  # a run that was cut short goes on where it was

    out = tmp_path / "out"
    exported = docactor(server, hers, "export", "--all", str(out))
    assert exported.returncode == 0, exported.stderr
    for _, slug, name in rows:
        blocks = parse((notes / name).read_text(encoding="utf-8")).blocks
        canonical = join([render(block.node, block.hints).text for block in blocks])
        assert (out / f"{slug}.md").read_text(encoding="utf-8") == canonical
