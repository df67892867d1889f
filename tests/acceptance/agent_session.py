"""A session of an agent over a live MCP connection, played and written down.

    python -m tests.acceptance.agent_session docs/tutorial/an-agents-session.md

What is drawn by lot (ids, the last digits of cursors, the numbers that frame people's text) is
replaced by values that are the same each time, so that the page can be compared with a new run.
Everything else stands as it came over the wire.
"""

from __future__ import annotations

import json
import random
import re
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, Final

import httpx

from shared.feed.cursor import TAG_BITS
from shared.ids import ALPHABET
from tests.acceptance.server import Server

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "tutorial" / "an-agents-session.md"
PROTOCOL: Final = "2025-06-18"
BUDGET: Final = {"writes_per_minute": 100, "chars_per_hour": 200_000, "reads_per_minute": 600}
LOG: Final = """\
# Harbour log

## Ships

The *Albatros* came in at dawn with salt and copper.

The Heron is expected on Friday.

## Tides

High water at 06:10 and 18:35.
"""
HEAD: Final = """\
# An agent's session

This page is recorded, not written: `make docs` plays it against a fresh server, and a test plays it
again and compares. An agent with a token of its own (scope `write`) speaks MCP; somebody else, Ann,
edits the same document meanwhile. Every call and every answer is shown as it went over the wire:
`content` is the text for the model, `structuredContent` the data. Only what is drawn by lot (ids,
ends of cursors, the numbers around people's text) has been replaced, by values that are the same
each time.
"""
_ANCHOR: Final = re.compile(r"\b([0-9a-z]{8})-[0-9a-f]{6}\b")
_NONCE: Final = re.compile(r"--- (?:end of )?content ([0-9a-f]{8})\b")


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
        for match in _NONCE.finditer(answer):
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

    def _stand_in(self, value: str | None, length: int, alphabet: str = ALPHABET) -> None:
        if value is not None and value not in self._shown:
            self._shown[value] = "".join(self._rng.choices(alphabet, k=length))


class Session:
    """Calls of one agent, and the page that grows with them."""

    def __init__(self, server: Server, http: httpx.Client) -> None:
        order = {"name": "Scribe", "scope": "write", "agent": True, **BUDGET}
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
        self._parts = [HEAD]

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
        return self._lots.hide(text)


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


def play(server: Server) -> str:
    """The page of a new run."""
    with httpx.Client(timeout=60) as http:
        return _played(server, Session(server, http))


def _played(server: Server, session: Session) -> str:
    ann = server.create_token("Ann")
    session.say("## A document\n\nThe agent makes it; it could have been there already.")
    made = session.call("create_document", markdown=LOG, idempotency_key="log-1")
    doc = made["doc_id"]
    session.say(
        "## Read once\n\nEvery block stands under its anchor. `cursor` is the moment of the answer."
    )
    read = session.call("read_document", doc_id=doc)
    _follow(session, server, ann, doc, read["cursor"])
    _write(session, server, ann, doc)
    return session.page()


def _follow(session: Session, server: Server, ann: str, doc: str, cursor: int) -> None:
    session.say(
        "## Follow\n\nThe agent asks for what is new, and waits up to 20 seconds. Meanwhile Ann "
        "writes a sentence; a second after her last keystroke the call answers, with that block."
    )
    arguments = {"doc_id": doc, "cursor": cursor, "wait_s": 20, "settle_s": 1}
    answers: list[dict[str, Any]] = []
    waiting = threading.Thread(
        target=lambda: answers.append(session.send("read_changes", arguments))
    )
    waiting.start()
    edit = {"old_text": "on Friday.", "new_text": "on Friday. She carries oranges."}
    server.tool("replace_text", ann, doc_id=doc, edits=[edit])
    waiting.join()
    session.write("read_changes", arguments, answers[0])


def _write(session: Session, server: Server, ann: str, doc: str) -> None:
    session.say(
        "## Fix a word\n\nThe quote says where. The answer has the new anchor, and a cursor to go "
        "on from: nothing need be read again."
    )
    edit = {"old_text": "salt and copper", "new_text": "salt, copper and letters"}
    fixed = session.call("replace_text", doc_id=doc, edits=[edit])
    session.say("## Add something\n\nThe key makes the call safe to repeat.")
    added = {
        "doc_id": doc,
        "markdown": "## Weather\n\nWind from the west, rain by noon.",
        "idempotency_key": "weather-1",
    }
    session.call("insert", **added)
    session.say("Repeated, as after an answer that got lost, it changes nothing more:")
    session.call("insert", **added)
    _meet(session, server, ann, doc, fixed["blocks"][0]["anchor"])


def _meet(session: Session, server: Server, ann: str, doc: str, anchor: str) -> None:
    session.say(
        "## Meet somebody\n\nAnn rewrites the paragraph that the agent has just mended; the agent "
        "does not know. Naming the block by the anchor it has, it is refused, and told what the "
        "block says now."
    )
    change = {"old_text": "came in at dawn", "new_text": "came in at six"}
    server.tool("replace_text", ann, doc_id=doc, edits=[change])
    arguments = {"from": anchor, "markdown": "The *Albatros* came in."}
    session.call("replace", doc_id=doc, **arguments)
    session.say(
        "It looks where that is, reads the section, and sends it back as it should read, anchors "
        "and all. `base` is the moment it read at. Ann is quicker again, at the other end of the "
        "same paragraph: both edits stand, and `behind` says that there is something new."
    )
    outline = session.call("read_document", doc_id=doc, outline=True)["outline"]
    (section,) = (entry["section_id"] for entry in outline if entry["title"] == "Ships")
    arguments = {"doc_id": doc, "section_id": section}
    result = session.send("read_document", arguments)
    read = session.write("read_document", arguments, result)
    mail = {"old_text": "letters.", "new_text": "mail."}
    server.tool("replace_text", ann, doc_id=doc, edits=[mail])
    session.call(
        "patch",
        **arguments,
        base=read["cursor"],
        markdown=_content(result).replace("The *Albatros* came", "The barque *Albatros* came"),
    )
    session.say("What the document says in the end:")
    session.call("read_document", doc_id=doc, format="markdown")


def _content(result: dict[str, Any]) -> str:
    """What stands between the lines that frame people's text."""
    lines = result["content"][0]["text"].split("\n")
    first, last = (at for at, line in enumerate(lines) if _NONCE.match(line))
    return "\n".join(lines[first + 1 : last])


def main(page: str) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        Server(Path(folder) / "data", "--workers", "1") as server,
    ):
        Path(page).write_text(play(server), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
