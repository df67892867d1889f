"""Ray's environment for the tests of this process; imported before anything imports Ray.

Servers that tests start set their own over it.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

from gateway.server import ray_environment
from gateway.server.temp_folder import TempFolder

DATA: Final = Path(tempfile.mkdtemp(prefix="docactor-test-data-"))
(DATA / "logs").mkdir()
TEMP: Final = TempFolder.create()
os.environ.update(ray_environment.embedded(DATA, TEMP.path))


@atexit.register
def _remove() -> None:
    TEMP.leave(in_order=True)
    shutil.rmtree(DATA, ignore_errors=True)
