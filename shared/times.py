"""Times as people and agents write and read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from shared.errors import InvalidArgument

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def iso(ms: int) -> str:
    """Milliseconds since 1970 as ISO 8601 in UTC."""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")


def instant(text: str, field: str) -> int | None:
    """The moment meant, in milliseconds since 1970; None: it is no ISO 8601 time.

    Raises InvalidArgument for a time without its offset: nobody knows when that is.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    if moment.tzinfo is None:
        shown = moment.replace(tzinfo=UTC).isoformat()
        raise InvalidArgument(
            f"{field}: {text.strip()} has no offset; if you mean UTC, give {shown}.", field=field
        )
    return (moment - _EPOCH) // timedelta(milliseconds=1)
