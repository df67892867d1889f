"""What agents are told before they have a token: it is there, short, and so."""

from __future__ import annotations

import ast
import re
from typing import Any

import httpx
import pytest

from gateway.agent_pages import INDEX_PATH, SKILL, SKILL_PATH
from gateway.rest.openapi import description
from shared import errors
from tests.unit.gateway.conftest import BASE, McpClient

pytestmark = pytest.mark.anyio
_CALL = re.compile(r"`((\w+)\([^`]*\))`")


def calls(text: str) -> list[tuple[str, list[str]]]:
    """Calls shown in a text: the tool, and names of arguments (`from` is none in Python)."""
    found = []
    for shown, name in _CALL.findall(text):
        python = shown.replace("from=", "from_=").replace("<the last one you got>", "1")
        call = ast.parse(python.replace("<cursor>", "1"), mode="eval").body
        assert isinstance(call, ast.Call)
        arguments = [word.arg.rstrip("_") for word in call.keywords if word.arg]
        found.append((name, arguments + [a.id for a in call.args if isinstance(a, ast.Name)]))
    return found


async def schemas(mcp: McpClient) -> dict[str, dict[str, Any]]:
    return {tool.name: tool.input_schema["properties"] for tool in await mcp.list_tools()}


async def test_every_call_of_the_skill_is_one_the_tools_take(mcp: McpClient) -> None:
    known = await schemas(mcp)
    shown = calls(SKILL.read_text(encoding="utf-8"))
    assert {name for name, _ in shown} == known.keys() - {"create_document", "list_documents"}
    for name, arguments in shown:
        assert set(arguments) <= known[name].keys(), name


def test_every_code_of_the_skill_is_one_that_exists() -> None:
    table = SKILL.read_text(encoding="utf-8").partition("| code | do |")[2]
    cells = [row.rpartition(" | ")[0] for row in table.splitlines()]
    codes = {code for cell in cells for code in re.findall(r"`(\w+)`", cell)}
    known = {kind.code for kind in vars(errors).values() if hasattr(kind, "code")}
    assert len(codes) > 6
    assert codes <= known


def test_every_address_of_the_skill_is_one_that_exists() -> None:
    shown = re.findall(r"`(GET|POST) (/[^`?]+)[^`]*`", SKILL.read_text(encoding="utf-8"))
    assert len(shown) > 2
    paths = description()["paths"]
    for method, path in shown:
        assert method.lower() in paths[path]


async def test_the_pages_are_shown_to_anybody_and_lead_somewhere(
    http: httpx.AsyncClient,
) -> None:
    del http.headers["authorization"]
    index = await http.get(INDEX_PATH)
    assert index.headers["content-type"] == "text/plain; charset=utf-8"
    assert index.text.startswith("# docactor\n\n> ")
    assert len(index.text) < 2_000
    links = re.findall(r"\((http[^)]+)\)", index.text)
    assert links == [f"{BASE}{path}" for path in (SKILL_PATH, "/mcp", "/api/openapi.json")]
    statuses = [(await http.get(link)).status_code for link in links]
    assert statuses == [200, 405, 200]  # MCP is a POST
    skill = await http.get(SKILL_PATH)
    assert skill.text == SKILL.read_text(encoding="utf-8")
    assert skill.headers["content-type"] == "text/markdown; charset=utf-8"
