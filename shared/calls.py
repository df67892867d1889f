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
    MoveRequest,
    PatchRequest,
    ReadChangesRequest,
    ReadChangesResult,
    ReadDocumentRequest,
    ReadDocumentResult,
    ReplaceRequest,
    ReplaceTextRequest,
    RouteKey,
    WriteResult,
)

WriteVerb = Literal["patch", "insert", "replace", "delete", "move", "replace_text"]
Verb = Literal["read_document", "read_changes", "back_up", "check"] | WriteVerb
READS: Final = frozenset({"read_document", "read_changes", "back_up", "check"})
_TYPES: Final[dict[str, tuple[type[msgspec.Struct], type[msgspec.Struct]]]] = {
    "read_document": (ReadDocumentRequest, ReadDocumentResult),
    "read_changes": (ReadChangesRequest, ReadChangesResult),
    "patch": (PatchRequest, WriteResult),
    "insert": (InsertRequest, WriteResult),
    "replace": (ReplaceRequest, WriteResult),
    "delete": (DeleteRequest, WriteResult),
    "move": (MoveRequest, WriteResult),
    "replace_text": (ReplaceTextRequest, WriteResult),
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
