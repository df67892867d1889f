"""REST: documents in and out, tokens, health, and errors as problem details."""

from __future__ import annotations

import anyio
import httpx
import pytest

from gateway.mcp.framing import frame
from gateway.rest.problems import MEDIA_TYPE, STATUS_BY_CODE
from shared.directory_protocol import DirectoryStatus
from shared.errors import BY_CODE, InternalError, Overloaded, RateLimited
from shared.limits import MAX_DOCUMENT_BYTES
from tests.unit.gateway.fakes import OWNER, FakeRouter

pytestmark = pytest.mark.anyio

DOCUMENTS = "/api/documents"


def problem(answer: httpx.Response, status: int, code: str) -> dict[str, object]:
    assert answer.status_code == status
    assert answer.headers["content-type"] == MEDIA_TYPE
    body: dict[str, object] = answer.json()
    assert body["status"] == status
    assert body["code"] == code
    assert body["type"] == f"urn:docactor:error:{code}"
    return body


async def test_markdown_goes_in_and_comes_out(http: httpx.AsyncClient, router: FakeRouter) -> None:
    made = await http.post(DOCUMENTS, content="Ünï\n\nzwei", params={"title": "Plan"})
    assert made.status_code == 201
    answer = made.json()
    assert answer["slug"] == "plan"
    assert answer["url"] == "http://127.0.0.1:8000/d/plan"
    assert made.headers["location"] == f"{DOCUMENTS}/{answer['doc_id']}.md"
    out = await http.get(f"{DOCUMENTS}/plan.md")
    assert out.text == "Ünï\n\nzwei\n"
    assert out.headers["content-type"] == "text/markdown; charset=utf-8"
    assert out.headers["docactor-cursor"] == str(answer["cursor"])
    verb, caller, request = router.requests[-1]
    assert (verb, caller.principal) == ("read_document", OWNER.principal)
    assert request.max_chars == MAX_DOCUMENT_BYTES


async def test_what_markdown_leaves_out_is_counted_and_listed(
    http: httpx.AsyncClient, router: FakeRouter
) -> None:
    await http.post(DOCUMENTS, content="one", params={"slug": "plain"})
    out = await http.get(f"{DOCUMENTS}/plain.md")
    assert out.headers["docactor-fidelity"] == "0"
    assert "link" not in out.headers
    listed = await http.get(f"{DOCUMENTS}/plain/fidelity")
    assert listed.json()["fidelity"] == []

    await http.post(DOCUMENTS, content="<!-- opaque:callout x -->", params={"slug": "odd"})
    (block_id,) = router.document("odd").order
    for address in (f"{DOCUMENTS}/odd.md", "/d/odd"):
        out = await http.get(address)
        assert out.headers["docactor-fidelity"] == "1"
        assert out.headers["link"] == f'<{DOCUMENTS}/odd/fidelity>; rel="describedby"'
    listed = await http.get(f"{DOCUMENTS}/odd/fidelity")
    assert listed.json() == {
        "cursor": int(out.headers["docactor-cursor"]),
        "fidelity": [{"block_id": block_id, "what": "callout: shown as a placeholder"}],
    }
    problem(await http.get(f"{DOCUMENTS}/nothing/fidelity"), 404, "doc_not_found")


async def test_a_documents_url_answers_its_text_to_who_may_read_it(
    http: httpx.AsyncClient,
) -> None:
    made = await http.post(DOCUMENTS, content="# Plan\n\n<script>alert(1)</script>")
    url = made.json()["url"].removeprefix("http://127.0.0.1:8000")
    out = await http.get(url)
    assert out.text == "# Plan\n\n<script>alert(1)</script>\n"
    assert out.headers["content-type"] == "text/plain; charset=utf-8"
    assert out.headers["x-content-type-options"] == "nosniff"
    problem(await http.get("/d/nothing"), 404, "doc_not_found")
    del http.headers["authorization"]
    problem(await http.get(url), 401, "unauthenticated")


async def test_a_file_that_quotes_frame_lines_keeps_them(
    http: httpx.AsyncClient, router: FakeRouter
) -> None:
    text = frame("text", "11111111")
    await http.post(DOCUMENTS, content=text, params={"slug": "quoting"})
    assert "\n".join(router.document("quoting").texts.values()) == text


async def test_json_goes_in_too(http: httpx.AsyncClient) -> None:
    made = await http.post(DOCUMENTS, json={"markdown": "one", "slug": "my-plan"})
    assert made.json()["slug"] == "my-plan"


async def test_the_list_is_a_page(http: httpx.AsyncClient) -> None:
    for number in range(3):
        await http.post(DOCUMENTS, json={"title": f"Doc {number}"})
    page = (await http.get(DOCUMENTS, params={"limit": 2, "query": "Doc"})).json()
    assert [row["title"] for row in page["documents"]] == ["Doc 0", "Doc 1"]
    rest = (await http.get(DOCUMENTS, params={"limit": 2, "before": page["next"]})).json()
    assert [row["title"] for row in rest["documents"]] == ["Doc 2"]
    assert rest["documents"][0]["role"] == "owner"


BAD_BODIES = [
    (b"{", "application/json", "invalid_argument"),
    (b'{"markdwon": ""}', "application/json", "invalid_argument"),
    (b'{"markdown": 5}', "application/json", "invalid_argument"),
    (b"\xff", "application/json", "invalid_argument"),
    (b"a", "text/html", "invalid_argument"),
    (b"\xff\xfe", "text/markdown", "unsupported_markup"),
]


@pytest.mark.parametrize("body, kind, code", BAD_BODIES)
async def test_a_body_that_cannot_be_read_is_refused(
    http: httpx.AsyncClient, router: FakeRouter, body: bytes, kind: str, code: str
) -> None:
    answer = await http.post(DOCUMENTS, content=body, headers={"Content-Type": kind})
    problem(answer, STATUS_BY_CODE[code], code)
    assert not router.documents


async def test_an_unknown_parameter_is_refused(http: httpx.AsyncClient) -> None:
    answer = await http.post(DOCUMENTS, content="a", params={"titel": "x"})
    assert str(problem(answer, 400, "invalid_argument")["detail"]).startswith("titel: ")
    answer = await http.get(DOCUMENTS, params={"limit": "many"})
    assert problem(answer, 400, "invalid_argument")["field"] == "limit"


async def test_a_body_over_the_limit_is_refused_before_it_is_read(
    http: httpx.AsyncClient,
) -> None:
    answer = await http.post(DOCUMENTS, content=b"a" * (12 * 2**20 + 1))
    assert problem(answer, 413, "too_large")["limit_bytes"] == 12 * 2**20


@pytest.mark.parametrize("header", [None, "Bearer wrong", "Basic b3duZXI6", "Bearer "])
async def test_without_a_valid_token_nothing_is_told(
    http: httpx.AsyncClient, header: str | None
) -> None:
    del http.headers["authorization"]
    headers = {} if header is None else {"Authorization": header}
    answer = await http.get(DOCUMENTS, headers=headers)
    problem(answer, 401, "unauthenticated")
    assert answer.headers["www-authenticate"] == "Bearer"


async def test_a_token_that_may_only_read_cannot_write(http: httpx.AsyncClient) -> None:
    headers = {"Authorization": "Bearer reader-token"}
    answer = await http.post(DOCUMENTS, content="a", headers=headers)
    assert problem(answer, 403, "capability_denied")["needs"] == "write"
    assert (await http.get(DOCUMENTS, headers=headers)).status_code == 200


async def test_only_an_admin_makes_tokens(http: httpx.AsyncClient) -> None:
    order = {"name": "Bob", "scope": "read"}
    refused = await http.post(
        "/api/tokens", json=order, headers={"Authorization": "Bearer writer-token"}
    )
    problem(refused, 403, "capability_denied")
    made = await http.post("/api/tokens", json=order)
    assert made.status_code == 201
    assert made.headers["cache-control"] == "no-store"
    token = made.json()["token"]
    headers = {"Authorization": f"Bearer {token}"}
    assert (await http.get(DOCUMENTS, headers=headers)).status_code == 200
    problem(await http.post(DOCUMENTS, headers=headers), 403, "capability_denied")


async def test_an_unknown_document_is_not_found(http: httpx.AsyncClient) -> None:
    for ref in ("nothing", "No Such", "%2e%2e"):
        problem(await http.get(f"{DOCUMENTS}/{ref}.md"), 404, "doc_not_found")


@pytest.mark.parametrize("code", sorted(BY_CODE))
async def test_every_code_has_a_status(
    http: httpx.AsyncClient, router: FakeRouter, code: str
) -> None:
    assert set(STATUS_BY_CODE) == set(BY_CODE)
    router.failure = BY_CODE[code]("doc: what is wrong.", limit=3)
    body = problem(await http.get(f"{DOCUMENTS}/plan.md"), STATUS_BY_CODE[code], code)
    assert body["detail"] == "doc: what is wrong."
    assert body["limit"] == 3
    assert body["next_step"] == BY_CODE[code].next_step


async def test_when_to_come_back_is_a_header(http: httpx.AsyncClient, router: FakeRouter) -> None:
    router.failure = RateLimited("writes: too many.", retry_after_s=7.2)
    assert (await http.get(f"{DOCUMENTS}/plan.md")).headers["retry-after"] == "7"


async def test_an_unexpected_exception_is_told_by_an_id(
    http: httpx.AsyncClient, router: FakeRouter, caplog: pytest.LogCaptureFixture
) -> None:
    router.failure = KeyError("secret")
    answer = await http.get(f"{DOCUMENTS}/plan.md")
    body = problem(answer, 500, InternalError.code)
    assert "secret" not in answer.text
    assert str(body["error_id"]) in caplog.text


async def test_health_needs_no_token(http: httpx.AsyncClient) -> None:
    del http.headers["authorization"]
    assert (await http.get("/healthz")).json() == {"status": "ok"}
    assert (await http.get("/readyz")).json() == {"status": "ready"}


@pytest.mark.parametrize(
    "status, said",
    [
        (DirectoryStatus(False, False, 1, 0, ()), "no room"),
        (DirectoryStatus(False, True, 1, 0, ()), "draining"),
    ],
)
async def test_readiness_is_whether_a_document_could_be_opened(
    http: httpx.AsyncClient, router: FakeRouter, status: DirectoryStatus, said: str
) -> None:
    router.answers["status"] = status
    answer = await http.get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {"status": said}
    assert (await http.get("/api/status")).json()["draining"] is status.draining


async def test_without_a_directory_the_gateway_is_alive_and_not_ready(
    http: httpx.AsyncClient, router: FakeRouter
) -> None:
    router.failure = Overloaded("The Directory does not answer.")
    assert (await http.get("/healthz")).status_code == 200
    assert (await http.get("/readyz")).status_code == 503


async def test_requests_do_not_wait_for_one_another(http: httpx.AsyncClient) -> None:
    async def create(number: int) -> None:
        await http.post(DOCUMENTS, json={"title": f"Doc {number}"})

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(create, number)
    page = (await http.get(DOCUMENTS)).json()
    assert len(page["documents"]) == 20


STRANGERS = [
    ({"Host": "evil.example"}, 421),
    ({"Origin": "https://evil.example"}, 403),
    ({"Origin": "null"}, 403),
    ({"Origin": "http://localhost:3000"}, 200),
    ({"Host": "localhost:8000"}, 200),
]


@pytest.mark.parametrize("headers, status", STRANGERS)
async def test_a_stranger_in_a_browser_does_not_get_in(
    http: httpx.AsyncClient, headers: dict[str, str], status: int
) -> None:
    assert (await http.get("/healthz", headers=headers)).status_code == status
