"""REST of chats and quoted comments. Texts are JSON strings here: JSON is their frame."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.chat_links import list_linked, read_linked
from gateway.mcp import arguments
from gateway.rest.handlers import Handlers, document_of
from gateway.rest.orders import Key, Ref
from gateway.rest.requests import argument, check_parameters, ordered, queried
from gateway.rest.responses import answered, cursor_headers, unkept
from shared.limits import (
    DEFAULT_MESSAGES,
    MAX_DOCUMENT_BYTES,
    MAX_SAFE_INTEGER,
    MAX_SHOWN_MESSAGES,
)
from shared.protocol import ReadDocumentRequest, ReadDocumentResult
from shared.protocol_chat import (
    DeleteMessageRequest,
    EditMessageRequest,
    ListChatsRequest,
    PostChatMessageRequest,
    ReadChatRequest,
    ReplyRequest,
    ResolveThreadRequest,
    ThreadInfo,
)


class PostChatBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message to a heading's chat, or about a `quote` under it."""

    text: str
    section_id: Ref | None = None
    quote: str | None = None
    idempotency_key: Key | None = None


class ReplyBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One more message of a thread."""

    text: str
    idempotency_key: Key | None = None


class MessageBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Another text for a message."""

    text: str


class ResolveBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`resolved` false: the thread is open again."""

    resolved: bool = True


class ChatQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A heading's chat or a thread; neither: the chat of a document without headings."""

    section_id: Ref | None = None
    thread_id: str | None = None
    before_seq: Annotated[int, Meta(ge=1, le=MAX_SAFE_INTEGER)] | None = None
    limit: Annotated[int, Meta(ge=1, le=MAX_SHOWN_MESSAGES)] = DEFAULT_MESSAGES


class ThreadList(msgspec.Struct, frozen=True):
    """All that is said about a document, at the instant of `cursor`: what its Markdown lacks."""

    cursor: int
    threads: tuple[ThreadInfo, ...]


class ChatRest(Handlers):
    """The handlers. `routes` goes into the application."""

    def routes(self) -> list[Route]:
        one = "/api/documents/{doc}"
        message, thread = f"{one}/messages/{{message}}", f"{one}/threads/{{thread}}"
        return [
            Route(f"{one}/chats", answered(self.chats), methods=["GET"]),
            Route(f"{one}/chats", answered(self.post), methods=["POST"]),
            Route(f"{one}/chat", answered(self.chat), methods=["GET"]),
            Route(f"{one}/threads", answered(self.threads), methods=["GET"]),
            Route(thread, answered(self.resolve), methods=["PUT"]),
            Route(f"{thread}/messages", answered(self.reply), methods=["POST"]),
            Route(message, answered(self.edit), methods=["PUT"]),
            Route(message, answered(self.delete), methods=["DELETE"]),
        ]

    async def chats(self, request: Request) -> Response:
        """The tool `list_chats`."""
        caller = await self._visitor(request)
        check_parameters(request, ())
        ref = document_of(request)
        found = await self._context.router.call(ref, "list_chats", caller, ListChatsRequest())
        return unkept(await list_linked(self._context, ref, found))

    async def chat(self, request: Request) -> Response:
        """The tool `read_chat`."""
        caller = await self._visitor(request)
        query = queried(request, ChatQuery)
        order = ReadChatRequest(
            argument("section_id", query.section_id, arguments.block),
            argument("thread_id", query.thread_id, arguments.an_id),
            query.before_seq,
            query.limit,
        )
        ref = document_of(request)
        found = await self._context.router.call(ref, "read_chat", caller, order)
        return unkept(await read_linked(self._context, ref, found))

    async def threads(self, request: Request) -> Response:
        """Every thread with all its messages, as they belong to the Markdown of the document."""
        caller = await self._visitor(request)
        check_parameters(request, ())
        ref = document_of(request)
        asked = ReadDocumentRequest(format="markdown", max_chars=MAX_DOCUMENT_BYTES, threads="all")
        read: ReadDocumentResult = await self._context.router.call(
            ref, "read_document", caller, asked
        )
        threads = () if read.threads is UNSET else read.threads
        return unkept(ThreadList(read.cursor, threads), headers=cursor_headers(read.cursor))

    async def post(self, request: Request) -> Response:
        """The tool `post_chat_message`."""
        caller = await self._caller(request, "comment")
        body = await ordered(request, PostChatBody)
        order = PostChatMessageRequest(
            arguments.clean("text", body.text),
            argument("section_id", body.section_id, arguments.block),
            None if body.quote is None else arguments.clean("quote", body.quote),
            body.idempotency_key,
        )
        return await self._answer(request, "post_chat_message", caller, order, 201)

    async def reply(self, request: Request) -> Response:
        """The tool `reply`."""
        caller = await self._caller(request, "comment")
        body = await ordered(request, ReplyBody)
        thread_id = argument("thread", request.path_params["thread"], arguments.an_id)
        order = ReplyRequest(thread_id, arguments.clean("text", body.text), body.idempotency_key)
        return await self._answer(request, "reply", caller, order, 201)

    async def edit(self, request: Request) -> Response:
        """The tool `edit_message`."""
        caller = await self._caller(request, "comment")
        body = await ordered(request, MessageBody)
        message_id = argument("message", request.path_params["message"], arguments.an_id)
        order = EditMessageRequest(message_id, arguments.clean("text", body.text))
        return await self._answer(request, "edit_message", caller, order)

    async def delete(self, request: Request) -> Response:
        """The tool `delete_message`."""
        caller = await self._caller(request, "comment")
        check_parameters(request, ())
        message_id = argument("message", request.path_params["message"], arguments.an_id)
        return await self._answer(
            request, "delete_message", caller, DeleteMessageRequest(message_id)
        )

    async def resolve(self, request: Request) -> Response:
        """The tool `resolve_thread`."""
        caller = await self._caller(request, "comment")
        body = await ordered(request, ResolveBody)
        thread_id = argument("thread", request.path_params["thread"], arguments.an_id)
        order = ResolveThreadRequest(thread_id, body.resolved)
        return await self._answer(request, "resolve_thread", caller, order)
