"""docactor and its peers at the same work, in turn, in one run: `python -m bench [--quick]`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Final, NamedTuple, get_args

from bench import (
    agents,
    flood,
    gateways,
    hibernation,
    keystrokes,
    leaks,
    machine,
    markdown,
    memory,
    opening,
    recovery,
    results,
    rounds,
)
from bench.editing import Work
from bench.processes import end_on_sigterm
from bench.results import Results, Row
from bench.rounds import Amount
from bench.scratch import scratch
from bench.servers import ROOT, Wire


class Plan(NamedTuple):
    """How much of everything one run does; 0: nothing.

    Attributes:
        beside: The works that have a peer.
        documents: That are opened and left.
        active: Documents whose memory is measured, as many passive ones again.
        gateway_calls: Over MCP, for each number of gateways and round.
        garbage: Frames of a flood; a tenth as many visits.
        tabs: Documents left to sleep, each open in one.
        idle_tabs_s: How long hundreds are open on one document.
    """

    beside: Amount
    opens: int
    kills: int
    documents: int
    parses: int
    patches: int
    keystrokes: int
    active: int
    gateway_calls: int
    garbage: int
    tabs: int
    idle_tabs_s: float


BEGIN_WITHIN_S: Final = 30 * 60.0  # on a slow machine the last works are left out, and told
BAR_DOCUMENTS: Final = 1_000  # what is promised; a full run does fewer, which take less time
FULL: Final = Plan(
    beside=Amount(
        rounds=2,
        works=(
            Work("P1", 1, 50, 100, 10.0, 2),
            Work("P2", 1, 100, 200, 6.0, 2),
            Work("P3", 50, 4, 500, 12.0),
        ),
        peers=tuple(rounds.PEERS),
        agent_calls=150,
        idle_s=2.0,
    ),
    opens=20,
    kills=30,
    documents=400,
    parses=5,
    patches=60,
    keystrokes=2_000,
    active=20,
    gateway_calls=1_500,
    garbage=100_000,
    tabs=60,
    idle_tabs_s=30.0,
)
# The works that bars are judged by most often, beside one peer, and nothing that takes long to set
# up: no cold opens, kills, thousand documents, memory, second gateway.
QUICK: Final = Plan(
    beside=Amount(
        rounds=2,
        works=(Work("P1", 1, 50, 100, 3.0, 2), Work("P3", 50, 4, 500, 4.0)),
        peers=(rounds.JUDGED,),
        agent_calls=40,
        idle_s=1.0,
    ),
    opens=0,
    kills=0,
    documents=0,
    parses=1,
    patches=0,
    keystrokes=0,
    active=0,
    gateway_calls=0,
    garbage=0,
    tabs=0,
    idle_tabs_s=0.0,
)


def alone_rows(plan: Plan, until: float, failed: list[Row]) -> list[Row]:
    """Works without a peer, each on a server of its own; none begins after `until` (monotonic)."""
    parts: list[tuple[str, float, Callable[[], list[Row]]]] = [
        ("P5", plan.opens, lambda: _in_folder(opening.rows, opens=plan.opens)),
        ("P7, P8, P11", plan.patches, lambda: _in_folder(agents.rows, calls=plan.patches)),
        ("P8", plan.keystrokes, lambda: keystrokes.rows(plan.keystrokes)),
        ("P9", plan.kills, lambda: _in_folder(recovery.rows, kills=plan.kills)),
        ("P10", plan.active, lambda: _in_folder(memory.rows, documents=plan.active)),
        ("P12", plan.gateway_calls, lambda: gateways.rows(plan.gateway_calls)),
        (markdown.WORK, plan.parses, lambda: markdown.rows(plan.parses)),
        (hibernation.WORK, plan.tabs, lambda: _in_folder(hibernation.rows, documents=plan.tabs)),
        (
            hibernation.IDLE,
            plan.idle_tabs_s,
            lambda: _in_folder(hibernation.idle_rows, seconds=plan.idle_tabs_s),
        ),
        (flood.WORK, plan.garbage, lambda: _in_folder(flood.rows, frames=plan.garbage)),
        ("documents", plan.documents, lambda: _in_folder(leaks.rows, documents=plan.documents)),
    ]
    found: list[Row] = []
    for work, amount, measured in parts:
        began = time.monotonic()
        if amount and began > until:
            found.append(Row(work, "left_out", note=f"no time left; --only {work} measures it"))
        elif amount:
            with results.part(failed, work, "alone"):
                found += measured()
            print(f"{work}: {time.monotonic() - began:.0f} s", flush=True)
    return found


def _in_folder(rows: Callable[..., list[Row]], **amount: float) -> list[Row]:
    with scratch() as folder:
        return rows(folder, **amount)


def _part(plan: Plan, only: set[str]) -> Plan:
    """The works named, and nothing else."""
    known = {work.id: work for work in (*FULL.beside.works, *plan.beside.works)}
    works = tuple(work for name, work in known.items() if name in only)
    agent_calls = plan.beside.agent_calls if "P6" in only else 0
    beside = plan.beside._replace(works=works, agent_calls=agent_calls)
    if not works:  # P6 has no peer
        beside = beside._replace(peers=(), rounds=beside.rounds if agent_calls else 0)
    return Plan(
        beside=beside,
        opens=FULL.opens if "P5" in only else 0,
        kills=FULL.kills if "P9" in only else 0,
        documents=BAR_DOCUMENTS if "documents" in only else 0,
        parses=plan.parses if markdown.WORK in only else 0,
        patches=FULL.patches if only & {"P7", "P8", "P11"} else 0,
        keystrokes=FULL.keystrokes if "P8" in only else 0,
        active=FULL.active if "P10" in only else 0,
        gateway_calls=FULL.gateway_calls if "P12" in only else 0,
        garbage=FULL.garbage if flood.WORK in only else 0,
        tabs=hibernation.TABS // (1 if plan is FULL else 10) if hibernation.WORK in only else 0,
        idle_tabs_s=hibernation.IDLE_S if hibernation.IDLE in only else 0.0,
    )


def measured(plan: Plan, wire: Wire) -> Results:
    """Everything of the plan; what fails is a row that says so."""
    began = time.monotonic()
    with scratch() as folder:
        found = Results(machine.describe(folder), machine.versions(), [])
    failed: list[Row] = []
    played = rounds.play(plan.beside, wire, failed)
    found.rows.extend(rounds.rows(plan.beside, played))
    print(f"beside peers: {time.monotonic() - began:.0f} s", flush=True)
    found.rows.extend(alone_rows(plan, began + BEGIN_WITHIN_S, failed))
    found.rows.extend(failed)
    found.machine["minutes"] = round((time.monotonic() - began) / 60, 1)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="four minutes, noisier")
    parser.add_argument("--only", help="works to run, as P1,P5,documents; nothing is written")
    parser.add_argument(
        "--wire",
        choices=get_args(Wire),
        default="y",
        help="of docactor's editors; with hocuspocus nothing is written",
    )
    asked = parser.parse_args()
    end_on_sigterm()
    plan = QUICK if asked.quick else FULL
    only = set(asked.only.split(",")) if asked.only else None
    if only is not None:
        plan = _part(plan, only)
    found = measured(plan, asked.wire)
    print(results.table(found))
    if only is None and asked.wire == "y":
        for path in results.write(found, "quick" if asked.quick else "latest"):
            print(f"written: {path.relative_to(ROOT)}")
    if any(row.figure == results.FAILED and row.against is None for row in found.rows):
        sys.exit("some parts failed; their rows say why")


if __name__ == "__main__":
    main()
