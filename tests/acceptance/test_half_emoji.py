"""Editors that cut an emoji in half: everybody ends with one text, and no half in it.

Yjs counts UTF-16 units, and puts U+FFFD in place of both halves on each side of a cut. Whatever
the editor that cut it shows for a moment, it ends with what the server has.
"""

from __future__ import annotations

import random

from tests.acceptance.conftest import OpenEditor
from tests.acceptance.editors import Editor, until
from tests.acceptance.server import Server

EMOJI = "📊😀🎉"
PLAIN = "const text = leaf(0);"


def agree(server: Server, doc: str, *editors: Editor) -> str:
    """The one text that editors, server and a restarted actor have."""

    def same() -> str:
        texts = {"\n\n".join(one.texts) for one in editors} | {server.read(doc).removesuffix("\n")}
        return texts.pop() if len(texts) == 1 else ""

    text = until("one text", same)
    server.kill_actor(doc)
    assert server.read(doc) == text + "\n"
    return text


def test_what_is_typed_into_an_emoji_stands_beside_it(
    server: Server, editor: OpenEditor, client: str
) -> None:
    doc = server.create("ab📊cd")
    ann, ben = editor(doc, client), editor(doc)
    ann.type("X", at=3)
    until("the letter", lambda: "X" in server.read(doc) and "X" in ben.texts[0])
    text = agree(server, doc, ann, ben, editor(doc))
    assert text.replace("X", "") == "ab📊cd"
    for one, at in ((ann, 0), (ben, 2), (ann, 6), (editor(doc), 4)):  # typed on, everywhere
        one.type("y", at=at)
        agree(server, doc, ann, ben)


def test_an_emoji_of_which_half_is_deleted_goes(server: Server, editor: OpenEditor) -> None:
    doc = server.create("ab📊cd")
    ann, ben = editor(doc), editor(doc)
    ann.run(PLAIN + "text.delete(3, 1)")
    until("the deletion", lambda: server.read(doc) == "abcd\n")
    assert agree(server, doc, ann, ben, editor(doc)) == "abcd"


def test_half_an_emoji_exchanged_as_by_a_difference_of_units(
    server: Server, editor: OpenEditor
) -> None:
    """📊 (d83d dcca) to 📈 (d83d dcc8): what is sent of the new half is U+FFFD already."""
    doc = server.create("ab📊cd")
    ann, ben = editor(doc), editor(doc)
    ann.run(PLAIN + "doc.transact(() => { text.delete(3, 1); text.insert(3, '\\udcc8') })")
    until("the exchange", lambda: "📊" not in server.read(doc))
    ben.wait_texts(["ab\ufffdcd"])
    assert server.read(doc) == "ab\ufffdcd\n"
    assert editor(doc).texts == ["ab\ufffdcd"]


def test_an_emoji_cut_while_offline_and_by_two_at_once(server: Server, editor: OpenEditor) -> None:
    doc = server.create("ab📊cd")
    ann, ben = editor(doc), editor(doc, "y-websocket-2")
    for one in (ann, ben):
        one.ask("disconnect")
    ann.type("X", at=3)
    ann.type("X", at=4)
    ben.type("Y", at=3)
    ben.run(PLAIN + "text.delete(0, 1)")
    for one in (ann, ben):
        one.ask("connect")
    until("both", lambda: {"X", "Y"} <= set(server.read(doc)) and "a" not in server.read(doc))
    text = agree(server, doc, ann, ben, editor(doc))
    assert sorted(text) == sorted("b📊cdXXY")


def test_a_hundred_cuts_anywhere(server: Server, editor: OpenEditor) -> None:
    rng = random.Random(11)
    doc = server.create("".join(rng.choice(EMOJI) for _ in range(60)))
    ann, ben = editor(doc), editor(doc, "y-websocket-1")
    for number in range(100):
        who = rng.choice((ann, ben))
        at, length = rng.random(), rng.choice((0, 0, 0, 1))
        who.run(
            f"{PLAIN} const at = Math.floor({at} * (text.length - 1));"
            f"if ({length}) text.delete(at, 1); else text.insert(at, '{number % 10}')"
        )
        if number % 10 == 0:
            agree(server, doc, ann, ben)
    text = agree(server, doc, ann, ben, editor(doc))
    digits = sum(character.isdigit() for character in text)
    assert digits > 40
    assert set(text) <= {*EMOJI, *"0123456789"}
