"""The editor in Python against a whole server, beside unmodified npm clients."""

from __future__ import annotations

import os
import signal

import anyio
import pytest

from gateway.client.blocks import append_paragraph, texts, type_at_end
from gateway.client.editor_client import EditorClient
from shared.errors import CapabilityDenied, DocumentNotFound, InvalidArgument, Unauthenticated
from tests.acceptance.conftest import OpenEditor
from tests.acceptance.editors import Editor, until
from tests.acceptance.faults import holder, kill
from tests.acceptance.server import Server

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]

PATIENCE_S = 30.0


def join(server: Server, doc: str, token: str | None = None, name: str = "Änne") -> EditorClient:
    token = server.token if token is None else token
    return EditorClient(server.url, doc, token, state={"user": {"name": name}})


async def has(editor: EditorClient, expected: list[str]) -> None:
    with anyio.fail_after(PATIENCE_S):
        await editor.until(lambda: texts(editor.root) == expected)


async def saved(editor: EditorClient) -> None:
    with anyio.fail_after(PATIENCE_S):
        await editor.wait_saved()


async def everywhere(words: list[str], ann: EditorClient, others: list[Editor]) -> None:
    """All have these texts. In a thread: what the Python editor is sent must not wait for it."""
    await has(ann, words)
    for other in others:
        await anyio.to_thread.run_sync(other.wait_texts, words)


async def test_what_one_types_the_others_have_and_everybody_sees_who_is_there(
    server: Server, editor: OpenEditor, client: str
) -> None:
    doc = server.create("# Hello\n\nWorld")
    ben = editor(doc, client)
    ben.ask("presence", state={"name": "Ben"})
    async with EditorClient(server.url, doc, server.token, state={"name": "Änne 😀"}) as ann:
        with anyio.fail_after(PATIENCE_S):
            await ann.wait_synced()
            await ann.until(lambda: ann.awareness.states.get(int(ben.me)) == {"name": "Ben"})
        assert ann.read_only is False
        type_at_end(ann.root, 1, "!")
        assert not ann.saved
        await everywhere(["Hello", "World!"], ann, [ben])
        ben.insert("Third")
        await everywhere(["Hello", "World!", "Third"], ann, [ben])
        await saved(ann)
        me = str(ann.doc.client_id)
        told = {"name": "Änne 😀"}
        await anyio.to_thread.run_sync(until, "Änne", lambda: ben.present.get(me) == told)
    await anyio.to_thread.run_sync(until, "Änne gone", lambda: me not in ben.present)
    assert server.read(doc) == "# Hello\n\nWorld!\n\nThird\n"


async def test_a_killed_actor_costs_no_connection_and_no_edit(server: Server) -> None:
    doc = server.create("one")
    async with join(server, doc) as ann, join(server, doc) as ben:
        await has(ann, ["one"])
        await has(ben, ["one"])
        typed = ["one"]
        for kills in range(3):
            append_paragraph(ann.root, f"before {kills}")
            kill(holder(server, doc))
            append_paragraph(ann.root, f"after {kills}")
            typed += [f"before {kills}", f"after {kills}"]
            await saved(ann)
            await has(ben, typed)
        assert (ann.connections, ben.connections) == (1, 1)
    assert server.read(doc) == "\n\n".join(typed) + "\n"


async def test_a_killed_gateway_costs_a_reconnect_and_no_edit(server: Server) -> None:
    doc = server.create("one")
    async with join(server, doc, name="Ann") as ann, join(server, doc, name="Ben") as ben:
        await has(ann, ["one"])
        await has(ben, ["one"])
        for gateway in await anyio.to_thread.run_sync(server.gateways):
            kill(gateway)
        append_paragraph(ann.root, "typed while nobody listens")
        assert not ann.saved
        await saved(ann)
        await has(ben, ["one", "typed while nobody listens"])
        with anyio.fail_after(PATIENCE_S):
            await ben.until(lambda: ann.doc.client_id in ben.awareness.states)
        assert min(ann.connections, ben.connections) >= 2


async def test_nothing_is_called_saved_before_it_is_on_disk(server: Server) -> None:
    doc = server.create("Top")
    async with join(server, doc) as ann, join(server, doc, name="Ben") as ben:
        await has(ann, ["Top"])
        await has(ben, ["Top"])
        await saved(ann)
        writer = holder(server, doc)
        os.kill(writer.pid, signal.SIGSTOP)
        append_paragraph(ann.root, "typed while nobody writes")
        with anyio.move_on_after(1):  # what must not happen has this long to happen
            await ann.wait_saved()
        assert not ann.saved
        os.kill(writer.pid, signal.SIGCONT)
        await saved(ann)
        kill(writer)
        assert "typed while nobody writes" in await anyio.to_thread.run_sync(server.read, doc)


async def test_who_leaves_at_once_leaves_nothing_behind(server: Server) -> None:
    doc = server.create("one")
    async with join(server, doc) as ann:
        await has(ann, ["one"])
        append_paragraph(ann.root, "last words")
    assert ann.saved
    assert server.read(doc) == "one\n\nlast words\n"


async def test_a_document_of_ones_own_is_brought_along(server: Server) -> None:
    doc = server.create("one")
    async with join(server, doc) as ann:
        await has(ann, ["one"])
    append_paragraph(ann.root, "typed on the train")
    async with EditorClient(server.url, doc, server.token, doc=ann.doc) as again:
        assert not again.saved
        await saved(again)
    assert server.read(doc) == "one\n\ntyped on the train\n"


async def test_a_reader_follows_and_is_told_that_it_may_not_edit(server: Server) -> None:
    doc = server.create("one")
    token = server.create_token("Rea", "read", agent=False)
    async with join(server, doc) as ann, join(server, doc, token) as reader:
        await has(reader, ["one"])
        await has(ann, ["one"])
        type_at_end(ann.root, 0, " two")
        await has(reader, ["one two"])
        assert reader.read_only
        append_paragraph(reader.root, "mine")
        with pytest.raises(CapabilityDenied), anyio.fail_after(PATIENCE_S):
            await reader.wait_saved()
        type_at_end(ann.root, 0, " three")
        await has(reader, ["one two three", "mine"])
        assert reader.ended is None
    assert server.read(doc) == "one two three\n"


async def test_what_a_retry_cannot_mend_ends_it_and_says_why(server: Server) -> None:
    doc = server.create("one")
    for given, kind in (
        ((server.url, doc, "wrong"), Unauthenticated),
        ((server.url, "no-such-document", server.token), DocumentNotFound),
        ((server.url + "/nowhere", doc, server.token), InvalidArgument),
    ):
        async with EditorClient(*given) as ann:
            with pytest.raises(kind), anyio.fail_after(PATIENCE_S):
                await ann.wait_synced()
            assert isinstance(ann.ended, kind)
            assert ann.connections <= 1
    order = {"name": "Guest", "scope": "write", "agent": False}
    made = server.request("POST", "/api/tokens", json=order).json()
    async with join(server, doc, made["token"]) as guest:
        await has(guest, ["one"])
        server.request("DELETE", f"/api/tokens/{made['row']['id']}")
        with anyio.fail_after(PATIENCE_S):
            assert isinstance(await guest.wait_ended(), Unauthenticated)


async def test_an_error_in_the_block_comes_out_as_it_is(server: Server) -> None:
    async def fail() -> None:
        async with join(server, server.create("one")) as ann:
            await has(ann, ["one"])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
