"""Threads and messages as lines: what people wrote cannot start a line of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from gateway.mcp.framing import frame, new_nonce
from shared.protocol_chat import ThreadInfo, ToldMessage
from shared.slugs import single_line

_BREAKS: Final = re.compile("\r\n|[\r\n\v\f\u0085\u2028\u2029]")
_WRITTEN: Final = ("text", "by", "quote", "title")  # keys whose values people wrote


def message_line(message: ToldMessage) -> str:
    """`[seq 3] "Ann" 2026-…Z (tags) m_…: text`; further lines of the text are indented."""
    tags = ["via a connected app"] if message.via is not UNSET else []
    tags += ["edited"] if message.edited_at is not UNSET else []
    said = f" ({', '.join(tags)})" if tags else ""
    text = "(deleted)" if message.deleted is not UNSET else _BREAKS.sub("\n  ", message.text)
    head = f"[seq {message.seq}] {quoted(message.by)} {message.at}{said} {message.message_id}"
    return f"{head}: {text}"


def quoted(text: str) -> str:
    """On one line, between quotes."""
    return msgspec.json.encode(single_line(text)).decode()


def without_people(value: Any) -> Any:
    """Data without what people wrote."""
    if isinstance(value, dict):
        return {key: without_people(one) for key, one in value.items() if key not in _WRITTEN}
    return [without_people(one) for one in value] if isinstance(value, list | tuple) else value


def threads_beside(
    threads: tuple[ThreadInfo, ...] | UnsetType, structured: dict[str, Any]
) -> list[str]:
    """The threads of a document, out of the data and into the text."""
    if threads is UNSET:
        return []
    structured["threads"] = without_people(structured["threads"])
    lines = "\n".join(line for one in threads for line in _thread(one))
    return ["chats and comments, not part of the text (read_chat):", frame(lines, new_nonce())]


def _thread(thread: ThreadInfo) -> Iterable[str]:
    where = f"section {thread.section_id}" if thread.section_id else "the document"
    about = "" if thread.quote is UNSET else f" on {quoted(thread.quote)}"
    if thread.quote is not UNSET:
        about += " (orphaned)" if thread.block_id is UNSET else f" in {thread.block_id}"
    state = "resolved" if thread.resolved else "open"
    count = f"{thread.message_count} message{'' if thread.message_count == 1 else 's'}"
    yield f"{thread.thread_id} {state}, {where}{about}, {count}"
    yield from map(message_line, thread.messages)
