"""Every scope with every route and every tool: allowed, or refused for want of a scope."""

from __future__ import annotations

import itertools
from typing import Any, Final, get_args

import httpx
import pytest

from gateway.mcp import profiles
from gateway.rest.openapi import OPERATIONS, Operation
from shared.access import allows, scopes_of
from shared.protocol import Caller, Scope
from shared.tokens import hash_token
from tests.unit.gateway.fakes import FakeRouter

pytestmark = pytest.mark.anyio
SCOPES: Final[tuple[Scope | None, ...]] = (None, *get_args(Scope))
PARTS: Final = {"doc": "plan", "node": "abc", "id": "t1"}
NEEDS: Final[dict[str, Scope]] = {
    name: "read" if name in profiles.READER else "write" for name in profiles.AUTHOR
}
REFUSED: Final = (401, 403)


def holder(router: FakeRouter, scope: Scope | None) -> tuple[Caller, dict[str, str]]:
    """Somebody whose token has the scope, with what it brings, or none at all."""
    scopes = frozenset[Scope]() if scope is None else scopes_of(scope)
    caller = Caller("agent:x", "X", "person:1", agent=True, scopes=scopes)
    router.tokens[hash_token("the-token")] = caller
    return caller, {"Authorization": "Bearer the-token"}


@pytest.mark.parametrize(
    "operation, scope",
    list(itertools.product(OPERATIONS, SCOPES)),
    ids=lambda value: f"{value.method} {value.path}" if isinstance(value, Operation) else value,
)
async def test_every_route_asks_for_its_scope(
    http: httpx.AsyncClient, router: FakeRouter, operation: Operation, scope: Scope | None
) -> None:
    await http.post("/api/documents", json={"markdown": "one", "slug": "plan"})
    caller, headers = holder(router, scope)
    before = router.document("plan").order[:]
    url = operation.path.format(**PARTS)
    answer = await http.request(operation.method.upper(), url, headers=headers)
    if operation.scope is None or allows(caller, operation.scope):
        assert answer.status_code not in REFUSED or operation.scope is None
        return
    assert answer.status_code == 403
    assert answer.json()["code"] == "capability_denied"
    assert answer.json()["needs"] == operation.scope
    assert router.document("plan").order == before
    assert router.tokens.keys() >= {hash_token("the-token")}


@pytest.mark.parametrize("tool, scope", list(itertools.product(sorted(NEEDS), SCOPES)))
async def test_every_tool_asks_for_its_scope(
    http: httpx.AsyncClient, router: FakeRouter, tool: str, scope: Scope | None
) -> None:
    await http.post("/api/documents", json={"markdown": "one", "slug": "plan"})
    caller, headers = holder(router, scope)
    given: dict[str, dict[str, Any]] = {
        "create_document": {},
        "list_documents": {},
        "replace_text": {"edits": [{"old_text": "one", "new_text": "1"}]},
        "patch": {"markdown": "two"},
        "insert": {"markdown": "two"},
        "replace": {"from": router.document("plan").order[0], "markdown": "two"},
        "delete": {"blocks": router.document("plan").order},
        "move": {"block": router.document("plan").order[0], "after": "end"},
    }
    arguments = given.get(tool, {})
    if tool not in ("create_document", "list_documents"):
        arguments = {"doc_id": "plan", **arguments}
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }
    headers["Accept"] = "application/json, text/event-stream"
    asked = len(router.requests)
    result = (await http.post("/mcp", json=message, headers=headers)).json()["result"]
    if allows(caller, NEEDS[tool]):
        assert not result.get("isError"), result
    else:
        assert result["structuredContent"]["error"]["code"] == "capability_denied"
        assert len(router.requests) == asked
        assert len(router.documents) == 1
