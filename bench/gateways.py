"""P12: what a second gateway brings, or where cores are few, what it costs."""

from __future__ import annotations

import contextlib
import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

from bench.agent import Agent
from bench.processes import wait_until_quiet
from bench.results import Row, compared
from bench.scratch import scratch
from bench.servers import Server, docactor

ENOUGH_CORES: Final = 6  # two gateways, their documents and the agents on a core each
FASTER_BAR: Final = 1 / 1.8  # of the time of one gateway
CPU_BAR: Final = 1.1
ROUNDS: Final = 2
AGENTS: Final = 8
DOCUMENTS: Final = 4
WRITE_EVERY: Final = 5  # calls
WARM_CALLS: Final = 40  # of each agent: a gateway's first hundreds cost it half as much again


class Cost(NamedTuple):
    """Of 1,000 calls, in seconds."""

    cpu: float
    wall: float


def rows(calls: int) -> list[Row]:
    """The same calls with two gateways and with one, in turn."""
    one: list[Cost] = []
    two: list[Cost] = []
    for turn in range(ROUNDS):  # A B B A: a machine that grows slower favours neither
        for gateways in (2, 1) if turn % 2 == 0 else (1, 2):
            (one if gateways == 1 else two).append(_measure(gateways, calls))
    two_cpu, one_cpu = (statistics.median(cost.cpu for cost in side) for side in (two, one))
    two_wall, one_wall = (statistics.median(cost.wall for cost in side) for side in (two, one))
    cores = os.cpu_count() or 1
    many = cores >= ENOUGH_CORES
    judged = "calls a second" if many else "CPU"
    note = f"two gateways beside one; {cores} cores: judged by {judged}"
    cpu_bar, wall_bar = (None, FASTER_BAR) if many else (CPU_BAR, None)
    return [
        compared("P12", "gateways_cpu_s_per_1000_calls", two_cpu, one_cpu, cpu_bar, note=note),
        compared("P12", "s_per_1000_calls", two_wall, one_wall, wall_bar, note=note),
    ]


def _measure(gateways: int, calls: int) -> Cost:
    """Agents that read changes and now and then write, a connection each."""
    each = calls // AGENTS
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(scratch())
        server = stack.enter_context(docactor(folder, workers=gateways))
        docs = [server.create("# Log\n\nBegun.") for _ in range(DOCUMENTS)]
        hands = stack.enter_context(ThreadPoolExecutor(AGENTS))
        agents = [stack.enter_context(Agent(server.mcp, server.token)) for _ in range(AGENTS)]
        _work(hands, agents, docs, WARM_CALLS)
        wait_until_quiet(server.process)
        cpu, started = _gateway_cpu(server, gateways), time.perf_counter()
        _work(hands, agents, docs, each)
        wall = time.perf_counter() - started
        cpu = _gateway_cpu(server, gateways) - cpu
    done = each * AGENTS / 1_000
    return Cost(cpu / done, wall / done)


def _work(hands: ThreadPoolExecutor, agents: list[Agent], docs: list[str], each: int) -> None:
    places = [docs[n % len(docs)] for n in range(len(agents))]
    list(hands.map(_follow_and_write, agents, places, [each] * len(agents)))


def _follow_and_write(agent: Agent, doc: str, calls: int) -> None:
    cursor = agent.call("read_document", doc_id=doc)[1]["cursor"]
    for n in range(calls - 1):
        if n % WRITE_EVERY == 0:
            agent.call("insert", doc_id=doc, markdown=f"Entry {n}.")
        else:
            cursor = agent.call("read_changes", doc_id=doc, cursor=cursor)[1]["cursor"]


def _gateway_cpu(server: Server, gateways: int) -> float:
    """Of all gateway processes, so far. Raises RuntimeError when there are not so many."""
    found = [
        process
        for process in server.process.children(recursive=True)
        if "gateway.worker" in process.cmdline()
    ]
    if len(found) != gateways:
        msg = f"{len(found)} gateways, not {gateways}"
        raise RuntimeError(msg)
    total = 0.0
    for process in found:
        times = process.cpu_times()
        total += times.user + times.system
    return total
