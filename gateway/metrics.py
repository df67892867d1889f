"""`/metrics` in Prometheus' formats: the whole server, whichever gateway is asked.

Each gateway reports to the Directory every few seconds; whoever is asked takes the others from
there and itself as it is. Without a Directory it answers for itself alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Final

import anyio
from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector, CollectorRegistry
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.auth import Authenticator
from gateway.counts import GatewayCounts
from gateway.mcp.context import ToolContext
from gateway.rest.responses import answered
from shared.access import require
from shared.directory_protocol import NodeStatus
from shared.errors import DocactorError
from shared.limits import READY_S
from shared.metrics import COMMIT_BUCKETS, DirectoryMetrics, GatewayReport
from shared.protocol import CommitTotals

GATEWAY_GAUGES: Final = {
    "sockets": ("docactor_sockets", "Editors connected now"),
    "waiting": ("docactor_waits", "Calls that wait for a change now"),
    "asleep": ("docactor_hibernated_documents", "Documents without an actor that are open here"),
}
GATEWAY_COUNTERS: Final = {
    "frames_in": ("docactor_frames_in", "Websocket messages from editors"),
    "frames_out": ("docactor_frames_out", "Websocket messages to editors"),
    "reconnects": (
        "docactor_link_reconnects",
        "Links brought to another activation with their sessions",
    ),
    "waits": ("docactor_waits_begun", "Times a call began to wait for a change"),
}
DIRECTORY_COUNTERS: Final = {
    "activations": "Documents opened",
    "takeovers": "Documents opened after their former actor had to be killed",
    "failures": "Openings that failed, for want of room or storage",
    "evictions": "Documents closed to make room for others",
    "hibernations": "Documents closed while editors had them open",
    "wakes": "Documents opened again of which that was so",
}
SLOT_COUNTERS: Final = {
    "lost": "Slots found dead or silent",
    "recycled": "Slots replaced because they had held enough documents",
}


class Families(Collector):
    """The metric families of a moment.

    Args:
        directory: None when it does not answer.
        gateways: Every gateway known.
    """

    def __init__(
        self, directory: DirectoryMetrics | None, gateways: Iterable[GatewayReport]
    ) -> None:
        self._directory = directory
        self._gateways = tuple(gateways)

    def collect(self) -> Iterator[Metric]:
        up = "Whether the Directory answered; without it only this gateway is shown"
        yield GaugeMetricFamily("docactor_directory_up", up, float(self._directory is not None))
        yield from self._of_gateways()
        if self._directory is not None:
            yield from _of_directory(self._directory)
            yield from _of_nodes(self._directory.nodes)
            yield from _of_commits(self._directory.commits)

    def _of_gateways(self) -> Iterator[Metric]:
        for field, (name, about) in GATEWAY_GAUGES.items():
            gauge = GaugeMetricFamily(name, about, labels=["gateway"])
            for one in self._gateways:
                gauge.add_metric([one.gateway_id], getattr(one, field))
            yield gauge
        for field, (name, about) in GATEWAY_COUNTERS.items():
            counter = CounterMetricFamily(name, about, labels=["gateway"])
            for one in self._gateways:
                counter.add_metric([one.gateway_id], getattr(one, field))
            yield counter
        calls = CounterMetricFamily(
            "docactor_mcp_calls",
            "MCP tool calls by the error code they were answered with, or ok",
            labels=["gateway", "tool", "code"],
        )
        for one in self._gateways:
            for call in one.calls:
                calls.add_metric([one.gateway_id, call.tool, call.code], call.count)
        yield calls


def _of_directory(told: DirectoryMetrics) -> Iterator[Metric]:
    about = "Documents in the catalog"
    yield _by_state("docactor_documents", about, told.documents.items(), "ready")
    about = "Documents that have an actor, by the state of its slot"
    yield _by_state("docactor_documents_active", about, told.active.items(), "active")
    about = "Documents being opened now"
    yield GaugeMetricFamily("docactor_documents_opening", about, told.opening)
    about = "Editors of all active documents, as their actors last told"
    yield GaugeMetricFamily("docactor_sessions", about, told.sessions)
    for prefix, counters in (("document", DIRECTORY_COUNTERS), ("slots", SLOT_COUNTERS)):
        for field, about in counters.items():
            yield CounterMetricFamily(f"docactor_{prefix}_{field}", about, getattr(told, field))


def _by_state(name: str, about: str, values: Iterable[tuple[str, int]], always: str) -> Metric:
    gauge = GaugeMetricFamily(name, about, labels=["state"])
    for key, value in sorted({always: 0, **dict(values)}.items()):
        gauge.add_metric([key], value)
    return gauge


def _of_nodes(nodes: Iterable[NodeStatus]) -> Iterator[Metric]:
    about = "Slots by what they are at: blank, starting, or active with a document"
    slots = GaugeMetricFamily("docactor_slots", about, labels=["node", "state"])
    about = "Active documents the node takes"
    limit = GaugeMetricFamily("docactor_node_max_active", about, labels=["node"])
    about = "Whether the node is drained"
    draining = GaugeMetricFamily("docactor_node_draining", about, labels=["node"])
    about = "Whether the node's slots are not used, because it does not share the data folder"
    refused = GaugeMetricFamily("docactor_node_refused", about, labels=["node"])
    for node in nodes:
        for state in ("blank", "starting", "active"):
            slots.add_metric([node.node_id, state], getattr(node, state))
        limit.add_metric([node.node_id], node.max_active)
        draining.add_metric([node.node_id], float(node.draining))
        refused.add_metric([node.node_id], float(bool(node.refused)))
    yield from (slots, limit, draining, refused)


def _of_commits(totals: CommitTotals) -> Iterator[Metric]:
    counts = totals.buckets or (0,) * (len(COMMIT_BUCKETS) + 1)
    bounds = [*map(str, COMMIT_BUCKETS), "+Inf"]
    yield HistogramMetricFamily(
        "docactor_commit_seconds",
        "How long the transactions of all documents took, as their actors last told",
        buckets=list(zip(bounds, map(float, accumulate(counts)), strict=True)),
        sum_value=totals.seconds,
    )
    about = "Transactions that failed"
    yield CounterMetricFamily("docactor_commit_failures", about, totals.failed)
    about = "Bytes that documents' logs grew by"
    yield CounterMetricFamily("docactor_log_bytes", about, totals.log_bytes)


class MetricsRest:
    """The handler; needs the scope `read`, the least there is, for a scraper to hold."""

    def __init__(
        self, context: ToolContext, authenticator: Authenticator, counts: GatewayCounts
    ) -> None:
        self._context = context
        self._authenticator = authenticator
        self._counts = counts

    def routes(self) -> list[Route]:
        return [Route("/metrics", answered(self.metrics), methods=["GET"])]

    async def metrics(self, request: Request) -> Response:
        caller = await self._authenticator.of_header(request.headers.get("authorization"))
        require(caller, "read")
        own = self._counts.report(self._context.held)
        directory = await self._directory()
        others = directory.gateways if directory is not None else ()
        gateways = (own, *(one for one in others if one.gateway_id != own.gateway_id))
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        registry = CollectorRegistry()
        registry.register(Families(directory, gateways))
        return Response(encode(registry), headers={"Content-Type": content_type})

    async def _directory(self) -> DirectoryMetrics | None:
        try:
            with anyio.fail_after(READY_S):
                told: DirectoryMetrics = await self._context.router.directory("metrics")
        except (TimeoutError, DocactorError):
            return None
        return told
