"""The pages browsers are shown: what they need to be let in, and that text stays text."""

from __future__ import annotations

import re

import httpx
import pytest
from starlette.applications import Starlette

from tests.unit.gateway.conftest import BASE
from tests.unit.gateway.fakes import FakeRouter

pytestmark = pytest.mark.anyio
HTML = {"Accept": "text/html,application/xhtml+xml"}


@pytest.fixture
async def slug(http: httpx.AsyncClient) -> str:
    text = (
        "# Plan & <b>more</b>\n\n<script>alert(1)</script>\n\n[x](javascript:alert(1))\n\n## Two\n"
    )
    made = await http.post("/api/documents", content=text, params={"title": "A <i>title</i>"})
    return str(made.json()["slug"])


async def test_a_browser_gets_a_page_whose_headings_carry_their_ids(
    http: httpx.AsyncClient, router: FakeRouter, slug: str
) -> None:
    page = await http.get(f"/d/{slug}", headers=HTML)
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    ids = [anchor[:8] for anchor in router.document(slug).anchors()]
    assert re.findall(r'<h(\d) id="(\w+)">', page.text) == [("1", ids[0]), ("2", ids[-1])]
    assert "<title>A &lt;i&gt;title&lt;/i&gt;</title>" in page.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.text
    assert "<script" not in page.text
    assert "href=" not in page.text
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none';")
    assert page.headers["cache-control"] == "no-store"
    assert page.headers["x-content-type-options"] == "nosniff"


async def test_an_id_in_the_query_leads_to_the_section(
    http: httpx.AsyncClient, router: FakeRouter, slug: str
) -> None:
    anchor = router.document(slug).anchors()[-1]
    for given in (anchor, anchor[:8]):
        led = await http.get(f"/d/{slug}", params={"id": given}, headers=HTML)
        assert (led.status_code, led.headers["location"]) == (302, f"/d/{slug}#{anchor[:8]}")
    for given in ("", "//evil.example", "x\r\nSet-Cookie: a=b"):
        page = await http.get(f"/d/{slug}", params={"id": given}, headers=HTML)
        assert page.status_code == 200


async def test_a_token_shown_once_lets_a_browser_read_and_nothing_else(
    http: httpx.AsyncClient, slug: str
) -> None:
    del http.headers["authorization"]
    refused = await http.get(f"/d/{slug}", headers=HTML)
    assert (refused.status_code, "docactor serve" in refused.text) == (401, True)
    wrong = await http.post("/api/session", json={"token": "nope"})
    assert (wrong.status_code, wrong.json()["code"]) == (401, "unauthenticated")
    let_in = await http.post("/api/session", json={"token": "owner-token"})
    cookie = let_in.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
    assert (await http.get(f"/d/{slug}", headers=HTML)).status_code == 200
    listed = await http.get("/", headers=HTML)
    assert f'<a href="/d/{slug}">A &lt;i&gt;title&lt;/i&gt;</a>' in listed.text
    for method, path in (("GET", "/api/documents"), ("DELETE", f"/api/documents/{slug}")):
        assert (await http.request(method, path)).status_code == 401
    await http.delete("/api/session")
    assert (await http.get("/", headers=HTML)).status_code == 401


async def test_the_first_page_runs_our_script_and_no_other(app: Starlette) -> None:
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url=BASE) as http,
    ):
        page = await http.get("/", headers=HTML)
    assert page.status_code == 401
    assert page.text.count("<script>") == 1
    assert "script-src 'sha256-" in page.headers["content-security-policy"]


async def test_who_wants_no_page_gets_the_text_or_a_problem(
    http: httpx.AsyncClient, slug: str
) -> None:
    text = await http.get(f"/d/{slug}")
    assert text.headers["content-type"] == "text/plain; charset=utf-8"
    missing = await http.get("/d/nothing")
    assert missing.json()["code"] == "doc_not_found"
    page = await http.get("/d/nothing", headers=HTML)
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
