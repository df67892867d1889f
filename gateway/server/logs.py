"""Logs as JSON lines: one object a line, on standard error or in a file."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Final

import msgspec

from actors.json_log import speak, trace

_QUIET: Final = ("fastmcp", "mcp", "httpx", "ray", "websockets")


class JsonLines(logging.Formatter):
    """A record as one line of JSON: at, level, logger, message, pid and, of errors, the trace."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, object] = {
            "at": round(record.created, 3),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage().encode(errors="backslashreplace").decode(),
            "pid": record.process,
        }
        if record.exc_info:
            entry["trace"] = trace(record.exc_info[1])
        return msgspec.json.encode(entry).decode()


def configure_logging(level: str, path: Path | None = None) -> None:
    """Send every log record of this process to `path`, or to standard error.

    `level` is for our own: libraries speak at warning and above, what they say below quotes
    requests. What FastMCP logs of calls is in our results already.
    """
    handler: logging.Handler = (
        logging.FileHandler(path, encoding="utf-8") if path else logging.StreamHandler(sys.stderr)
    )
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    speak(logging.getLevelNamesMapping()[level.upper()])
    for name in _QUIET:
        library = logging.getLogger(name)
        library.handlers.clear()  # FastMCP brings a colourful one
        library.propagate = True
        library.setLevel(logging.ERROR if name == "fastmcp" else logging.WARNING)
