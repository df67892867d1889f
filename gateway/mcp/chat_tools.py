"""The tools of chats and quoted comments."""

from __future__ import annotations

from fastmcp.tools import ToolResult

from gateway.chat_links import list_linked, read_linked
from gateway.mcp import chat_results
from gateway.mcp.context import ToolContext
from gateway.mcp.types import (
    BeforeSeq,
    DocumentRef,
    FlagTrue,
    Key,
    MessageId,
    MessagesLimit,
    MessageText,
    OptionalThreadId,
    Quote,
    Section,
    ThreadId,
)
from shared.limits import DEFAULT_MESSAGES
from shared.protocol_chat import (
    DeleteMessageRequest,
    EditMessageRequest,
    ListChatsRequest,
    PostChatMessageRequest,
    ReadChatRequest,
    ReplyRequest,
    ResolveThreadRequest,
)


class ChatTools:
    """What people and agents say about a document, beside its text."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context

    async def post_chat_message(
        self,
        *,
        slug: DocumentRef,
        text: MessageText,
        section_id: Section = None,
        quote: Quote = None,
        idempotency_key: Key = None,
    ) -> ToolResult:
        """Post to a heading's chat, or with quote comment on a sentence under it.

        Heading chat in a public document is public. quote: plain text of one paragraph under that
        heading, up to 500 characters, that occurs once in the document. Leave section_id out where
        there are no headings. @ < > are taken out of text.

        Example: post_chat_message(slug="q3-plan", section_id="k3x9d2ab", text="Agreed?")
        """
        caller = self._context.caller("comment")
        request = PostChatMessageRequest(text, section_id, quote, idempotency_key)
        result = await self._context.router.call(slug, "post_chat_message", caller, request)
        return chat_results.posted(result)

    async def list_chats(self, *, slug: DocumentRef) -> ToolResult:
        """The chats of a document's headings and the comments on quoted sentences.

        Example: list_chats(slug="q3-plan")
        """
        caller = self._context.caller("read")
        result = await self._context.router.call(slug, "list_chats", caller, ListChatsRequest())
        return chat_results.chats(await list_linked(self._context, slug, result))

    async def read_chat(
        self,
        *,
        slug: DocumentRef,
        section_id: Section = None,
        thread_id: OptionalThreadId = None,
        before_seq: BeforeSeq = None,
        limit: MessagesLimit = None,
    ) -> ToolResult:
        """The messages of a heading's chat, or of a thread; the newest, oldest of them first.

        Example: read_chat(slug="q3-plan", thread_id="t_5k2m9x0b")
        """
        caller = self._context.caller("read")
        request = ReadChatRequest(section_id, thread_id, before_seq, limit or DEFAULT_MESSAGES)
        result = await self._context.router.call(slug, "read_chat", caller, request)
        return chat_results.chat(await read_linked(self._context, slug, result))

    async def reply(
        self,
        *,
        slug: DocumentRef,
        thread_id: ThreadId,
        text: MessageText,
        idempotency_key: Key = None,
    ) -> ToolResult:
        """Post to a thread; one that was resolved is open again.

        Example: reply(slug="q3-plan", thread_id="t_5k2m9x0b", text="Yes.")
        """
        caller = self._context.caller("comment")
        request = ReplyRequest(thread_id, text, idempotency_key)
        result = await self._context.router.call(slug, "reply", caller, request)
        return chat_results.posted(result)

    async def edit_message(
        self, *, slug: DocumentRef, message_id: MessageId, text: MessageText
    ) -> ToolResult:
        """Give a message of yours another text.

        Example: edit_message(slug="q3-plan", message_id="m_0c4f7h2d", text="On Monday.")
        """
        caller = self._context.caller("comment")
        request = EditMessageRequest(message_id, text)
        result = await self._context.router.call(slug, "edit_message", caller, request)
        return chat_results.changed(result)

    async def delete_message(self, *, slug: DocumentRef, message_id: MessageId) -> ToolResult:
        """Delete a message of yours. Its place in the thread stays, without the text.

        Example: delete_message(slug="q3-plan", message_id="m_0c4f7h2d")
        """
        caller = self._context.caller("comment")
        request = DeleteMessageRequest(message_id)
        result = await self._context.router.call(slug, "delete_message", caller, request)
        return chat_results.changed(result)

    async def resolve_thread(
        self, *, slug: DocumentRef, thread_id: ThreadId, resolved: FlagTrue = True
    ) -> ToolResult:
        """Mark a thread as resolved; with resolved=false open it again.

        Example: resolve_thread(slug="q3-plan", thread_id="t_5k2m9x0b")
        """
        caller = self._context.caller("comment")
        request = ResolveThreadRequest(thread_id, resolved)
        result = await self._context.router.call(slug, "resolve_thread", caller, request)
        return chat_results.resolved(result)
