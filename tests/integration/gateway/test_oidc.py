"""Tokens of an issuer that the test starts: MCP, REST and sockets, and what does not count."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Final

import httpx
import pytest
from fastmcp.server.auth.providers.jwt import RSAKeyPair
from joserfc.jwk import RSAKey
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from gateway.settings import Settings, check
from shared.errors import InvalidArgument
from shared.protocol import Caller
from tests.in_process import served
from tests.unit.gateway.fakes import OWNER, FakeRouter

AUDIENCE: Final = "https://docs.example"


class Issuer:
    """Describes itself and shows its key; `keys` may be changed, `name` is what it calls itself."""

    def __init__(self) -> None:
        self.pair = RSAKeyPair.generate()
        key = RSAKey.import_key(self.pair.public_key).as_dict(private=False)
        self.documents: dict[str, dict[str, Any]] = {"/keys": {"keys": [{**key, "kid": "k1"}]}}
        self.server = HTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        told = {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        self.documents["/.well-known/openid-configuration"] = told

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        documents = self.documents

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                found = documents.get(self.path)
                self.send_response(200 if found else 404)
                self.end_headers()
                self.wfile.write(json.dumps(found).encode())

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        return Handler

    def token(self, pair: RSAKeyPair | None = None, **claims: Any) -> str:
        given = {"subject": "u-1", "issuer": self.url, "audience": AUDIENCE, **claims}
        return (pair or self.pair).create_token(kid="k1", **given)


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    issuer = Issuer()
    thread = threading.Thread(target=issuer.server.serve_forever)
    thread.start()
    yield issuer
    issuer.server.shutdown()
    issuer.server.server_close()
    thread.join()


@pytest.fixture
def router(rng: random.Random) -> FakeRouter:
    router = FakeRouter(rng.choice)
    router._create_document(OWNER, "Plan", "plan", (), None)
    return router


@pytest.fixture
def url(router: FakeRouter, issuer: Issuer) -> Iterator[str]:
    with served(router, Settings(oidc_issuer=issuer.url, oidc_audience=AUDIENCE)) as url:
        yield url


def get(url: str, token: str, path: str = "/api/documents/plan.md") -> int:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.get(url + path, headers=headers, timeout=30).status_code


def mcp(url: str, token: str | None, tool: str = "read_document") -> httpx.Response:
    headers = {"Accept": "application/json, text/event-stream"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    params = {"name": tool, "arguments": {"doc_id": "plan"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return httpx.post(f"{url}/mcp", json=message, headers=headers, timeout=30)


def callers(router: FakeRouter) -> set[Caller]:
    return {caller for _, caller, _ in router.requests}


def test_whose_token_it_is_says_its_subject(url: str, issuer: Issuer, router: FakeRouter) -> None:
    token = issuer.token(additional_claims={"name": "Ana\nBell", "client_id": "somebody else"})
    assert get(url, token) == 200
    assert not mcp(url, token).json()["result"].get("isError")
    (caller,) = callers(router)
    assert caller.principal == caller.person == f"person:{issuer.url}#u-1"
    assert (caller.name, caller.agent) == ("Ana Bell", False)
    assert caller.scopes == {"read", "comment", "suggest", "write"}
    assert caller.expires is not None
    assert caller.expires > time.time() * 1000


def test_scopes_are_ours_and_no_more_than_allowed(
    url: str, issuer: Issuer, router: FakeRouter
) -> None:
    assert get(url, issuer.token(scopes=["read", "openid"])) == 200
    assert {caller.scopes for caller in callers(router)} == {frozenset({"read"})}
    operator = issuer.token(scopes=["admin"])
    assert get(url, operator) == 200
    assert get(url, operator, "/api/tokens") == 403


def test_what_is_not_the_issuers_for_us_and_now_does_not_count(url: str, issuer: Issuer) -> None:
    good = issuer.token()
    head, body, signature = good.split(".")
    for token in (
        issuer.token(RSAKeyPair.generate()),
        issuer.token(audience="https://other.example"),
        issuer.token(issuer="https://other.example"),
        issuer.token(expires_in_seconds=-5),
        issuer.token(subject=""),
        issuer.token(subject="x" * 600),
        f"{head}.{body}.{signature[:-4]}AAAA",
        f"{head}.{body}.",
        f"{head}.{body}",
        good + "x" * 8_192,
    ):
        assert get(url, token) == 401
        assert mcp(url, token).status_code == 401
    assert get(url, good) == 200
    assert get(url, "owner-token") == 401  # not of the form of ours, and not the issuer's


def test_a_client_is_told_where_to_get_a_token(url: str, issuer: Issuer) -> None:
    refused = mcp(url, None)
    assert refused.status_code == 401
    challenge = refused.headers["www-authenticate"]
    assert 'resource_metadata="http://127.0.0.1:8000/.well-known/oauth-protected-resource/mcp"' in (
        challenge
    )
    told = httpx.get(f"{url}/.well-known/oauth-protected-resource/mcp", timeout=30).json()
    assert told["resource"] == "http://127.0.0.1:8000/mcp"
    assert [server.rstrip("/") for server in told["authorization_servers"]] == [issuer.url]


def test_a_socket_takes_it_too_and_refuses_what_does_not_count(url: str, issuer: Issuer) -> None:
    address = url.replace("http", "ws", 1) + "/collab/nothing"
    for token, code in ((issuer.token(), 4404), (issuer.token(audience="other"), 4401)):
        offered = [Subprotocol(f"docactor.{token}")]
        with (
            connect(address, subprotocols=offered) as socket,
            pytest.raises(ConnectionClosed) as end,
        ):
            socket.recv(30)
        assert end.value.rcvd is not None
        assert end.value.rcvd.code == code


def test_an_issuer_that_does_not_describe_itself_is_no_refusal(url: str, issuer: Issuer) -> None:
    told = issuer.documents.pop("/.well-known/openid-configuration")
    assert get(url, issuer.token()) == 503
    issuer.documents["/.well-known/openid-configuration"] = {**told, "issuer": "https://x.example"}
    assert get(url, issuer.token()) == 503
    issuer.documents["/.well-known/openid-configuration"] = told
    assert get(url, issuer.token()) == 200


@pytest.mark.parametrize(
    "given",
    [
        {"oidc_issuer": "https://x.example"},
        {"oidc_audience": "x"},
        {"oidc_issuer": "http://x.example", "oidc_audience": "x"},
        {"oidc_scope": "everything"},
    ],
)
def test_settings_that_cannot_be_meant(given: dict[str, str]) -> None:
    with pytest.raises(InvalidArgument, match=r"^oidc_"):
        check(Settings(**given))  # type: ignore[arg-type]
