"""People type while agents write the same words: no keystroke is lost, and all converge."""

from __future__ import annotations

import random
import re
from typing import Any, Final

import pytest

from tests.acceptance.conftest import OpenEditor
from tests.acceptance.editors import Editor, until
from tests.acceptance.server import Server
from tests.amount import amount

PATCHES: Final = amount(250, 1_000)
# Every keystroke is a letter of its own, somewhere in the paragraph: what is lost or there twice
# has a name. Of the agent's words none has such letters.
TYPING: Final = """
  globalThis.typed = []
  globalThis.timer = setInterval(() => {
    const letter = String.fromCodePoint(0x4e00 + globalThis.typed.length)
    leaf(0).insert(Math.floor(Math.random() * (leaf(0).length + 1)), letter)
    globalThis.typed.push(letter)
  }, 60)
"""
STOP: Final = "clearInterval(globalThis.timer); return globalThis.typed"
UNDO: Final = "globalThis.undo ??= new Y.UndoManager(root, { captureTimeout: 0 })"


def read(server: Server, doc: str) -> tuple[str, int]:
    shown = server.tool("read_document", doc_id=doc, format="markdown", max_chars=1_000_000)
    return shown["markdown"], shown["cursor"]


@pytest.mark.timeout(900)
def test_patches_of_a_paragraph_somebody_types_in_lose_no_keystroke(
    server: Server, editor: OpenEditor
) -> None:
    doc = server.create("The quick brown fox jumps over the lazy dog.\n\nThe end.\n")
    ann, ben = editor(doc), editor(doc)
    ann.run(TYPING)
    replaced = 0
    for number in range(PATCHES):
        markdown, base = read(server, doc)
        words = re.findall("[a-z]{2,}", markdown.partition("\n")[0])
        new = markdown.replace(words[number % len(words)], f"word{'abcdefgh'[number % 8]}", 1)
        replaced += server.tool("patch", doc_id=doc, markdown=new, base=base)["replaced"]
    typed: list[str] = ann.run(STOP)
    until("everybody has the same", lambda: len({ann.vector, ben.vector}) == 1)
    until("the last letter", lambda: typed[-1] in server.read(doc))
    text = server.read(doc).partition("\n")[0]
    assert [letter for letter in typed if text.count(letter) != 1] == []
    assert ann.texts == ben.texts == [text, "The end."]
    assert len(typed) > PATCHES / 10  # they did meet
    assert replaced > PATCHES / 10  # the others touched what was being typed


ACTS: Final = (
    "root.insert(at, [paragraph('new {number}')])",
    "if (root.length > 3) root.delete(at, 1)",
    "leaf(at).insert(0, '({number})😀')",
    "leaf(at).insert(leaf(at).length, ' end{number}')",
    "leaf(at).delete(0, ([...leaf(at).toString()][0] ?? '').length)",
    "undo.undo()",
    "undo.redo()",
    "provider.disconnect()",
    "provider.connect()",
)


def test_two_clients_and_an_agent_converge(
    server: Server, editor: OpenEditor, rng: random.Random
) -> None:
    doc = server.create("\n\n".join(f"Paragraph {n} of some." for n in range(6)))
    people = [editor(doc), editor(doc)]
    for one in people:
        one.run(UNDO)
    for number in range(150):
        if rng.random() < 0.3:
            agent_acts(server, doc, number, rng)
        else:
            act = rng.choice(ACTS).format(number=number)
            rng.choice(people).run(f"const at = {rng.randrange(50)} % root.length; {act}")
    for one in people:
        one.ask("connect")
    until("one state", lambda: converged(server, doc, people))
    newcomer = editor(doc)
    assert newcomer.texts == people[0].texts == people[1].texts
    assert len({one.vector for one in (newcomer, *people)}) == 1


def converged(server: Server, doc: str, people: list[Editor]) -> bool:
    texts = [one.texts for one in people]
    blocks = server.tool("read_document", doc_id=doc, format="blocks", max_chars=1_000_000)
    return texts[0] == texts[1] and len(blocks["blocks"]) == len(texts[0])


def agent_acts(server: Server, doc: str, number: int, rng: random.Random) -> None:
    """One write of what was read a moment ago; a refusal is no fault."""
    shown: dict[str, Any] = server.tool(
        "read_document", doc_id=doc, format="blocks", max_chars=1_000_000
    )
    blocks = shown["blocks"]
    anchors = [block["anchor"] for block in blocks]
    move = {"block": rng.choice(anchors), "after": "end"}  # refused where somebody types
    match rng.randrange(4):
        case 0:
            server.tool("insert", doc_id=doc, markdown=f"Agent {number}", after=rng.choice(anchors))
        case 1:
            server.request("POST", f"/api/documents/{doc}/move", json=move)
        case _:
            texts = [block["text"] for block in blocks]
            at = rng.randrange(len(texts))
            texts[at] = texts[at].replace("a", "aa") if rng.random() < 0.7 else "Rewritten words."
            server.tool("patch", doc_id=doc, markdown="\n\n".join(texts), base=shown["cursor"])
