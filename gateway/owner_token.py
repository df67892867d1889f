"""The owner's token, kept in the data folder for the command line of the same account."""

from __future__ import annotations

from pathlib import Path
from typing import Final

OWNER_FILE: Final = "owner-token"


def write_owner_token(data: Path, token: str) -> Path:
    """Keep the owner's token in the data folder, readable by its owner alone (mode 0600)."""
    path = data / OWNER_FILE
    path.unlink(missing_ok=True)
    path.touch(mode=0o600, exist_ok=False)
    path.write_text(token + "\n", encoding="ascii")
    return path


def read_owner_token(data: Path) -> str | None:
    """The token kept by `write_owner_token`; None when there is none to be read."""
    try:
        return (data / OWNER_FILE).read_text(encoding="ascii").strip() or None
    except OSError:
        return None
