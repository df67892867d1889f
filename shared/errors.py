"""Every error docactor tells anyone, as one tree.

    DocactorError
    ├── Refused                       the caller can mend it; nothing was applied
    │   ├── DocumentNotFound          doc_not_found
    │   ├── CapabilityDenied          capability_denied
    │   ├── Unauthenticated           unauthenticated
    │   ├── InvalidArgument           invalid_argument
    │   ├── InvalidCursor             invalid_cursor
    │   ├── StaleAnchor               stale_anchor
    │   ├── StaleBlock                stale_block
    │   ├── BaseRequired              base_required
    │   ├── BaseExpired               base_expired
    │   ├── LargeDelete               large_delete
    │   ├── EmptyPatch                empty_patch
    │   ├── FindNotMatched            find_not_matched
    │   ├── NotUnique                 not_unique
    │   ├── UnsupportedMarkup         unsupported_markup
    │   ├── TooLarge                  too_large
    │   ├── RateLimited               rate_limited        (retryable)
    │   ├── Busy                      busy                (retryable)
    │   ├── ThreadNotFound            thread_not_found
    │   ├── SuggestionNotFound        suggestion_not_found
    │   ├── VersionNotFound           version_not_found
    │   ├── NotAuthor                 not_author
    │   ├── IdempotencyMismatch       idempotency_mismatch
    │   └── UnsupportedMode           unsupported_mode
    └── Unavailable                   the server's fault or state
        ├── OutcomeUnknown            outcome_unknown
        ├── StorageUnavailable        storage_unavailable (retryable)
        ├── DocumentCorrupt           document_corrupt
        ├── Overloaded                overloaded          (retryable)
        ├── ShuttingDown              shutting_down       (retryable)
        ├── InternalError             internal_error
        └── Moved                     moved               (never leaves the gateway)

Each class has a stable `code`; whatever else a caller needs to go on is in `data` (JSON values).
The borders translate once: MCP result, HTTP problem details, close code. The docstring of each leaf
says when it is met; `gateway.error_drawing` makes the reference page of it.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import msgspec


class WireError(msgspec.Struct, frozen=True):
    """An error as a value: what crosses Ray and the link, where exceptions do not travel well."""

    code: str
    message: str
    data: dict[str, Any]


class DocactorError(Exception):
    """Base of the tree.

    Args:
        message: Complete by itself; starts with the field at fault where there is one.
        data: JSON values the caller can act on (anchors, limits, a corrected argument).
    """

    code: ClassVar[str]
    retryable: ClassVar[bool] = False
    next_step: ClassVar[str] = ""

    def __init__(self, message: str, **data: Any) -> None:
        super().__init__(message)
        self.message = message
        self.data = data

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, self.data)

    def to_wire(self) -> WireError:
        """The error as a value."""
        return WireError(self.code, self.message, self.data)

    def as_dict(self) -> dict[str, Any]:
        """`{code, message, retryable, next_step, …data}`: the shape every border sends.

        A `next_step` in `data` is more exact than the class's and wins.
        """
        fixed = {
            "code": self.code,
            "message": self.message,
            "retryable": self.retryable,
            "next_step": self.next_step,
        }
        return fixed | self.data


def _rebuild(kind: type[DocactorError], message: str, data: dict[str, Any]) -> DocactorError:
    return kind(message, **data)


class Refused(DocactorError):
    """The caller can mend it; nothing was applied."""


class Unavailable(DocactorError):
    """The server's fault or state, not the caller's."""


class DocumentNotFound(Refused):
    """There is no such document, or the caller may not read it; both are answered alike."""

    code = "doc_not_found"
    next_step = "Check the id or slug with list_documents."

    @classmethod
    def for_document(cls, doc: str) -> Self:
        """The one text for unknown, deleted and (to who may not read it) private documents."""
        return cls(f"doc_id: no document {doc[:64]!r}, or it is not shared with you.")


class CapabilityDenied(Refused):
    """The token or role does not allow this."""

    code = "capability_denied"
    next_step = "Ask the owner of the document for a role or token that allows this."


class Unauthenticated(Refused):
    """No token, or not a valid one."""

    code = "unauthenticated"
    next_step = "Send a valid token as 'Authorization: Bearer <token>'."


class InvalidArgument(Refused):
    """An argument is missing, unknown or not of its form; the message starts with its name."""

    code = "invalid_argument"
    next_step = "Correct the argument named at the start of the message and call again."


class InvalidCursor(Refused):
    """A cursor of another document, from before a restored backup, or no cursor at all."""

    code = "invalid_cursor"
    next_step = "Call read_document once and go on from the cursor it returns."


class StaleAnchor(Refused):
    """The block named is not in the document; the answer carries an outline."""

    code = "stale_anchor"
    next_step = "The block is not in the document; pick one from the outline or read again."


class StaleBlock(Refused):
    """The block has changed since; the answer carries its present anchor and text."""

    code = "stale_block"
    next_step = "The block changed; look at its current text and repeat with its current anchor."


class BaseRequired(Refused):
    """The call would delete or replace what the caller has not seen."""

    code = "base_required"
    next_step = "Call read_document first, then repeat with its cursor as base."


class BaseExpired(Refused):
    """What the caller saw at `base` is no longer known."""

    code = "base_expired"
    next_step = "Read the document again and repeat with the new cursor as base."


class LargeDelete(Refused):
    """A patch would delete much; the answer says what."""

    code = "large_delete"
    next_step = "If the blocks named should really go, repeat with allow_large_delete=true."


class EmptyPatch(Refused):
    """A patch would leave nothing of a document that has text."""

    code = "empty_patch"
    next_step = "To empty a document on purpose use replace or delete and name its blocks."


class FindNotMatched(Refused):
    """The text to look for does not occur."""

    code = "find_not_matched"
    next_step = "Copy the text exactly as read_document shows it."


class NotUnique(Refused):
    """The text to look for occurs more than once."""

    code = "not_unique"
    next_step = "Give more of the surrounding text, or the block's anchor."


class UnsupportedMarkup(Refused):
    """Markdown that cannot be stored, such as a NUL character; names the place."""

    code = "unsupported_markup"
    next_step = "Change the markup at the place named and send it again."


class TooLarge(Refused):
    """A limit on size, number of blocks or depth; names limit and place."""

    code = "too_large"
    next_step = "Send less at once, or split the document."


class RateLimited(Refused):
    """A budget is spent; the answer has `limit`, `remaining`, `retry_after_s`."""

    code = "rate_limited"
    retryable = True
    next_step = "Wait retry_after_s seconds and repeat."


class Busy(Refused):
    """Somebody is typing right there."""

    code = "busy"
    retryable = True
    next_step = "Somebody is typing there; try again in a moment."


class ThreadNotFound(Refused):
    """No such thread or message."""

    code = "thread_not_found"
    next_step = "List the threads with list_chats."


class SuggestionNotFound(Refused):
    """No such suggestion, or it has been decided otherwise."""

    code = "suggestion_not_found"
    next_step = "List the suggestions with list_suggestions."


class VersionNotFound(Refused):
    """No such version."""

    code = "version_not_found"
    next_step = "List the versions with list_versions."


class NotAuthor(Refused):
    """Only the author may do this."""

    code = "not_author"
    next_step = "Only the author may do this."


class IdempotencyMismatch(Refused):
    """The key was used for a call with other arguments."""

    code = "idempotency_mismatch"
    next_step = "Use a new idempotency_key for a call with other arguments."


class UnsupportedMode(Refused):
    """This server cannot do it in that mode."""

    code = "unsupported_mode"
    next_step = "Call again without mode or on_conflict='suggest'."


class OutcomeUnknown(Unavailable):
    """The connection to the document broke in the middle of a write: it may have been applied. An
    `idempotency_key` avoids this.
    """

    code = "outcome_unknown"
    next_step = "Read the document to see whether the write is there before repeating it."


class StorageUnavailable(Unavailable):
    """The disk refused; nothing was applied."""

    code = "storage_unavailable"
    retryable = True
    next_step = "Nothing was applied; try again in a few seconds."


class DocumentCorrupt(Unavailable):
    """The stored document fails its checksums; it is not opened, and never emptied."""

    code = "document_corrupt"
    next_step = "The operator can check the document with 'docactor doctor'."


class Overloaded(Unavailable):
    """No room for another active document now."""

    code = "overloaded"
    retryable = True
    next_step = "Try again in a few seconds."


class ShuttingDown(Unavailable):
    """The server is stopping."""

    code = "shutting_down"
    retryable = True
    next_step = "Try again in a few seconds."


class InternalError(Unavailable):
    """A fault of the server; the message has an id that the log explains."""

    code = "internal_error"
    next_step = "Tell the operator the error id."


class Moved(Unavailable):
    """The actor does not hold this document under this epoch; the gateway asks the Directory."""

    code = "moved"
    retryable = True


def _leaves(kind: type[DocactorError]) -> list[type[DocactorError]]:
    below = kind.__subclasses__()
    return [kind] if not below else [leaf for child in below for leaf in _leaves(child)]


BY_CODE: dict[str, type[DocactorError]] = {leaf.code: leaf for leaf in _leaves(DocactorError)}


def from_wire(error: WireError) -> DocactorError:
    """The exception a value came from; an unknown code becomes `InternalError`."""
    return BY_CODE.get(error.code, InternalError)(error.message, **error.data)
