"""P6: what `read_changes` costs an agent above a tool that does nothing."""

from __future__ import annotations

import statistics
from typing import Final, NamedTuple

from bench.agent import Agent
from bench.servers import Server
from bench.typist import Typist

BLOCKS: Final = 200
WARMUP: Final = 10
CHANGE_DEADLINE_S: Final = 10.0


class FollowCost(NamedTuple):
    """Medians in milliseconds; the no-op's is to be taken off the other two."""

    noop_ms: float
    nothing_changed_ms: float
    one_changed_ms: float


def follow(server: Server, noop_address: str, calls: int) -> FollowCost:
    """`calls` of each kind, in turn, so that all see the same machine."""
    markdown = "\n\n".join(f"Paragraph {n} of a document to follow." for n in range(BLOCKS))
    doc = server.create(markdown)
    noop, nothing, changed = [], [], []
    with (
        Agent(noop_address) as idler,
        Agent(server.mcp, server.token) as agent,
        Typist(server, doc) as typist,
        Typist(server, doc) as watcher,
    ):
        cursor = agent.call("read_document", doc_id=doc)[1]["cursor"]
        for n in range(WARMUP + calls):
            noop.append(idler.call("noop", doc_id=doc, cursor=cursor)[0])
            nothing.append(agent.call("read_changes", doc_id=doc, cursor=cursor)[0])
            typist.type(n % BLOCKS, f" {n}")
            watcher.wait_for(n % BLOCKS, f" {n}", CHANGE_DEADLINE_S)
            taken, answer = agent.call("read_changes", doc_id=doc, cursor=cursor)
            if len(answer["blocks"]) != 1:
                msg = f"one block was edited, {len(answer['blocks'])} are reported"
                raise RuntimeError(msg)
            changed.append(taken)
            cursor = answer["cursor"]
    medians = (statistics.median(taken[WARMUP:]) for taken in (noop, nothing, changed))
    return FollowCost(*medians)
