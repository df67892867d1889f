"""The works that have a peer: docactor and each peer in turn, several rounds, medians of them."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from bench import results
from bench.editing import Measured, Work, run
from bench.following import FollowCost, follow
from bench.processes import idle_cpu_per_second, wait_until_quiet
from bench.results import Row, alone, compared
from bench.scratch import scratch
from bench.servers import (
    Server,
    Wire,
    docactor,
    hocuspocus,
    noop_mcp,
    over_hocuspocus,
    pycrdt_websocket,
    y_websocket_server,
)

OURS: Final = "docactor"
JUDGED: Final = "hocuspocus"  # the peer that the bars are about
PER_DELIVERIES: Final = 10_000
# What the ratio to the peer may be at most: (p50, p99, CPU seconds); P2 has none for its CPU.
BARS: Final[Mapping[str, tuple[float, float, float | None]]] = {
    "P1": (0.8, 0.8, 1.0),
    "P2": (0.8, 0.8, None),
    "P3": (2.0, 1.5, 1.5),
}
FOLLOW_BARS_MS: Final = (2.5, 3.5)  # nothing changed, one block changed
STORED_AFTER_S: Final = 2.5  # Hocuspocus stores 2 s after the last edit: that is work, not idling

Start = Callable[[Path], contextlib.AbstractContextManager[Server]]
PEERS: Final[Mapping[str, Start]] = {
    JUDGED: hocuspocus,
    "y-websocket server": y_websocket_server,
    "pycrdt-websocket": pycrdt_websocket,
}


class Amount(NamedTuple):
    """How much is done.

    Attributes:
        peers: Names in `PEERS`.
        agent_calls: Of each kind of P6, on our side.
        idle_s: How long a server is watched doing nothing.
    """

    rounds: int
    works: tuple[Work, ...]
    peers: tuple[str, ...]
    agent_calls: int
    idle_s: float


class Side(NamedTuple):
    """What one server did in one round, by work; what failed is missing.

    `idle_cpu` is missing, too, of a peer that did not come to rest.
    """

    edited: dict[str, Measured]
    idle_cpu: dict[str, float]
    followed: list[FollowCost]


Round = Mapping[str, Side]


def play(amount: Amount, wire: Wire, failed: list[Row]) -> list[Round]:
    """Ours, its editors on `wire`, each peer, ours, …: one runs only while it is measured."""
    return [_round(f"round {n + 1}", amount, wire, failed) for n in range(amount.rounds)]


def _round(name: str, amount: Amount, wire: Wire, failed: list[Row]) -> Round:
    starts: dict[str, Start] = {OURS: docactor} | {peer: PEERS[peer] for peer in amount.peers}
    sides = {}
    for server_name, start in starts.items():
        print(f"{name}: {server_name}", flush=True)
        side = sides[server_name] = Side({}, {}, [])
        with (
            results.part(failed, "P1-P4", f"{name}, {server_name}"),
            scratch() as folder,
            start(folder) as server,
        ):
            mine = server_name == OURS and wire == "hocuspocus"
            _measure(over_hocuspocus(server) if mine else server, amount, folder, side, failed)
    return sides


def _measure(server: Server, amount: Amount, folder: Path, side: Side, failed: list[Row]) -> None:
    """Every work on a server just started."""
    other = server.name if server.name in PEERS and server.name != JUDGED else None
    for work in amount.works:
        with results.part(failed, work.id, server.name, other):
            measured = run(work, server)
            print(f"  {work.id}: {measured}", flush=True)
            if server.name == JUDGED:
                time.sleep(STORED_AFTER_S)
            wait_until_quiet(server.process)
            idle = idle_cpu_per_second(server.process, amount.idle_s)
            restless = idle * measured.seconds >= measured.cpu_s
            if restless and other is None:
                msg = f"{idle:.2f} cores while idle, no more at work: something else was going on"
                raise RuntimeError(msg)
            side.edited[work.id] = measured
            if restless:
                print(f"  {work.id}: still at it with {idle:.2f} cores, long after the load")
            else:
                side.idle_cpu[work.id] = idle
    if server.mcp and amount.agent_calls:
        with results.part(failed, "P6", server.name), noop_mcp(folder) as address:
            side.followed.append(follow(server, address, amount.agent_calls))
            print(f"  P6: {side.followed[-1]}", flush=True)


# --- rows ----------------------------------------------------------------------------------------


def rows(amount: Amount, played: Sequence[Round]) -> list[Row]:
    """Medians over the rounds; first beside the peer that is judged by, then beside the others."""
    works = [work.id for work in amount.works]
    found = [row for work in works for row in _editing_rows(work, played)]
    found += [row for work in works for row in _cpu_rows(work, played)]
    found += _follow_rows(played)
    others = [peer for peer in amount.peers if peer != JUDGED]
    found += [row for peer in others for work in works for row in _beside(peer, work, played)]
    return found


def _editing_rows(work: str, played: Sequence[Round]) -> Iterator[Row]:
    mine, theirs = (_medians(played, name, work) for name in (OURS, JUDGED))
    if not mine or not theirs:
        return
    bars = {"p50_ms": BARS[work][0], "p99_ms": BARS[work][1]}
    for figure in ("p50_ms", "p99_ms", "first_sync_ms", "generator_cpu"):
        yield compared(work, figure, mine[figure], theirs[figure], bars.get(figure))


def _cpu_rows(work: str, played: Sequence[Round]) -> Iterator[Row]:
    """CPU per delivery. What the processes use when nobody types stands beside, not inside."""
    mine, theirs = (_medians(played, name, work) for name in (OURS, JUDGED))
    if not mine or not theirs:
        return
    figure = f"{work}_cpu_s_per_{PER_DELIVERIES}"
    yield compared("P4", figure, mine["cpu_s"], theirs["cpu_s"], BARS[work][2])
    yield compared("P4", f"{work}_idle_cores", mine["idle_cores"], theirs["idle_cores"])


def _beside(peer: str, work: str, played: Sequence[Round]) -> Iterator[Row]:
    """The same figures beside a peer that no bar is about."""
    mine, theirs = (_medians(played, name, work) for name in (OURS, peer))
    if not mine or not theirs:
        return
    for figure in ("p50_ms", "p99_ms", "generator_cpu"):
        yield compared(work, figure, mine[figure], theirs[figure], against=peer)
    cpu = f"{work}_cpu_s_per_{PER_DELIVERIES}"
    if "cpu_s" in theirs:
        yield compared("P4", cpu, mine["cpu_s"], theirs["cpu_s"], against=peer)


def _medians(played: Sequence[Round], name: str, work: str) -> dict[str, float]:
    """Of one server over the rounds in which it did the work; empty when there are none."""
    sides = [one[name] for one in played if name in one and work in one[name].edited]
    if not sides:
        return {}
    figures: dict[str, list[float]] = {}
    for side in sides:
        measured = side.edited[work]
        of_side = {
            "p50_ms": measured.p50_ms,
            "p99_ms": measured.p99_ms,
            "first_sync_ms": measured.first_sync_ms,
            "generator_cpu": measured.generator_cpu,
        }
        if (idle := side.idle_cpu.get(work)) is not None:
            of_side |= {"cpu_s": _busy_cpu(measured, idle), "idle_cores": idle}
        for figure, value in of_side.items():
            figures.setdefault(figure, []).append(value)
    return {figure: statistics.median(values) for figure, values in figures.items()}


def _busy_cpu(measured: Measured, idle: float) -> float:
    spent = measured.cpu_s - idle * measured.seconds
    return spent / measured.deliveries * PER_DELIVERIES


def _follow_rows(played: Sequence[Round]) -> list[Row]:
    costs = [cost for one in played for cost in one[OURS].followed]
    if not costs:
        return []
    nothing = statistics.median(cost.nothing_changed_ms - cost.noop_ms for cost in costs)
    changed = statistics.median(cost.one_changed_ms - cost.noop_ms for cost in costs)
    return [
        alone("P6", "nothing_changed_above_noop_p50_ms", nothing, FOLLOW_BARS_MS[0]),
        alone("P6", "one_changed_above_noop_p50_ms", changed, FOLLOW_BARS_MS[1]),
        alone("P6", "noop_p50_ms", statistics.median(cost.noop_ms for cost in costs)),
    ]
