"""Every role and scope with every tool, every route and everything an editor's socket does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import httpx
import pytest
from fastmcp import Client

from actors.document.editor_hub import EditorHub
from gateway.auth import Authenticator
from gateway.editors.open_document import is_read_only
from gateway.mcp.context import ToolContext
from gateway.mcp.tools import mcp_server
from gateway.rest.openapi import OPERATIONS
from shared.access import SUGGESTABLE, scopes_of
from shared.protocol import Caller, Scope
from shared.wire import close_codes
from shared.wire.frames import Ack, Kick, Kind, UpdateKind, decode_control
from tests.unit.gateway.access_table import (
    SCOPES,
    STANDINGS,
    Outcome,
    Standing,
    letters,
    outcome,
)
from tests.unit.gateway.access_table import Kind as Whom
from tests.unit.gateway.access_world import RealRoad, gateway
from tests.unit.gateway.fakes import FakeRouter
from tests.unit.wire.fakes import FakeDocument
from tests.unit.wire.stage import Editor, FakePeer

pytestmark = pytest.mark.anyio


class Act(NamedTuple):
    """One thing that is asked for, and whom it is open to; `needs`: the letter of its scope."""

    whom: Whom
    needs: str = "r"
    body: Mapping[str, Any] | str | None = None
    query: Mapping[str, str] = {}


READ, VISIT, WRITE = Act("document"), Act("visit"), Act("document", "w")
COMMENT = Act("document", "c")
SUGGEST = Act("document", "s")
ADMIN, OPEN, OWN = Act("server", "a"), Act("open"), Act("owner")
MARKDOWN: Final = {"markdown": "two"}
EDITS: Final = {"edits": [{"old_text": "one", "new_text": "one more"}]}
DECIDE: Final = {"id": "s1", "decision": "reject"}
BLOCK: Final = "$block"  # the id of the document's block
DOC: Final = "$doc"
LONG_AGO: Final = "2001-02-03T04:05:06Z"


def _body(act: Act) -> Mapping[str, Any]:
    assert isinstance(act.body, Mapping)
    return act.body


TOOLS: Final = {
    "create_document": Act("server", "w", {}),
    "list_documents": Act("server", "r", {}),
    "read_document": READ._replace(body={"doc_id": DOC}),
    "read_changes": READ._replace(body={"doc_id": DOC}),
    "list_versions": READ._replace(body={"doc_id": DOC}),
    "read_version": READ._replace(body={"doc_id": DOC, "version": "v1"}),
    "compare": READ._replace(body={"doc_id": DOC, "from": "v1"}),
    "save_version": WRITE._replace(body={"doc_id": DOC, "name": "x"}),
    "restore": WRITE._replace(body={"doc_id": DOC, "version": "v1"}),
    "read_events": READ._replace(body={"doc_id": DOC}),
    "join": READ._replace(body={"doc_id": DOC}),
    "leave": READ._replace(body={"doc_id": DOC}),
    "get_changes": READ._replace(body={"slug": DOC, "since": LONG_AGO}),
    "list_changes": Act("server", "r", {"since": LONG_AGO}),
    "list_chats": READ._replace(body={"slug": DOC}),
    "read_chat": READ._replace(body={"slug": DOC}),
    "post_chat_message": COMMENT._replace(body={"slug": DOC, "text": "x"}),
    "reply": COMMENT._replace(body={"slug": DOC, "thread_id": "t", "text": "x"}),
    "edit_message": COMMENT._replace(body={"slug": DOC, "message_id": "m", "text": "x"}),
    "delete_message": COMMENT._replace(body={"slug": DOC, "message_id": "m"}),
    "resolve_thread": COMMENT._replace(body={"slug": DOC, "thread_id": "t"}),
    "replace_text": WRITE._replace(body={"doc_id": DOC, **EDITS}),
    "patch": WRITE._replace(body={"doc_id": DOC, **MARKDOWN}),
    "insert": WRITE._replace(body={"doc_id": DOC, **MARKDOWN}),
    "replace": WRITE._replace(body={"doc_id": DOC, "from": BLOCK, **MARKDOWN}),
    "delete": WRITE._replace(body={"doc_id": DOC, "blocks": [BLOCK]}),
    "move": WRITE._replace(body={"doc_id": DOC, "block": BLOCK, "after": "end"}),
    "suggest": SUGGEST._replace(body={"doc_id": DOC, **EDITS}),
    "list_suggestions": READ._replace(body={"doc_id": DOC}),
    "decide_suggestion": SUGGEST._replace(body={"doc_id": DOC, **DECIDE}),
}
# The same tools and routes, where they are asked for a suggestion.
TOOLS_SUGGESTING: Final = {
    name: TOOLS[name]._replace(needs="s", body={**_body(TOOLS[name]), "mode": "suggest"})
    for name in sorted(SUGGESTABLE)
}
_ONE: Final = "/api/documents/{doc}"
ROUTES: Final = {
    "get /healthz": OPEN,
    "get /readyz": OPEN,
    "get /metrics": Act("server"),
    "get /": Act("server"),
    "post /api/session": OPEN._replace(body={"token": "$token"}),
    "delete /api/session": OPEN,
    "get /api/openapi.json": OPEN,
    "get /llms.txt": OPEN,
    "get /SKILL.md": OPEN,
    "post /api/documents": Act("server", "w", {}),
    "get /api/documents": Act("server"),
    f"get {_ONE}": VISIT,
    f"delete {_ONE}": OWN,
    f"post {_ONE}/undelete": Act("former"),
    f"get {_ONE}.md": VISIT,
    f"get {_ONE}/fidelity": VISIT,
    f"put {_ONE}.md": WRITE._replace(body="two"),
    "get /d/{doc}": VISIT,
    f"get {_ONE}/changes": VISIT,
    f"get {_ONE}/changed": VISIT._replace(query={"since": LONG_AGO}),
    "get /api/changed": Act("server"),
    f"post {_ONE}/patch": WRITE._replace(body=MARKDOWN),
    f"post {_ONE}/insert": WRITE._replace(body=MARKDOWN),
    f"post {_ONE}/replace": WRITE._replace(body={"from": BLOCK, **MARKDOWN}),
    f"post {_ONE}/delete": WRITE._replace(body={"blocks": [BLOCK]}),
    f"post {_ONE}/move": WRITE._replace(body={"block": BLOCK, "after": "end"}),
    f"post {_ONE}/replace_text": WRITE._replace(body=EDITS),
    f"post {_ONE}/suggest": SUGGEST._replace(body=EDITS),
    f"get {_ONE}/suggestions": READ,
    f"post {_ONE}/suggestions/decide": SUGGEST._replace(body=DECIDE),
    f"get {_ONE}/chats": VISIT,
    f"post {_ONE}/chats": COMMENT._replace(body={"text": "x"}),
    f"get {_ONE}/chat": VISIT,
    f"get {_ONE}/threads": VISIT,
    f"put {_ONE}/threads/{{thread}}": COMMENT._replace(body={}),
    f"post {_ONE}/threads/{{thread}}/messages": COMMENT._replace(body={"text": "x"}),
    f"put {_ONE}/messages/{{message}}": COMMENT._replace(body={"text": "x"}),
    f"delete {_ONE}/messages/{{message}}": COMMENT,
    f"get {_ONE}/versions": READ,
    f"post {_ONE}/versions": WRITE._replace(body={"name": "x"}),
    f"get {_ONE}/versions/{{version}}": READ,
    f"get {_ONE}/compare": READ._replace(query={"from": "v1"}),
    f"post {_ONE}/restore": WRITE._replace(body={"version": "v1"}),
    f"get {_ONE}/events": VISIT,
    f"post {_ONE}/join": READ._replace(body={}),
    f"post {_ONE}/leave": READ,
    f"get {_ONE}/members": OWN,
    f"put {_ONE}/members": OWN._replace(body={"principal": "zoe", "role": "viewer"}),
    f"delete {_ONE}/members": OWN._replace(query={"principal": "yves"}),
    f"put {_ONE}/link": OWN._replace(body={"role": "$link"}),
    "post /api/tickets": READ._replace(body={"document": DOC}),
    "get /api/status": Act("server"),
    "post /api/tokens": ADMIN._replace(body={"name": "x"}),
    "get /api/tokens": ADMIN,
    "delete /api/tokens/{id}": ADMIN,
    "get /api/audit": ADMIN,
    "post /api/backup": ADMIN._replace(body={"folder": "/nowhere/at/all"}),
    "post /api/check": ADMIN,
    "post /api/nodes/{node}/drain": ADMIN._replace(query={"force": "true"}),
    "post /api/nodes/{node}/undrain": ADMIN,
}
SOCKET: Final = ("open", "read", "edit", "step 2", "presence")


async def test_every_tool_and_route_there_is_stands_in_the_table(router: FakeRouter) -> None:
    context = ToolContext(router, "http://x", no_auth=True)
    async with Client(mcp_server(context, Authenticator(router, no_auth=True))) as client:
        assert {tool.name for tool in await client.list_tools()} == TOOLS.keys()
    assert {f"{one.method} {one.path}" for one in OPERATIONS} == ROUTES.keys()


async def situation(
    road: RealRoad, name: str, standing: Standing, scope: str | None
) -> tuple[dict[str, str], dict[str, Any]]:
    """A document on which somebody stands so, their header, and what stands for what in a body."""
    slug = f"doc-{len(road.documents)}"
    doc_id = await road.fresh(slug)
    person = f"p{len(road.documents)}"
    await road.grant(doc_id, person, standing.role, standing.link)
    await road.at.set_member(_operator(), doc_id, "yves", "viewer")
    token = await road.token(person, scopes_of(scope or "read"), agent=standing.agent)
    values = {
        DOC: slug,
        BLOCK: road.documents[doc_id].order[0],
        "$token": token,
        "$link": standing.link,
        "{doc}": doc_id if name.endswith("undelete") else slug,
        "{node}": "n1",
        "{version}": "v1",
        "{id}": (await road.at.list_tokens())[-1].id if "{id}" in name else "",
    }
    if name.endswith("undelete"):
        await road.at.delete_document(_operator(), doc_id)
    if "{id}" in name:
        spare = await road.at.create_token("ann", "spare", scopes_of("read"))
        values["{id}"] = spare.row.id
    return {} if scope is None else {"Authorization": f"Bearer {token}"}, values


def _operator() -> Caller:
    return Caller("person:ann", "Ann", "person:ann", scopes=frozenset({"admin"}))


def filled(given: Any, values: Mapping[str, Any]) -> Any:
    """A body with what stands for something replaced by it."""
    if isinstance(given, str):
        return values.get(given, given)
    if isinstance(given, list):
        return [filled(each, values) for each in given]
    if isinstance(given, dict):
        return {key: filled(each, values) for key, each in given.items()}
    return given


@pytest.mark.parametrize("name", ROUTES)
async def test_every_route_for_everybody(name: str) -> None:
    act, wrong = ROUTES[name], []
    async with gateway() as (road, client):
        for who, standing in STANDINGS.items():
            for scope in SCOPES:
                headers, values = await situation(road, name, standing, scope)
                answer = await sent(client, name, act, headers, values)
                if told(answer) != outcome(act.whom, act.needs, standing, scope):
                    wrong.append((who, scope, answer.status_code, answer.text[:80]))
                if name.endswith("/drain"):
                    await road.at.undrain_node("n1")
    assert wrong == []


async def sent(
    client: httpx.AsyncClient,
    name: str,
    act: Act,
    headers: dict[str, str],
    values: Mapping[str, Any],
) -> httpx.Response:
    method, path = name.split(" ")
    for part in ("{doc}", "{node}", "{id}"):
        path = path.replace(part, values[part])
    body = filled(act.body, values)
    content = {"content": body} if isinstance(body, str) else {"json": body}
    client.cookies.clear()
    return await client.request(method, path, params=act.query, headers=headers, **content)


def told(answer: httpx.Response) -> Outcome | str:
    if answer.status_code < 400:
        return "ok"
    if answer.headers["content-type"].startswith("application/problem+json"):
        return str(answer.json()["code"])
    return str(answer.status_code)


@pytest.mark.parametrize("name", TOOLS)
async def test_every_tool_for_everybody(name: str) -> None:
    act, wrong = TOOLS[name], []
    async with gateway() as (road, client):
        for who, standing in STANDINGS.items():
            for scope in SCOPES:
                headers, values = await situation(road, name, standing, scope)
                headers["Accept"] = "application/json, text/event-stream"
                params = {"name": name, "arguments": filled(act.body, values)}
                message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
                answer = await client.post("/mcp", json=message, headers=headers)
                if tool_told(answer) != outcome(act.whom, act.needs, standing, scope):
                    wrong.append((who, scope, answer.text[:200]))
    assert wrong == []


@pytest.mark.parametrize("name", TOOLS_SUGGESTING)
async def test_every_write_that_is_to_suggest_for_everybody(name: str) -> None:
    act, wrong = TOOLS_SUGGESTING[name], []
    async with gateway() as (road, client):
        for who, standing in STANDINGS.items():
            for scope in SCOPES:
                headers, values = await situation(road, name, standing, scope)
                expected = outcome(act.whom, act.needs, standing, scope)
                body = filled(act.body, values)
                posted = {key: value for key, value in body.items() if key != "doc_id"}
                path = f"/api/documents/{values['{doc}']}/{name}"
                answer = await client.post(path, json=posted, headers=headers)
                if told(answer) != expected:
                    wrong.append((who, scope, "post", answer.text[:200]))
                headers, values = await situation(road, name, standing, scope)
                headers["Accept"] = "application/json, text/event-stream"
                params = {"name": name, "arguments": filled(act.body, values)}
                message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
                answer = await client.post("/mcp", json=message, headers=headers)
                if tool_told(answer) != expected:
                    wrong.append((who, scope, "tool", answer.text[:200]))
    assert wrong == []


def tool_told(answer: httpx.Response) -> str:
    if answer.status_code == 401:
        return "unauthenticated"
    result = answer.json()["result"]
    return str(result["structuredContent"]["error"]["code"]) if result.get("isError") else "ok"


@pytest.mark.parametrize("action", SOCKET)
@pytest.mark.parametrize("who", STANDINGS)
def test_every_act_of_a_socket_for_everybody(who: str, action: str) -> None:
    standing = STANDINGS[who]
    for scope, held in SCOPES.items():
        scopes = frozenset[Scope]() if scope is None else scopes_of(scope)
        caller = Caller(
            *("p", "P", "p", standing.agent, scopes),
            role=standing.role,
            link_role=standing.link,
        )
        mine = "rcswa" if scope == "admin" else letters(standing)
        opens = "r" in mine and "r" in held
        writes = opens and "w" in mine and "w" in held
        assert is_read_only(caller) is not ("w" in mine and "w" in held), (who, scope)
        code = None if opens else close_codes.FORBIDDEN if mine else close_codes.NOT_FOUND
        assert acted(action, caller) == (code, writes), (who, scope)


def acted(action: str, caller: Caller) -> tuple[int | None, bool]:
    """The code a session was ended with, and whether it wrote; what does not write must work."""
    document = FakeDocument()
    hub, peer = EditorHub(document, "abcdefghijkl"), FakePeer()
    hub.join(peer, None)
    editor = Editor(hub, peer, 1, "words")
    editor.open(caller)  # the gateway says that it may write: the document decides
    first = peer.told()
    kicks = [decode_control(body, Kick).code for kind, _, body in first if kind is Kind.KICK]
    wrote = editor_acts(action, editor, document, opened=not kicks)
    return (kicks[0] if kicks else None), wrote


def editor_acts(action: str, editor: Editor, document: FakeDocument, *, opened: bool) -> bool:
    peer = editor.peer
    if action in ("edit", "step 2"):
        kind = UpdateKind.UPDATE if action == "edit" else UpdateKind.STEP_2
        editor.update(editor.doc.get_update(), kind)
        document.commit()
        acks = [body[0] for kind, _, body in peer.told() if kind is Kind.ACK]
        wrote = str(document.text) == "words"
        assert acks == ([Ack.SAVED if wrote else Ack.REFUSED] if opened else [])
        return wrote
    if action == "read":
        editor.frame(Kind.STEP1, editor.doc.get_state())
        assert (Kind.STEP2 in peer.kinds()) is opened
    elif action == "presence":
        editor.present(1)
        assert (Kind.AWARENESS in peer.kinds()) is opened
    editor.update(editor.doc.get_update())
    document.commit()
    return str(document.text) == "words"
