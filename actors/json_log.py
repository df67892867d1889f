"""Logs as JSON lines, one file for all processes: an O_APPEND write of one line stays whole."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from shared.errors import DocactorError

# Errors whose words are the system's or our own. Those of any other may quote what was being
# handled, and no text of a document and no argument may get into a log.
TELLING: Final = (DocactorError, OSError, sqlite3.Error)
# What libraries say below a warning quotes requests: headers with tokens, statements with values.
OURS: Final = ("docactor", "gateway", "actors", "shared")
LOG_ENV: Final = "DOCACTOR_LOG"  # where; set by whoever starts the cluster, inherited by actors


class JsonLines(logging.Formatter):
    """One JSON object a line: at, level, logger, pid, role, message, and error with its trace."""

    def __init__(self, role: str) -> None:
        super().__init__()
        self._role = role

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "pid": os.getpid(),
            "role": self._role,
            "message": record.getMessage().encode(errors="backslashreplace").decode(),
        }
        if record.exc_info:
            line["error"] = trace(record.exc_info[1])
        return json.dumps(line, ensure_ascii=False)


def trace(error: BaseException | None) -> str:
    """Where an error came from and what led to it: places and types, words only of TELLING ones."""
    return "\n".join(_trace(error, set()))


def _trace(error: BaseException | None, seen: set[int]) -> Iterator[str]:
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    hidden = None if error.__suppress_context__ else error.__context__
    yield from _trace(error.__cause__ or hidden, seen)
    for frame in traceback.extract_tb(error.__traceback__):
        yield f"  {frame.filename}:{frame.lineno} in {frame.name}"
    words = f": {error}" if isinstance(error, TELLING) else ""
    yield f"{type(error).__module__}.{type(error).__qualname__}{words}"
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _trace(each, seen)


def log_to_file(role: str) -> None:
    """Sends this process's logs to the file named in the environment; without one, leaves them."""
    name = os.environ.get(LOG_ENV)
    if not name:
        return
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(path, encoding="utf-8")  # mode "a": O_APPEND
    handler.setFormatter(JsonLines(role))
    root = logging.getLogger()
    root.addHandler(handler)
    speak(logging.INFO)


def speak(level: int) -> None:
    """Our own loggers speak from `level` on, libraries from warnings on, or later."""
    logging.getLogger().setLevel(max(level, logging.WARNING))
    for name in OURS:
        logging.getLogger(name).setLevel(level)
