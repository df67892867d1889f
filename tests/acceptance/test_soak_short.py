"""The soak, short: every kind of kill once and then some, with editors and agents at work."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Final

import pytest

from bench import leaks
from bench.scratch import scratch
from bench.servers import docactor
from bench.soak import Plan, soak

KILLS: Final = 10
SHORT: Final = Plan(KILLS, 0.0, (0.05, 0.6))
DOCUMENTS: Final = 20
AT_ONCE: Final = 10


@pytest.mark.timeout(600)  # two starts of a server, and a check after each kill
def test_ten_kills_lose_nothing_differ_nowhere_and_damage_nothing(rng: random.Random) -> None:
    with scratch() as folder:
        soaked = soak(folder, SHORT, rng)
    assert (soaked.lost, soaked.mirror_differences, soaked.damaged) == (0, 0, 0)
    assert soaked.kills == KILLS
    assert soaked.acknowledged > KILLS


@pytest.mark.timeout(300)
def test_documents_opened_and_left_leave_nothing_behind(tmp_path: Path) -> None:
    environment = leaks.ENVIRONMENT | {"DOCACTOR_MAX_ACTIVE": str(AT_ONCE)}
    with docactor(tmp_path, environment) as server:
        before, after = leaks.opened_and_left(server, DOCUMENTS, AT_ONCE)
    assert after.private_mb <= before.private_mb * leaks.MEMORY_BAR
    # One more a slot: which of Ray's own connections are open differs from slot to slot.
    assert after.files <= before.files + leaks.WARM_SLOTS
    assert after.sockets <= before.sockets + leaks.WARM_SLOTS
    assert after.processes <= before.processes
    # Ray finds so many processes worth a warning, to every process that has joined it.
    assert "raylet" not in (tmp_path / "docactor.log").read_text(encoding="utf-8")
