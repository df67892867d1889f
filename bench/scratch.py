"""A folder for one run."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.servers import ROOT


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A folder on the disk the project is on: where /tmp is memory, an fsync would be free."""
    parent = ROOT / "build"
    parent.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="bench-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
