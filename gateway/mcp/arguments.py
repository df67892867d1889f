"""Tool arguments as models send them, turned into values.

Forgiving where models err and nothing is lost: a number as a string, a list as a JSON string or as
its single item, white space around an anchor. Strict where silence would lie: `true` is no number,
`1.5` is no cursor, `""` is not the start. Every function raises `Unfit` and nothing else; `None` is
answered by the caller, since null and absent are one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, TypeVar
from urllib.parse import unquote, urlsplit

import msgspec

from shared.errors import DocactorError, DocumentNotFound, InvalidArgument, InvalidCursor
from shared.events.cursor import MAX_CURSOR_CHARS
from shared.events.kinds import NAMES
from shared.ids import BlockRef, parse_ref
from shared.limits import MAX_ARGUMENT_ITEMS, MAX_SAFE_INTEGER, MAX_VERSION_NAME
from shared.protocol import TextEdit
from shared.times import instant

T = TypeVar("T")

_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,18}\Z")
_CURSOR: Final = re.compile(r"[0-9]{1,16}\Z")
_DOC: Final = re.compile(r"[a-z0-9-]{1,64}\Z")
_MAX_ID: Final = 64  # characters; what is longer is no id of ours
_QUOTING: Final = "\"'`"


class Unfit(ValueError):
    """A value that cannot be taken. `text` goes on after the argument's name and a colon.

    It is a ValueError because pydantic hands on those, and only those, to whoever asks.
    """

    def __init__(self, text: str, kind: type[DocactorError] = InvalidArgument) -> None:
        super().__init__(text)
        self.text = text
        self.kind = kind


def shown(value: object) -> str:
    """A value for an error text: short, on one line."""
    try:
        text = repr(value)
    except RecursionError:
        text = f"a deeply nested {type(value).__name__}"
    return text if len(text) <= 40 else text[:37] + "..."


def text(value: object) -> str:
    """Text that matters to the letter (Markdown): a string, nothing else."""
    if not isinstance(value, str):
        raise Unfit(f"must be a string, not {shown(value)}.")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise Unfit("holds half of a surrogate pair, which is no character.") from error
    return value


def words(value: object, limit: int) -> str:
    """A short text: a string, or a number written as one; at most `limit` characters."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    given = text(value)
    if len(given) > limit:
        raise Unfit(f"has {len(given)} characters; the limit is {limit}.")
    return given


def clean(name: str, value: str) -> str:
    """A text out of a body, which may hold half of a surrogate pair. Raises InvalidArgument."""
    try:
        return text(value)
    except Unfit as error:
        raise error.kind(f"{name}: {error.text}", field=name) from error


def whole(value: Any, low: int, high: int) -> int:
    """A whole number from `low` to `high`; `7.0` and `"7"` are 7."""
    written = isinstance(value, str) and _WHOLE.match(value.strip()) is not None
    if isinstance(value, bool) or not (
        written or isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    ):
        raise Unfit(f"must be a whole number, not {shown(value)}.")
    number = int(value)
    if not low <= number <= high:
        raise Unfit(f"must be between {low} and {high}, not {shown(number)}.")
    return number


def seconds(value: object, high: float) -> float:
    """A time in seconds from 0 to `high`."""
    number = math.nan
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value) if abs(value) <= MAX_SAFE_INTEGER else math.inf
    elif isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            number = math.nan
    if math.isnan(number):
        raise Unfit(f"must be a number of seconds, not {shown(value)}.")
    if not 0 <= number <= high:
        raise Unfit(f"must be between 0 and {high:g} seconds, not {shown(value)}.")
    return number


def flag(value: object) -> bool:
    """True or false, also as the words."""
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    if word not in ("true", "false"):
        raise Unfit(f"must be true or false, not {shown(value)}.")
    return word == "true"


def cursor(value: object) -> int:
    """A cursor as one of our answers gave it: a whole number or its decimal digits.

    Whether it is one of this document is for the document to say. A float is refused even when
    whole: a cursor that went through floating point may have been rounded.
    """
    number = -1
    if isinstance(value, int) and not isinstance(value, bool):
        number = value
    elif isinstance(value, str) and _CURSOR.match(value.strip()):
        number = int(value)
    if not 0 <= number <= MAX_SAFE_INTEGER:
        raise Unfit(
            f"must be a number that read_document or read_changes returned, not {shown(value)}.",
            InvalidCursor,
        )
    return number


def event_cursor(value: object) -> str:
    """A cursor of events as one of our answers gave it."""
    given = value.strip() if isinstance(value, str) else ""
    if not given.isascii() or not 0 < len(given) <= MAX_CURSOR_CHARS:
        raise Unfit(
            f"must be a cursor that read_events returned, not {shown(value)}.", InvalidCursor
        )
    return given


def event_type(value: object) -> str:
    """A type of events, or a group of them such as `thread.*`."""
    return choice(value, NAMES)


def version(value: object) -> str:
    """What a version is called: `v` and its number, or its name."""
    given = words(value, MAX_VERSION_NAME)
    if not given.strip():
        raise Unfit("must name a version, such as v12.")
    return given


def an_id(value: object) -> str:
    """A thread's or message's id; whether there is one is for the document to say."""
    return words(value, _MAX_ID).strip()


def point(value: object) -> int | str:
    """A state: a cursor, a version, or a time."""
    written = isinstance(value, str) and _CURSOR.match(value.strip()) is not None
    return version(value) if isinstance(value, str) and not written else cursor(value)


def moment(value: object) -> int:
    """An instant in milliseconds since 1970, from ISO 8601 with its offset."""
    at = None
    if isinstance(value, str):
        try:
            at = instant(value, "")
        except InvalidArgument as error:
            raise Unfit(error.message.removeprefix(": ")) from error
    if at is None:
        raise Unfit(
            "must be an ISO 8601 time with offset, such as 2026-03-31T09:00:00+02:00,"
            f" not {shown(value)}."
        )
    return at


def choice(value: object, options: Sequence[str]) -> str:
    """One of `options`, in any case."""
    word = value.strip().lower() if isinstance(value, str) else ""
    if word not in options:
        listed = ", ".join(f'"{option}"' for option in options)
        raise Unfit(f"must be one of {listed}, not {shown(value)}.")
    return word


def document(value: object) -> str:
    """A document's id or slug, also out of its URL."""
    if not isinstance(value, str) or not value.strip():
        raise Unfit(f"must be a document's id, slug or URL, not {shown(value)}.")
    ref = value.strip().strip(_QUOTING)
    if "/" in ref:
        ref = _out_of_url(ref)
    ref = ref.strip().removesuffix(".md")
    if not _DOC.match(ref):
        raise Unfit(f"no document {shown(value)}, or it is not shared with you.", DocumentNotFound)
    return ref


def _out_of_url(url: str) -> str:
    try:
        path = urlsplit(url).path
    except ValueError:
        return ""
    parts = [unquote(part) for part in path.split("/") if part]
    for marker in ("d", "collab", "documents"):
        if marker in parts[:-1]:
            return parts[parts.index(marker) + 1]
    return ""


def block(value: object) -> BlockRef:
    """A block's id or anchor."""
    if isinstance(value, dict):  # a block as our answers show it
        value = value.get("anchor") or value.get("block_id") or value.get("section_id")
    ref = parse_ref(value.strip().strip(_QUOTING)) if isinstance(value, str) else None
    if ref is None:
        raise Unfit(
            "must be a block's id (8 characters) or anchor (id, '-', 6 hex digits),"
            f" not {shown(value)}."
        )
    return ref


def place(value: object) -> BlockRef | Literal["start", "end"]:
    """Where to insert: "start", "end", or the block to put it after."""
    word = value.strip().lower() if isinstance(value, str) else ""
    if word == "start":
        return "start"
    if word == "end":
        return "end"
    try:
        return block(value)
    except Unfit as error:
        raise Unfit(
            f'must be "start", "end" or a block\'s id or anchor, not {shown(value)}.'
        ) from (error)


def several(value: object, one: Callable[[object], T]) -> tuple[T, ...]:
    """A list; also as a JSON string, a single item, or items with commas or lines between."""
    items = value if isinstance(value, list | tuple) else _split(value)
    if len(items) > MAX_ARGUMENT_ITEMS:
        raise Unfit(f"has {len(items)} items; the limit is {MAX_ARGUMENT_ITEMS}.")
    found = []
    for number, item in enumerate(items):
        try:
            found.append(one(item))
        except Unfit as error:
            raise Unfit(f"item {number}: {error.text}", error.kind) from error
    return tuple(found)


def edit(value: object) -> TextEdit:
    """One edit of replace_text: an object with `old_text`, `new_text` and perhaps `anchor`."""
    if not isinstance(value, dict):
        raise Unfit(f"must be {{old_text, new_text}}, not {shown(value)}.")
    unknown = sorted(set(value) - {"old_text", "new_text", "anchor"}, key=str)
    if unknown:
        raise Unfit(f"no such key {shown(unknown[0])}; an edit has old_text, new_text, anchor.")
    found = {}
    for name in ("old_text", "new_text"):
        if value.get(name) is None:
            raise Unfit(f"{name} is required.")
        try:
            found[name] = text(value[name])
        except Unfit as error:
            raise Unfit(f"{name} {error.text}") from error
    anchor = value.get("anchor")
    return TextEdit(**found, anchor=None if anchor in (None, "") else block(anchor))


def _split(value: object) -> list[Any]:
    if isinstance(value, dict):
        return [value]
    if not isinstance(value, str):
        raise Unfit(f"must be a list, not {shown(value)}.")
    given = value.strip()
    if given.startswith(("[", "{", '"')):
        try:
            decoded = msgspec.json.decode(given)
        except (msgspec.DecodeError, RecursionError):
            decoded = None
        if decoded is not None:
            return decoded if isinstance(decoded, list) else [decoded]
    return [part for part in re.split(r"[,\s]+", given) if part]
