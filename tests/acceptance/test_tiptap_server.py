"""Tiptap at a running server: what is opened, typed and patched there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from tests.acceptance.editors import until
from tests.acceptance.server import Server
from tests.acceptance.tiptap import Tiptap

MARKDOWN: Final = """---
kind: plan
---

# Plan

Some **bold** words[^1] and <kbd>Ctrl</kbd>.

- [ ] one
- [x] two

| a | b |
| --- | --: |
| x<br>y | `p\\|q` |

<div>
html
</div>

[^1]: A note.
"""


@pytest.fixture(scope="module")
def tiptap() -> Iterator[Tiptap]:
    with Tiptap() as running:
        yield running


def test_a_person_in_tiptap_and_an_agent_write_one_document(server: Server, tiptap: Tiptap) -> None:
    doc = server.create(MARKDOWN)
    assert server.read(doc) == MARKDOWN
    with tiptap.connected(server.collab, doc, server.token) as (desk, opened):
        assert opened.sent == [], opened.shown
        assert server.read(doc) == MARKDOWN

        shown = server.tool("read_document", doc_id=doc, format="markdown")
        patched = MARKDOWN.replace("bold", "daring")
        server.tool("patch", doc_id=doc, markdown=patched, base=shown["cursor"])
        until("the agent's word", lambda: "daring" in desk.ask("look").text[2])
        assert desk.ask("look").sent == []

        desk.ask("caret", after="words")
        assert desk.ask("type", text=" *typed*").sent
        typed = patched.replace("words[", "words *typed*[")
        until("the person's word", lambda: server.read(doc) == typed)
