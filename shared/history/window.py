"""Where the window of `get_changes` begins."""

from __future__ import annotations

import msgspec

from shared.errors import InvalidArgument
from shared.limits import DAY_MS


class Window(msgspec.Struct, frozen=True):
    """From when on changes are told, in milliseconds since 1970.

    Attributes:
        from_last_left: It is the instant the caller last left at, and not a later one.
    """

    since: int
    from_last_left: bool = False


def clamp_change_window_start(start: int, now: int, retention_days: int) -> int:
    """`start`, no earlier than full history goes back and no later than `now`.

    States from before are thinned out: against one of them all would read as added. A start to come
    would be compared with a state that is newer than the head.

    Args:
        start: What was asked for, in milliseconds since 1970.
        now: The clock's time, of the whole call.
        retention_days: How far back every state is kept; 0: for ever.
    """
    floor = now - retention_days * DAY_MS if retention_days else start
    return min(max(start, floor), now)


def change_window(
    since: int | None, last_left: int | None, now: int, retention_days: int
) -> Window:
    """The window a caller asked for, or the one since they last left. Times in ms.

    Args:
        since: What was asked for; it counts as asked for also when it is Last left to the letter.
        last_left: Of the caller and this document; None: they never read it in an editor.
        now: The clock's time, of the whole call.
        retention_days: How far back every state is kept; 0: for ever.

    Raises:
        InvalidArgument: Neither is there.
    """
    if since is not None:
        return Window(clamp_change_window_start(since, now, retention_days))
    if last_left is None:
        raise InvalidArgument(
            "since: you have not read this document in an editor yet, so it must be given:"
            " an ISO 8601 time with offset, such as 2026-03-31T09:00:00+02:00.",
            field="since",
        )
    start = clamp_change_window_start(last_left, now, retention_days)
    return Window(start, from_last_left=start == last_left)
