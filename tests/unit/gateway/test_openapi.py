"""The description of REST: everything is in it, and what is said of a request is so."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import jsonschema  # type: ignore[import-untyped]
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from gateway.rest.openapi import OPERATIONS, PATH, Operation, description
from gateway.rest.problems import MEDIA_TYPE
from tests.unit.gateway.fakes import FakeRouter

pytestmark = pytest.mark.anyio


def operation(method: str, path: str) -> dict[str, Any]:
    found: dict[str, Any] = description()["paths"][path][method]
    return found


def fits(value: Any, schema: dict[str, Any]) -> bool:
    whole = {**schema, "components": description()["components"]}
    jsonschema.Draft202012Validator.check_schema(schema)
    return bool(jsonschema.Draft202012Validator(whole).is_valid(value))


def answer_schema(told: dict[str, Any], answer: httpx.Response) -> dict[str, Any]:
    responses = told["responses"]
    found = responses.get(str(answer.status_code), responses["default"])
    media = answer.headers["content-type"].partition(";")[0]
    schema: dict[str, Any] = found["content"][media]["schema"]
    return schema


def body_schema(told: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = told["requestBody"]["content"]["application/json"]["schema"]
    return schema


async def test_every_route_is_described_and_nothing_else(app: Starlette) -> None:
    routes = {
        (method.lower(), route.path)
        for route in app.routes
        if isinstance(route, Route)
        for method in (route.methods or set()) - {"HEAD"}
    }
    paths = description()["paths"]
    assert {(method, path) for path, methods in paths.items() for method in methods} == routes


async def test_the_description_is_served_to_anybody(http: httpx.AsyncClient) -> None:
    del http.headers["authorization"]
    answer = await http.get(PATH)
    assert answer.status_code == 200
    assert answer.json() == json.loads(json.dumps(description()))
    assert answer.json()["openapi"] == "3.1.0"


def test_every_reference_leads_somewhere_and_every_schema_is_one() -> None:
    text = json.dumps(description())
    schemas = description()["components"]["schemas"]
    for name in re.findall(r'"#/components/schemas/([^"]+)"', text):
        assert name in schemas
    for schema in schemas.values():
        jsonschema.Draft202012Validator.check_schema(schema)
    ids = re.findall(r'"operationId": "([^"]+)"', text)
    assert len(ids) == len(set(ids))


@pytest.fixture
async def blocks(http: httpx.AsyncClient, router: FakeRouter) -> list[str]:
    """Anchors of the document `plan`."""
    await http.post("/api/documents", json={"markdown": "one\n\ntwo\n\nthree", "slug": "plan"})
    return router.document("plan").anchors()


BODIES: dict[str, dict[str, Any]] = {
    "patch": {"markdown": "all new", "base": 5, "anchors": ["$1"], "on_conflict": "merge"},
    "insert": {"markdown": "four", "after": "$0", "idempotency_key": "k"},
    "replace": {"from": "$0", "to": "$1", "markdown": "better", "dry_run": True},
    "delete": {"blocks": ["$0", "$2"]},
    "move": {"block": "$0", "after": "end"},
    "replace_text": {"edits": [{"old_text": "two", "new_text": "2", "anchor": "$1"}]},
}


@pytest.mark.parametrize("verb", BODIES)
async def test_a_real_write_is_as_described(
    http: httpx.AsyncClient, router: FakeRouter, blocks: list[str], verb: str
) -> None:
    text = json.dumps(BODIES[verb])
    for number, anchor in enumerate(blocks):
        text = text.replace(f"${number}", anchor)
    told = operation("post", f"/api/documents/{{doc}}/{verb}")
    assert fits(json.loads(text), body_schema(told))
    answer = await http.post(f"/api/documents/plan/{verb}", content=text)
    assert answer.status_code == 200, answer.text
    assert fits(answer.json(), answer_schema(told, answer))
    asked, caller, request = router.requests[-1]
    assert (asked, caller.principal) == (verb, "person:1")
    if verb == "insert":
        assert (request.after.block_id, request.options.idempotency_key) == (blocks[0][:8], "k")
    if verb == "replace":
        assert (request.end.hash, request.options.dry_run) == (blocks[1][9:], True)


WRONG = [
    ("insert", {"markdwon": "x"}),
    ("insert", {"markdown": 5}),
    ("delete", {"blocks": []}),
    ("patch", {"markdown": "x", "base": 1.5}),
    ("patch", {"markdown": "x", "base": -1}),
    ("replace_text", {"edits": []}),
    ("replace_text", {"edits": [{"old_text": "x"}]}),
    ("move", {"block": "x"}),
]


@pytest.mark.parametrize("verb, body", WRONG)
@pytest.mark.usefixtures("blocks")
async def test_what_the_description_refuses_is_refused(
    http: httpx.AsyncClient, router: FakeRouter, verb: str, body: dict[str, Any]
) -> None:
    told = operation("post", f"/api/documents/{{doc}}/{verb}")
    assert not fits(body, body_schema(told))
    answer = await http.post(f"/api/documents/plan/{verb}", json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_argument")
    assert fits(answer.json(), answer_schema(told, answer))
    assert router.requests == []


@pytest.mark.parametrize(
    "verb, body, field",
    [
        ("move", {"after": "end"}, "block"),
        ("move", {"block": "aaaaaaaa", "section_id": "aaaaaaaa", "after": "end"}, "block"),
        ("move", {"block": "aaaaaaaa", "after": "there"}, "after"),
        ("delete", {"blocks": ["nothing"]}, "blocks"),
        ("replace", {"from": "", "markdown": "x"}, "from"),
    ],
)
@pytest.mark.usefixtures("blocks")
async def test_an_argument_at_fault_is_named(
    http: httpx.AsyncClient, verb: str, body: dict[str, Any], field: str
) -> None:
    answer = await http.post(f"/api/documents/plan/{verb}", json=body)
    assert answer.status_code == 400
    assert answer.headers["content-type"] == MEDIA_TYPE
    assert answer.json()["detail"].startswith(f"{field}: ")


@pytest.mark.usefixtures("blocks")
async def test_reading_and_following_are_as_described(
    http: httpx.AsyncClient, router: FakeRouter
) -> None:
    told = operation("get", "/api/documents/{doc}")
    query = {"format": "blocks", "max_chars": "500", "outline": "false"}
    read = await http.get("/api/documents/plan", params=query)
    assert fits(read.json(), answer_schema(told, read))
    assert [block["text"] for block in read.json()["blocks"]] == ["one", "two", "three"]
    assert read.headers["docactor-cursor"] == str(read.json()["cursor"])
    assert (await http.get("/api/documents/plan")).json()["markdown"] == "one\n\ntwo\n\nthree\n"
    await http.post("/api/documents/plan/insert", json={"markdown": "four"})
    told = operation("get", "/api/documents/{doc}/changes")
    query = {"cursor": read.headers["docactor-cursor"], "wait": "5", "settle": "0"}
    changes = await http.get("/api/documents/plan/changes", params=query)
    assert fits(changes.json(), answer_schema(told, changes))
    assert [block["text"] for block in changes.json()["blocks"]] == ["four"]
    request = router.requests[-1][2]
    assert (request.exclude_self, request.look) == (False, False)


@pytest.mark.parametrize(
    "path, query",
    [
        ("", {"format": "html"}),
        ("", {"max_chars": "0"}),
        ("", {"sectoin_id": "aaaaaaaa"}),
        ("", {"section_id": "x"}),
        ("/changes", {"cursor": "1.5"}),
        ("/changes", {"cursor": "null"}),
        ("/changes", {"wait": "51"}),
        ("/changes", {"wait": "nan"}),
    ],
)
@pytest.mark.usefixtures("blocks")
async def test_a_query_that_makes_no_sense_is_refused(
    http: httpx.AsyncClient, path: str, query: dict[str, str]
) -> None:
    answer = await http.get(f"/api/documents/plan{path}", params=query)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_argument")


@pytest.mark.parametrize(
    "one",
    [one for one in OPERATIONS if one.path.startswith("/api/") and one.path != PATH],
    ids=lambda one: f"{one.method} {one.path}",
)
@pytest.mark.usefixtures("blocks")
async def test_a_parameter_nobody_knows_is_refused_and_not_passed_over(
    http: httpx.AsyncClient, router: FakeRouter, one: Operation
) -> None:
    # A `dry_run` that belongs into the body would else write for real.
    names = {"id": "1", "node": "n1", "version": "v1", "thread": "t1", "message": "m1"}
    path = one.path.format(doc="plan", **names)
    before = router.document("plan").anchors()
    answer = await http.request(one.method, path, params={"dry_runn": "true"}, json={})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_argument"), answer.text
    assert "dry_runn" in answer.json()["detail"]
    assert router.document("plan").anchors() == before


def test_a_parameter_without_default_is_described_as_required() -> None:
    (principal,) = (
        one
        for one in operation("delete", "/api/documents/{doc}/members")["parameters"]
        if one["in"] == "query"
    )
    assert principal["required"] is True
    assert not any(
        one.get("required", False) for one in operation("get", "/api/documents")["parameters"]
    )


@pytest.mark.usefixtures("blocks")
async def test_every_parameter_described_is_taken(http: httpx.AsyncClient) -> None:
    given = {
        "find": "one",
        "section_id": "aaaaaaaa",
        "cursor": None,
        "idempotency_key": "k",
        "before": None,
        "on_conflict": "merge",
    }
    for path in ("/api/documents/{doc}", "/api/documents/{doc}/changes", "/api/documents"):
        parameters = operation("get", path)["parameters"]
        query = {
            one["name"]: one["schema"].get("default", given.get(one["name"]))
            for one in parameters
            if one["in"] == "query"
        }
        query = {name: value for name, value in query.items() if value is not None}
        answer = await http.get(path.format(doc="plan"), params=query)
        assert answer.status_code == 200, answer.text


@pytest.mark.usefixtures("blocks")
async def test_a_token_needs_the_scope_described(http: httpx.AsyncClient) -> None:
    http.headers["authorization"] = "Bearer reader-token"
    assert (await http.get("/api/documents/plan")).status_code == 200
    for verb, body in BODIES.items():
        answer = await http.post(f"/api/documents/plan/{verb}", json=body)
        assert (answer.status_code, answer.json()["code"]) == (403, "capability_denied")
