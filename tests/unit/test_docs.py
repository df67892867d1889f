"""The reference says what the code does: nothing missing, nothing made up, no number stale."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from gateway.mcp.context import ToolContext
from gateway.mcp.profiles import AUTHOR
from gateway.mcp.tools import _entries, _tool
from gateway.settings import FIELDS, Settings
from shared import limits, protocol, protocol_changes
from shared.errors import BY_CODE, Moved
from shared.wire import close_codes
from tests.unit.gateway.fakes import FakeRouter

ANSWERS: Final[tuple[type[msgspec.Struct], ...]] = (
    protocol.CreatedDocument,
    protocol.DocumentPage,
    protocol.DocumentSummary,
    protocol.ReadDocumentResult,
    protocol.BlockText,
    protocol.OutlineEntry,
    protocol.Hit,
    protocol.ReadChangesResult,
    protocol.ChangedBlock,
    protocol.WriteResult,
    protocol.WrittenBlock,
    protocol.Conflict,
    protocol.Remaining,
    protocol.FidelityNote,
    protocol_changes.GetChangesResult,
    protocol_changes.ChangedSection,
    protocol_changes.ChangedBlockRow,
    protocol_changes.ListChangesResult,
    protocol_changes.DocumentChanges,
    protocol_changes.UnreadDocument,
)
REFERENCE: Final = Path(__file__).resolve().parents[2] / "docs" / "reference"


def _page(name: str) -> str:
    return (REFERENCE / f"{name}.md").read_text(encoding="utf-8")


def _table_rows(page: str, first_cell: str) -> dict[str, list[str]]:
    """Rows of the page's tables whose first cell fits, by that cell without its backticks."""
    rows: dict[str, list[str]] = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and re.fullmatch(first_cell, cells[0]):
            rows[cells[0].strip("`")] = cells[1:]
    return rows


def test_every_error_code_has_its_row_and_says_whether_to_retry() -> None:
    told = {code: kind for code, kind in BY_CODE.items() if kind is not Moved}
    rows = _table_rows(_page("errors"), r"`[a-z_]+`")
    assert {code: cells[1] == "yes" for code, cells in rows.items()} == {
        code: kind.retryable for code, kind in told.items()
    }


def test_every_close_code_has_its_row() -> None:
    codes = {str(code) for code in vars(close_codes).values() if isinstance(code, int)}
    assert _table_rows(_page("errors"), r"\d{4}").keys() == codes


def test_every_limit_shown_exists_and_has_the_value_shown() -> None:
    rows = _table_rows(_page("limits"), r"`[A-Z_0-9]+`")
    assert rows
    shown = {name: float(cells[0].replace(",", "")) for name, cells in rows.items()}
    assert shown == {name: getattr(limits, name, None) for name in shown}


def test_every_setting_has_its_row_and_its_default() -> None:
    rows = _table_rows(_page("settings-and-cli"), r"`[a-z_]+`(, `[a-z_]+`)*")
    named = {name.strip("` ") for cell in rows for name in cell.split(",")}
    assert named == set(FIELDS)
    for name, cells in rows.items():
        default = cells[0].strip("`")
        if default:
            assert str(getattr(Settings(), name)).lower().removesuffix(".0") == default


@pytest.mark.parametrize("tool", sorted(AUTHOR))
def test_every_tool_is_described(tool: str) -> None:
    assert re.search(rf"^## .*\b{tool}\b", _page("tools"), re.MULTILINE)


def _section(page: str, tool: str) -> str:
    """What stands under the heading that names the tool."""
    (found,) = (part for part in page.split("\n## ") if re.match(rf"[\w, ]*\b{tool}\b", part))
    return found


def test_every_argument_of_a_tool_and_every_key_of_its_answer_is_named(rng: random.Random) -> None:
    page = _page("tools")
    context = ToolContext(FakeRouter(rng.choice), "http://docs", no_auth=True)
    for entry in _entries(context):
        tool = _tool(entry)
        section = _section(page, tool.name)
        for argument in tool.parameters["properties"]:
            assert re.search(rf"\b{argument}\b", section), (tool.name, argument)
    for answer in ANSWERS:
        for key in answer.__struct_fields__:
            assert re.search(rf"\b{key}\b", page), (answer.__name__, key)


def _signature(section: str, tool: str) -> dict[str, bool]:
    """The arguments a section shows, and whether each must be given; `…` stands for the rest."""
    shown = re.search(rf"`{tool}\(([^`]*)\)`", section)
    assert shown, tool
    bare = re.sub(r"\[\{[^}]*\}\]", "", shown[1])  # what is inside an argument
    parts = [part.strip() for part in bare.split(",")]
    return {part.split(" ")[0].strip("?:"): not re.search("[?=]", part) for part in parts}


def test_every_signature_shown_is_the_tools(rng: random.Random) -> None:
    page = _page("tools")
    context = ToolContext(FakeRouter(rng.choice), "http://docs", no_auth=True)
    for entry in _entries(context):
        schema = _tool(entry).parameters
        real = {name: name in schema.get("required", ()) for name in schema["properties"]}
        shown = _signature(_section(page, _tool(entry).name), _tool(entry).name)
        if shown.pop("…", None) is None:
            assert shown == real, _tool(entry).name
        else:
            assert shown.items() <= real.items(), _tool(entry).name


def test_the_mirror_in_a_few_lines_does_what_the_rule_says() -> None:
    code = _page("mirror-rule").split("```python")[1].split("```")[0]
    namespace: dict[str, Any] = {}
    exec(code, namespace)  # noqa: S102  the page's own example
    answer = {
        "removed": ["bbbbbbbb", "never-had"],
        "blocks": [
            {"anchor": "cccccccc-000001", "text": "moved up", "after": None},
            {"anchor": "dddddddd-000002", "text": "new", "after": "cccccccc"},
            {"anchor": "eeeeeeee-000003", "text": "new too", "after": "aaaaaaaa"},
        ],
    }
    mirror = [("aaaaaaaa", "stays"), ("bbbbbbbb", "goes"), ("cccccccc", "moved up")]
    assert namespace["apply"](mirror, answer) == [
        ("cccccccc", "moved up"),
        ("dddddddd", "new"),
        ("aaaaaaaa", "stays"),
        ("eeeeeeee", "new too"),
    ]
