"""A review over a live MCP connection: an agent suggests and asks, a person decides and replies.

python -m tests.acceptance.review_session docs/tutorial/a-review.md
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import httpx

from tests.acceptance.recorded_session import Session, record
from tests.acceptance.server import Server
from tests.acceptance.test_roles import grant
from tests.acceptance.test_tokens import made as made_token

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "tutorial" / "a-review.md"
PLAN: Final = """\
# Launch plan

We recieve the first units in May.

## Budget

Marketing gets 40,000 euros. The rest is for travel.

## Risks

The supplier may be late, which would be catastrophic for everybody involved.
"""
HEAD: Final = """\
# A review

This page is recorded, not written: `make docs` plays it against a fresh server, and a test plays it
again and compares. Rea, a reviewing agent, has a token with the scopes `suggest` and `comment`: it
changes nothing by itself. Ann owns the document. Every call of the agent is shown as it went over
the wire; only what is drawn by lot (ids, ends of cursors, the numbers around people's text) and the
time of day have been replaced, by values that are the same each time.
"""


def play(server: Server) -> str:
    """The page of a new run."""
    with httpx.Client(timeout=60) as http:
        session = Session(server, http, HEAD, "Rea", "suggest comment", "rea")
        ann = made_token(server, name="Ann", person="ann", agent=False)[0]
        made = server.tool("create_document", ann, markdown=PLAN)
        doc, slug = made["doc_id"], made["slug"]
        grant(server, doc, "rea", "suggester")
        session.knows(doc)
        read = _look(session, slug)
        group = _suggest(session, slug)
        asked = _ask(session, slug, read)
        _decide(session, server, ann, slug, group, asked)
        _see(session, slug, read["cursor"])
        return session.page()


def _look(session: Session, slug: str) -> dict[str, Any]:
    session.say("## Read\n\nThe document, with its anchors and the cursor to follow it from.")
    return session.call("read_document", doc_id=slug)


def _suggest(session: Session, slug: str) -> str:
    session.say(
        "## Suggest\n\nThree edits, one group. Nothing of the document changes: its text, its "
        "blocks and their anchors stay as they are."
    )
    told = session.call(
        "suggest",
        doc_id=slug,
        edits=[
            {"old_text": "recieve", "new_text": "receive"},
            {"old_text": "40,000 euros", "new_text": "45,000 euros"},
            {"old_text": " for everybody involved", "new_text": ""},
        ],
        note="Spelling; the figure of the last meeting; shorter.",
        idempotency_key="review-1",
    )
    group: str = told["group"]
    return group


def _ask(session: Session, slug: str, read: dict[str, Any]) -> list[str]:
    session.say(
        "## Ask\n\nA question on a quoted sentence is a comment: it has a thread of its own, which "
        "stays with the sentence when the text around it changes."
    )
    headings = [block["anchor"].partition("-")[0] for block in read["blocks"]]
    questions = (
        (headings[2], "The rest is for travel.", "How much is that?"),
        (headings[4], "The supplier may be late", "Is there a second one?"),
    )
    threads = []
    for section, quote, text in questions:
        told = session.call(
            "post_chat_message", slug=slug, section_id=section, quote=quote, text=text
        )
        threads.append(told["thread_id"])
    session.say("A quote that is not there once is refused, and the refusal says what to copy:")
    session.call("post_chat_message", slug=slug, section_id=headings[2], quote="May", text="Sure?")
    return threads


def _decide(
    session: Session, server: Server, ann: str, slug: str, group: str, threads: list[str]
) -> None:
    session.say(
        "## Meanwhile, Ann\n\nShe accepts the first and the last suggestion, rejects the figure, "
        "and answers the first question. Her calls are the same tools, with a token that may write."
    )
    listed = server.tool("list_suggestions", ann, doc_id=slug)["suggestions"]
    assert {one["group"] for one in listed} == {group}
    for suggestion, decision in zip(listed, ("accept", "reject", "accept"), strict=True):
        server.tool(
            "decide_suggestion",
            ann,
            doc_id=slug,
            id=suggestion["id"],
            decision=decision,
        )
    server.tool("reply", ann, slug=slug, thread_id=threads[0], text="5,000, as last year.")


def _see(session: Session, slug: str, cursor: int) -> None:
    session.say(
        "## Follow\n\nOne call, from the cursor of the first read: the blocks that changed, what "
        "became of the suggestions, and what was said."
    )
    session.call("read_changes", doc_id=slug, cursor=cursor)
    session.say("The text in the end:")
    session.call("read_document", doc_id=slug, format="markdown")


if __name__ == "__main__":
    record(play, *sys.argv[1:])
