"""The black-box suite of `tests/conformance` against this server.

All of it on one wire, and what the other one has of its own.

`make conformance` runs everything on both, beside other servers. What survives a kill -9 is tested
in `test_failover.py` and `test_restart.py`, with every client.
"""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import pytest

from tests.acceptance.server import Server

SUITE: Final = Path(__file__).resolve().parents[1] / "conformance"
OF_ITS_OWN: Final = "Who may,Hocuspocus"  # groups of checks

pytestmark = pytest.mark.timeout(300)


def suite(server: Server, wire: str, documents: Path, **more: str) -> list[dict[str, Any]]:
    """What became of each check that needs neither a minute nor a server of its own."""
    url = server.collab if wire == "y" else server.hocuspocus
    reader = server.create_token("Rea", "read", agent=False)
    options = {
        "--wire": wire,
        "--url": url,
        "--auth": "subprotocol:docactor.{token}",
        "--token": server.token,
        "--read-token": reader,
        "--bad-token": "wrong",
        "--documents": str(documents),
        **{f"--{name}": value for name, value in more.items()},
    }
    command = ["node", "run.mjs", "--json", *(part for pair in options.items() for part in pair)]
    told = subprocess.run(command, cwd=SUITE, capture_output=True, text=True, check=False)
    assert told.stdout, told.stderr
    rows: list[dict[str, Any]] = json.loads(told.stdout)
    return rows


def names(server: Server, number: int, file: Path) -> Path:
    """A file with so many empty documents: a check takes one, some two or three."""
    with ThreadPoolExecutor(4) as threads:
        file.write_text("\n".join(threads.map(server.create, [""] * number)))
    return file


def failed(rows: list[dict[str, Any]]) -> dict[str, str]:
    return {row["id"]: row["note"] for row in rows if row["result"] != "pass"}


def test_every_check_passes_over_y_websocket(server: Server, tmp_path: Path) -> None:
    rows = suite(server, "y", names(server, 36, tmp_path / "names"))
    assert failed(rows) == {}
    assert len(rows) == 34


def test_what_only_the_hocuspocus_wire_has_passes(server: Server, tmp_path: Path) -> None:
    documents = names(server, 20, tmp_path / "names")
    rows = suite(server, "hocuspocus", documents, only=OF_ITS_OWN)
    assert failed(rows) == {}
    assert len(rows) == 17
