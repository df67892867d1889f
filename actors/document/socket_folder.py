"""Where links' Unix sockets are made: a short, private path, never below a user's data folder."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import Final

from actors.processes import start_time

TEMP_ENV: Final = "DOCACTOR_TEMP"  # the folder of an embedded cluster, removed with it


def socket_folder() -> Path:
    """This process's folder. Leftovers of processes that were killed are removed on the way.

    Raises:
        PermissionError: The folder belongs to somebody else.
    """
    given = os.environ.get(TEMP_ENV)
    if given:
        base = Path(given) / "links"
    else:
        base = Path(tempfile.gettempdir()) / f"docactor-links-{os.getuid()}"
    base.mkdir(mode=0o700, exist_ok=True)
    owner = base.lstat()
    if owner.st_uid != os.getuid() or not stat.S_ISDIR(owner.st_mode):
        raise PermissionError(f"{base} belongs to somebody else")
    for left in base.iterdir():
        if left.name.isdigit() and start_time(int(left.name)) == 0:
            shutil.rmtree(left, ignore_errors=True)
    mine = base / str(os.getpid())
    mine.mkdir(mode=0o700, exist_ok=True)
    return mine
