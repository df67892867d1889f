"""Events on the whole server: an agent among people, a long poll, a crash, and a stream."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, Final

import httpx
import pytest

from bench.agent import Agent
from shared.limits import STREAMS_OF_ONE
from tests.acceptance.conftest import OpenEditor
from tests.acceptance.editors import until
from tests.acceptance.faults import holder, kill, known
from tests.acceptance.server import Server

ENDS_S: Final = 3.0  # a second is promised; the machine may be busy
OpenAgent = Callable[[str], Agent]


@pytest.fixture
def agent(server: Server) -> Iterator[OpenAgent]:
    """An agent of its own name."""
    with ExitStack() as stack:
        address = f"{server.url}/mcp"
        yield lambda name: stack.enter_context(Agent(address, server.create_token(name)))


def follow(by: Agent, doc: str, cursor: str, wait_s: float = 0) -> tuple[list[Any], str]:
    """The next events, and where they end."""
    found = known(lambda: by.call("read_events", doc_id=doc, cursor=cursor, wait_s=wait_s))
    assert not found["truncated"], found
    return found["events"], found["cursor"]


def messages(lines: Iterator[str]) -> Iterator[dict[str, str]]:
    """The messages of a stream that have data."""
    message: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        if line and name:
            message[name] = value
        elif not line:
            if "data" in message:
                yield message
            message = {}


def test_an_agent_joins_is_seen_and_follows_through_a_crash(
    server: Server, editor: OpenEditor, agent: OpenAgent
) -> None:
    doc = server.create("# Plan\n\nOne.\n")
    ann = editor(doc)
    scribe = agent("Scribe")
    cursor = known(lambda: scribe.call("join", doc_id=doc, status="reading"))["cursor"]

    def shown() -> list[tuple[str, Any]]:
        states = ann.present.items()
        return [(key, one["user"]) for key, one in states if one.get("user", {}).get("agent")]

    ((client, user),) = until("the agent in the editor", shown)
    assert (user["name"], user["status"]) == ("Scribe", "reading")

    told: list[tuple[list[Any], str]] = []
    waiting = threading.Thread(target=lambda: told.append(follow(scribe, doc, cursor, 30)))
    waiting.start()
    ann.type(" And two.", block=1)
    waiting.join()
    (first,), cursor = told[0]
    assert (first["type"], len(first["blocks"])) == ("document.changed", 1)

    kill(holder(server, doc))
    other = agent("Other")
    known(lambda: other.call("insert", doc_id=doc, markdown="Three.", idempotency_key="three"))
    (second,), cursor = follow(scribe, doc, cursor, 30)
    assert (second["type"], second["seq"]) == ("document.changed", first["seq"] + 1)
    assert follow(scribe, doc, cursor)[0] == []
    assert [key for key, _ in until("still there, once", shown)] == [client]
    known(lambda: scribe.call("leave", doc_id=doc))
    until("gone", lambda: not shown())


def test_a_stream_goes_on_behind_the_last_event_that_arrived(
    server: Server, agent: OpenAgent
) -> None:
    doc = server.create("One.\n")
    address = f"{server.url}/api/documents/{doc}/events"
    made = httpx.post(
        f"{server.url}/api/tokens",
        headers={"Authorization": f"Bearer {server.token}"},
        json={"name": "Ear", "scope": "read"},
    ).json()
    headers = {"Authorization": f"Bearer {server.token}"}
    start = httpx.get(address, headers=headers).json()["cursor"]
    scribe = agent("Scribe")
    for name in ("one", "two", "three"):
        scribe.call("save_version", doc_id=doc, name=name)
    headers |= {"Accept": "text/event-stream", "Last-Event-ID": start}
    with httpx.Client(headers=headers, timeout=30) as http:
        with http.stream("GET", address) as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            first = next(messages(stream.iter_lines()))
        http.headers["Last-Event-ID"] = first["id"]
        with http.stream("GET", address) as stream:
            told = messages(stream.iter_lines())
            rest = [next(told), next(told)]
            known(lambda: scribe.call("save_version", doc_id=doc, name="four"))
            rest.append(next(told))
    seqs = [json.loads(one["data"])["seq"] for one in (first, *rest)]
    assert seqs == list(range(seqs[0], seqs[0] + 4))
    assert {one["event"] for one in (first, *rest)} == {"version.saved"}
    revoked_stream_ends(server, address, made)


def test_nobody_holds_more_streams_than_they_may(server: Server) -> None:
    """Of every gateway; whoever was refused comes in when one of them is closed."""
    address = f"{server.url}/api/documents/{server.create('One.')}/events"
    headers = {"Authorization": f"Bearer {server.create_token('Ears')}"}
    headers["Accept"] = "text/event-stream"
    gateways = len(server.gateways())
    limits = httpx.Limits(max_connections=None)
    with httpx.Client(headers=headers, timeout=30, limits=limits) as http, ExitStack() as streams:
        held: list[Iterator[str]] = []
        while (stream := streams.enter_context(http.stream("GET", address))).status_code == 200:
            held.append(stream.iter_lines())
            assert next(held[-1]).startswith("id: ")  # it is counted from here on
            assert len(held) <= STREAMS_OF_ONE * gateways
        assert (stream.status_code, json.loads(stream.read())["code"]) == (429, "rate_limited")
        assert len(held) >= STREAMS_OF_ONE
        streams.close()
        until("there is room again", lambda: _opens(http, address))


def _opens(http: httpx.Client, address: str) -> bool:
    with http.stream("GET", address) as stream:
        return stream.status_code == 200


def revoked_stream_ends(server: Server, address: str, made: dict[str, Any]) -> None:
    """Its token is revoked: the stream says so and ends."""
    owner = {"Authorization": f"Bearer {server.token}"}
    headers = {"Authorization": f"Bearer {made['token']}", "Accept": "text/event-stream"}
    with httpx.stream("GET", address, headers=headers, timeout=30) as stream:
        assert stream.status_code == 200, stream.read()
        lines = stream.iter_lines()
        assert next(lines).startswith("id: ")
        began = time.monotonic()
        httpx.delete(f"{server.url}/api/tokens/{made['row']['id']}", headers=owner)
        (last,) = messages(lines)
        assert time.monotonic() - began < ENDS_S
    assert (last["event"], json.loads(last["data"])["code"]) == ("error", "unauthenticated")
