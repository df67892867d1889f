"""Handles of actors, and waiting for what they answer."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

import anyio
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


class Handles:
    """The handles of a namespace's actors, each looked up once."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._known: dict[str, Any] = {}

    async def of(self, actor: str) -> Any:
        """Raises ValueError: there is no such actor; RayError: Ray cannot say."""
        if actor not in self._known:
            self._known[actor] = await anyio.to_thread.run_sync(
                lambda: ray.get_actor(actor, namespace=self._namespace)
            )
        return self._known[actor]

    def keep(self, actor: str, handle: Any) -> None:
        """The handle of an actor just started."""
        self._known[actor] = handle

    def forget(self, actor: str) -> None:
        """It is dead, or its handle is of no use any more."""
        self._known.pop(actor, None)
