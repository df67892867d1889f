"""Output schemas of tools, made from the result Structs.

Every success key is optional and `error` is there beside them: a client that checks results against
the schema (the TypeScript SDK does) then lets an error result through to its model. Types are named
to the depth that helps a reader; `required` appears nowhere.
"""

from __future__ import annotations

import typing
from types import NoneType, UnionType
from typing import Any, Final, Literal, get_args, get_origin

import msgspec
from msgspec import UnsetType

from shared.history.changes import ChangeCounts
from shared.protocol import (
    AnchorOnly,
    ChangedBlock,
    Conflict,
    DocumentSummary,
    FidelityNote,
    Hit,
    OutlineEntry,
    Remaining,
    WrittenBlock,
)
from shared.protocol_changes import (
    ChangedBlockRow,
    ChangedSection,
    DocumentChanges,
    UnreadDocument,
)
from shared.protocol_chat import ListedChat, ThreadInfo, ToldMessage
from shared.protocol_history import CompareCounts, ComparedBlock, ComparedState
from shared.protocol_suggestions import Decided
from shared.suggestions.info import SuggestionInfo

ERROR_SCHEMA: Final = {"type": "object"}  # every tool has one: what is in it, its text says
# Their parts are named in the text of a result, and the tool list is paid for in each conversation.
_UNOPENED: Final = frozenset(
    {
        *(Conflict, FidelityNote, Remaining, WrittenBlock, Decided, SuggestionInfo),
        *(ThreadInfo, ToldMessage, ListedChat, OutlineEntry, Hit, ChangedBlock, AnchorOnly),
        *(ChangedSection, ChangedBlockRow, ChangeCounts, DocumentChanges, UnreadDocument),
        *(DocumentSummary, CompareCounts, ComparedBlock, ComparedState),
    }
)
_SCALARS: Final = {str: "string", int: "integer", bool: "boolean", float: "number"}


def without_defaults(parameters: dict[str, Any]) -> dict[str, Any]:
    """The schema of a tool's arguments: that what is left out is null, false or empty by itself
    goes without saying.
    """
    properties = {
        name: {key: value for key, value in one.items() if key != "default" or value}
        for name, one in parameters["properties"].items()
    }
    return {**parameters, "properties": properties}


def output_schema(result: type[msgspec.Struct]) -> dict[str, Any]:
    """The schema of a tool that answers with `result` or with an error."""
    return {
        "type": "object",
        "properties": {**_properties(result), "error": ERROR_SCHEMA},
    }


def _properties(struct: type[msgspec.Struct]) -> dict[str, Any]:
    hints = typing.get_type_hints(struct)
    return {
        field.encode_name: _schema(hints[field.name]) for field in msgspec.structs.fields(struct)
    }


def _schema(kind: Any) -> dict[str, Any]:
    origin = get_origin(kind)
    if origin in (UnionType, typing.Union):
        return _union(get_args(kind))
    if origin is tuple:
        return {"type": "array", "items": _schema(get_args(kind)[0])}
    if origin is Literal:
        return {"type": "string", "enum": list(get_args(kind))}
    if kind in _SCALARS:
        return {"type": _SCALARS[kind]}
    if kind in _UNOPENED:
        return {"type": "object"}
    return {"type": "object", "properties": _properties(kind)}


def _union(kinds: tuple[Any, ...]) -> dict[str, Any]:
    given = [kind for kind in kinds if kind not in (UnsetType, NoneType)]
    schema = _schema(given[0])
    if NoneType in kinds:
        return {**schema, "type": [schema["type"], "null"]}
    return schema
