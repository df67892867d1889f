"""The rules of the tree, read from its syntax trees: who imports whom, how big things get."""

from __future__ import annotations

import ast
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]

# gateway -> actors -> shared, and never back.
LAYERS: Final = {"shared": 0, "actors": 1, "gateway": 2}

# The pure core: values in, values out. No I/O, no clock, no randomness, no framework.
SHARED_MAY_IMPORT: Final = {"markdown_it", "mdit_py_plugins", "msgspec", "pycrdt", "rapidfuzz"}
SHARED_MUST_NOT_IMPORT: Final = {
    *("asyncio", "concurrent", "multiprocessing", "queue", "sched", "threading"),
    *("http", "os", "pathlib", "select", "shutil", "socket", "sqlite3", "ssl", "subprocess"),
    *("logging", "tempfile", "urllib"),
    *("random", "secrets", "time", "uuid"),
}
READS_THE_CLOCK: Final = {"now", "today", "utcnow"}  # of datetime and date

# Where an actor may be called. Everything else takes a port and is tested without a cluster.
MAY_CALL_ACTORS: Final = {"actors/directory/ray_slots.py", "gateway/ray_road.py"}

MAX_FILE_LINES: Final = 499
MAX_MEDIAN_FILE_LINES: Final = 170
MAX_FUNCTION_LINES: Final = 40
SHARE_OF_SHORT_FUNCTIONS: Final = 0.9

# In two parts each, so that this file passes its own test.
REGISTRY_HOSTS: Final = tuple(
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("registry", "npmjs", "org"),
        ("npmjs", "com"),
        ("yarnpkg", "com"),
        ("deb", "debian", "org"),
        ("security", "debian", "org"),
    )
)


def _tracked(pattern: str = "") -> list[str]:
    """Files that are, or with the next commit will be, in the repository."""
    command = [
        "git",
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
        "--",
        pattern or ".",
    ]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return sorted({name for name in listed.stdout.splitlines() if (ROOT / name).is_file()})


PYTHON: Final = _tracked("*.py")
SOURCES: Final = [name for name in PYTHON if name.split("/")[0] in LAYERS]
TREES: Final = {name: ast.parse((ROOT / name).read_text(encoding="utf-8")) for name in PYTHON}


def _imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and full name of every module imported, wherever the import stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, "." * node.level + (node.module or "")


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def test_imports_go_from_gateway_to_actors_to_shared_only() -> None:
    wrong = [
        f"{name}:{line} imports {module}"
        for name in SOURCES
        for line, module in _imported(TREES[name])
        if LAYERS.get(module.split(".")[0], -1) > LAYERS[name.split("/")[0]]
    ]
    assert wrong == []


def test_code_imports_neither_tests_nor_bench_and_nothing_relatively() -> None:
    wrong = [
        f"{name}:{line} imports {module}"
        for name in SOURCES
        for line, module in _imported(TREES[name])
        if module.split(".")[0] in {"tests", "bench", ""}
    ]
    assert wrong == []


def test_the_shared_core_imports_nothing_that_does_io_or_reads_a_clock() -> None:
    standard = sys.stdlib_module_names - SHARED_MUST_NOT_IMPORT
    allowed = standard | SHARED_MAY_IMPORT | {"shared"}
    wrong = [
        f"{name}:{line} imports {module}"
        for name in SOURCES
        if name.startswith("shared/")
        for line, module in _imported(TREES[name])
        if module.split(".")[0] not in allowed
    ]
    assert wrong == []


def test_the_shared_core_calls_no_clock_and_opens_no_file() -> None:
    wrong = [
        f"{name}:{node.lineno} calls {ast.unparse(node.func)}"
        for name in SOURCES
        if name.startswith("shared/")
        for node in ast.walk(TREES[name])
        if isinstance(node, ast.Call)
        and (
            (isinstance(node.func, ast.Attribute) and node.func.attr in READS_THE_CLOCK)
            or (isinstance(node.func, ast.Name) and node.func.id in {"open", "print", "input"})
        )
    ]
    assert wrong == []


def test_the_editor_client_imports_no_part_of_the_server() -> None:
    """It is a library for other programs: they have neither Ray nor our files."""
    wrong = [
        f"{name}:{line} imports {module}"
        for name in SOURCES
        if name.startswith("gateway/client/")
        for line, module in _imported(TREES[name])
        if module.split(".")[0] in {"actors", "ray", "starlette", "fastmcp", "aiosqlite"}
        or (module.split(".")[0] == "gateway" and not module.startswith("gateway.client"))
    ]
    assert wrong == []


def test_actors_are_called_from_two_modules_only() -> None:
    """`handle.method.remote` calls an actor; `ray.remote` makes a class and may stand elsewhere."""
    wrong = [
        f"{name}:{node.lineno} {ast.unparse(node)}"
        for name in SOURCES
        if name not in MAY_CALL_ACTORS
        for node in ast.walk(TREES[name])
        if isinstance(node, ast.Attribute) and node.attr == "remote"
        if not (isinstance(node.value, ast.Name) and node.value.id == "ray")
    ]
    assert wrong == []


def test_no_import_stands_inside_a_function() -> None:
    wrong = [
        f"{name}:{line} imports {module} in {function.name}"
        for name in PYTHON
        for function in _functions(TREES[name])
        for line, module in _imported(function)
    ]
    assert wrong == []


def test_every_package_file_is_empty() -> None:
    packages = [name for name in SOURCES if name.endswith("/__init__.py")]
    assert [name for name in packages if (ROOT / name).read_text(encoding="utf-8").strip()] == []


def test_no_file_is_long() -> None:
    lines = {name: len((ROOT / name).read_text(encoding="utf-8").splitlines()) for name in PYTHON}
    assert {name: count for name, count in lines.items() if count > MAX_FILE_LINES} == {}


def test_files_are_small_by_the_median() -> None:
    lines = [len((ROOT / name).read_text(encoding="utf-8").splitlines()) for name in SOURCES]
    assert statistics.median(lines) < MAX_MEDIAN_FILE_LINES


def test_nine_functions_in_ten_are_short() -> None:
    lengths = [_length(function) for name in SOURCES for function in _functions(TREES[name])]
    short = sum(length < MAX_FUNCTION_LINES for length in lengths)
    assert short >= SHARE_OF_SHORT_FUNCTIONS * len(lengths)


def test_no_file_names_a_registry_host() -> None:
    wrong = []
    for name in _tracked():
        text = (ROOT / name).read_bytes().decode(errors="replace")
        wrong += [f"{name}: {host}" for host in REGISTRY_HOSTS if host in text]
    assert wrong == []


def _make_targets() -> set[str]:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))


@pytest.mark.parametrize("page", [name for name in _tracked("*.md") if "results/" not in name])
def test_every_make_command_in_a_page_exists(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    # Only where it is a command: in backticks or at the start of a line of a code block.
    named = set(re.findall(r"(?:`|^\s*(?:\$ )?)make ([a-z][a-z-]*)", text, re.MULTILINE))
    assert named <= _make_targets()


@pytest.mark.parametrize("page", _tracked("*.md"))
def test_every_link_between_pages_leads_somewhere(page: str) -> None:
    text = re.sub(r"(`+)[^`\n]*\1", "", (ROOT / page).read_text(encoding="utf-8"))  # no code
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    local = [link for link in links if "://" not in link]
    assert [link for link in local if not (ROOT / page).parent.joinpath(link).exists()] == []


def test_the_readme_begins_with_the_two_commands_a_newcomer_needs() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    first_block = readme.split("```")[1]
    commands = [line.split("#")[0].strip() for line in first_block.splitlines()[1:]]
    assert commands == ["make demo", "make test"]
