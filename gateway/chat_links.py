"""Where people open what a chat is about: a document knows its headings and not its address."""

from __future__ import annotations

import msgspec
from msgspec import UNSET

from gateway.links import section_url
from gateway.mcp.context import ToolContext
from shared.directory_protocol import DocumentRow
from shared.protocol_chat import ListChatsResult, ListedChat, ReadChatResult


async def list_linked(context: ToolContext, ref: str, result: ListChatsResult) -> ListChatsResult:
    """The list with a link for each. The slug is the catalog's, whatever it was asked by."""
    slug = await _slug(context, ref)
    chats = tuple(_linked(chat, context.base_url, slug) for chat in result.chats)
    return msgspec.structs.replace(result, chats=chats)


async def read_linked(context: ToolContext, ref: str, result: ReadChatResult) -> ReadChatResult:
    """The same of one chat; of one that nobody has begun there is nothing to link to."""
    if result.chat is UNSET:
        return result
    chat = _linked(result.chat, context.base_url, await _slug(context, ref))
    return msgspec.structs.replace(result, chat=chat)


async def _slug(context: ToolContext, ref: str) -> str:
    row: DocumentRow = await context.router.directory("describe", ref)
    return row.slug


def _linked(chat: ListedChat, base_url: str, slug: str) -> ListedChat:
    there = chat.section_id if chat.section_gone is UNSET else None
    return msgspec.structs.replace(chat, url=section_url(base_url, slug, there))
