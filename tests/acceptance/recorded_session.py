"""Calls of an agent over a live MCP connection, written down as they came over the wire.

What is drawn by lot (ids, the last digits of cursors, the numbers that frame people's text) is
replaced by values that are the same each time, so that a page can be compared with a new run.
"""

from __future__ import annotations

import json
import random
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import httpx

from shared.feed.cursor import TAG_BITS
from shared.ids import ALPHABET
from tests.acceptance.server import Server

PROTOCOL: Final = "2025-06-18"
BUDGET: Final = {"writes_per_minute": 100, "chars_per_hour": 200_000, "reads_per_minute": 600}
_ANCHOR: Final = re.compile(r"\b([0-9a-z]{8})-[0-9a-f]{6}\b")
NONCE: Final = re.compile(r"--- (?:end of )?content ([0-9a-f]{8})\b")
_DRAWN: Final = re.compile(r"\b([tm]_)[0-9a-z]{8}\b")
_TIME: Final = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)")
_THEN: Final = "2026-03-02T09:00:00Z"


class Lots:
    """Values drawn by lot, and what stands for each on the page."""

    def __init__(self) -> None:
        self._rng = random.Random("the same each time")
        self._shown: dict[str, str] = {}

    def learn(self, answer: str, result: dict[str, Any]) -> None:
        data = result["structuredContent"]
        self._stand_in(data.get("doc_id"), 12)
        for match in _ANCHOR.finditer(answer):
            self._stand_in(match[1], 8)
        for match in _DRAWN.finditer(answer):
            self._stand_in(match[0], 8, prefix=match[1])
        for match in NONCE.finditer(answer):
            self._stand_in(match[1], 8, "0123456789abcdef")
        cursor = data.get("cursor")
        if cursor is not None:
            tag = self._rng.randrange(2**TAG_BITS)
            self._shown.setdefault(str(cursor), str(cursor >> TAG_BITS << TAG_BITS | tag))

    def hide(self, text: str) -> str:
        if not self._shown:
            return text
        values = "|".join(map(re.escape, self._shown))
        return re.sub(rf"\b({values})\b", lambda match: self._shown[match[1]], text)

    def _stand_in(
        self, value: str | None, length: int, alphabet: str = ALPHABET, prefix: str = ""
    ) -> None:
        if value is not None and value not in self._shown:
            self._shown[value] = prefix + "".join(self._rng.choices(alphabet, k=length))


class Session:
    """Calls of one agent, and the page that grows with them."""

    def __init__(
        self, server: Server, http: httpx.Client, head: str, name: str, scope: str, person: str
    ) -> None:
        who = {"name": name, "person": person, "agent": True}
        order = {**who, "scope": scope, **BUDGET}
        made = server.request("POST", "/api/tokens", json=order)
        assert made.status_code == 201, made.text
        self._server = server
        self._http = http
        self._headers = {
            "Authorization": f"Bearer {made.json()['token']}",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": PROTOCOL,
        }
        self._lots = Lots()
        self._parts = [head]

    def knows(self, doc_id: str) -> None:
        """A document that another made, and of which it may be told."""
        self._lots.learn("", {"structuredContent": {"doc_id": doc_id}})

    def say(self, text: str) -> None:
        self._parts.append(f"\n{text}\n")

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """One call, written down; its structured content."""
        return self.write(tool, arguments, self.send(tool, arguments))

    def send(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        call = {"name": tool, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        answer = self._http.post(self._server.mcp, json=message, headers=self._headers)
        result: dict[str, Any] = answer.json()["result"]
        return result

    def write(self, tool: str, arguments: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
        (content,) = result["content"]
        data: dict[str, Any] = result["structuredContent"]
        self._lots.learn(json.dumps(result), result)
        verdict = ", `isError: true`" if result.get("isError") else ""
        self._parts += [
            f"\n```json\n{_json({'name': tool, 'arguments': arguments})}\n```\n",
            f"\n`content`{verdict}:\n\n````text\n{content['text'].rstrip()}\n````\n",
            f"\n`structuredContent`:\n\n```json\n{_json(data)}\n```\n",
        ]
        return data

    def page(self) -> str:
        text = "".join(self._parts).replace(self._server.url, "http://127.0.0.1:8000")
        return self._lots.hide(_TIME.sub(_THEN, text))


def _json(value: dict[str, Any]) -> str:
    """A line for each member, and for each item of a list of objects."""
    lines = []
    for key, member in value.items():
        told = json.dumps(member, ensure_ascii=False)
        if len(told) > 90 and isinstance(member, list):
            items = ",\n    ".join(json.dumps(item, ensure_ascii=False) for item in member)
            told = f"[\n    {items}\n  ]"
        lines.append(f"  {json.dumps(key)}: {told}")
    return "{\n" + ",\n".join(lines) + "\n}"


def content(result: dict[str, Any]) -> str:
    """What stands between the lines that frame people's text."""
    lines = result["content"][0]["text"].split("\n")
    first, last = (at for at, line in enumerate(lines) if NONCE.match(line))
    return "\n".join(lines[first + 1 : last])


def record(play: Callable[[Server], str], page: str) -> None:
    """Plays a session on a server of its own and writes its page."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Server(Path(folder) / "data", "--workers", "1") as server,
    ):
        Path(page).write_text(play(server), encoding="utf-8")
