"""When a document expires, as people write it: a moment or a time from now."""

from __future__ import annotations

import re
from typing import Final

from shared.errors import InvalidArgument
from shared.limits import DAY_MS, MAX_SAFE_INTEGER
from shared.times import instant

_UNITS: Final = {"m": 60_000, "h": 3_600_000, "d": DAY_MS, "w": 7 * DAY_MS}
_DURATION: Final = re.compile(r"([0-9]{1,6})([mhdw])", re.ASCII)
_HINT: Final = "a duration such as 30d (m, h, d, w), or a time such as 2031-05-01T12:00:00+02:00"


def expiry(text: str, now: int) -> int:
    """The moment meant, in milliseconds since 1970.

    Args:
        text: A duration from now, or an ISO 8601 time with its offset: without one nobody knows
            when it is.
        now: Milliseconds since 1970.

    Raises:
        InvalidArgument: Neither, or not in the future.
    """
    text = text.strip()
    if duration := _DURATION.fullmatch(text):
        at = now + int(duration[1]) * _UNITS[duration[2]]
    else:
        at = _moment(text)
    if not now < at <= MAX_SAFE_INTEGER:
        raise InvalidArgument(f"expires: {text} is not in the future.", field="expires")
    return at


def _moment(text: str) -> int:
    at = instant(text, "expires")
    if at is None:
        raise InvalidArgument(f"expires: give {_HINT}.", field="expires")
    return at
