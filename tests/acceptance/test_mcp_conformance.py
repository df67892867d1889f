"""The conformance suite of the Model Context Protocol against `/mcp`, held to the page about it."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import httpx
import jsonschema  # type: ignore[import-untyped]
import pytest

from tests.acceptance.server import Server

ROOT: Final = Path(__file__).resolve().parents[2]
SUITE: Final = ROOT / "tests" / "mcp_conformance" / "node_modules" / ".bin" / "conformance"
PAGE: Final = ROOT / "docs" / "reference" / "mcp-conformance.md"
SCENARIO: Final = re.compile(r"^\| `([a-z0-9-]+)` \|", re.MULTILINE)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The suite sends no token."""
    data = tmp_path_factory.mktemp("conforming") / "data"
    with Server(data, "--no-auth") as running:
        yield running


def described() -> tuple[set[str], set[str]]:
    """Scenarios that pass, and that fail, as the page says."""
    passes, fails = PAGE.read_text(encoding="utf-8").split("## Fails")
    return set(SCENARIO.findall(passes)), set(SCENARIO.findall(fails))


def test_the_suite_finds_what_the_page_says(own: Server, tmp_path: Path) -> None:
    command = [str(SUITE), "server", "--url", own.mcp, "--suite", "all", "-o", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    found: dict[str, set[str]] = {}
    for checks in tmp_path.glob("*/checks.json"):
        scenario = checks.parent.name.removeprefix("server-")
        name = re.sub(r"-\d{4}-\d\d-\d\dT.*", "", scenario)
        told = json.loads(checks.read_text(encoding="utf-8"))
        found[name] = {check["status"] for check in told}
    assert found, ran.stdout + ran.stderr
    failed = {name for name, statuses in found.items() if "FAILURE" in statuses}
    assert (found.keys() - failed, failed) == described()


def test_every_schema_of_a_tool_is_one(own: Server) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    accept = {"Accept": "application/json, text/event-stream"}
    tools = httpx.post(own.mcp, json=message, headers=accept).json()["result"]["tools"]
    assert tools
    for tool in tools:
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            jsonschema.Draft202012Validator.check_schema(schema)
