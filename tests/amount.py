"""How much of a random trial a run makes: little in every run, all of it in the long ones."""

from __future__ import annotations

import os
from typing import Final

LONG: Final = bool(os.environ.get("DOCACTOR_TEST_LONG"))  # `make soak` sets it


def amount(usual: int, long: int) -> int:
    """`usual` in `make test`, `long` in `make soak`."""
    return long if LONG else usual
