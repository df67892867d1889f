"""The types of chats and quoted comments: what is asked, and the exact shapes that callers get."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from shared.ids import BlockRef
from shared.limits import DEFAULT_MESSAGES

ShownThreads = Literal["open", "all", "none"]
Via = Literal["connected_app"]


class PostChatMessageRequest(msgspec.Struct, frozen=True):
    """`section_id` None: the document has no headings. `quote`: what of it the message is about."""

    text: str
    section_id: BlockRef | None = None
    quote: str | None = None
    idempotency_key: str | None = None


class ReplyRequest(msgspec.Struct, frozen=True):
    thread_id: str
    text: str
    idempotency_key: str | None = None


class EditMessageRequest(msgspec.Struct, frozen=True):
    message_id: str
    text: str


class DeleteMessageRequest(msgspec.Struct, frozen=True):
    message_id: str


class ResolveThreadRequest(msgspec.Struct, frozen=True):
    thread_id: str
    resolved: bool = True


class ListChatsRequest(msgspec.Struct, frozen=True):
    """Of one document."""


class ReadChatRequest(msgspec.Struct, frozen=True):
    """One thread, or the chat of a heading; neither: that of a document without headings.

    `before_seq`: only messages before that one.
    """

    section_id: BlockRef | None = None
    thread_id: str | None = None
    before_seq: int | None = None
    limit: int = DEFAULT_MESSAGES


# --- results -----------------------------------------------------------------------------------


class ToldMessage(msgspec.Struct, frozen=True):
    """A message. Times are ISO 8601.

    Attributes:
        by: What its author is called.
        via: It was posted through a connected app.
        text: "" once it is deleted.
    """

    message_id: str
    seq: int
    at: str
    by: str
    text: str
    via: Via | UnsetType = UNSET
    edited_at: str | UnsetType = UNSET
    deleted: bool | UnsetType = UNSET


class ThreadInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A thread as `read_document` and `read_changes` tell of it.

    Attributes:
        section_id: The heading it was begun under; null: the document had none.
        quote: What it is about; absent: the chat of the whole section.
        block_id: Where the quote stands; absent: it is orphaned, or there is none.
        message_count: All its messages, deleted ones too.
        messages: Those told here, oldest first.
    """

    thread_id: str
    section_id: str | None
    resolved: bool
    message_count: int
    quote: str | UnsetType = UNSET
    block_id: str | UnsetType = UNSET
    messages: tuple[ToldMessage, ...] = ()


class ListedChat(msgspec.Struct, frozen=True, kw_only=True):
    """A thread in a list, in document order.

    Attributes:
        title: The heading's text; absent: there is no such heading any more, or never was.
        orphaned: The quote is not in the document just now.
        section_gone: The heading is not.
        url: Where people open it: the document at its heading. Put there by the gateway.
    """

    thread_id: str
    section_id: str | None
    resolved: bool
    message_count: int
    last_seq: int
    last_at: str
    title: str | UnsetType = UNSET
    quote: str | UnsetType = UNSET
    orphaned: bool | UnsetType = UNSET
    section_gone: bool | UnsetType = UNSET
    url: str | UnsetType = UNSET


class ListChatsResult(msgspec.Struct, frozen=True):
    """`left_out`: threads that are not listed, those whose last message is oldest."""

    chats: tuple[ListedChat, ...]
    left_out: int | UnsetType = UNSET


class ReadChatResult(msgspec.Struct, frozen=True):
    """Messages, oldest first. `chat` absent: nobody has posted there yet.

    `before_seq`: what to ask with for older ones.
    """

    messages: tuple[ToldMessage, ...]
    chat: ListedChat | UnsetType = UNSET
    before_seq: int | UnsetType = UNSET


class PostedMessage(msgspec.Struct, frozen=True):
    """What `post_chat_message` and `reply` answer. `title`, `quote`: what the message is about."""

    thread_id: str
    message_id: str
    seq: int
    section_id: str | None
    title: str | UnsetType = UNSET
    quote: str | UnsetType = UNSET


class ChangedMessage(msgspec.Struct, frozen=True):
    """What `edit_message` and `delete_message` answer."""

    thread_id: str
    message_id: str
    seq: int
    edited_at: str | UnsetType = UNSET
    deleted: bool | UnsetType = UNSET


class ResolvedThread(msgspec.Struct, frozen=True):
    """What `resolve_thread` answers."""

    thread_id: str
    resolved: bool
