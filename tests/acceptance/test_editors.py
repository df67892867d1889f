"""People's editors against a whole server: syncing, presence, being offline, being refused.

What y-websocket 3.1, 2.1 and 1.5 and Hocuspocus's provider 4.8 and 3.4 do is up to them; they run
unmodified. How the server takes what no editor of these would send is in `test_editor_faults.py`.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from html import unescape
from typing import Final, NamedTuple

import pytest

from shared.limits import SOCKET_GRACE_S, SOCKET_PING_S
from shared.wire import close_codes
from tests.acceptance.conftest import OpenEditor
from tests.acceptance.editors import CLIENTS, HOCUSPOCUS_CLIENTS, Editor, until
from tests.acceptance.server import Server

SOON_MS: Final = 3_000  # a newcomer is synced within 1 s; the machine may be busy
IDLE_S: Final = 40  # idle clients reconnect after 30 s without a word, and look every 3 s
SILENT_S: Final = SOCKET_PING_S + SOCKET_GRACE_S + 10  # until a silent client is given up, at most


class Quiet(NamedTuple):
    """Editors that do nothing, beside one that has fallen silent.

    Attributes:
        editors: One of each client. All but the first say nothing of their presence, which clients
            otherwise renew every 15 s and hear back.
        lost: The client id of the silent one.
        since: When they began, in seconds of the monotonic clock.
    """

    editors: tuple[Editor, ...]
    lost: str
    since: float


@pytest.fixture(scope="module", autouse=True)
def quiet(server: Server) -> Iterator[Quiet]:
    """From the first test of this module to the last."""
    doc = server.create("# Quiet")
    with ExitStack() as stack:
        ann, ben, *others = (
            Editor(server.editors(client), doc, server.token, client)
            for client in (CLIENTS[0], CLIENTS[0], *CLIENTS)
        )
        for one in (ann, ben, *others):
            stack.callback(one.kill)
            one.wait_synced()
        for one in others:
            one.run("provider.awareness.setLocalState(null)")
        ben.ask("presence", state={"name": "Ben"})
        lost = ben.me
        until("Ben at Ann's", lambda: lost in ann.present)
        ben.freeze()
        yield Quiet((ann, *others), lost, time.monotonic())


def test_what_one_types_everybody_has(server: Server, editor: OpenEditor, client: str) -> None:
    doc = server.create("# Hello\n\nWorld")
    ann, ben = editor(doc, client), editor(doc)
    ann.type("!", block=1)
    ben.wait_texts(["Hello", "World!"])
    ben.insert("Third")
    ann.wait_texts(["Hello", "World!", "Third"])
    assert server.read(doc) == "# Hello\n\nWorld!\n\nThird\n"


def test_a_document_may_be_named_by_its_slug(server: Server, editor: OpenEditor) -> None:
    made = server.request("POST", "/api/documents", json={"markdown": "# Named so"}).json()
    ann, ben = editor(made["slug"]), editor(made["doc_id"])
    ann.type(" or so")
    ben.wait_texts(["Named so or so"])


def test_a_newcomer_is_synced_and_knows_who_is_there_within_a_second(
    server: Server, editor: OpenEditor, client: str
) -> None:
    doc = server.create("# Full house\n\n" + "A paragraph.\n\n" * 200)
    ann = editor(doc)
    ann.ask("presence", state={"name": "Ann"})
    until("Ann at her own", lambda: ann.present)
    ben = editor(doc, client)
    met = until(
        "Ann at Ben's", lambda: [e for e in ben.events("awareness") if ann.me in e["states"]]
    )
    (connected, *_) = [e for e in ben.events("status") if e["status"] == "connected"]
    (synced, *_) = [e for e in ben.events("synced") if e["synced"]]
    assert synced["at"] - connected["at"] < SOON_MS
    assert met[0]["at"] - connected["at"] < SOON_MS
    assert met[0]["states"][ann.me] == {"name": "Ann"}
    assert len(ben.texts) == 201


def test_presence_is_echoed_so_that_an_idle_client_stays_connected(
    server: Server, editor: OpenEditor
) -> None:
    ann = editor(server.create("# Alone"))
    heard = "return provider.wsLastMessageReceived"
    before = ann.run(heard)
    ann.ask("presence", state={"name": "Ann"})
    until("her own presence at Ann's", lambda: ann.run(heard) > before)


def test_a_killed_clients_cursor_is_gone_at_once(
    server: Server, editor: OpenEditor, client: str
) -> None:
    doc = server.create("# Short visit")
    ann, ben = editor(doc), editor(doc, client)
    ben.ask("presence", state={"name": "Ben"})
    lost = ben.me
    until("Ben at Ann's", lambda: lost in ann.present)
    ben.kill()
    until("Ben gone from Ann's", lambda: lost not in ann.present, 5)


def test_clients_of_all_versions_converge(
    server: Server, editor: OpenEditor, rng: random.Random
) -> None:
    doc = server.create("\n\n".join(f"Paragraph {n}." for n in range(5)))
    everybody = [editor(doc, client) for client in CLIENTS for _ in range(2)]
    # Whole characters: cut in half, one is U+FFFD in Yjs and nothing in yrs.
    acts = (
        "root.insert(at, [paragraph('new {number}')])",
        "if (root.length > 3) root.delete(at, 1)",
        "leaf(at).insert(0, '({number})😀')",
        "leaf(at).delete(0, ([...leaf(at).toString()][0] ?? '').length)",
    )
    for number in range(100):
        act = rng.choice(acts).format(number=number)
        rng.choice(everybody).run(f"const at = {rng.randrange(50)} % root.length; {act}")
    agree(server, doc, everybody)


def test_edits_made_offline_come_with_the_reconnect(
    server: Server, editor: OpenEditor, client: str
) -> None:
    doc = server.create("one\n\ntwo")
    ann, ben = editor(doc), editor(doc, client)
    ben.ask("disconnect")
    until("Ben offline", lambda: ben.events("status")[-1]["status"] == "disconnected")
    ben.type(" from the train", block=1)
    ann.type(" from the desk", block=0)
    ann.insert("three")
    assert ben.texts == ["one", "two from the train"]
    ben.ask("connect")
    agree(server, doc, [ann, ben])
    assert ann.texts == ["one from the desk", "two from the train", "three"]


def test_an_unknown_document_is_told_once_and_not_asked_for_again(
    server: Server, editor: OpenEditor
) -> None:
    ann = editor("no-such-document", synced=False)
    assert ann.wait_closed() == close_codes.NOT_FOUND
    assert ann.run("return provider.shouldConnect") is False
    assert len(ann.events("closed")) == 1
    documents = server.request("GET", "/api/documents").json()["documents"]
    assert "no-such-document" not in [row["slug"] for row in documents]


@pytest.mark.parametrize("token", ["wrong", ""])
def test_a_bad_token_is_told_once(server: Server, editor: OpenEditor, token: str) -> None:
    ann = editor(server.create("# Private"), token=token, synced=False)
    assert ann.wait_closed() == close_codes.UNAUTHENTICATED
    assert ann.run("return provider.shouldConnect") is False
    assert ann.texts == []


def test_older_clients_come_back_ever_more_slowly(server: Server, editor: OpenEditor) -> None:
    """They take no close code as final; what bounds them is their own back-off."""
    ann = editor("no-such-document", CLIENTS[1], synced=False)
    until("three refusals", lambda: len(ann.events("closed")) >= 3)
    tries = [event["at"] for event in ann.events("closed")[:3]]
    assert tries[2] - tries[0] > 200
    assert {event["code"] for event in ann.events("closed")} == {close_codes.NOT_FOUND}


def test_a_reader_follows_and_is_told_that_it_may_not_edit(
    server: Server, editor: OpenEditor
) -> None:
    doc = server.create("# Read me\n\nSlowly.")
    ann = editor(doc)
    reader = editor(doc, token=server.create_token("Rea", "read", agent=False))
    reader.run("globalThis.said = []; console.warn = (text) => said.push(text)")
    reader.ask("presence", state={"name": "Rea"})
    until("the reader at Ann's", lambda: reader.me in ann.present)
    ann.type(" Twice.", block=1)
    reader.wait_texts(["Read me", "Slowly. Twice."])
    reader.type("Mine now. ", at=0)
    told = until("a refusal", lambda: reader.run("return said"))
    assert "you may read this document only" in told[0]
    ann.type(" Thrice.", block=1)
    until("the reader reads on", lambda: reader.texts[1] == "Slowly. Twice. Thrice.")
    assert ann.texts == ["Read me", "Slowly. Twice. Thrice."]
    assert server.read(doc) == "# Read me\n\nSlowly. Twice. Thrice.\n"


CALLOUT: Final = (
    "const callout = new Y.XmlElement('callout'); callout.insert(0, [new Y.XmlText('Look!')]);"
    "root.insert(1, [callout])"
)


def test_an_editor_with_a_smaller_schema_does_not_delete_what_it_cannot_hold(
    server: Server, editor: OpenEditor, client: str
) -> None:
    """What such an editor sends on being opened; and the same when it comes back from offline."""
    doc = server.create("# Plan\n\nPlain.\n\nToo.")
    ann = editor(doc)
    ann.run(CALLOUT)
    until("the custom block", lambda: "opaque:callout" in server.read(doc))
    before = server.read(doc)
    smaller = editor(doc, client)
    smaller.run("globalThis.said = []; console.warn = (text) => said.push(text)")
    smaller.ask("delete", block=1)
    ann.type("!", block=2)
    until("who is refused reads on", lambda: smaller.texts == ["Plan", "Plain.!", "Too."])
    smaller.ask("disconnect")
    smaller.ask("connect")
    ann.type("!", block=2)
    until("it reads on after it came back", lambda: smaller.texts == ["Plan", "Plain.!!", "Too."])
    if client in HOCUSPOCUS_CLIENTS:
        assert smaller.unsaved
    else:
        assert "this editor cannot hold callout" in smaller.run("return said")[0]
    assert ann.texts == ["Plan", "Look!", "Plain.!!", "Too."]
    assert server.read(doc) == before.replace("Plain.", "Plain.!!")
    person = editor(doc, client)
    person.ask("delete", block=3)
    ann.wait_texts(["Plan", "Look!", "Plain.!!"])
    person.type("?", block=2)
    ann.wait_texts(["Plan", "Look!", "Plain.!!?"])
    server.kill_actor(doc)  # the next one does not know who has typed before; the gateway does
    person.ask("delete", block=1)
    ann.wait_texts(["Plan", "Plain.!!?"])


def test_a_root_opened_as_a_text_is_mended_and_its_words_kept(
    server: Server, editor: OpenEditor
) -> None:
    doc = server.create("# Rich\n\nText.")
    ann, ben = editor(doc), editor(doc)
    stray = editor(doc)
    stray.run(
        "const other = new Y.Doc(); Y.applyUpdate(other, Y.encodeStateAsUpdate(doc));"
        "other.getText('default').insert(0, 'plain words');"
        "Y.applyUpdate(doc, Y.encodeStateAsUpdate(other), 'stray')"
    )
    until("the words in a paragraph", lambda: "plain words" in server.read(doc))
    assert re.search(r"^plain words$", server.read(doc), re.MULTILINE)
    assert server.read(doc).count("# Rich") == 1
    ann.type("!", block=ann.texts.index("Text."))
    until("Ann goes on", lambda: "Text.!" in ben.texts)


def test_a_silent_client_is_given_up_and_an_idle_one_is_not(quiet: Quiet) -> None:
    """Pings find the one; the others are sent something often enough not to reconnect."""
    until("the silent one gone", lambda: quiet.lost not in quiet.editors[0].present, SILENT_S)
    until("long enough", lambda: time.monotonic() - quiet.since > IDLE_S, IDLE_S)
    assert [one.connections for one in quiet.editors] == [1] * len(quiet.editors)


def agree(server: Server, doc: str, editors: list[Editor]) -> None:
    """Waits until all have the same text, and asserts that it is the server's."""

    everybody: list[tuple[str, ...]] = []

    def same() -> bool:
        everybody[:] = [tuple(one.texts) for one in editors] + [text_of(server, doc)]
        return len(set(everybody)) == 1

    with suppress(AssertionError):
        until("the same text everywhere", same)
    assert len(set(everybody)) == 1, everybody
    assert len({one.vector for one in editors}) == 1


def text_of(server: Server, doc: str) -> tuple[str, ...]:
    """The blocks as the server has them; for documents of plain paragraphs."""
    read = server.tool("read_document", doc_id=doc, format="blocks", max_chars=1_000_000)
    return tuple(unescape(re.sub(r"\\(.)", r"\1", block["text"])) for block in read["blocks"])
