"""The command line's side of REST."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Self
from urllib.parse import quote

import httpx
import msgspec

from gateway.upkeep import Step
from shared.errors import BY_CODE, DocactorError, InternalError

TIMEOUT_S: Final = 60.0  # a cold document may have to wait for an actor


class NoServerError(Exception):
    """Nobody answers at the address."""


class RestClient:
    """Calls one server. Use it in a `with` block, which closes its connection.

    Args:
        url: Its address.
        token: Sent as a Bearer token; None when there is none.
        transport: For tests: answers without a socket.
    """

    def __init__(
        self, url: str, token: str | None, transport: httpx.BaseTransport | None = None
    ) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._url = url
        self._http = httpx.Client(
            base_url=url, headers=headers, timeout=TIMEOUT_S, transport=transport
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def create(
        self,
        markdown: str,
        title: str | None,
        slug: str | None,
        expires: str | None = None,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        body = {
            "markdown": markdown,
            "title": title,
            "slug": slug,
            "expires": expires,
            "idempotency_key": idempotency_key,
        }
        return self._json("POST", "/api/documents", json=body)

    def export(self, doc: str) -> str:
        return self._send("GET", f"/api/documents/{doc}.md").text

    def delete(self, doc: str) -> dict[str, Any]:
        return self._json("DELETE", f"/api/documents/{doc}")

    def undelete(self, doc: str) -> dict[str, Any]:
        return self._json("POST", f"/api/documents/{doc}/undelete")

    def drain(self, node: str, *, force: bool) -> dict[str, Any]:
        asked = {"force": "true"} if force else {}
        return self._json("POST", f"/api/nodes/{quote(node, safe='')}/drain", params=asked)

    def undrain(self, node: str) -> dict[str, Any]:
        return self._json("POST", f"/api/nodes/{quote(node, safe='')}/undrain")

    def documents(
        self, query: str, limit: int, before: str | None, *, deleted: bool = False
    ) -> dict[str, Any]:
        asked = {
            "query": query,
            "limit": limit,
            "before": before,
            "deleted": "true" if deleted else None,
        }
        given = {key: value for key, value in asked.items() if value not in ("", None)}
        return self._json("GET", "/api/documents", params=given)

    def status(self) -> dict[str, Any]:
        return self._json("GET", "/api/status")

    def create_token(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """`order`: see `gateway.rest.tokens.TokenOrder`."""
        return self._json("POST", "/api/tokens", json=dict(order))

    def tokens(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self._json("GET", "/api/tokens")["tokens"]
        return rows

    def revoke_token(self, token_id: str) -> None:
        self._json("DELETE", f"/api/tokens/{quote(token_id, safe='')}")

    def back_up(self, folder: str) -> Iterator[Step]:
        """Has everything copied to a folder on the server's machine, telling the progress."""
        return self._steps("/api/backup", {"folder": folder})

    def check(self) -> Iterator[Step]:
        """Has everything checked, telling what is found as it is."""
        return self._steps("/api/check", {})

    def _steps(self, path: str, body: dict[str, Any]) -> Iterator[Step]:
        try:
            with self._http.stream("POST", path, json=body) as answer:
                if answer.is_error:
                    answer.read()
                    raise _told(answer)
                for line in answer.iter_lines():
                    yield _step(line)
        except httpx.TransportError as error:
            raise NoServerError(f"no server answers at {self._url}: {error}") from error

    def _json(self, method: str, path: str, **kwargs: Any) -> dict[str, Any]:
        return msgspec.json.decode(self._send(method, path, **kwargs).content, type=dict[str, Any])

    def _send(self, method: str, path: str, **kwargs: Any) -> httpx.Response:
        """The answer.

        Raises:
            NoServerError: nobody listens there.
            DocactorError: as the server told it.
        """
        try:
            answer = self._http.request(method, path, **kwargs)
        except httpx.TransportError as error:
            raise NoServerError(f"no server answers at {self._url}: {error}") from error
        if answer.is_error:
            raise _told(answer)
        return answer


def _step(line: str) -> Step:
    """A line of progress. Raises the error that a line tells of."""
    told = msgspec.json.decode(line, type=dict[str, Any])
    if "error" not in told:
        return msgspec.convert(told, Step)
    error = told["error"]
    kind = BY_CODE.get(str(error.get("code")), InternalError)
    raise kind(str(error.get("message", "")), next_step=error.get("next_step", ""))


def _told(answer: httpx.Response) -> DocactorError:
    try:
        told = msgspec.json.decode(answer.content, type=dict[str, Any])
    except msgspec.DecodeError:
        return InternalError(f"The server answered {answer.status_code} {answer.reason_phrase}.")
    kind = BY_CODE.get(str(told.get("code")), InternalError)
    data = {name: told[name] for name in ("next_step", "retry_after_s") if name in told}
    return kind(str(told.get("detail", "")), **data)
