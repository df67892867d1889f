"""P10: private memory that a document costs while it is active, and while it is passive."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Final

from bench import pool
from bench.leaks import create, held
from bench.results import Row, alone
from bench.servers import Server, docactor
from bench.typist import Typist

ACTIVE_BAR_MB: Final = 60.0
PASSIVE_BAR_MB: Final = 0.0  # to a tenth of a megabyte
WARM_SLOTS: Final = 1
SETTLE_S: Final = 2.0  # what was freed is given back
ENVIRONMENT: Final = {"DOCACTOR_IDLE_S": "1", "DOCACTOR_WARM_SLOTS": str(WARM_SLOTS)}


def rows(folder: Path, *, documents: int) -> list[Row]:
    """All processes of a server with so many documents active, against none; then passive."""
    with docactor(folder, ENVIRONMENT) as server:
        docs = create(server, documents)
        before = _settled(server)
        with contextlib.ExitStack() as editors:
            for doc in docs:
                editors.enter_context(Typist(server, doc)).type(1, " More.")
            pool.wait_active(server, documents, WARM_SLOTS)
            time.sleep(SETTLE_S)
            active = held(server.process).private_mb
        settled = _settled(server)
        create(server, documents)
        passive = _settled(server)
    per_active = (active - before) / documents
    per_passive = max(0.0, round((passive - settled) / documents, 1))
    return [
        alone("P10", "private_mb_per_active_document", per_active, ACTIVE_BAR_MB),
        alone("P10", "private_mb_per_passive_document", per_passive, PASSIVE_BAR_MB),
    ]


def _settled(server: Server) -> float:
    """Private megabytes when no document is active and the pool is as large as it is kept."""
    pool.wait_settled(server, WARM_SLOTS)
    time.sleep(SETTLE_S)
    return held(server.process).private_mb
