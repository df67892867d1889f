"""What only the Hocuspocus wire has: documents that share a socket, tokens as messages, "saved".

The provider's 4.8 and 3.4 run unmodified. What both wires have in common is in `test_editors.py`,
`test_failover.py` and `test_restart.py`, with these clients among the others.
"""

from __future__ import annotations

import os
import signal
from typing import Any, Final

import pytest

from tests.acceptance.conftest import OpenEditor
from tests.acceptance.editors import HOCUSPOCUS_CLIENTS, Y_CLIENTS, Editor, until
from tests.acceptance.server import Server

# Another provider on the same socket, under `globalThis.more[name]`.
ATTACH: Final = """
globalThis.more ??= {}
const Provider = provider.constructor
const other = new Provider({
  websocketProvider: provider.configuration.websocketProvider,
  name: 'NAME', document: new provider.document.constructor(), OPTIONS
})
more['NAME'] = other
other.denials = []
other.on('authenticationFailed', ({ reason }) => other.denials.push(reason))
other.attach()
"""
WORDS: Final = """
const one = more['NAME'].document.getXmlFragment('default')
return one.toArray().map((block) => block.toArray().map(String).join(''))
"""


@pytest.fixture(params=HOCUSPOCUS_CLIENTS)
def client(request: pytest.FixtureRequest) -> str:
    """Each version of the provider that people use."""
    name: str = request.param
    return name


def attach(editor: Editor, name: str, options: str) -> None:
    editor.run(ATTACH.replace("NAME", name).replace("OPTIONS", options))


def words(editor: Editor, name: str) -> list[str]:
    found: list[str] = editor.run(WORDS.replace("NAME", name))
    return found


def wait_saved(editor: Editor) -> None:
    until(f"nothing unsaved, is {editor.unsaved}", lambda: editor.unsaved == 0)


def events_of(editor: Editor, kind: str, field: str) -> list[Any]:
    return [event[field] for event in editor.events(kind)]


def test_documents_share_a_socket_and_one_refused_costs_the_others_nothing(
    server: Server, editor: OpenEditor, client: str
) -> None:
    first, second = server.create("first"), server.create("second")
    ann = editor(first, client)
    attach(ann, second, f"token: '{server.token}'")
    attach(ann, "no-such-document", f"token: '{server.token}'")
    until("the second", lambda: words(ann, second) == ["second"])
    until("a refusal", lambda: ann.run("return more['no-such-document'].denials"))
    assert ann.run("return more['no-such-document'].denials") == ["doc_not_found"]
    ben, cem = editor(first, Y_CLIENTS[0]), editor(second, client)
    ann.type("!")
    ben.wait_texts(["first!"])
    cem.type("?")
    until("Cem's", lambda: words(ann, second) == ["second?"])
    assert cem.texts == ["second?"]
    ann.run(f"more['{second}'].detach()")
    cem.type("?")
    ben.type("!")
    ann.wait_texts(["first!!"])
    assert words(ann, second) == ["second?"]
    assert ann.connections == 1


def test_a_killed_actor_costs_nothing_and_is_told_to_have_saved_it_all(
    server: Server, editor: OpenEditor, client: str
) -> None:
    first, second = server.create("first"), server.create("second")
    ann = editor(first, client)
    attach(ann, second, f"token: '{server.token}'")
    until("the second", lambda: words(ann, second) == ["second"])
    typed = []
    for kills in range(3):
        ann.insert(f"before {kills}")
        server.kill_actor(first)
        ann.insert(f"after {kills}")
        typed += [f"before {kills}", f"after {kills}"]
        wait_saved(ann)
        assert server.read(first) == "\n\n".join(["first", *typed]) + "\n"
    assert ann.connections == 1
    assert words(ann, second) == ["second"]
    ben = editor(first, client)
    ben.wait_texts(["first", *typed])


def test_nothing_is_called_saved_before_it_is_on_disk(
    server: Server, editor: OpenEditor, client: str
) -> None:
    doc = server.create("Top")
    ann = editor(doc, client)
    wait_saved(ann)
    (active,) = (
        active
        for active in server.request("GET", "/api/status").json()["active"]
        if active["doc_id"] == doc
    )
    os.kill(active["pid"], signal.SIGSTOP)
    ann.insert("typed while nobody writes")
    assert ann.unsaved == 1
    # A second token makes the round through the gateway, behind the edit.
    ann.run("provider.sendToken()")
    until("an answer of the gateway", lambda: len(ann.events("scope")) == 2)
    assert ann.unsaved == 1
    os.kill(active["pid"], signal.SIGCONT)
    wait_saved(ann)
    server.kill_actor(doc)
    assert server.read(doc) == "Top\n\ntyped while nobody writes\n"
    wait_saved(ann)


def test_a_reader_follows_and_its_edits_never_count_as_saved(
    server: Server, editor: OpenEditor, client: str
) -> None:
    doc = server.create("# Read me\n\nSlowly.")
    ann = editor(doc, client)
    ann.type(" Or not.", block=1)
    ann.run("leaf(1).delete(0, 1)")
    wait_saved(ann)
    reader = editor(doc, client, token=server.create_token("Rea", "read", agent=False))
    wait_saved(reader)
    assert events_of(reader, "scope", "scope") == ["readonly"]
    reader.ask("presence", state={"name": "Rea"})
    until("the reader at Ann's", lambda: ann.present.get(reader.me) == {"name": "Rea"})
    reader.type("Mine now. ", at=0)
    ann.type(" Twice.", block=1)
    until("the reader reads on", lambda: reader.texts[1] == "lowly. Or not. Twice.")
    assert reader.unsaved == 1
    assert server.read(doc) == "# Read me\n\nlowly. Or not. Twice.\n"
    assert ann.texts == ["Read me", "lowly. Or not. Twice."]


def test_a_newcomer_is_told_of_everybody_at_once(
    server: Server, editor: OpenEditor, client: str
) -> None:
    doc = server.create("Room")
    others = [editor(doc, one) for one in (*Y_CLIENTS, *HOCUSPOCUS_CLIENTS)]
    for number, one in enumerate(others):
        one.ask("presence", state={"name": f"Person {number}"})
    names = {one.me: {"name": f"Person {number}"} for number, one in enumerate(others)}
    for one in others:
        until("everybody at everybody's", lambda o=one: names.items() <= o.present.items())  # type: ignore[misc]
    newcomer = editor(doc, client)
    met = until(
        "the others at the newcomer's",
        lambda: [e["states"] for e in newcomer.events("awareness") if len(e["states"]) > 1],
    )
    assert names.items() <= met[0].items()


@pytest.mark.parametrize("token", ["wrong", ""])
def test_a_bad_token_is_told_once_and_a_good_one_opens_the_document(
    server: Server, editor: OpenEditor, client: str, token: str
) -> None:
    ann = editor(server.create("Private"), client, token, synced=False)
    until("a refusal", lambda: ann.events("denied"))
    ann.insert("typed into nothing")
    ann.run(f"provider.configuration.token = '{server.token}'; provider.sendToken()")
    until("it is let in", lambda: ann.events("scope"))
    ann.run("provider.startSync()")
    ann.wait_synced()
    until("both", lambda: sorted(ann.texts) == ["Private", "typed into nothing"])
    wait_saved(ann)
    assert events_of(ann, "denied", "reason") == ["unauthenticated"]
    assert ann.connections == 1


def test_a_new_token_on_a_live_session_counts_from_then_on(
    server: Server, editor: OpenEditor, client: str
) -> None:
    doc = server.create("Top")
    ann = editor(doc, client, server.create_token("Rea", "read", agent=False))
    wait_saved(ann)
    ann.run(f"provider.configuration.token = '{server.token}'; provider.sendToken()")
    until("another scope", lambda: len(ann.events("scope")) == 2)
    assert events_of(ann, "scope", "scope") == ["readonly", "read-write"]
    ann.type("!")
    wait_saved(ann)
    assert server.read(doc) == "Top!\n"
    ann.run("provider.configuration.token = 'wrong'; provider.sendToken()")
    until("a refusal", lambda: ann.events("denied"))
    ann.type("!")
    assert server.read(doc) == "Top!\n"
    assert ann.connections == 1


def test_two_providers_of_one_document_share_a_socket(server: Server, editor: OpenEditor) -> None:
    """Version 4 tells them apart; a name that is not ASCII is a name like others."""
    doc = server.create("Twice")
    ann = editor(doc, HOCUSPOCUS_CLIENTS[0])
    attach(ann, doc, f"token: '{server.token}', sessionAwareness: true")
    attach(ann, "Übung 😀", f"token: '{server.token}', sessionAwareness: true")
    until("the same twice", lambda: words(ann, doc) == ["Twice"])
    ann.type("!")
    until("heard by the other", lambda: words(ann, doc) == ["Twice!"])
    until("its own refusal", lambda: ann.run("return more['Übung 😀'].denials"))
    assert ann.run(f"return more['{doc}'].denials") == []


def test_what_the_server_does_not_know_is_dropped_and_a_sync_can_be_forced(
    server: Server, editor: OpenEditor, client: str
) -> None:
    doc = server.create("Top")
    ann, ben = editor(doc, client), editor(doc, client)
    ann.run("provider.sendStateless('anybody there?')")
    ann.type("!")
    assert ann.run("provider.forceSync(); return provider.unsyncedChanges") == 1
    wait_saved(ann)
    ben.wait_texts(["Top!"])
    assert ben.events("stateless") == []
    assert ann.connections == ben.connections == 1


def test_who_detaches_is_gone_and_may_come_back(
    server: Server, editor: OpenEditor, client: str
) -> None:
    doc = server.create("Room")
    ann, ben = editor(doc, client), editor(doc, client)
    ann.ask("presence", state={"name": "Ann"})
    until("Ann at Ben's", lambda: ben.present.get(ann.me) == {"name": "Ann"})
    ann.run("provider.detach()")
    until("Ann gone", lambda: ann.me not in ben.present)
    ben.type("!")
    ann.run("provider.attach()")
    ann.wait_texts(["Room!"])
    until("Ann again", lambda: ann.me in ben.present)
    wait_saved(ann)
    assert ann.connections == 1
