"""Whatever is sent as an argument: never a fault of the server, never a change of the document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest

from tests.acceptance.hostile import DEEP, VALUES, Caller, as_json, values_for
from tests.acceptance.server import Server

TEXT: Final = "# Plan\n\nOne.\n\n## Part\n\nTwo.\n"
# Arguments with which each call is right, and as a trial where it would write.
TOOLS: Final[dict[str, dict[str, Any]]] = {
    "create_document": {"markdown": "x", "slug": "no slug can be so"},
    "list_documents": {"limit": 1},
    "read_document": {},
    "read_changes": {"settle_s": 0},
    "replace_text": {"edits": [{"old_text": "One", "new_text": "1"}], "dry_run": True},
    "patch": {"markdown": TEXT, "dry_run": True},
    "insert": {"markdown": "x", "dry_run": True},
    "replace": {"markdown": "x", "dry_run": True},
    "delete": {"dry_run": True},
    "move": {"after": "end", "dry_run": True},
    "get_changes": {"since": "2026-01-01T00:00:00Z"},
    "list_changes": {"since": "2026-01-01T00:00:00Z"},
    "read_events": {},
    "join": {},
    "leave": {},
    "list_versions": {},
    "read_version": {},
    "compare": {},
    "save_version": {"name": "as it is"},
    "restore": {"dry_run": True},
    "list_chats": {},
    "read_chat": {"thread_id": "t_none"},
    "post_chat_message": {"text": "x", "section_id": "zzzzzzzz", "quote": "not in the text"},
    "reply": {"text": "x", "thread_id": "t_none"},
    "edit_message": {"text": "x", "message_id": "m_none"},
    "delete_message": {"message_id": "m_none"},
    "resolve_thread": {"thread_id": "t_none"},
    "suggest": {"edits": [{"old_text": "One", "new_text": "1"}], "dry_run": True},
    "list_suggestions": {},
    "decide_suggestion": {"id": "s1", "decision": "reject", "dry_run": True},
}
# They are told that there is none: what they write would stay.
CHATS: Final = {
    *("list_chats", "read_chat", "post_chat_message", "reply"),
    *("edit_message", "delete_message", "resolve_thread"),
}
VERSION: Final = {"read_version": "version", "compare": "from", "restore": "version"}
# Not sent: it would be a right argument and wait, or write, for real.
RIGHT: Final = {
    ("read_changes", "wait_s"): {"whole float", "2^53"},
    ("read_events", "wait_s"): {"whole float", "2^53"},
    ("", "dry_run"): {"null", "false"},
}
BODIES: Final = (
    *(b"", b"{", b"[]", b'"x"', b"\xff\xfe", b"\x00", b"null", b"[" * 100_000, b" " * 1_000_000),
    *(b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"2.0","id":null,"method":5}'),
    b'[{"jsonrpc":"2.0","id":1,"method":"tools/list"},{"jsonrpc":"2.0","id":2,"method":"ping"}]',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"str"}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"insert","arguments":"str"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"\\ud800","params":{}}',
    b'{"jsonrpc":"2.0","id":"\\ud800","method":"tools/list","params":{}}',
)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose log nobody else writes to."""
    with Server(tmp_path_factory.mktemp("hostile") / "data") as running:
        yield running


@pytest.fixture
def caller(own: Server) -> Iterator[Caller]:
    caller = Caller(own.url, own.token)
    yield caller
    caller.close()


@pytest.fixture
def doc(own: Server) -> Iterator[str]:
    """A document that must be the same afterwards, on a server without faults in its log."""
    doc_id = own.create(TEXT)
    before = own.request("GET", f"/api/documents/{doc_id}").json()
    yield doc_id
    after = own.request("GET", f"/api/documents/{doc_id}").json()
    assert (after["markdown"], after["cursor"]) == (before["markdown"], before["cursor"])
    assert faults(own.data) == []


def faults(data: Path) -> list[str]:
    """Lines of the logs that tell of an exception nobody expected."""
    texts = [log.read_text(encoding="utf-8") for log in (data / "logs").glob("*.jsonl")]
    found = (json.loads(line) for text in texts for line in text.splitlines())
    return [str(entry) for entry in found if entry["level"] == "error" or "trace" in entry]


def right(caller: Caller, tool: str, doc: str) -> dict[str, Any]:
    """Arguments the tool takes."""
    given = dict(TOOLS[tool])
    if tool not in ("create_document", "list_documents", "list_changes"):
        given["slug" if tool == "get_changes" or tool in CHATS else "doc_id"] = doc
    if tool in VERSION:
        saved = caller.tool("save_version", {"doc_id": doc, "name": "as it is"})
        given[VERSION[tool]] = saved["structuredContent"]["version"]
    if tool in ("replace", "delete", "move"):
        read = caller.tool("read_document", {"doc_id": doc, "format": "blocks"})
        anchor = read["structuredContent"]["blocks"][1]["anchor"]
        name = {"replace": "from", "delete": "blocks", "move": "block"}[tool]
        given[name] = [anchor] if tool == "delete" else anchor
    return given


def names(caller: Caller, tool: str) -> list[str]:
    """Of a tool's arguments, as the server lists them: it has no tool that is not tried."""
    listed = json.loads(
        caller.post(
            "/mcp", as_json({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
        ).text
    )
    found = {each["name"]: each["inputSchema"]["properties"] for each in listed["result"]["tools"]}
    assert found.keys() == TOOLS.keys()
    return list(found[tool])


@pytest.mark.parametrize("tool", TOOLS)
def test_any_value_for_any_argument_of_a_tool(caller: Caller, doc: str, tool: str) -> None:
    given = right(caller, tool, doc)
    if tool not in {"create_document", "decide_suggestion", *CHATS}:  # it has none to decide
        assert not caller.tool(tool, given).get("isError")
    for name in names(caller, tool):
        without = {key: value for key, value in given.items() if key != name}
        caller.tool(tool, without if name != "dry_run" else given)
        skipped = RIGHT.get((tool, name), RIGHT.get(("", name), set()))
        for label, value in values_for(f"{tool} {name}").items():
            if label not in skipped:
                caller.tool(tool, given | {name: value})


@pytest.mark.parametrize("tool", TOOLS)
def test_arguments_that_are_no_arguments(caller: Caller, doc: str, tool: str) -> None:
    given = right(caller, tool, doc)
    for label, value in values_for(tool).items():
        if label != "null":
            refused = caller.tool(tool, given | {"foo\ud800\x00": value})
            assert refused.get("isError"), label
        if not isinstance(value, dict):
            caller.tool(tool, value)
        caller.tool(value, given)
    assert caller.tool(tool, given | {"bar": 1})["isError"]


def test_any_body_at_the_agents_door(caller: Caller, doc: str) -> None:
    for body in BODIES:
        for kind in ("application/json", "text/plain", ""):
            caller.post("/mcp", body, kind)
        assert not caller.tool("read_document", {"doc_id": doc}).get("isError")


GETS: Final = {
    "/api/documents": ("query", "limit", "before", "deleted", "foo"),
    "/api/documents/{doc}": ("format", "section_id", "find", "outline", "max_chars", "foo"),
    "/api/documents/{doc}.md": ("suggestions", "foo"),
    "/api/documents/{doc}/suggestions": ("status", "limit", "after", "foo"),
    "/api/documents/{doc}/events": ("cursor", "types", "foo"),
    "/api/documents/{doc}/changes": ("cursor", "settle", "max_chars", "exclude_self", "format"),
    "/d/{doc}": ("id", "foo"),
    "/api/status": ("foo",),
    "/metrics": ("foo",),
}
POSTS: Final[dict[str, dict[str, Any]]] = {
    "patch": {"markdown": TEXT, "anchors": [], "section_id": None, "allow_large_delete": False},
    "insert": {"markdown": "x", "after": "end"},
    "replace": {"from": "k3x9d2ab", "to": None, "markdown": "x"},
    "delete": {"blocks": ["k3x9d2ab"]},
    "move": {"after": "end", "block": "k3x9d2ab", "section_id": None},
    "replace_text": {"edits": [{"old_text": "One", "new_text": "1"}], "section_id": None},
}
SUGGESTING: Final[dict[str, dict[str, Any]]] = {
    "suggest": {"edits": [{"old_text": "One", "new_text": "1"}], "note": "why"},
    "suggestions/decide": {"id": "s1", "group": None, "decision": "accept"},
}
OPTIONS: Final = {
    "base": None,
    "mode": "apply",
    "on_conflict": None,
    "idempotency_key": None,
    "dry_run": True,
}


def words(value: Any) -> bytes:
    """A value as it stands in an address, half a pair in the only bytes there are for it."""
    return str(value).encode("utf-8", "surrogatepass")[:4_000]


@pytest.mark.parametrize("path", GETS)
def test_any_value_for_any_parameter_of_an_address(caller: Caller, doc: str, path: str) -> None:
    for name in GETS[path]:
        for value in values_for(f"{path} {name}").values():
            caller.request("GET", f"{path.format(doc=doc)}?{name}={quote(words(value))}")
    if "{doc}" in path:
        for value in values_for(path).values():
            caller.request("GET", path.format(doc=quote(words(value), safe="")))


@pytest.mark.parametrize("verb", [*POSTS, *SUGGESTING])
def test_any_value_for_any_key_of_a_body(caller: Caller, doc: str, verb: str) -> None:
    options = {"base": None, "dry_run": True} if verb in SUGGESTING else OPTIONS
    path, given = f"/api/documents/{doc}/{verb}", (POSTS | SUGGESTING)[verb] | options
    for name in (*given, "foo"):
        for label, value in values_for(f"{verb} {name}").items():
            if name != "dry_run" or label != "false":
                caller.post(path, as_json(given | {name: value}))
        if name != "dry_run":
            caller.post(path, as_json({k: v for k, v in given.items() if k != name}))
    for value in values_for(verb).values():
        caller.post(path, as_json(value))
        caller.post(f"/api/documents/{quote(words(value), safe='')}/{verb}", as_json(given))
    for body in BODIES:
        for kind in ("application/json", "text/plain", ""):
            caller.post(path, body, kind)


ADMIN: Final[dict[str, dict[str, Any]]] = {
    "/api/documents": {"markdown": "x", "title": "t", "slug": "no slug", "expires": "never"},
    "/api/tokens": {"name": "", "scope": "read", "agent": True, "expires": None, "documents": None},
    "/api/backup": {"folder": "relative"},
}


@pytest.mark.parametrize("path", ADMIN)
def test_any_value_for_what_administrators_send(caller: Caller, doc: str, path: str) -> None:
    del doc
    given = ADMIN[path]
    for name in (*given, "foo"):
        for value in values_for(f"{path} {name}").values():
            caller.post(path, as_json(given | {name: value}))
    for body in (*BODIES, *(as_json(value) for value in values_for(path).values())):
        caller.post(path, body)


def test_any_value_in_the_address_of_what_administrators_do(caller: Caller, doc: str) -> None:
    del doc
    for value in VALUES.values():
        part = quote(words(value), safe="")
        caller.request("DELETE", f"/api/documents/{part}")
        caller.request("POST", f"/api/documents/{part}/undelete")
        caller.request("POST", f"/api/nodes/{part}-/drain")
        caller.request("POST", f"/api/nodes/{part}-/undrain")
        caller.request("PUT", f"/api/documents/{part}.md", content=b"x")
        caller.request("DELETE", f"/api/tokens/{part}-")
        caller.request("GET", f"/api/audit?limit={part}")


def test_any_file_sent_back(caller: Caller, doc: str) -> None:
    path = f"/api/documents/{doc}.md"
    for name in (*("on_conflict", "allow_large_delete", "idempotency_key", "suggestions", "foo"),):
        for value in values_for(f"put {name}").values():
            query = f"dry_run=true&{name}={quote(words(value))}"
            caller.request("PUT", f"{path}?{query}", content=b"x")
    for value in VALUES.values():
        if value is not DEEP:
            body = str(value).encode("utf-8", "surrogatepass")
            caller.request("PUT", f"{path}?dry_run=true", content=body)
        tag = bytes(byte for byte in words(value) if byte >= 32 and byte != 127).strip()
        caller.request("PUT", f"{path}?dry_run=true", content=b"x", headers={"If-Match": tag})
