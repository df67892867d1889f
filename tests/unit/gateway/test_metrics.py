"""`/metrics`: the whole server in the exposition format, with nothing in it that is anybody's."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as open_metrics_families,
)
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette

from gateway.app import create_app
from gateway.auth import LOCAL_AGENT, Authenticator
from gateway.counts import GatewayCounts
from gateway.mcp.context import ToolContext
from gateway.mcp.held import Held
from gateway.mcp.tools import mcp_server
from gateway.settings import Settings
from shared.errors import Overloaded
from shared.metrics import GatewayReport, ToolCalls
from tests.unit.gateway.conftest import McpClient
from tests.unit.gateway.fakes import FakeRouter
from tests.unit.gateway.test_rest import DOCUMENTS, problem

pytestmark = pytest.mark.anyio

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]
LABELS = {"gateway", "node", "state", "tool", "code", "le"}


@pytest.fixture
def counts() -> GatewayCounts:
    return GatewayCounts("gateway-1")


@pytest.fixture
def app(router: FakeRouter, counts: GatewayCounts) -> Starlette:
    return create_app(Settings(), router, counts)


async def scrape(http: httpx.AsyncClient) -> Samples:
    answer = await http.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def of(samples: Samples, name: str, **labels: str) -> float:
    return samples[name, frozenset(labels.items())]


async def test_gateways_are_shown_with_what_they_did(
    http: httpx.AsyncClient, router: FakeRouter, counts: GatewayCounts
) -> None:
    counts.sleeping = {"one", "two"}
    counts.sockets, counts.frames_in, counts.frames_out, counts.reconnects = 3, 40, 50, 2
    calls = (ToolCalls("patch", "stale_anchor", 8),)
    router.gateways = {
        "gateway-1": GatewayReport("gateway-1", sockets=99),  # older than what it knows itself
        "gateway-2": GatewayReport("gateway-2", 6, 1, 2, 0, 5, 9, calls, 7),
    }
    told = await scrape(http)
    assert of(told, "docactor_sockets", gateway="gateway-1") == 3
    assert of(told, "docactor_sockets", gateway="gateway-2") == 6
    assert of(told, "docactor_frames_in_total", gateway="gateway-1") == 40
    assert of(told, "docactor_frames_out_total", gateway="gateway-1") == 50
    assert of(told, "docactor_link_reconnects_total", gateway="gateway-1") == 2
    assert of(told, "docactor_waits", gateway="gateway-2") == 5
    assert of(told, "docactor_hibernated_documents", gateway="gateway-1") == 2
    assert of(told, "docactor_hibernated_documents", gateway="gateway-2") == 7
    assert of(told, "docactor_waits_begun_total", gateway="gateway-2") == 9
    call = {"gateway": "gateway-2", "tool": "patch", "code": "stale_anchor"}
    assert of(told, "docactor_mcp_calls_total", **call) == 8


async def test_the_directory_is_shown_with_nodes_and_commits(http: httpx.AsyncClient) -> None:
    await http.post(DOCUMENTS, json={"markdown": "a", "slug": "a"})
    told = await scrape(http)
    assert of(told, "docactor_directory_up") == 1
    assert of(told, "docactor_documents", state="ready") == 1
    assert of(told, "docactor_documents_active", state="degraded") == 1
    assert of(told, "docactor_documents_active", state="active") == 0
    assert of(told, "docactor_slots", node="n1", state="blank") == 4
    assert of(told, "docactor_node_max_active", node="n1") == 100
    assert of(told, "docactor_node_draining", node="n1") == 1
    for name, value in (
        ("sessions", 4),
        ("document_activations_total", 7),
        ("document_takeovers_total", 1),
        ("document_failures_total", 2),
        ("document_evictions_total", 5),
        ("document_hibernations_total", 8),
        ("document_wakes_total", 9),
        ("slots_lost_total", 3),
        ("slots_recycled_total", 6),
        ("commit_failures_total", 1),
        ("log_bytes_total", 999),
        ("commit_seconds_count", 3),
        ("commit_seconds_sum", 0.25),
    ):
        assert of(told, f"docactor_{name}") == value, name
    assert of(told, "docactor_commit_seconds_bucket", le="0.0005") == 2
    assert of(told, "docactor_commit_seconds_bucket", le="0.25") == 3
    assert of(told, "docactor_commit_seconds_bucket", le="+Inf") == 3


async def test_openmetrics_is_spoken_to_who_asks_for_it(http: httpx.AsyncClient) -> None:
    accept = "application/openmetrics-text; version=1.0.0"
    answer = await http.get("/metrics", headers={"Accept": accept})
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    families = open_metrics_families(answer.text)  # type: ignore[no-untyped-call]
    assert "docactor_mcp_calls" in {family.name for family in families}


async def test_without_a_directory_a_gateway_shows_itself(
    http: httpx.AsyncClient, router: FakeRouter, counts: GatewayCounts
) -> None:
    counts.sockets = 3
    router.failure = Overloaded("The Directory does not answer.")
    told = await scrape(http)
    assert of(told, "docactor_directory_up") == 0
    assert of(told, "docactor_sockets", gateway="gateway-1") == 3
    assert not any(name.startswith("docactor_documents") for name, _ in told)


async def test_nothing_in_it_is_a_document_a_token_or_a_name(http: httpx.AsyncClient) -> None:
    made = await http.post(DOCUMENTS, json={"markdown": "# Zebra plan", "slug": "zebra"})
    text = (await http.get("/metrics")).text
    for secret in ("zebra", "Zebra", made.json()["doc_id"], "owner-token", "Ana", "person:1"):
        assert secret not in text
    assert {label for _, labels in await scrape(http) for label, _ in labels} <= LABELS


async def test_a_token_that_may_read_is_needed(http: httpx.AsyncClient) -> None:
    reader = {"Authorization": "Bearer reader-token"}
    assert (await http.get("/metrics", headers=reader)).status_code == 200
    del http.headers["authorization"]
    problem(await http.get("/metrics"), 401, "unauthenticated")


async def test_calls_are_counted_by_tool_and_outcome(
    context: ToolContext, router: FakeRouter, counts: GatewayCounts
) -> None:
    server = mcp_server(context, Authenticator(router, no_auth=True), counts)
    async with McpClient(server) as mcp:
        await mcp.call_tool("create_document", {"markdown": "one"})
        for _ in range(2):
            await mcp.call_tool("read_document", {"doc_id": "nothing"}, raise_on_error=False)
        await mcp.call_tool("read_document", {"wrong": 1}, raise_on_error=False)
        await mcp.call_tool("made-up-by-somebody", {}, raise_on_error=False)
    assert dict(counts.calls) == {
        ("create_document", "ok"): 1,
        ("read_document", "doc_not_found"): 2,
        ("read_document", "invalid_argument"): 1,
        ("unknown", "invalid_argument"): 1,
    }
    report = counts.report(Held())
    assert ToolCalls("read_document", "doc_not_found", 2) in report.calls


async def test_waits_are_counted_while_they_last_and_after(counts: GatewayCounts) -> None:
    held = Held()
    with held.hold(LOCAL_AGENT, ""):
        report = counts.report(held)
        assert (report.waiting, report.waits) == (1, 1)
    report = counts.report(held)
    assert (report.waiting, report.waits) == (0, 1)


async def test_every_metric_is_explained_in_the_reference(http: httpx.AsyncClient) -> None:
    page = (Path(__file__).parents[3] / "docs/reference/metrics.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"^\| `(docactor_\w+)`", page, re.MULTILINE))
    families = text_string_to_metric_families((await http.get("/metrics")).text)
    shown = {f.name + "_total" * (f.type == "counter") for f in families}
    assert explained == shown
