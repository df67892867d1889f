"""The description of REST: OpenAPI 3.1, made from the Structs that requests are read as.

The table is the list of everything REST has. Components are the JSON Schemas of Structs; errors are
problem details everywhere.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final, Literal

import msgspec
from msgspec import NODEFAULT
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.agent_pages import INDEX_PATH, SKILL_PATH
from gateway.mcp.context import DeletedSummary
from gateway.pages import HTML, Session
from gateway.rest.changed import ChangedQuery, DigestQuery, ReadableChanges, ReadableDigest
from gateway.rest.chat import (
    ChatQuery,
    MessageBody,
    PostChatBody,
    ReplyBody,
    ResolveBody,
    ThreadList,
)
from gateway.rest.documents import FidelityList, ListQuery, NewDocument
from gateway.rest.members import LinkOrder, MemberOrder, MemberQuery, TicketOrder
from gateway.rest.orders import (
    BODIES,
    ChangesQuery,
    CompareQuery,
    EventsQuery,
    JoinBody,
    Key,
    ReadQuery,
    RestoreBody,
    SaveVersionBody,
    VersionQuery,
    VersionsQuery,
)
from gateway.rest.problems import MEDIA_TYPE, STATUS_BY_CODE
from gateway.rest.responses import json_response
from gateway.rest.suggestions import DecisionBody, SuggestBody, SuggestionsQuery
from gateway.rest.tokens import AuditLog, AuditQuery, Revoked, TokenList, TokenOrder
from gateway.rest.upkeep import NDJSON, BackupOrder
from gateway.upkeep import Step
from shared.calls import WriteVerb
from shared.directory_protocol import DirectoryStatus, Members, NewToken, NodeStatus, Ticket
from shared.protocol import (
    CreatedDocument,
    DocumentPage,
    DocumentSummary,
    ReadChangesResult,
    ReadDocumentResult,
    Scope,
    WriteResult,
)
from shared.protocol_chat import (
    ChangedMessage,
    ListChatsResult,
    PostedMessage,
    ReadChatResult,
    ResolvedThread,
)
from shared.protocol_events import ReadEventsResult, RosterResult
from shared.protocol_history import (
    CompareResult,
    ListVersionsResult,
    ReadVersionResult,
    RestoreResult,
    Version,
)
from shared.protocol_suggestions import DecideResult, ListSuggestionsResult

PATH: Final = "/api/openapi.json"
MARKDOWN: Final = "text/markdown"
TEXT: Final = "text/plain"
_REF: Final = "#/components/schemas/{name}"
_PARAMETER: Final = re.compile(r"\{(\w+)\}")

Method = Literal["get", "post", "put", "delete"]
Struct = type[msgspec.Struct]


class ProblemDetails(msgspec.Struct, frozen=True):
    """An error, as RFC 9457 says; further members carry what is needed to go on."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    retryable: bool
    next_step: str


class Said(msgspec.Struct, frozen=True):
    """How a process or the server is."""

    status: str


class CreateQuery(msgspec.Struct, frozen=True):
    """Of a document created with Markdown as body."""

    title: str | None = None
    slug: str | None = None
    idempotency_key: Key | None = None
    expires: str | None = None


class PutQuery(msgspec.Struct, frozen=True):
    """Of a whole document sent back; `If-Match` has the tag that a GET answered."""

    on_conflict: Literal["merge", "reject"] | None = None
    dry_run: bool = False
    allow_large_delete: bool = False
    idempotency_key: Key | None = None
    suggestions: Literal["critic"] | None = None


class ExportQuery(msgspec.Struct, frozen=True):
    """Of a whole document; `critic`: with what is suggested in it, in CriticMarkup."""

    suggestions: Literal["critic"] | None = None


class DrainQuery(msgspec.Struct, frozen=True):
    """`force`: also when the node's documents have nowhere to go."""

    force: bool = False


class Operation(msgspec.Struct, frozen=True):
    """One thing REST does.

    Attributes:
        answers: A Struct as JSON, or a media type.
        takes: Bodies it reads: Structs as JSON, or media types.
        scope: What the token must allow; None: no token is asked for.
        refuses: Other answers than problems, by status.
    """

    method: Method
    path: str
    summary: str
    answers: Struct | str
    scope: Scope | None = "read"
    query: Struct | None = None
    takes: tuple[Struct | str, ...] = ()
    status: int = 200
    refuses: dict[int, Struct] = {}


_ONE: Final = "/api/documents/{doc}"
_SUMMARIES: Final[dict[WriteVerb, str]] = {
    "patch": "Make the document, or a section of it, read as sent",
    "insert": "Add blocks at one place",
    "replace": "Replace a block or a range of blocks",
    "delete": "Delete blocks",
    "move": "Move a block or a section",
    "replace_text": "Replace quoted text",
}
OPERATIONS: Final = (
    Operation("get", "/healthz", "Whether this process answers", Said, None),
    Operation(
        "get",
        "/readyz",
        "Whether a document could be opened now",
        Said,
        None,
        refuses={503: Said},
    ),
    Operation("get", "/metrics", "Figures for Prometheus", TEXT),
    Operation("get", "/", "The documents, for a browser", HTML, None),
    Operation("post", "/api/session", "Let this browser in", Said, None, takes=(Session,)),
    Operation("delete", "/api/session", "Let this browser out", Said, None),
    Operation("get", PATH, "This description", "application/json", None),
    Operation("get", INDEX_PATH, "Where an agent begins", TEXT, None),
    Operation("get", SKILL_PATH, "How an agent reads, follows and edits", MARKDOWN, None),
    Operation(
        "post",
        "/api/documents",
        "Create a document; with a Markdown body the rest are query parameters",
        CreatedDocument,
        "write",
        CreateQuery,
        (NewDocument, MARKDOWN),
        201,
    ),
    Operation("get", "/api/documents", "List documents", DocumentPage, query=ListQuery),
    Operation("get", _ONE, "Read a document", ReadDocumentResult, query=ReadQuery),
    Operation("delete", _ONE, "Delete a document", DeletedSummary, "write"),
    Operation("post", f"{_ONE}/undelete", "Bring a document back", DocumentSummary, "write"),
    Operation("get", f"{_ONE}.md", "The whole document", MARKDOWN, query=ExportQuery),
    Operation(
        "put", f"{_ONE}.md", "Send the whole back", WriteResult, "write", PutQuery, (MARKDOWN,)
    ),
    Operation("get", f"{_ONE}/fidelity", "What its Markdown leaves out", FidelityList),
    Operation("get", "/d/{doc}", "A document to read: a page for browsers, else its text", TEXT),
    Operation("get", f"{_ONE}/changes", "Follow a document", ReadChangesResult, query=ChangesQuery),
    Operation(
        "get",
        f"{_ONE}/changed",
        "What changed since you last left a document, or since then",
        ReadableChanges,
        query=ChangedQuery,
    ),
    Operation(
        "get",
        "/api/changed",
        "Which of your documents changed since you last left each",
        ReadableDigest,
        query=DigestQuery,
    ),
    *(
        Operation("post", f"{_ONE}/{verb}", _SUMMARIES[verb], WriteResult, "write", takes=(body,))
        for verb, body in BODIES.items()
    ),
    Operation(
        "post",
        f"{_ONE}/suggest",
        "Propose edits of quoted text",
        WriteResult,
        "suggest",
        takes=(SuggestBody,),
    ),
    Operation(
        "get",
        f"{_ONE}/suggestions",
        "List suggestions",
        ListSuggestionsResult,
        query=SuggestionsQuery,
    ),
    Operation(
        "post",
        f"{_ONE}/suggestions/decide",
        "Accept or reject a suggestion, or a group of them",
        DecideResult,
        "suggest",
        takes=(DecisionBody,),
    ),
    Operation("get", f"{_ONE}/chats", "List chats and comments", ListChatsResult),
    Operation(
        "post",
        f"{_ONE}/chats",
        "Post to a heading's chat, or comment on a quote",
        PostedMessage,
        "comment",
        takes=(PostChatBody,),
        status=201,
    ),
    Operation("get", f"{_ONE}/chat", "Read a chat or thread", ReadChatResult, query=ChatQuery),
    Operation("get", f"{_ONE}/threads", "All chats and comments with all messages", ThreadList),
    Operation(
        "put",
        f"{_ONE}/threads/{{thread}}",
        "Resolve a thread, or open it again",
        ResolvedThread,
        "comment",
        takes=(ResolveBody,),
    ),
    Operation(
        "post",
        f"{_ONE}/threads/{{thread}}/messages",
        "Reply to a thread",
        PostedMessage,
        "comment",
        takes=(ReplyBody,),
        status=201,
    ),
    Operation(
        "put",
        f"{_ONE}/messages/{{message}}",
        "Give a message of yours another text",
        ChangedMessage,
        "comment",
        takes=(MessageBody,),
    ),
    Operation(
        "delete",
        f"{_ONE}/messages/{{message}}",
        "Delete a message of yours",
        ChangedMessage,
        "comment",
    ),
    Operation("get", f"{_ONE}/versions", "List versions", ListVersionsResult, query=VersionsQuery),
    Operation(
        "post",
        f"{_ONE}/versions",
        "Name the document as it is, or a version",
        Version,
        "write",
        takes=(SaveVersionBody,),
        status=201,
    ),
    Operation(
        "get",
        f"{_ONE}/versions/{{version}}",
        "Read a version",
        ReadVersionResult,
        query=VersionQuery,
    ),
    Operation(
        "get",
        f"{_ONE}/compare",
        "What differs between two states",
        CompareResult,
        query=CompareQuery,
    ),
    Operation(
        "post",
        f"{_ONE}/restore",
        "Make the document what a version held",
        RestoreResult,
        "write",
        takes=(RestoreBody,),
    ),
    Operation(
        "get",
        f"{_ONE}/events",
        "What happened: JSON, or with Accept: text/event-stream a stream of events",
        ReadEventsResult,
        query=EventsQuery,
    ),
    Operation(
        "post",
        f"{_ONE}/join",
        "Be shown to the people in a document",
        RosterResult,
        takes=(JoinBody,),
    ),
    Operation("post", f"{_ONE}/leave", "Be shown no longer", RosterResult),
    Operation("get", f"{_ONE}/members", "Who has a role on a document", Members),
    Operation(
        "put", f"{_ONE}/members", "Give somebody a role", Members, "write", None, (MemberOrder,)
    ),
    Operation("delete", f"{_ONE}/members", "Take a role back", Members, "write", MemberQuery),
    Operation(
        "put", f"{_ONE}/link", "Say what the link allows", Members, "write", None, (LinkOrder,)
    ),
    Operation(
        "post",
        "/api/tickets",
        "A ticket for a document's sockets",
        Ticket,
        takes=(TicketOrder,),
        status=201,
    ),
    Operation("get", "/api/status", "How the server is", DirectoryStatus),
    Operation(
        "post", "/api/tokens", "Make a token", NewToken, "admin", takes=(TokenOrder,), status=201
    ),
    Operation("get", "/api/tokens", "List tokens", TokenList, "admin"),
    Operation("delete", "/api/tokens/{id}", "Revoke a token", Revoked, "admin"),
    Operation("get", "/api/audit", "Who gave and took what", AuditLog, "admin", AuditQuery),
    Operation(
        "post",
        "/api/backup",
        "Copy everything, a line a step",
        NDJSON,
        "admin",
        None,
        (BackupOrder,),
    ),
    Operation("post", "/api/check", "Check everything, a line a document", NDJSON, "admin"),
    Operation("post", "/api/nodes/{node}/drain", "Empty a node", NodeStatus, "admin", DrainQuery),
    Operation("post", "/api/nodes/{node}/undrain", "Use a node again", NodeStatus, "admin"),
)


@cache
def description() -> dict[str, Any]:
    """The whole description as JSON values."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = _operation(operation)
    _, schemas = msgspec.json.schema_components(_structs(), ref_template=_REF)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "docactor",
            "version": "1",
            "summary": "Documents that people and agents edit together",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def openapi_route() -> Route:
    async def answer(_request: Request) -> Response:
        return json_response(description())

    return Route(PATH, answer, methods=["GET"])


def _structs() -> list[Struct]:
    found: dict[Struct, None] = {ProblemDetails: None, Step: None}
    for operation in OPERATIONS:
        kinds = (operation.answers, *operation.takes, *operation.refuses.values())
        found.update(dict.fromkeys(kind for kind in kinds if not isinstance(kind, str)))
    return list(found)


def _operation(operation: Operation) -> dict[str, Any]:
    told: dict[str, Any] = {
        "operationId": f"{operation.method} {operation.path}",
        "summary": operation.summary,
        "parameters": [
            *(
                {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
                for name in _PARAMETER.findall(operation.path)
            ),
            *_query(operation.query),
        ],
        "responses": {
            str(operation.status): _content("Done", operation.answers),
            **{
                str(status): _content("Not now", kind) for status, kind in operation.refuses.items()
            },
            "default": {
                "description": "An error; its status follows from its code: "
                + ", ".join(sorted({str(status) for status in STATUS_BY_CODE.values()})),
                "content": {MEDIA_TYPE: {"schema": _ref(ProblemDetails)}},
            },
        },
    }
    if operation.scope is not None:
        told["security"] = [{"token": []}]
        told["description"] = f"Needs a token with the scope {operation.scope}."
    if operation.takes:
        bodies = [_content("", kind)["content"] for kind in operation.takes]
        told["requestBody"] = {
            "required": True,
            "content": {media: schema for body in bodies for media, schema in body.items()},
        }
    return told


def _query(kind: Struct | None) -> list[dict[str, Any]]:
    if kind is None:
        return []
    parameters = []
    for field in msgspec.structs.fields(kind):
        (schema,), parts = msgspec.json.schema_components([field.type], ref_template=_REF)
        assert not parts, "parameters are plain values"
        # What is absent is not sent as null.
        options = [one for one in schema.get("anyOf", [schema]) if one != {"type": "null"}]
        schema = options[0] if len(options) == 1 else {"anyOf": options}
        if field.default not in (NODEFAULT, None):
            schema = {**schema, "default": field.default}
        told = {"name": field.encode_name, "in": "query", "schema": schema}
        parameters.append({**told, "required": True} if field.required else told)
    return parameters


def _content(said: str, kind: Struct | str) -> dict[str, Any]:
    if isinstance(kind, str):
        schema: dict[str, Any] = {"type": "string"}
        if kind == NDJSON:
            schema = {"description": "A Step in JSON on each line", "type": "string"}
        elif kind == "application/json":
            schema = {"type": "object"}
        return {"description": said, "content": {kind: {"schema": schema}}}
    return {"description": said, "content": {"application/json": {"schema": _ref(kind)}}}


def _ref(kind: Struct) -> dict[str, str]:
    return {"$ref": _REF.format(name=kind.__name__)}
