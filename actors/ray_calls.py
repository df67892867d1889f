"""Waiting for an actor's answer."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

import ray

T = TypeVar("T")


async def answer_within(ref: ray.ObjectRef[T], seconds: float) -> T:
    """What a call answers. Giving up on it, by timeout or cancellation, leaves it running.

    Raises:
        TimeoutError: No answer within `seconds`.
        RayError: The actor or the call failed.
    """
    future = asyncio.wrap_future(ref.future())
    future.add_done_callback(_seen)
    return await asyncio.wait_for(asyncio.shield(future), seconds)


def _seen(future: asyncio.Future[Any]) -> None:
    """Takes note of a failure that may come after everybody has given up."""
    if not future.cancelled():
        future.exception()
