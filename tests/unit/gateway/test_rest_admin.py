"""REST for whoever runs the server: deleting, bringing back, expiry, draining nodes."""

from __future__ import annotations

import httpx
import pytest

from tests.unit.gateway.fakes import FakeRouter
from tests.unit.gateway.test_rest import DOCUMENTS, problem

pytestmark = pytest.mark.anyio

WRITER = {"Authorization": "Bearer writer-token"}


async def create(http: httpx.AsyncClient, slug: str, **more: str) -> str:
    made = await http.post(DOCUMENTS, json={"markdown": "# Plan", "slug": slug, **more})
    assert made.status_code == 201, made.text
    doc_id: str = made.json()["doc_id"]
    return doc_id


async def test_a_deleted_document_is_not_found_and_can_be_had_back(http: httpx.AsyncClient) -> None:
    doc_id = await create(http, "plan")
    told = (await http.delete(f"{DOCUMENTS}/plan")).json()
    assert told["doc_id"] == doc_id
    assert told["deleted_at"] == "2025-11-30T10:53:20.000+00:00"
    assert told["kept_until"] == "2025-12-30T10:53:20.000+00:00"
    problem(await http.get(f"{DOCUMENTS}/{doc_id}.md"), 404, "doc_not_found")
    problem(await http.delete(f"{DOCUMENTS}/{doc_id}"), 404, "doc_not_found")
    assert (await http.get(DOCUMENTS)).json()["documents"] == []
    (row,) = (await http.get(DOCUMENTS, params={"deleted": "true"})).json()["documents"]
    assert row == told
    back = await http.post(f"{DOCUMENTS}/{doc_id}/undelete")
    assert back.json()["slug"] == "plan"
    assert "deleted_at" not in back.json()
    assert (await http.get(f"{DOCUMENTS}/plan.md")).status_code == 200
    problem(await http.post(f"{DOCUMENTS}/{doc_id}/undelete"), 404, "doc_not_found")


async def test_expiry_is_told_when_a_document_is_made_and_in_the_list(
    http: httpx.AsyncClient,
) -> None:
    as_json = await http.post(DOCUMENTS, json={"markdown": "a", "slug": "a", "expires": "30d"})
    as_text = await http.post(DOCUMENTS, content="b", params={"slug": "b", "expires": "30d"})
    assert as_json.json()["expires_at"] == as_text.json()["expires_at"]
    plain = await http.post(DOCUMENTS, content="c", params={"slug": "c"})
    assert "expires_at" not in plain.json()
    rows = (await http.get(DOCUMENTS)).json()["documents"]
    told = {row["slug"]: row.get("expires_at") for row in rows}
    assert told == {"a": "2025-12-30T10:53:20.000+00:00", "b": told["a"], "c": None}


@pytest.mark.parametrize("expires", ["2031-01-01T00:00:00", "soon", "2001-01-01T00:00:00Z"])
async def test_an_expiry_that_says_no_time_to_come_is_refused(
    http: httpx.AsyncClient, router: FakeRouter, expires: str
) -> None:
    answer = await http.post(DOCUMENTS, json={"markdown": "a", "expires": expires})
    assert problem(answer, 400, "invalid_argument")["field"] == "expires"
    assert not router.documents


async def test_a_node_is_drained_and_taken_back(
    http: httpx.AsyncClient, router: FakeRouter
) -> None:
    refused = problem(await http.post("/api/nodes/abc/drain"), 400, "invalid_argument")
    assert "no other node" in str(refused["detail"])
    drained = await http.post("/api/nodes/abc/drain", params={"force": "true"})
    assert drained.json()["draining"] is True
    assert router.drained == {"abc"}
    assert (await http.post("/api/nodes/abc/undrain")).json()["draining"] is False
    assert router.drained == set()
    wrong = await http.post("/api/nodes/abc/drain", params={"force": "maybe"})
    assert problem(wrong, 400, "invalid_argument")["field"] == "force"


@pytest.mark.parametrize(
    "method, path",
    [
        ("POST", "/api/nodes/abc/drain?force=true"),
        ("POST", "/api/nodes/abc/undrain"),
    ],
)
async def test_only_an_admin_may(
    http: httpx.AsyncClient, router: FakeRouter, method: str, path: str
) -> None:
    await create(http, "plan")
    assert problem(await http.request(method, path, headers=WRITER), 403, "capability_denied")
    del http.headers["authorization"]
    problem(await http.request(method, path), 401, "unauthenticated")
    assert [found.row.slug for found in router.documents.values()] == ["plan"]
    assert router.drained == set()
