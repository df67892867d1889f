"""Calls of a document's verbs as bytes, and their answers.

Ray would pickle the values: 300 µs for a small answer, most of what `read_changes` costs; msgpack
takes one, and checks the types on the way in.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from shared.checkup import BackUpRequest, CheckRequest, Checkup, Copied
from shared.errors import InvalidArgument, WireError
from shared.protocol import (
    Caller,
    DeleteRequest,
    InsertRequest,
    Mode,
    MoveRequest,
    PatchRequest,
    ReadChangesRequest,
    ReadChangesResult,
    ReadDocumentRequest,
    ReadDocumentResult,
    ReplaceRequest,
    ReplaceTextRequest,
    RouteKey,
    WriteOptions,
    WriteResult,
)
from shared.protocol_changes import FoundChanges, GetChangesRequest
from shared.protocol_chat import (
    ChangedMessage,
    DeleteMessageRequest,
    EditMessageRequest,
    ListChatsRequest,
    ListChatsResult,
    PostChatMessageRequest,
    PostedMessage,
    ReadChatRequest,
    ReadChatResult,
    ReplyRequest,
    ResolvedThread,
    ResolveThreadRequest,
)
from shared.protocol_events import (
    JoinRequest,
    LeaveRequest,
    ReadEventsRequest,
    ReadEventsResult,
    RosterResult,
)
from shared.protocol_history import (
    CompareRequest,
    CompareResult,
    ListVersionsRequest,
    ListVersionsResult,
    ReadVersionRequest,
    ReadVersionResult,
    RestoreRequest,
    RestoreResult,
    SaveVersionRequest,
    Version,
)
from shared.protocol_suggestions import (
    DecideRequest,
    DecideResult,
    ListSuggestionsRequest,
    ListSuggestionsResult,
    SuggestRequest,
)

WriteVerb = Literal["patch", "insert", "replace", "delete", "move", "replace_text"]
ChatVerb = Literal[
    "list_chats",
    "read_chat",
    "post_chat_message",
    "reply",
    "edit_message",
    "delete_message",
    "resolve_thread",
]
HistoryVerb = Literal["list_versions", "read_version", "compare", "save_version", "restore"]
SuggestionVerb = Literal["suggest", "list_suggestions", "decide_suggestion"]
EventVerb = Literal["read_events", "join", "leave"]
Verb = (
    Literal["read_document", "read_changes", "get_changes", "back_up", "check"]
    | EventVerb
    | WriteVerb
    | ChatVerb
    | HistoryVerb
    | SuggestionVerb
)
READS: Final = frozenset(
    {
        "read_document",
        "read_changes",
        "get_changes",
        "list_versions",
        "read_version",
        "compare",
        "list_chats",
        "read_chat",
        "read_events",
        "list_suggestions",
        "back_up",
        "check",
    }
)
LASTING: Final = frozenset({"back_up", "check"})  # may take minutes
_TYPES: Final[dict[str, tuple[type[msgspec.Struct], type[msgspec.Struct]]]] = {
    "read_document": (ReadDocumentRequest, ReadDocumentResult),
    "read_changes": (ReadChangesRequest, ReadChangesResult),
    "get_changes": (GetChangesRequest, FoundChanges),
    "patch": (PatchRequest, WriteResult),
    "insert": (InsertRequest, WriteResult),
    "replace": (ReplaceRequest, WriteResult),
    "delete": (DeleteRequest, WriteResult),
    "move": (MoveRequest, WriteResult),
    "replace_text": (ReplaceTextRequest, WriteResult),
    "list_versions": (ListVersionsRequest, ListVersionsResult),
    "read_version": (ReadVersionRequest, ReadVersionResult),
    "compare": (CompareRequest, CompareResult),
    "save_version": (SaveVersionRequest, Version),
    "restore": (RestoreRequest, RestoreResult),
    "suggest": (SuggestRequest, WriteResult),
    "list_suggestions": (ListSuggestionsRequest, ListSuggestionsResult),
    "decide_suggestion": (DecideRequest, DecideResult),
    "read_events": (ReadEventsRequest, ReadEventsResult),
    "join": (JoinRequest, RosterResult),
    "leave": (LeaveRequest, RosterResult),
    "list_chats": (ListChatsRequest, ListChatsResult),
    "read_chat": (ReadChatRequest, ReadChatResult),
    "post_chat_message": (PostChatMessageRequest, PostedMessage),
    "reply": (ReplyRequest, PostedMessage),
    "edit_message": (EditMessageRequest, ChangedMessage),
    "delete_message": (DeleteMessageRequest, ChangedMessage),
    "resolve_thread": (ResolveThreadRequest, ResolvedThread),
    "back_up": (BackUpRequest, Copied),
    "check": (CheckRequest, Checkup),
}
VERBS: Final = frozenset(_TYPES)


class _Call(msgspec.Struct, frozen=True, array_like=True):
    key: RouteKey
    caller: Caller
    request: msgspec.Raw


class _Answer(msgspec.Struct, frozen=True, array_like=True):
    result: msgspec.Raw
    error: WireError | None = None


_encode: Final = msgspec.msgpack.Encoder().encode
_NOTHING: Final = msgspec.Raw(_encode(None))
_CALL: Final = msgspec.msgpack.Decoder(_Call)
_ANSWER: Final = msgspec.msgpack.Decoder(_Answer)
_REQUESTS: Final = {verb: msgspec.msgpack.Decoder(types[0]) for verb, types in _TYPES.items()}
_RESULTS: Final = {verb: msgspec.msgpack.Decoder(types[1]) for verb, types in _TYPES.items()}


def encode_call(key: RouteKey, caller: Caller, request: Any) -> bytes:
    """Raises InvalidArgument: the request holds a text that is not Unicode."""
    try:
        return _encode(_Call(key, caller, msgspec.Raw(_encode(request))))
    except UnicodeEncodeError as error:
        raise InvalidArgument("text: it holds half of a surrogate pair.") from error


def mode_of(request: object) -> Mode:
    """Whether a call that writes is to write, or to suggest; one that does not is as the first."""
    options = getattr(request, "options", None)
    return options.mode if isinstance(options, WriteOptions) else "apply"


def decode_call(verb: Verb, data: bytes) -> tuple[RouteKey, Caller, Any]:
    """Raises msgspec.ValidationError: it does not come from `encode_call` for this verb."""
    call = _CALL.decode(data)
    return call.key, call.caller, _REQUESTS[verb].decode(call.request)


def encode_answer(answer: msgspec.Struct | WireError) -> bytes:
    """A verb's result, or the error it ended with."""
    if isinstance(answer, WireError):
        return _encode(_Answer(_NOTHING, answer))
    return _encode(_Answer(msgspec.Raw(_encode(answer))))


def decode_answer(verb: Verb, data: bytes) -> Any:
    """What `encode_answer` was given."""
    answer = _ANSWER.decode(data)
    return answer.error or _RESULTS[verb].decode(answer.result)
