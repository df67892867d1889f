"""What the Directory counts, and what it hears that others count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

from actors.directory.held import Held
from shared.directory_protocol import DocumentState, NodeStatus
from shared.limits import GATEWAY_GONE_S
from shared.metrics import DirectoryMetrics, GatewayReport, added
from shared.protocol import CommitTotals, Report

NOTHING: Final = CommitTotals()


class Tallies:
    """The Directory's counts. They begin at nothing with each Directory.

    Args:
        now: Seconds, monotonic.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self.activations = 0
        self.takeovers = 0
        self.failures = 0
        self.lost = 0
        self.evictions = 0
        self.hibernations = 0
        self.wakes = 0
        self.recycled = 0
        self._commits = NOTHING
        self._now = now
        self._gateways: dict[str, tuple[GatewayReport, float]] = {}

    def heard(self, before: Report | None, report: Report) -> None:
        """A document's report, and the one of the same activation before it."""
        earlier = before.commits if before is not None else NOTHING
        self._commits = added(self._commits, added(report.commits, earlier, -1))

    @property
    def merged(self) -> int:
        """Old updates that became part of others."""
        return self._commits.merged

    def heard_gateway(self, report: GatewayReport) -> None:
        self._gateways[report.gateway_id] = (report, self._now())

    def gateways(self) -> tuple[GatewayReport, ...]:
        """Those heard of lately; a gateway that ended is forgotten."""
        since = self._now() - GATEWAY_GONE_S
        self._gateways = {name: one for name, one in self._gateways.items() if one[1] >= since}
        return tuple(report for report, _ in self._gateways.values())

    def hibernated(self) -> int:
        """Documents without an actor whose sessions are open, as gateways last told."""
        return sum(gateway.asleep for gateway in self.gateways())

    def metrics(
        self,
        documents: dict[DocumentState, int],
        held: Iterable[Held],
        opening: int,
        nodes: tuple[NodeStatus, ...],
    ) -> DirectoryMetrics:
        active = tuple(held)
        return DirectoryMetrics(
            documents=documents,
            active=dict(Counter(one.state for one in active)),
            opening=opening,
            sessions=sum(one.reported.sessions for one in active if one.reported is not None),
            activations=self.activations,
            takeovers=self.takeovers,
            failures=self.failures,
            lost=self.lost,
            evictions=self.evictions,
            hibernations=self.hibernations,
            wakes=self.wakes,
            recycled=self.recycled,
            commits=self._commits,
            nodes=nodes,
            gateways=self.gateways(),
        )
