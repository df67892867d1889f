"""`docactor versions …` against a gateway on a real socket."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.cli import REFUSED, main
from shared.errors import VersionNotFound
from shared.protocol import WriteOptions
from shared.protocol_history import (
    CompareCounts,
    ComparedBlock,
    ComparedState,
    CompareRequest,
    CompareResult,
    ListVersionsRequest,
    ListVersionsResult,
    RestoreRequest,
    SaveVersionRequest,
    Version,
)
from tests.integration.gateway.test_cli import Captured, data, router, server
from tests.unit.gateway.fakes import FakeRouter

__all__ = ["data", "router", "server"]
pytestmark = pytest.mark.usefixtures("server")
AT = "2026-03-31T09:00:00.000+00:00"


@pytest.fixture(autouse=True)
def plan(server: str, data: Path, capsys: Captured) -> None:
    (data / "plan.md").write_text("one\n", encoding="utf-8")
    assert main(["create", str(data / "plan.md"), "--title", "Plan"]) == 0
    capsys.readouterr()


def test_versions_are_listed_and_the_next_page_is_named(
    router: FakeRouter, capsys: Captured
) -> None:
    rows = (
        Version("v12", AT, "restored", by="Ann", restored="v3"),
        Version("v11", AT, "named", "as sent", "Ann"),
        Version("v10", AT, "quiet"),
    )
    router.answers["list_versions"] = ListVersionsResult(rows, "v10")
    assert main(["versions", "list", "plan", "--before", "v13", "--limit", "3"]) == 0
    told = capsys.readouterr()
    assert told.out.splitlines() == [
        f"v12     {AT}  restored v3  (by Ann)",
        f"v11     {AT}  named  as sent  (by Ann)",
        f"v10     {AT}  quiet",
    ]
    assert "--before v10" in told.err
    assert router.requests[-1][2] == ListVersionsRequest("v13", 3)


def test_a_version_is_printed_as_it_is(capsys: Captured) -> None:
    assert main(["versions", "read", "plan", "as sent"]) == 0
    assert capsys.readouterr().out == "one\n"


def test_what_differs_is_printed_block_by_block(router: FakeRouter, capsys: Captured) -> None:
    state = ComparedState(AT)
    block = ComparedBlock("k3x9d2ab", "changed", 1, 1, "{--old--}{++new++}")
    router.answers["compare"] = CompareResult(
        since=state,
        until=state,
        counts=CompareCounts(0, 0, 1, 0, 1, 1),
        blocks=(block,),
        truncated=False,
    )
    assert main(["versions", "compare", "plan", AT]) == 0
    told = capsys.readouterr()
    assert told.out == "[k3x9d2ab] changed\n{--old--}{++new++}\n\n"
    assert "0 added, 0 removed, 1 changed, 0 moved" in told.err
    assert router.requests[-1][2] == CompareRequest(AT, max_chars=1_000_000)


def test_naming_and_restoring_reach_the_document(router: FakeRouter, capsys: Captured) -> None:
    assert main(["versions", "save", "plan", "as sent", "--version", "v3"]) == 0
    assert router.requests[-1][2] == SaveVersionRequest("as sent", "v3")
    assert main(["versions", "restore", "plan", "v1", "--dry-run"]) == 0
    request = router.requests[-1][2]
    key = request.options.idempotency_key
    assert request == RestoreRequest("v1", WriteOptions(dry_run=True, idempotency_key=key))
    assert "docactor versions restore plan v2" in capsys.readouterr().out


def test_a_version_that_is_none_is_refused(router: FakeRouter, capsys: Captured) -> None:
    router.failure = VersionNotFound("version: no version 'v9' of this document.")
    assert main(["versions", "read", "plan", "v9"]) == REFUSED
    assert "no version 'v9'" in capsys.readouterr().err
