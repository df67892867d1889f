"""The whole server stops, in order or by kill -9, and starts again on the same folder and port."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from bench.processes import free_port, is_listening
from gateway.client.blocks import append_paragraph, texts, type_at_end
from gateway.client.editor_client import EditorClient
from tests.acceptance import faults
from tests.acceptance.editors import CLIENTS, Editor, until
from tests.acceptance.faults import Copy, append
from tests.acceptance.server import Server

pytestmark = pytest.mark.timeout(300)

START = "# T\n\none\n\ntwo\n"
DIRTY = 8  # documents with an edit on its way when the server is told to stop


class Site:
    """One folder and one port, whatever process serves them."""

    def __init__(self, data: Path, environment: dict[str, str]) -> None:
        self._data = data
        self._environment = environment
        self.port = free_port()
        self.server: Server

    def start(self) -> Server:
        until("a free port", lambda: not is_listening(self.port))
        self.server = Server(self._data, "--port", str(self.port))
        self.server.environment = self._environment
        return self.server.start().wait_ready()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    site = Site(tmp_path / "data", {})
    site.start()
    yield site
    site.server.__exit__(None, None, None)


def open_editor(stack: ExitStack, server: Server, doc: str, client: str) -> Editor:
    editor = Editor(server.editors(client), doc, server.token, client)
    stack.callback(editor.kill)
    return editor.wait_synced()


def test_restarts_double_nothing_and_keep_ids_cursors_and_every_edit(site: Site) -> None:
    """P12, P18 (a): a SIGTERM, a kill -9 of everything, a kill -9 of the command alone."""
    doc = site.server.create(START)
    with ExitStack() as stack:
        people = [open_editor(stack, site.server, doc, client) for client in CLIENTS]
        agent = stack.enter_context(faults.agent(site.server))
        copy = Copy(agent, doc)
        ids, typed = copy.ids, "two"
        for number, stop in enumerate((stop_in_order, faults.kill_everything, kill_command)):
            people[number].type(f"-last{number}", block=2)
            until("saved", lambda n=number: f"-last{n}" in site.server.read(doc))  # type: ignore[misc]
            people[number].type(f"-x{number}", block=2)
            time.sleep(0.05)  # the case's own 50 ms between edit and stop
            stop(site.server)
            site.start()
            people[number].type(f"-y{number}", block=2)
            typed += f"-last{number}-x{number}-y{number}"
            for person in people:
                person.wait_texts(["T", "one", typed])
            assert copy.follow() == copy.present() == ["# T", "one", typed]
            assert copy.ids == ids
            agent.call("replace", doc_id=doc, **{"from": ids[1]}, markdown="one")
        assert all(person.connections >= 4 for person in people)


def test_what_is_typed_right_before_a_stop_is_there_after_it(site: Site) -> None:
    """P18 (a), (c): nobody who typed is left when the server comes back."""
    with ThreadPoolExecutor(DIRTY) as threads:
        docs = list(threads.map(site.server.create, ["start"] * DIRTY))
    with ExitStack() as stack:
        people = [open_editor(stack, site.server, doc, CLIENTS[0]) for doc in docs]
        for number, person in enumerate(people):
            person.insert(f"word-{number}")
        time.sleep(0.05)  # the case's own 50 ms between edit and stop
        code = site.server.stop(signal.SIGTERM)
        for person in people:
            person.freeze()  # it must not send again what the server may have lost
        assert code == 0
        assert people
    server = site.start()
    for number, doc in enumerate(docs):
        assert server.read(doc) == f"start\n\nword-{number}\n"


@pytest.mark.anyio
async def test_the_python_editor_comes_back_with_what_was_typed_meanwhile(site: Site) -> None:
    """kill -9 of everything under it: its edits are there once, its neighbour's too."""
    server = site.server
    doc = server.create("one")
    with anyio.fail_after(200):
        async with (
            EditorClient(server.url, doc, server.token) as ann,
            EditorClient(server.url, doc, server.token) as ben,
        ):
            for editor in (ann, ben):
                await editor.until(lambda e=editor: texts(e.root) == ["one"])  # type: ignore[misc]
            type_at_end(ann.root, 0, " and saved")
            await ann.wait_saved()
            append_paragraph(ann.root, "under way")
            faults.kill_everything(server)
            await ann.until(lambda: not ann.synced)
            append_paragraph(ann.root, "typed while there was no server")
            append_paragraph(ben.root, "by Ben too")
            await anyio.to_thread.run_sync(site.start)
            for editor in (ann, ben):
                await editor.wait_saved()
            both = sorted(["under way", "typed while there was no server", "by Ben too"])
            await ben.until(lambda: sorted(texts(ben.root)[1:]) == both)
            await ann.until(lambda: texts(ann.root) == texts(ben.root))
            assert texts(ann.root)[0] == "one and saved"
            assert min(ann.connections, ben.connections) >= 2


def test_another_cluster_on_the_machine_is_left_alone(server: Server, tmp_path: Path) -> None:
    """P60: `RAY_ADDRESS` names somebody's cluster; a server of our own starts its own."""
    theirs = server.ray_address()
    kept = server.create("kept")
    site = Site(tmp_path / "data", {"RAY_ADDRESS": theirs})
    with ExitStack() as stack:
        ours = site.start()
        stack.callback(ours.__exit__, None, None, None)
        assert ours.ray_address() != theirs
        assert ours.read(ours.create("ours")) == "ours\n"
        assert ours.request("GET", f"/api/documents/{kept}.md").status_code == 404
        assert ours.stop() == 0
    with faults.agent(server) as agent:
        append(agent, kept, "still served")
    assert server.read(kept) == "kept\n\nstill served\n"


def stop_in_order(server: Server) -> None:
    assert server.stop(signal.SIGTERM) == 0


def kill_command(server: Server) -> None:
    """Its gateways and actors notice, a second later and each for itself."""
    server.family()
    os.kill(server.process.pid, signal.SIGKILL)
    server.process.wait()
    server.finish()
