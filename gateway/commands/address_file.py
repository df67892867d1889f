"""Where the running server of a data folder is: a small file that the command line reads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

ADDRESS_FILE: Final = "address"


def write_address(data: Path, url: str) -> None:
    """Say where the server is. Replaced in one step, so that no reader sees half of it."""
    path = data / ADDRESS_FILE
    partial = path.with_suffix(f".{os.getpid()}")
    partial.write_text(url + "\n", encoding="utf-8")
    partial.replace(path)


def read_address(data: Path) -> str | None:
    """What `write_address` wrote; None when no server has run here."""
    try:
        return (data / ADDRESS_FILE).read_text(encoding="utf-8").strip() or None
    except OSError:
        return None


def remove_address(data: Path) -> None:
    """The server has stopped."""
    (data / ADDRESS_FILE).unlink(missing_ok=True)
