"""Logs as JSON lines, one file for all processes: an O_APPEND write of one line stays whole."""

from __future__ import annotations

import json
import logging
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

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
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


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
    root.setLevel(logging.INFO)
