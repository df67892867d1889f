"""A session of an agent over a live MCP connection, played and written down.

python -m tests.acceptance.agent_session docs/tutorial/an-agents-session.md
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any, Final

import httpx

from tests.acceptance.recorded_session import Session, content, record
from tests.acceptance.server import Server

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "tutorial" / "an-agents-session.md"
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


def play(server: Server) -> str:
    """The page of a new run."""
    with httpx.Client(timeout=60) as http:
        return _played(server, Session(server, http, HEAD, "Scribe", "write", "owner"))


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
        markdown=content(result).replace("The *Albatros* came", "The barque *Albatros* came"),
    )
    session.say("What the document says in the end:")
    session.call("read_document", doc_id=doc, format="markdown")


if __name__ == "__main__":
    record(play, *sys.argv[1:])
