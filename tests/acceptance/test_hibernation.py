"""Open tabs cost no actor: real editors of both wires, on a document that sleeps and wakes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final

import psutil
import pytest

from bench.processes import free_port
from shared.limits import READING_MS
from shared.wire import close_codes
from tests.acceptance import faults
from tests.acceptance.editors import CLIENTS, HOCUSPOCUS_CLIENTS, Editor, until
from tests.acceptance.faults import Copy, append, kill
from tests.acceptance.server import Server
from tests.acceptance.test_roles import grant, person
from tests.acceptance.test_tokens import made

pytestmark = pytest.mark.timeout(300)

TYPE_AND_LEAVE: Final = """
  const socket = provider.configuration?.websocketProvider ?? provider
  leaf(0).insert(3, '!')
  socket.disconnect()
"""
SLEEP: Final = ("--hibernate-s", "1", "--idle-s", "600", "--heartbeat-s", "0.5")
REVOKED_WITHIN_S: Final = 3.0  # promised is one; the machine may be busy
MIXED: Final = (CLIENTS[0], HOCUSPOCUS_CLIENTS[0])
Open = Callable[..., Editor]


class Site:
    """A server whose documents sleep soon, and editors that end with the test."""

    def __init__(self, server: Server, stack: ExitStack) -> None:
        self.server = server
        self._stack = stack

    def tabs(self, doc: str, *clients: str, token: str | None = None) -> list[Editor]:
        """A tab of each client, synced, each with a caret that the others see."""
        tabs = []
        for client in clients:
            token = self.server.token if token is None else token
            tab = Editor(self.server.editors(client), doc, token, client)
            self._stack.callback(tab.kill)
            tabs.append(tab.wait_synced())
            tab.ask("presence", state={"at": 0})
        for tab in tabs:
            until("all carets", lambda t=tab: set(t.present) >= {one.me for one in tabs})  # type: ignore[misc]
        return tabs

    @property
    def active(self) -> set[str]:
        return {one["doc_id"] for one in self.server.request("GET", "/api/status").json()["active"]}

    def wait_asleep(self, doc: str) -> None:
        until(f"{doc} sleeps", lambda: doc not in self.active)
        assert all(not holds(process, doc) for process in self.server.actors())

    def metric(self, name: str) -> float:
        """Summed over its labels."""
        told = self.server.request("GET", "/metrics").text.splitlines()
        lines = [line for line in told if line.startswith((f"{name}{{", f"{name} "))]
        return sum(float(line.split()[-1]) for line in lines)


def holds(process: psutil.Process, doc: str) -> bool:
    try:
        return any(Path(file.path).stem == doc for file in process.open_files())
    except psutil.Error:
        return False


@pytest.fixture(scope="module")
def asleep_soon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("sleep") / "data", "--workers", "1", *SLEEP) as running:
        yield running


@pytest.fixture
def site(asleep_soon: Server) -> Iterator[Site]:
    with ExitStack() as stack:
        yield Site(asleep_soon, stack)


def test_carets_go_round_in_its_sleep_and_whatever_comes_reaches_every_tab(site: Site) -> None:
    doc = site.server.create("one")
    first, second = tabs = site.tabs(doc, *MIXED)
    with faults.agent(site.server) as agent:
        copy = Copy(agent, doc)
        site.wait_asleep(doc)
        assert site.metric("docactor_hibernated_documents") == 1
        first.ask("presence", state={"at": 7})
        until("a caret", lambda: second.present.get(first.me) == {"at": 7})
        assert doc not in site.active
        second.type("!")  # a keystroke of the Hocuspocus tab
        first.wait_texts(["one!"])
        until("saved", lambda: second.unsaved == 0)
        assert first.present[second.me] == {"at": 0}
        assert copy.follow() == ["one!"]
        site.wait_asleep(doc)
        first.type("?")
        second.wait_texts(["one!?"])
        site.wait_asleep(doc)
        append(agent, doc, "by an agent")
        for tab in tabs:
            tab.wait_texts(["one!?", "by an agent"])
        assert copy.follow() == copy.present() == ["one!?", "by an agent"]
    assert [tab.connections for tab in tabs] == [1, 1]
    assert site.metric("docactor_document_wakes_total") >= 3


@pytest.mark.parametrize("client", MIXED)
def test_who_types_in_its_sleep_and_leaves_at_once_is_not_lost(site: Site, client: str) -> None:
    """The next actor has nobody to ask what it lacks."""
    doc = site.server.create("one")
    (tab,) = site.tabs(doc, client)
    site.wait_asleep(doc)
    tab.run(TYPE_AND_LEAVE)
    until("saved", lambda: site.server.read(doc) == "one!\n")


def test_an_agent_that_follows_waits_in_its_sleep(site: Site) -> None:
    doc = site.server.create("one")
    (tab,) = site.tabs(doc, CLIENTS[0])
    cursor = site.server.tool("read_document", doc_id=doc)["cursor"]
    ask = partial(site.server.tool, "read_changes", doc_id=doc, cursor=cursor, settle_s=0)
    with ThreadPoolExecutor(1) as thread:
        first = thread.submit(ask, wait_s=15)
        site.wait_asleep(doc)
        assert not first.done()
        assert first.result()["blocks"] == []
        again = thread.submit(ask, wait_s=50)
        until("a wait", lambda: site.metric("docactor_waits") == 1)
        assert doc not in site.active
        tab.type("!")
        assert [block["text"] for block in again.result()["blocks"]] == ["one!"]


@pytest.mark.parametrize("client", MIXED)
def test_a_newcomer_finds_who_sleeps(site: Site, client: str) -> None:
    doc = site.server.create("one")
    (sleeper,) = site.tabs(doc, CLIENTS[0])
    site.wait_asleep(doc)
    (comes,) = site.tabs(doc, client)
    until("the sleeper", lambda: sleeper.me in comes.present and comes.me in sleeper.present)
    comes.type("!")
    sleeper.wait_texts(["one!"])
    assert sleeper.connections == 1


def test_a_directory_killed_while_it_sleeps(site: Site) -> None:
    doc = site.server.create("one")
    first, second = site.tabs(doc, *MIXED)
    site.wait_asleep(doc)
    victim = faults.directory(site.server)
    kill(victim)
    first.type("!")
    second.wait_texts(["one!"])
    assert [first.connections, second.connections] == [1, 1]
    site.wait_asleep(doc)
    with faults.agent(site.server) as agent:
        append(agent, doc, "two")
    for tab in (first, second):
        tab.wait_texts(["one!", "two"])


def test_a_revoked_token_and_a_deleted_document_reach_who_sleeps(site: Site) -> None:
    doc = site.server.create("one")
    order = {"name": "Bound", "scope": "write", "agent": False}
    made = site.server.request("POST", "/api/tokens", json=order).json()
    (stays,) = site.tabs(doc, CLIENTS[0])
    (goes,) = site.tabs(doc, CLIENTS[1], token=made["token"])
    site.wait_asleep(doc)
    site.server.request("DELETE", f"/api/tokens/{made['row']['id']}")
    began = time.monotonic()
    assert goes.wait_closed() == close_codes.UNAUTHENTICATED
    assert time.monotonic() - began < REVOKED_WITHIN_S
    until("its caret is gone", lambda: goes.me not in stays.present)
    assert doc not in site.active
    site.server.request("DELETE", f"/api/documents/{doc}")
    assert stays.wait_closed() == close_codes.NOT_FOUND


def test_a_role_that_changes_reaches_who_sleeps(site: Site) -> None:
    doc, token = site.server.create("one"), person(site.server, "ben")
    grant(site.server, doc, "ben", "editor")
    (stays,) = site.tabs(doc, CLIENTS[0])
    bens = site.tabs(doc, *MIXED, token=token)
    told = bens[-1]  # the last of a gateway's sessions, and of a client that hears of its role
    site.wait_asleep(doc)
    at = grant(site.server, doc, "ben", "viewer")
    left = at + REVOKED_WITHIN_S - time.monotonic()
    until("read-only", lambda: told.events("scope")[-1]["scope"] == "readonly", left)
    for ben in bens:
        ben.type("!")
    stays.type("?")
    until("Ben sees it", lambda: all("?" in ben.texts[0] for ben in bens))
    assert (stays.texts, site.server.read(doc)) == (["one?"], "one?\n")
    site.wait_asleep(doc)
    at = grant(site.server, doc, "ben", None)
    left = at + REVOKED_WITHIN_S - time.monotonic()
    until("sent away", lambda: bens[0].events("closed") and told.events("denied"), left)
    assert bens[0].wait_closed() == close_codes.NOT_FOUND
    for ben in bens:
        until("its caret is gone", lambda b=ben: b.me not in stays.present)  # type: ignore[misc]
    assert doc not in site.active
    assert (stays.connections, site.server.read(doc)) == (1, "one?\n")


def test_killed_gateways_and_servers_and_an_orderly_stop(tmp_path: Path) -> None:
    data, port = tmp_path / "data", str(free_port())
    with ExitStack() as stack:
        with Server(data, "--port", port, "--workers", "1", *SLEEP) as server:
            site = Site(server, stack)
            doc = server.create("one")
            tabs = site.tabs(doc, *MIXED)
            site.wait_asleep(doc)
            kill(server.gateways()[0])
            tabs[0].type("!")  # kept by the editor, which comes back with it
            for tab in tabs:
                until("a second connection", lambda t=tab: t.connections >= 2)  # type: ignore[misc]
                tab.wait_texts(["one!"])
            site.wait_asleep(doc)
            faults.kill_everything(server)
        tabs[1].type("?")
        with Server(data, "--port", port, "--workers", "1", *SLEEP) as server:
            site = Site(server, stack)
            for tab in tabs:
                tab.wait_texts(["one!?"])
            assert server.read(doc) == "one!?\n"
            (last,) = site.tabs(doc, CLIENTS[0])
            site.wait_asleep(doc)
            server.stop()
            assert last.wait_closed() == close_codes.GOING_AWAY


def test_who_reads_on_in_its_sleep_and_leaves_has_read_it(site: Site) -> None:
    """The gateway keeps the time, and the last tab of somebody who read wakes the document."""
    doc, token = site.server.create("# Plan\n\none"), person(site.server, "rea")
    grant(site.server, doc, "rea", "viewer")
    tab = site.tabs(doc, CLIENTS[0], token=token)[0]
    begun = time.monotonic()  # no sooner than the gateway's own count, however slowly a tab opens
    site.wait_asleep(doc)
    assert time.monotonic() - begun < READING_MS / 1000, "it fell asleep before it was read"
    until("ten seconds", lambda: time.monotonic() - begun > READING_MS / 1000 + 0.5)
    wakes = site.metric("docactor_document_wakes_total")
    tab.ask("disconnect")
    until("awake", lambda: site.metric("docactor_document_wakes_total") > wakes)
    reader = made(site.server, name="Planner", person="rea", agent=True)[0]
    found = site.server.tool("get_changes", reader, slug=doc)
    assert (found["from_last_left"], found["changed"]) == (True, False)
