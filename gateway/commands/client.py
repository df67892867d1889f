"""The command line's side of REST."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Self
from urllib.parse import quote

import httpx
import msgspec

from gateway.upkeep import Step
from shared.errors import BY_CODE, DocactorError, InternalError
from shared.limits import MAX_READ_CHARS

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
        self.url = url
        self.token = token or ""
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

    def export(self, doc: str, *, critic: bool = False) -> tuple[str, list[dict[str, Any]]]:
        """The Markdown, and what it leaves out: a `block_id` and a `what` each.

        `critic`: with what is suggested in it, in CriticMarkup.
        """
        asked = {"suggestions": "critic"} if critic else {}
        answer = self._send("GET", f"/api/documents/{doc}.md", params=asked)
        if answer.headers.get("Docactor-Fidelity", "0") == "0":
            return answer.text, []
        return answer.text, self._json("GET", f"/api/documents/{doc}/fidelity")["fidelity"]

    def export_with_tag(self, doc: str) -> tuple[str, str]:
        """The Markdown, and the tag that says which instant it is of."""
        answer = self._send("GET", f"/api/documents/{doc}.md")
        return answer.text, answer.headers["ETag"]

    def put(
        self, doc: str, markdown: str, tag: str, idempotency_key: str, *, allow_large_delete: bool
    ) -> dict[str, Any]:
        """Makes the document read as `markdown`, which was made from the state that `tag` names."""
        asked = {"idempotency_key": idempotency_key}
        if allow_large_delete:
            asked["allow_large_delete"] = "true"
        headers = {"If-Match": tag, "Content-Type": "text/markdown"}
        path = f"/api/documents/{doc}.md"
        return self._json("PUT", path, params=asked, headers=headers, content=markdown.encode())

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

    def members(self, doc: str) -> dict[str, Any]:
        return self._json("GET", f"/api/documents/{_part(doc)}/members")

    def set_member(self, doc: str, principal: str, role: str | None) -> dict[str, Any]:
        """Gives a role, or with None takes it back."""
        path = f"/api/documents/{_part(doc)}/members"
        if role is None:
            return self._json("DELETE", path, params={"principal": principal})
        return self._json("PUT", path, json={"principal": principal, "role": role})

    def set_link(self, doc: str, role: str | None) -> dict[str, Any]:
        """What everybody with the link may do; None: nothing."""
        return self._json("PUT", f"/api/documents/{_part(doc)}/link", json={"role": role})

    def versions(self, doc: str, before: str | None, limit: int) -> dict[str, Any]:
        params = {"limit": limit} | ({"before": before} if before else {})
        return self._json("GET", f"/api/documents/{_part(doc)}/versions", params=params)

    def version(self, doc: str, version: str) -> dict[str, Any]:
        """A version with all of its text."""
        path = f"/api/documents/{_part(doc)}/versions/{quote(version, safe='')}"
        return self._json("GET", path, params={"max_chars": MAX_READ_CHARS})

    def compare(self, doc: str, since: str, until: str | None) -> dict[str, Any]:
        """What differs between two states; `until` None: now."""
        params = {"from": since, "max_chars": MAX_READ_CHARS} | ({"to": until} if until else {})
        return self._json("GET", f"/api/documents/{_part(doc)}/compare", params=params)

    def save_version(self, doc: str, name: str, version: str | None) -> dict[str, Any]:
        """Names the document as it is now, or a version of it."""
        body = {"name": name, "version": version}
        return self._json("POST", f"/api/documents/{_part(doc)}/versions", json=body)

    def restore_version(self, doc: str, version: str, *, dry_run: bool, key: str) -> dict[str, Any]:
        body = {"version": version, "dry_run": dry_run, "idempotency_key": key}
        return self._json("POST", f"/api/documents/{_part(doc)}/restore", json=body)

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
            raise NoServerError(f"no server answers at {self.url}: {error}") from error

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
            raise NoServerError(f"no server answers at {self.url}: {error}") from error
        if answer.is_error:
            raise _told(answer)
        return answer


def _part(ref: str) -> str:
    """An id, slug or URL as one part of a path."""
    return quote(ref.rstrip("/").rpartition("/")[2], safe="")


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
