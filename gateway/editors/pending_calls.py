"""Calls that went over one connection of a link and have no answer yet."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from gateway.roads import LostCallError, UnreachableError


class _Pending(NamedTuple):
    answer: asyncio.Future[bytes]
    end: int  # bytes the connection had sent with this call's frame, that included


class PendingCalls:
    """Numbered as they are sent. No call stays behind without an answer or an error."""

    def __init__(self) -> None:
        self._pending: dict[int, _Pending] = {}
        self._next = 0

    def number(self) -> int:
        """For the next call."""
        self._next += 1
        return self._next

    async def answer(self, number: int, end: int) -> bytes:
        """Waits for the answer to a call whose frame ended there.

        Raises:
            LostCallError: The connection ended first.
            UnreachableError: The actor left without taking the call.
        """
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._pending[number] = _Pending(future, end)
        try:
            return await future
        finally:
            self._pending.pop(number, None)

    def answered(self, number: int, answer: bytes) -> None:
        """An answer came; one that nobody waits for any more is dropped."""
        pending = self._pending.get(number)
        if pending is not None and not pending.answer.done():
            pending.answer.set_result(answer)

    def untaken(self, heard: int) -> None:
        """The actor leaves, and took so many bytes: what was sent behind them was not done."""
        self._fail(UnreachableError("it has left"), beyond=heard)

    def lost(self) -> None:
        """The connection is gone."""
        self._fail(LostCallError("the link broke"), beyond=0)

    def _fail(self, error: Exception, beyond: int) -> None:
        for pending in self._pending.values():
            if pending.end > beyond and not pending.answer.done():
                pending.answer.set_exception(error)
