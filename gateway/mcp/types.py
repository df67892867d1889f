"""The types of tool parameters: how each is read from what a model sent, and its JSON schema.

Reading is `gateway.mcp.arguments`; the schema is written out here, so that the tool list stays
short and says what we take, not what pydantic makes of it. null is taken for absent everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final, Literal

from pydantic import PlainValidator, WithJsonSchema

from gateway.mcp import arguments
from gateway.mcp.arguments import Unfit
from shared.ids import BlockRef
from shared.limits import (
    MAX_FIND_CHARS,
    MAX_IDEMPOTENCY_KEY,
    MAX_LIST,
    MAX_MESSAGE_CHARS,
    MAX_READ_CHARS,
    MAX_SAFE_INTEGER,
    MAX_SETTLE_S,
    MAX_SHOWN_MESSAGES,
    MAX_STATUS_CHARS,
    MAX_SUGGESTION_NOTE,
    MAX_SUGGESTIONS,
    MAX_VERSION_NAME,
    MAX_VERSIONS,
    MAX_WAIT_S,
)
from shared.protocol import (
    FeedFormat,
    Mode,
    OnConflict,
    ReadFormat,
    TextEdit,
    WhoseSuggestions,
)
from shared.protocol_changes import Detail
from shared.protocol_chat import ShownThreads
from shared.protocol_suggestions import StatusAsked, Verdict

_MAX_ASKED: Final = 500  # characters of a title, slug or query taken; what is longer is a mistake


def _required(read: Callable[[Any], Any]) -> PlainValidator:
    def check(value: object) -> object:
        if value is None:
            raise Unfit("is required.")
        return read(value)

    return PlainValidator(check)


def _optional(read: Callable[[Any], Any], default: object = None) -> PlainValidator:
    return PlainValidator(lambda value: default if value is None else read(value))


def _schema(*kinds: str, about: str = "", **rest: object) -> WithJsonSchema:
    schema: dict[str, Any] = {"type": kinds[0] if len(kinds) == 1 else list(kinds)}
    return WithJsonSchema(schema | ({"description": about} if about else {}) | rest)


def _words(limit: int) -> PlainValidator:
    return _optional(lambda value: arguments.words(value, limit))


def _options(default: str, *options: str) -> PlainValidator:
    return _optional(lambda value: arguments.choice(value, options), default)


def _blocks(value: object) -> tuple[BlockRef, ...]:
    return arguments.several(value, arguments.block)


def _some_blocks(value: object) -> tuple[BlockRef, ...]:
    found = _blocks(value)
    if not found:
        raise Unfit("must name at least one block.")
    return found


DocumentRef = Annotated[
    str, _required(arguments.document), _schema("string", about="id, slug or URL")
]
Markdown = Annotated[str, _required(arguments.text), _schema("string")]
OptionalMarkdown = Annotated[str, _optional(arguments.text, ""), _schema("string", "null")]
Block = Annotated[BlockRef, _required(arguments.block), _schema("string", about="id or anchor")]
OptionalBlock = Annotated[
    BlockRef | None,
    _optional(arguments.block),
    _schema("string", "null", about="id or anchor"),
]
Section = Annotated[
    BlockRef | None,
    _optional(arguments.block),
    _schema("string", "null", about="id or anchor of a heading"),
]
Blocks = Annotated[
    tuple[BlockRef, ...],
    _required(_some_blocks),
    _schema("array", items={"type": "string"}, about="ids or anchors"),
]
OptionalBlocks = Annotated[
    tuple[BlockRef, ...],
    _optional(_blocks, ()),
    _schema("array", "null", items={"type": "string"}),
]
Place = Annotated[
    BlockRef | Literal["start", "end"],
    _required(arguments.place),
    _schema("string", about='"start", "end", id or anchor'),
]
Edits = Annotated[
    tuple[TextEdit, ...],
    _required(lambda value: arguments.several(value, arguments.edit)),
    _schema(
        "array",
        items={
            "type": "object",
            "properties": {
                "old_text": {"type": "string"},
                "new_text": {"type": "string"},
                "anchor": {"type": ["string", "null"], "description": "look in this block only"},
            },
            "required": ["old_text", "new_text"],
        },
    ),
]
After = Annotated[
    BlockRef | Literal["start", "end"],
    _optional(arguments.place, "end"),
    _schema("string", "null", about='"start", "end", id or anchor'),
]
Cursor = Annotated[int | None, _optional(arguments.cursor), _schema("integer", "null")]
Flag = Annotated[bool, _optional(arguments.flag, False), _schema("boolean", "null")]
MaxChars = Annotated[
    int | None,
    _optional(lambda value: arguments.whole(value, 1, MAX_READ_CHARS)),
    _schema("integer", "null", minimum=1, maximum=MAX_READ_CHARS),
]
Limit = Annotated[
    int | None,
    _optional(lambda value: arguments.whole(value, 1, MAX_LIST)),
    _schema("integer", "null", minimum=1, maximum=MAX_LIST),
]
Wait = Annotated[
    float,
    _optional(lambda value: arguments.seconds(value, MAX_WAIT_S), 0.0),
    _schema("number", "null", minimum=0, maximum=MAX_WAIT_S),
]
Settle = Annotated[
    float | None,
    _optional(lambda value: arguments.seconds(value, MAX_SETTLE_S)),
    _schema("number", "null", minimum=0, maximum=MAX_SETTLE_S),
]
Words = Annotated[str | None, _words(_MAX_ASKED), _schema("string", "null")]
Find = Annotated[str | None, _words(MAX_FIND_CHARS), _schema("string", "null")]
Key = Annotated[str | None, _words(MAX_IDEMPOTENCY_KEY), _schema("string", "null")]
ReadAs = Annotated[
    ReadFormat,
    _options("anchored", "anchored", "markdown", "blocks"),
    _schema("string", "null", enum=["anchored", "markdown", "blocks", None]),
]
ChangesAs = Annotated[
    FeedFormat,
    _options("blocks", "blocks", "anchored"),
    _schema("string", "null", enum=["blocks", "anchored", None]),
]
Moment = Annotated[
    int | None,
    _optional(arguments.moment),
    _schema("string", "null", format="date-time", about="ISO 8601 with offset"),
]
Detailed = Annotated[
    Detail,
    _options("sections", "sections", "blocks"),
    _schema("string", "null", enum=["sections", "blocks", None]),
]
WriteMode = Annotated[
    Mode,
    _options("apply", "apply", "suggest"),
    _schema("string", "null", enum=["apply", "suggest", None]),
]
Conflicts = Annotated[
    OnConflict | None,
    _optional(lambda value: arguments.choice(value, ("merge", "reject", "suggest"))),
    _schema("string", "null", enum=["merge", "reject", "suggest", None]),
]
Whose = Annotated[
    WhoseSuggestions,
    _options("mine", "mine", "none", "all"),
    _schema("string", "null", enum=["mine", "none", "all", None]),
]
AskedStatus = Annotated[
    StatusAsked,
    _options("open", "open", "accepted", "rejected", "all"),
    _schema("string", "null", enum=["open", "accepted", "rejected", "all", None]),
]
SuggestionsLimit = Annotated[
    int | None,
    _optional(lambda value: arguments.whole(value, 1, MAX_SUGGESTIONS)),
    _schema("integer", "null", minimum=1, maximum=MAX_SUGGESTIONS),
]
Note = Annotated[
    str | None,
    _words(MAX_SUGGESTION_NOTE),
    _schema("string", "null", maxLength=MAX_SUGGESTION_NOTE),
]
Decision = Annotated[
    Verdict,
    _required(lambda value: arguments.choice(value, ("accept", "reject"))),
    _schema("string", enum=["accept", "reject"]),
]
VersionRef = Annotated[
    str, _required(arguments.version), _schema("string", about="v<number> or name")
]
OptionalVersion = Annotated[
    str | None,
    _optional(arguments.version),
    _schema("string", "null", about="v<number>"),
]
VersionName = Annotated[
    str,
    _required(lambda value: arguments.words(value, MAX_VERSION_NAME)),
    _schema("string", maxLength=MAX_VERSION_NAME),
]
VersionsLimit = Annotated[
    int | None,
    _optional(lambda value: arguments.whole(value, 1, MAX_VERSIONS)),
    _schema("integer", "null", minimum=1, maximum=MAX_VERSIONS),
]
MessageText = Annotated[
    str, _required(arguments.text), _schema("string", maxLength=MAX_MESSAGE_CHARS)
]
# The document says what a quote may be, its length too: with what to do about it.
Quote = Annotated[str | None, _optional(arguments.text), _schema("string", "null")]
ThreadId = Annotated[str, _required(arguments.an_id), _schema("string")]
MessageId = Annotated[str, _required(arguments.an_id), _schema("string")]
OptionalThreadId = Annotated[str | None, _optional(arguments.an_id), _schema("string", "null")]
BeforeSeq = Annotated[
    int | None,
    _optional(lambda value: arguments.whole(value, 1, MAX_SAFE_INTEGER)),
    _schema("integer", "null"),
]
MessagesLimit = Annotated[
    int | None,
    _optional(lambda value: arguments.whole(value, 1, MAX_SHOWN_MESSAGES)),
    _schema("integer", "null", minimum=1, maximum=MAX_SHOWN_MESSAGES),
]
FlagTrue = Annotated[bool, _optional(arguments.flag, True), _schema("boolean", "null")]
WhichThreads = Annotated[
    ShownThreads,
    _options("open", "open", "all", "none"),
    _schema("string", "null", enum=["open", "all", "none", None]),
]
PointInTime = Annotated[int | str, _required(arguments.point), _schema("integer", "string")]
EventCursor = Annotated[
    str | None,
    _optional(arguments.event_cursor),
    _schema("string", "null"),
]
EventTypes = Annotated[
    tuple[str, ...],
    _optional(lambda value: arguments.several(value, arguments.event_type), ()),
    _schema("array", "null", items={"type": "string"}),
]
AgentStatus = Annotated[
    str,
    _optional(lambda value: arguments.words(value, MAX_STATUS_CHARS), ""),
    _schema("string", "null", maxLength=MAX_STATUS_CHARS),
]
OptionalPoint = Annotated[
    int | str | None, _optional(arguments.point), _schema("integer", "string", "null")
]
