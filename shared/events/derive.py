"""Events of threads and suggestions, read off the rows that are stored: before and after.

Whoever changes a thread or a suggestion says nothing of events; what changed does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import UNSET

from shared.events.kinds import About, Draft, EventType
from shared.limits import DIGEST_BLOCKS
from shared.stored_annotations import (
    Annotations,
    StoredMessage,
    StoredSuggestion,
    StoredThread,
)

Mentioned = Callable[[str], frozenset[str]]
"""The principals a text mentions."""


def derive(new: Annotations, before: Annotations, mentioned: Mentioned) -> list[Draft]:
    """The events that rows make, in the order of what they tell of.

    Args:
        new: Rows about to be stored.
        before: All that there was.
        mentioned: Whom a text mentions.
    """
    return [
        *_threads(new, before.threads),
        *_messages(new, before, mentioned),
        *_suggestions(new, before.suggestions),
    ]


def _threads(new: Annotations, before: Mapping[str, StoredThread]) -> list[Draft]:
    drafts = []
    for thread in new.threads.values():
        old = before.get(thread.thread_id)
        about = About(thread_id=thread.thread_id, section_id=thread.section_id or UNSET)
        if old is None:
            first = [one for one in new.messages.values() if one.thread_id == thread.thread_id]
            if first:
                began = min(first, key=lambda one: one.seq).message_id
                about = About(
                    thread_id=about.thread_id, section_id=about.section_id, message_id=began
                )
            drafts.append(Draft("thread.created", thread.principal, about))
        elif old.resolved != thread.resolved:
            kind: EventType = "thread.resolved" if thread.resolved else "thread.reopened"
            drafts.append(Draft(kind, thread.changed_by or _author(new, thread.principal), about))
    return drafts


def _messages(new: Annotations, before: Annotations, mentioned: Mentioned) -> list[Draft]:
    drafts = []
    began = {
        min(
            (m for m in new.messages.values() if m.thread_id == one), key=lambda m: m.seq
        ).message_id
        for one in {m.thread_id for m in new.messages.values()}
        if one not in before.threads
    }
    for message in sorted(new.messages.values(), key=lambda one: one.seq):
        old = before.messages.get(message.message_id)
        about = About(thread_id=message.thread_id, message_id=message.message_id)
        if old is None and message.message_id not in began:
            drafts.append(Draft("thread.reply", message.principal, about))
        drafts += [
            Draft("mention", message.principal, about, to)
            for to in sorted(_newly(message, old, mentioned))
        ]
    return drafts


def _newly(
    message: StoredMessage, old: StoredMessage | None, mentioned: Mentioned
) -> frozenset[str]:
    """Whom a message mentions that it did not before. An agent's mentions nobody."""
    if message.agent or message.deleted or "@" not in message.text:
        return frozenset()
    known = mentioned(old.text) if old is not None else frozenset[str]()
    return mentioned(message.text) - known - {message.principal}


def _suggestions(new: Annotations, before: Mapping[str, StoredSuggestion]) -> list[Draft]:
    """One event for what was suggested, or decided, together."""
    groups: dict[tuple[EventType, str, str, str], list[str]] = {}
    for one in new.suggestions.values():
        old = before.get(one.suggestion_id)
        if old is None:
            key: tuple[EventType, str, str, str] = (
                "suggestion.created",
                one.principal,
                one.group_id,
                "open",
            )
            groups.setdefault(key, []).append(one.suggestion_id)
        if (old is None or old.status == "open") and one.status != "open":
            key = ("suggestion.decided", _author(new, "server"), one.group_id, one.status)
            groups.setdefault(key, []).append(one.suggestion_id)
    return [
        Draft(
            kind,
            principal,
            About(group_id=group, suggestions=tuple(ids[:DIGEST_BLOCKS]), status=status),
        )
        for (kind, principal, group, status), ids in groups.items()
    ]


def _author(new: Annotations, other: str) -> str:
    """Who made the rows, when that was one alone."""
    return next(iter(new.authors)) if len(new.authors) == 1 else other
