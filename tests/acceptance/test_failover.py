"""Parts of the server die while people and agents work: nobody loses anything, few notice.

Known problems of servers of this kind around the life of actors, and where each is tested:

    P12  a restart between edits doubles the document   test_restart.py
    P13  opened twice while it loads                    integration/test_one_writer.py
    P15  kill -9 in the middle of a write               below, test_soak_short.py and
                                                        integration/test_killed_writers.py
    P17  one document in two processes                  integration/test_one_writer.py and
                                                        integration/test_fencing.py
    P18  shutdown and unload: (a), (c)                  test_restart.py and
                                                        integration/test_killed_writers.py
         (b) closed while somebody comes back           integration/test_one_writer.py
    P58  the caller meets a dying or fresh actor        integration/test_one_writer.py
    P59  retries repeat the side effect                 below, integration/test_one_writer.py and
                                                        unit/test_router.py
    P60  joining somebody else's cluster                test_restart.py
    P61  namespaces make two owners                     integration/test_one_writer.py

What concerns files is in the table of integration/test_store_faults.py; a node that dies, its
zombies included, in multinode/test_two_nodes.py.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from typing import Any

import pytest

from bench.agent import Agent, RefusedError
from tests.acceptance import faults
from tests.acceptance.conftest import OpenEditor
from tests.acceptance.editors import CLIENTS, Editor, until
from tests.acceptance.faults import Copy, append, holder, kill
from tests.acceptance.server import Server

pytestmark = pytest.mark.timeout(180)


def all_have(editors: list[Editor], copy: Copy, *words: str) -> None:
    """Every editor and the agent's copy come to have all the words, each once, and the same."""
    for editor in editors:
        for word in words:
            until(f"{word} in {editor.texts}", lambda e=editor, w=word: w in " ".join(e.texts))  # type: ignore[misc]
    first, *others = [editor.texts for editor in editors]
    assert all(texts == first for texts in others)
    assert copy.follow() == copy.present()
    for word in words:
        assert " ".join(first).count(word) == 1


def test_a_killed_actor_costs_nobody_anything(server: Server, editor: OpenEditor) -> None:
    doc = server.create("one")
    editors = [editor(doc, client) for client in CLIENTS]
    with faults.agent(server) as agent:
        copy = Copy(agent, doc)
        for kills in range(3):
            for number, one in enumerate(editors):
                one.insert(f"before-{kills}-{number}")
            kill(holder(server, doc))
            for number, one in enumerate(editors):
                one.insert(f"after-{kills}-{number}")
            append(agent, doc, f"agent-{kills}")
            typed = [
                f"{when}-{kills}-{n}" for when in ("before", "after") for n in range(len(editors))
            ]
            all_have(editors, copy, f"agent-{kills}", *typed)
        assert [one.connections for one in editors] == [1] * len(editors)


def test_a_killed_directory_touches_no_document(server: Server, editor: OpenEditor) -> None:
    doc, passive = server.create("one"), server.create("two")
    people = [editor(doc), editor(doc)]
    before = holder(server, doc)
    kill(holder(server, passive))
    with faults.agent(server) as agent:
        copy = Copy(agent, doc)
        victim = faults.directory(server)
        kill(victim)
        people[0].insert("typed-without-one")
        append(agent, doc, "written-without-one")
        all_have(people, copy, "typed-without-one", "written-without-one")
        assert append(agent, passive, "opened by the next one")["ok"]
        assert faults.directory(server).pid != victim.pid
        assert holder(server, doc).pid == before.pid
        append(agent, doc, "written-with-the-next")
        all_have(people, copy, "written-with-the-next")
        assert [one.connections for one in people] == [1, 1]
    assert server.read(server.create("three")) == "three\n"


def test_a_killed_gateway_costs_its_editors_a_reconnect(server: Server, editor: OpenEditor) -> None:
    doc = server.create("one")
    until("two gateways", lambda: len(server.gateways()) == 2)
    people = [editor(doc), editor(doc)]
    while len({faults.gateway_of(server, one).pid for one in people}) < 2:
        people.append(editor(doc))
        assert len(people) < 15, "everybody is at one gateway"
    victim = faults.gateway_of(server, people[-1])
    hit = [one for one in people if faults.gateway_of(server, one).pid == victim.pid]
    spared = [one for one in people if one not in hit]
    before = holder(server, doc)
    kill(victim)
    hit[0].insert("typed-while-nobody-listens")
    spared[0].insert("typed-beside")
    with faults.agent(server) as agent:
        append(agent, doc, "written-meanwhile")
        copy = Copy(agent, doc)
        all_have(people, copy, "typed-while-nobody-listens", "typed-beside", "written-meanwhile")
    assert [one.connections for one in spared] == [1] * len(spared)
    assert all(one.connections >= 2 for one in hit)
    assert holder(server, doc).pid == before.pid


@pytest.mark.parametrize("key", ["given", None])
def test_a_call_under_way_when_its_actor_dies(
    server: Server, editor: OpenEditor, key: str | None
) -> None:
    doc = server.create("one")
    editor(doc)  # who looks for the document's process finds it open, however long that takes
    with faults.agent(server) as agent, faults.agent(server) as caller:
        append(agent, doc, "two")
        victim = holder(server, doc)
        os.kill(victim.pid, signal.SIGSTOP)
        arguments = {"doc_id": doc, "markdown": "three"} | ({"idempotency_key": key} if key else {})
        outcome: list[Any] = []
        calling = threading.Thread(target=_call, args=(caller, arguments, outcome))
        calling.start()
        sent = time.monotonic() + 0.5  # on its way: nobody answers it while the actor is stopped
        while time.monotonic() < sent:
            assert outcome == []
            time.sleep(0.05)
        kill(victim)
        calling.join()
        if key:
            assert outcome == ["ok"]
            assert append(agent, doc, "four")["ok"]
            assert server.read(doc) == "one\n\ntwo\n\nthree\n\nfour\n"
        else:
            assert outcome == ["outcome_unknown"]
            assert server.read(doc) == "one\n\ntwo\n"


def test_a_write_whose_actor_dies_is_whole_or_absent(
    server: Server, editor: OpenEditor, rng: random.Random
) -> None:
    doc = server.create("start")
    editor(doc)
    outcomes: dict[str, Any] = {}
    with faults.agent(server) as agent:
        for number in range(6):
            append(agent, doc, f"ready-{number}")
            victim = holder(server, doc)
            later = threading.Timer(rng.uniform(0, 0.02), kill, [victim])
            later.start()
            outcome: list[Any] = []
            _call(agent, {"doc_id": doc, "markdown": f"a-{number}\n\nb-{number}"}, outcome)
            later.join()
            outcomes[str(number)] = outcome[0]
            text = server.read(doc)
            present = (text.count(f"a-{number}\n\nb-{number}\n"), text.count(f"a-{number}"))
            assert present in {(1, 1), (0, 0)}
            if outcome[0] == "ok":
                assert present == (1, 1)
            else:
                assert outcome[0] in {"outcome_unknown", "overloaded"}


def test_a_stopped_actor_is_replaced_while_it_holds_the_file(
    server: Server, editor: OpenEditor
) -> None:
    doc = server.create("one")
    people = [editor(doc), editor(doc)]
    with faults.agent(server) as agent:
        copy = Copy(agent, doc)
        victim = holder(server, doc)
        os.kill(victim.pid, signal.SIGSTOP)
        people[0].insert("typed-to-nobody")
        asked = time.monotonic()
        append(agent, doc, "written-to-the-next")
        answered = time.monotonic() - asked
        all_have(people, copy, "typed-to-nobody", "written-to-the-next")
        assert not victim.is_running() or victim.status() == "zombie"
    assert [one.connections for one in people] == [1, 1]
    print(f"answered after {answered:.1f} s")  # noqa: T201  shown when the test fails
    assert answered < 3 * 8  # 8 s on a machine that is not busy


def _call(by: Agent, arguments: dict[str, Any], outcome: list[Any]) -> None:
    try:
        answer = by.call("insert", **arguments)[1]
        outcome.append("ok" if answer["ok"] else answer)
    except RefusedError as error:
        outcome.append(error.code)
