"""A clock that stands until a test moves it."""

from __future__ import annotations

from typing import Generic, TypeVar

Time = TypeVar("Time", int, float)


class Clock(Generic[Time]):
    """Attributes: now: Milliseconds or seconds, as whoever reads it counts."""

    def __init__(self, now: Time) -> None:
        self.now: Time = now

    def __call__(self) -> Time:
        return self.now
