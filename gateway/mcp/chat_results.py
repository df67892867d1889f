"""Chats and comments as tool results: what people wrote is in `content` alone, and framed."""

from __future__ import annotations

from fastmcp.tools import ToolResult
from msgspec import UNSET

from gateway.mcp.framing import frame, new_nonce
from gateway.mcp.thread_texts import message_line, quoted, without_people
from gateway.mcp.tool_result import tool_result
from shared.protocol import to_json_value
from shared.protocol_chat import (
    ChangedMessage,
    ListChatsResult,
    ListedChat,
    PostedMessage,
    ReadChatResult,
    ResolvedThread,
)


def chats(result: ListChatsResult) -> ToolResult:
    """An answer of list_chats."""
    count = len(result.chats)
    lines = [f"{count} chat{'' if count == 1 else 's'} and comments, in document order."]
    if result.chats:
        lines.append(frame("\n".join(map(_row, result.chats)), new_nonce()))
    if result.left_out is not UNSET:
        lines.append(f"{result.left_out} more, whose last message is older, are left out.")
    return tool_result(lines, without_people(to_json_value(result)))


def chat(result: ReadChatResult) -> ToolResult:
    """An answer of read_chat."""
    if result.chat is UNSET:
        said = "Nobody has posted there yet; list_chats has the comments on quoted sentences."
        return tool_result([said], to_json_value(result))
    lines = [f"{len(result.messages)} of {result.chat.message_count} messages, oldest first."]
    said = "\n".join((_row(result.chat), *map(message_line, result.messages)))
    lines.append(frame(said, new_nonce()))
    if result.before_seq is not UNSET:
        lines.append(f"Older ones: call again with before_seq={result.before_seq}.")
    return tool_result(lines, without_people(to_json_value(result)))


def posted(result: PostedMessage) -> ToolResult:
    """An answer of post_chat_message or reply: what the message is about, as data."""
    lines = [f"Posted message {result.message_id} (seq {result.seq}) to thread {result.thread_id}."]
    about = [
        f"{name}: {quoted(text)}"
        for name, text in (("heading", result.title), ("quote", result.quote))
        if text is not UNSET
    ]
    if about:
        lines.append(frame("\n".join(about), new_nonce()))
    return tool_result(lines, without_people(to_json_value(result)))


def changed(result: ChangedMessage) -> ToolResult:
    """An answer of edit_message or delete_message."""
    done = "Edited" if result.deleted is UNSET else "Deleted"
    line = f"{done} message {result.message_id} of thread {result.thread_id}."
    return tool_result([line], to_json_value(result))


def resolved(result: ResolvedThread) -> ToolResult:
    """An answer of resolve_thread."""
    state = "resolved" if result.resolved else "open"
    return tool_result([f"Thread {result.thread_id} is {state}."], to_json_value(result))


def _row(chat: ListedChat) -> str:
    parts = [chat.thread_id, "resolved" if chat.resolved else "open"]
    if chat.section_id is not None:
        parts.append(f"section_id {chat.section_id}")
    if chat.title is not UNSET:
        parts.append(quoted(chat.title))
    if chat.section_gone is not UNSET:
        parts.append("(its heading is gone)")
    if chat.quote is not UNSET:
        parts.append(f"on {quoted(chat.quote)}")
    if chat.orphaned is not UNSET:
        parts.append("(orphaned: not in the text now)")
    told = f"{' '.join(parts)}: {chat.message_count} messages, last {chat.last_seq} {chat.last_at}"
    return told if chat.url is UNSET else f"{told}, {chat.url}"
