"""REST: a Markdown file sent back."""

from __future__ import annotations

import httpx
import pytest

from shared.errors import StaleBlock
from shared.protocol import PatchRequest, WriteOptions
from tests.unit.gateway.fakes import OWNER, FakeRouter
from tests.unit.gateway.test_rest import DOCUMENTS, problem

pytestmark = pytest.mark.anyio

PLAN = f"{DOCUMENTS}/plan.md"


@pytest.fixture
async def plan(http: httpx.AsyncClient) -> str:
    """A document; the tag of its state."""
    await http.post(DOCUMENTS, content="one\n\ntwo", params={"slug": "plan"})
    tag: str = (await http.get(PLAN)).headers["etag"]
    return tag


def sent(router: FakeRouter) -> PatchRequest:
    verb, caller, request = router.requests[-1]
    assert (verb, caller.principal) == ("patch", OWNER.principal)
    assert isinstance(request, PatchRequest)
    return request


async def test_a_file_sent_back_is_a_patch_from_the_tag_it_was_got_with(
    http: httpx.AsyncClient, router: FakeRouter, plan: str
) -> None:
    out = await http.get(PLAN)
    assert out.headers["etag"] == f'"{out.headers["docactor-cursor"]}"'
    answer = await http.put(PLAN, content="one\n\nzwei ü", headers={"If-Match": plan})
    assert answer.status_code == 200
    assert answer.json()["ok"] is True
    assert answer.headers["etag"] == f'"{answer.json()["cursor"]}"'
    request = sent(router)
    assert request.options == WriteOptions(base=int(plan.strip('"')))
    assert [block.source for block in request.blocks] == ["one", "zwei ü"]
    assert (await http.get(PLAN)).text == "one\n\nzwei ü\n"


@pytest.mark.parametrize("header", [None, "*"])
async def test_without_a_tag_what_the_caller_has_read_counts(
    http: httpx.AsyncClient, router: FakeRouter, plan: str, header: str | None
) -> None:
    headers = {} if header is None else {"If-Match": header}
    assert (await http.put(PLAN, content="a", headers=headers)).status_code == 200
    assert sent(router).options.base is None


async def test_marks_of_a_body_are_suggested_when_that_is_asked_for(
    http: httpx.AsyncClient, router: FakeRouter, plan: str
) -> None:
    text = "one{++, two++}{>>why<<}\n"
    asked = {"suggestions": "critic"}
    await http.put(PLAN, content=text, params=asked, headers={"If-Match": plan})
    request = sent(router)
    assert (request.options.mode, request.options.note) == ("suggest", "why")
    assert [block.source for block in request.blocks] == ["one, two"]
    await http.put(PLAN, content=text, headers={"If-Match": plan})
    assert sent(router).options.mode == "apply"
    assert sent(router).blocks[0].source == "one{++, two++}{>>why<<}"
    problem(
        await http.put(PLAN, content=text, params={"suggestions": "x"}), 400, "invalid_argument"
    )
    problem(await http.get(PLAN, params={"suggestions": "x"}), 400, "invalid_argument")
    assert (await http.get(PLAN, params=asked)).status_code == 200
    assert router.requests[-1][2].critic


async def test_a_tag_that_a_proxy_made_weak_is_taken(
    http: httpx.AsyncClient, router: FakeRouter, plan: str
) -> None:
    await http.put(PLAN, content="a", headers={"If-Match": f"W/{plan}"})
    assert sent(router).options.base == int(plan.strip('"'))


@pytest.mark.parametrize("tag", ["", "1", '"1", "2"', '"x"', '"-1"', "W/1"])
async def test_what_is_no_tag_of_ours_is_refused(
    http: httpx.AsyncClient, router: FakeRouter, plan: str, tag: str
) -> None:
    asked = len(router.requests)
    answer = await http.put(PLAN, content="a", headers={"If-Match": tag})
    assert answer.status_code == 400
    assert str(answer.json()["detail"]).startswith("If-Match: ")
    assert len(router.requests) == asked


async def test_the_options_of_a_patch_are_parameters(
    http: httpx.AsyncClient, router: FakeRouter, plan: str
) -> None:
    given = {
        "on_conflict": "reject",
        "dry_run": "true",
        "allow_large_delete": "true",
        "idempotency_key": "k",
    }
    await http.put(PLAN, content="a", params=given)
    assert sent(router).options == WriteOptions(
        on_conflict="reject", dry_run=True, allow_large_delete=True, idempotency_key="k"
    )
    problem(await http.put(PLAN, content="a", params={"onconflict": "x"}), 400, "invalid_argument")
    answer = await http.put(PLAN, content="a", params={"on_conflict": "x"})
    assert problem(answer, 400, "invalid_argument")["field"] == "on_conflict"


async def test_a_refusal_is_a_problem_with_what_it_takes_to_go_on(
    http: httpx.AsyncClient, router: FakeRouter, plan: str
) -> None:
    router.failure = StaleBlock("block: it has changed.", anchor="abcd1234-0a1b2c", text="now")
    answer = await http.put(PLAN, content="a", headers={"If-Match": plan})
    body = problem(answer, 409, "stale_block")
    assert (body["anchor"], body["text"]) == ("abcd1234-0a1b2c", "now")


async def test_bodies_that_cannot_be_read_are_refused(http: httpx.AsyncClient, plan: str) -> None:
    problem(await http.put(PLAN, content=b"\xff"), 422, "unsupported_markup")
    problem(await http.put(PLAN, content=b"a\0"), 422, "unsupported_markup")
    problem(await http.put(PLAN, json={"markdown": "a"}), 400, "invalid_argument")
    problem(await http.put(f"{DOCUMENTS}/other.md", content="a"), 404, "doc_not_found")
    headers = {"Authorization": "Bearer reader-token"}
    problem(await http.put(PLAN, content="a", headers=headers), 403, "capability_denied")
