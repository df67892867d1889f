"""docactor and its peers at the same work, in turn, in one run: `python -m bench [--quick]`."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, get_args

from bench import agents, keystrokes, leaks, machine, markdown, opening, recovery, results
from bench.editing import Measured, Work, run
from bench.following import FollowCost, follow
from bench.processes import idle_cpu_per_second
from bench.results import Results, Row, alone, compared
from bench.scratch import scratch
from bench.servers import ROOT, Server, Wire, docactor, hocuspocus, noop_mcp, over_hocuspocus

PER_DELIVERIES: Final = 10_000
# What the ratio to the peer may be at most: (p50, p99, CPU seconds).
BARS: Final = {"P1": (0.8, 0.8, 1.0), "P3": (2.0, 1.5, 1.5)}
FOLLOW_BARS_MS: Final = (2.5, 3.5)  # nothing changed, one block changed
STORED_AFTER_S: Final = 2.5  # Hocuspocus stores 2 s after the last edit: that is work, not idling


class Plan(NamedTuple):
    """How much of everything one run does."""

    rounds: int
    works: tuple[Work, ...]
    agent_calls: int
    idle_s: float
    opens: int
    kills: int
    documents: int
    parses: int
    patches: int
    keystrokes: int


FULL: Final = Plan(
    rounds=3,
    works=(Work("P1", 1, 50, 100, 15.0, 2), Work("P3", 50, 4, 500, 20.0)),
    agent_calls=300,
    idle_s=5.0,
    opens=40,
    kills=60,
    documents=1_000,
    parses=9,
    patches=100,
    keystrokes=2_000,
)
# The works that have a peer, and little of what takes long to set up.
QUICK: Final = Plan(
    rounds=2,
    works=(Work("P1", 1, 50, 100, 3.0, 2), Work("P3", 50, 4, 500, 4.0)),
    agent_calls=40,
    idle_s=1.0,
    opens=0,
    kills=0,
    documents=0,
    parses=1,
    patches=0,
    keystrokes=0,
)


class Side(NamedTuple):
    """What one server did in one round, by work."""

    edited: Mapping[str, Measured]
    idle_cpu: Mapping[str, float]
    followed: FollowCost | None


def measure(server: Server, plan: Plan, folder: Path) -> Side:
    """Every work of the plan on a server just started."""
    edited, idle = {}, {}
    for work in plan.works:
        edited[work.id] = run(work, server)
        time.sleep(STORED_AFTER_S)
        idle[work.id] = idle_cpu_per_second(server.process, plan.idle_s)
        print(f"  {server.name} {work.id}: {edited[work.id]}")
    followed = None
    if server.mcp and plan.agent_calls:
        with noop_mcp(folder) as address:
            followed = follow(server, address, plan.agent_calls)
        print(f"  {server.name} P6: {followed}")
    return Side(edited, idle, followed)


def rounds(plan: Plan, wire: Wire) -> tuple[list[Side], list[Side]]:
    """Ours, its editors on `wire`, the peer, ours, the peer: one runs only while it is measured."""
    ours, peers = [], []
    for number in range(plan.rounds):
        print(f"round {number + 1} of {plan.rounds}")
        with scratch() as folder, docactor(folder) as server:
            mine = over_hocuspocus(server) if wire == "hocuspocus" else server
            ours.append(measure(mine, plan, folder))
        with scratch() as folder, hocuspocus(folder) as server:
            peers.append(measure(server, plan, folder))
    return ours, peers


def rows(plan: Plan, ours: Sequence[Side], peers: Sequence[Side]) -> list[Row]:
    """Medians over the rounds."""
    if not ours:
        return []
    editing = [row for work in plan.works for row in _editing_rows(work.id, ours, peers)]
    cpu = [row for work in plan.works for row in _cpu_rows(work.id, ours, peers)]
    return editing + cpu + _follow_rows(ours)


def _editing_rows(work: str, ours: Sequence[Side], peers: Sequence[Side]) -> Iterator[Row]:
    bars = {"p50_ms": BARS[work][0], "p99_ms": BARS[work][1]}
    for figure in ("p50_ms", "p99_ms", "first_sync_ms", "generator_cpu"):
        mine, theirs = (_median(sides, work, figure) for sides in (ours, peers))
        yield compared(work, figure, mine, theirs, bars.get(figure))


def _median(sides: Sequence[Side], work: str, figure: str) -> float:
    figures: list[float] = [getattr(side.edited[work], figure) for side in sides]
    return statistics.median(figures)


def _cpu_rows(work: str, ours: Sequence[Side], peers: Sequence[Side]) -> Iterator[Row]:
    """CPU per delivery. What the processes use when nobody types stands beside, not inside."""
    mine, theirs = (
        statistics.median(_busy_cpu(side, work) for side in sides) for sides in (ours, peers)
    )
    yield compared("P4", f"{work}_cpu_s_per_{PER_DELIVERIES}", mine, theirs, BARS[work][2])
    idle = (statistics.median(side.idle_cpu[work] for side in sides) for sides in (ours, peers))
    yield compared("P4", f"{work}_idle_cores", *idle)


def _busy_cpu(side: Side, work: str) -> float:
    measured = side.edited[work]
    spent = measured.cpu_s - side.idle_cpu[work] * measured.seconds
    return spent / measured.deliveries * PER_DELIVERIES


def _follow_rows(ours: Sequence[Side]) -> list[Row]:
    costs = [side.followed for side in ours if side.followed is not None]
    if not costs:
        return []
    nothing = statistics.median(cost.nothing_changed_ms - cost.noop_ms for cost in costs)
    changed = statistics.median(cost.one_changed_ms - cost.noop_ms for cost in costs)
    return [
        alone("P6", "nothing_changed_above_noop_p50_ms", nothing, FOLLOW_BARS_MS[0]),
        alone("P6", "one_changed_above_noop_p50_ms", changed, FOLLOW_BARS_MS[1]),
        alone("P6", "noop_p50_ms", statistics.median(cost.noop_ms for cost in costs)),
    ]


def alone_rows(plan: Plan) -> list[Row]:
    """Works without a peer, each on a server of its own."""
    found = []
    if plan.opens:
        with scratch() as folder:
            found += opening.rows(folder, opens=plan.opens)
    if plan.kills:
        with scratch() as folder:
            found += recovery.rows(folder, kills=plan.kills)
    if plan.documents:
        with scratch() as folder:
            found += leaks.rows(folder, documents=plan.documents)
    if plan.patches:
        with scratch() as folder:
            found += agents.rows(folder, calls=plan.patches)
    if plan.keystrokes:
        found += keystrokes.rows(plan.keystrokes)
    if plan.parses:
        found += markdown.rows(plan.parses)
    return found


def _part(plan: Plan, only: set[str]) -> Plan:
    """The works named, and nothing else."""
    works = tuple(work for work in plan.works if work.id in only)
    agent_calls = plan.agent_calls if "P6" in only else 0
    return plan._replace(
        works=works,
        agent_calls=agent_calls,
        rounds=plan.rounds if works or agent_calls else 0,
        opens=plan.opens if "P5" in only else 0,
        kills=plan.kills if "P9" in only else 0,
        documents=FULL.documents if "documents" in only else 0,
        parses=plan.parses if markdown.WORK in only else 0,
        patches=FULL.patches if only & {"P7", "P8", "P11"} else 0,
        keystrokes=FULL.keystrokes if "P8" in only else 0,
    )


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
    plan = QUICK if asked.quick else FULL
    only = set(asked.only.split(",")) if asked.only else None
    if only is not None:
        plan = _part(plan, only)
    with scratch() as folder:
        found = Results(machine.describe(folder), machine.versions(), [])
    found.rows.extend(rows(plan, *rounds(plan, asked.wire)))
    found.rows.extend(alone_rows(plan))
    print(results.table(found))
    if only is None and asked.wire == "y":
        for path in results.write(found, "quick" if asked.quick else "latest"):
            print(f"written: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
