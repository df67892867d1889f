"""The demo tells its story to the end, whatever the file, and says so when it cannot."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from gateway.commands.client import RestClient
from gateway.demo import Story, main
from tests.acceptance.server import Server

STEPS: Final = [f"step {number}" for number in range(7)]
ODD_FILES: Final = {
    "one short paragraph": "Hi.\n",
    "empty": "",
    "no paragraph": "# T\n\n```sh\nls\n```\n\n- a\n\n| b |\n| - |\n| c |\n",
    "marks, images and breaks": "**bold**\n\n![image](a.png)\n\na\\\nb\n\n1. one\n\nlast",
    "the same words many times": "a\n\na\n\n> a\n\nb a\n",
    "front matter": "---\ntitle: T\n---\n\nText with `code`, *marks* and <kbd>HTML</kbd>.\n",
}


@pytest.mark.timeout(240)
def test_the_demo_prints_every_step_and_ends_well() -> None:
    ours = {k: v for k, v in os.environ.items() if not k.startswith(("RAY_", "DOCACTOR_"))}
    done = subprocess.run(
        [sys.executable, "-m", "gateway.demo", "--once"],
        env=ours,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = [line for line in done.stdout.splitlines() if "s  step " in line]
    assert [line.split("  ")[-2].strip() for line in told] == STEPS
    assert done.stdout.splitlines().count("        | Stopped.") == 1
    assert "done: every step held" in done.stdout
    assert done.stderr == ""


@pytest.mark.anyio
@pytest.mark.parametrize("markdown", ODD_FILES.values(), ids=ODD_FILES.keys())
async def test_any_file_will_do(
    server: Server, markdown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with RestClient(server.url, server.token) as rest:
        await Story(server.url, rest, server.token, "a.md", markdown).tell()
    told = capsys.readouterr().out
    assert [step for step in STEPS[1:] if f"{step}  " in told] == STEPS[1:]


def test_without_node_it_fails_before_it_starts_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["demo", "--once"])
    assert main() == 1
    (told,) = capsys.readouterr().out.splitlines()
    assert told.endswith("FAILED: did not hold: node is on the PATH, for one of the editors")


@pytest.mark.parametrize(
    "content, told",
    [(None, "No such file or directory"), (b"\xdcbel", "'utf-8' codec can't decode byte 0xdc")],
)
def test_a_file_that_cannot_be_read_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    content: bytes | None,
    told: str,
) -> None:
    file = tmp_path / "a.md"
    if content is not None:
        file.write_bytes(content)
    monkeypatch.setattr(sys, "argv", ["demo", "--once", "--file", str(file)])
    assert main() == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert told in line
