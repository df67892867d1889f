"""Log lines: what went wrong and where, and nothing of what was being handled."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator

import pytest

from actors import json_log
from gateway.server import logs
from shared.errors import StorageUnavailable

TEXT = "words of a document"


def inner(value: str) -> None:
    raise ValueError(f"cannot read {value!r}")


def outer(value: str) -> None:
    try:
        inner(value)
    except ValueError as error:
        raise ExceptionGroup(value, [KeyError(value), OSError(5, "disk")]) from error


@pytest.mark.parametrize(
    "formatter, key", [(json_log.JsonLines("document"), "error"), (logs.JsonLines(), "trace")]
)
def test_a_trace_has_places_and_types_and_no_words(formatter: logging.Formatter, key: str) -> None:
    line = ""
    try:
        outer(TEXT)
    except ExceptionGroup:
        record = logging.LogRecord("x", logging.ERROR, "f", 1, "failed", None, sys.exc_info())
        line = formatter.format(record)
    assert "\n" not in line
    told = json.loads(line)
    assert TEXT not in line
    trace = told[key]
    for part in ("in inner", "in outer", "builtins.ValueError", "builtins.KeyError", "disk"):
        assert part in trace
    assert trace.index("ValueError") < trace.index("ExceptionGroup")


def test_half_a_character_in_a_message_costs_no_line() -> None:
    record = logging.LogRecord("x", logging.INFO, "f", 1, "half \ud800", None, None)
    for formatter in (json_log.JsonLines("document"), logs.JsonLines()):
        assert "ud800" in formatter.format(record).encode().decode()


def test_our_own_errors_keep_their_words() -> None:
    assert json_log.trace(StorageUnavailable("The disk is full.")).endswith(": The disk is full.")


def test_an_error_that_caused_itself_has_an_end() -> None:
    one, two = ValueError("one"), ValueError("two")
    one.__context__, two.__context__ = two, one
    assert json_log.trace(one) == "builtins.ValueError\nbuiltins.ValueError"


@pytest.fixture
def levels() -> Iterator[None]:
    before = {name: logging.getLogger(name).level for name in (None, *json_log.OURS)}
    yield
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)


@pytest.mark.parametrize("level", [logging.DEBUG, logging.INFO, logging.ERROR])
@pytest.mark.usefixtures("levels")
def test_libraries_do_not_speak_below_a_warning_whatever_is_asked(level: int) -> None:
    json_log.speak(level)
    for library in ("uvicorn.error", "websockets", "aiosqlite", "asyncio", "a.new.one"):
        assert logging.getLogger(library).getEffectiveLevel() >= logging.WARNING
    for ours in ("docactor.tools", "gateway.router", "actors.slots"):
        assert logging.getLogger(ours).getEffectiveLevel() == level
